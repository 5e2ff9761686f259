//! Whether the hundred-thousandth document costs what the first did.
//!
//! Tiny files, so that what grows with their number is all there is to see: throughput and
//! memory by tenth, and how long `status` takes while the queue is full and when it is empty.
//! Throughput is told by the clock and by this process's CPU time, which others on the machine
//! hardly change.
//! While files are still being listed, the listing has its share of the machine: the last tenth
//! is held against the first that began with nothing left to list.
//! `GRISTMILL_BENCH_DOCUMENTS` says how many.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use engine::Engine;
use model::{JobId, JobStatus, TenantId};

use crate::report::{Report, cpu_time};
use crate::source::Source;
use crate::thread::open;

const DOCUMENTS: usize = 10_000;
const TENTHS: usize = 10;

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let documents = match std::env::var("GRISTMILL_BENCH_DOCUMENTS") {
        Ok(number) => number.parse()?,
        Err(_) => DOCUMENTS,
    };
    tokio::runtime::Runtime::new()?.block_on(measure(report, documents))
}

async fn measure(report: &mut Report, documents: usize) -> anyhow::Result<()> {
    let files = tempfile::tempdir()?;
    write_files(files.path(), documents)?;
    let data = tempfile::tempdir()?;
    let engine = Arc::new(open(data.path(), small_caches()).await?);
    let source = Source::new(&engine, files.path()).await?;
    let (tenant, job) = (source.tenant, source.start(&engine).await?);
    let workers = shell::Workers::start(engine.clone(), shell::Settings::default());

    let mut start = None;
    let mut rates = Rates::default();
    let mut begun = (Instant::now(), cpu_time());
    let mut before = Seen::default();
    let memory = Memory::watch();
    for tenth in 1..=TENTHS {
        let seen = until(&engine, tenant, job, documents * tenth / TENTHS).await?;
        rates = Rates::of((seen.ended - before.ended) as f64, begun);
        for (by, rate) in rates.by() {
            report.figure(format!("tenth {tenth}: documents per {by}"), rate, "1/s");
        }
        let (usual, most) = memory.since_last()?;
        report.figure(format!("tenth {tenth}: memory, usually"), usual, "MB");
        report.figure(format!("tenth {tenth}: memory, at most"), most, "MB");
        if before.listed >= documents as u64 {
            start.get_or_insert((tenth, rates));
        }
        if tenth == TENTHS / 2 {
            let taken = status(&engine, tenant).await?;
            report.against("status, half way", taken, "ms", ("the limit", 50.0));
        }
        (begun, before) = ((Instant::now(), cpu_time()), seen);
    }
    let (tenth, first) = start.ok_or_else(|| anyhow::anyhow!("the listing took until the end"))?;
    let peer = format!("tenth {tenth}, the first with nothing left to list");
    for ((by, last), (_, first)) in rates.by().into_iter().zip(first.by()) {
        report.against(format!("last tenth, per {by}"), last, "1/s", (&peer, first));
    }
    let taken = status(&engine, tenant).await?;
    report.against("status, at the end", taken, "ms", ("the limit", 50.0));
    workers.stop(Duration::from_secs(5)).await;
    Ok(())
}

/// Full from the first tenth on: what grows after that is no cache filling up.
fn small_caches() -> index::Settings {
    index::Settings {
        cache_bytes: 16 << 20,
        block_cache_bytes: 16 << 20,
        ..index::Settings::default()
    }
}

fn write_files(folder: &Path, documents: usize) -> anyhow::Result<()> {
    for n in 0..documents {
        let below = folder.join(format!("{}", n / 1000));
        if n % 1000 == 0 {
            std::fs::create_dir(&below)?;
        }
        let text = format!("# Sack {n}\n\nSack {n} holds {} grains of wheat.\n", n * 7);
        std::fs::write(below.join(format!("{n}.md")), text)?;
    }
    Ok(())
}

/// Documents by the time they took.
#[derive(Clone, Copy, Default)]
struct Rates {
    clock: f64,
    cpu: f64,
}

impl Rates {
    fn of(documents: f64, (clock, cpu): (Instant, Duration)) -> Self {
        Self {
            clock: documents / clock.elapsed().as_secs_f64(),
            cpu: documents / (cpu_time() - cpu).as_secs_f64(),
        }
    }

    fn by(self) -> [(&'static str, f64); 2] {
        [("second", self.clock), ("CPU-second", self.cpu)]
    }
}

#[derive(Default)]
struct Seen {
    listed: u64,
    ended: u64,
}

/// Waits until that many documents have ended.
async fn until(
    engine: &Engine,
    tenant: TenantId,
    job: JobId,
    documents: usize,
) -> anyhow::Result<Seen> {
    loop {
        let job = engine.parts().catalog.job(tenant, job).await?;
        let counters = job.counters;
        anyhow::ensure!(counters.runs_failed == 0, "runs failed");
        let ended = counters.docs_seen - counters.runs_open;
        if ended >= documents as u64 || job.status == JobStatus::Completed {
            return Ok(Seen {
                listed: counters.docs_seen,
                ended,
            });
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The middle one of a few, in milliseconds.
async fn status(engine: &Engine, tenant: TenantId) -> anyhow::Result<f64> {
    let mut taken = Vec::new();
    for _ in 0..11 {
        let begun = Instant::now();
        let parts = engine.parts();
        parts.catalog.status(tenant, parts.clock.now()).await?;
        taken.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    taken.sort_by(f64::total_cmp);
    Ok(taken[taken.len() / 2])
}

/// What this process holds, in megabytes, looked at again and again: merges and clustering take
/// some for a moment, and one look tells of that or not.
struct Memory(Arc<Mutex<Vec<f64>>>);

impl Memory {
    /// Until it is dropped.
    fn watch() -> Self {
        let seen: Arc<Mutex<Vec<f64>>> = Arc::default();
        let watched = Arc::downgrade(&seen);
        std::thread::spawn(move || {
            while let Some(seen) = watched.upgrade() {
                seen.lock().expect("nothing panics there").extend(held());
                drop(seen);
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        Self(seen)
    }

    /// The middle of what was seen since it was last asked, and the most.
    fn since_last(&self) -> anyhow::Result<(f64, f64)> {
        let mut seen = std::mem::take(&mut *self.0.lock().expect("nothing panics there"));
        seen.sort_by(f64::total_cmp);
        let most = seen.last().context("nothing was seen yet")?;
        Ok((seen[seen.len() / 2], *most))
    }
}

/// Without pages of files that are mapped, which the kernel takes back when it needs to.
fn held() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}
