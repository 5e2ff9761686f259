//! The time-series store: a million samples over ten thousand series, written and queried;
//! and what a sample costs as series grow in number, as many samples each time and every flush
//! holding one of each series, as when a node reports its figures.

use std::path::Path;
use std::time::{Duration, Instant};

use series::{Labels, Range, Series, Settings};

use crate::report::{Report, cpu_time};

const SERIES: usize = 10_000;
const EACH: usize = 100;
/// Samples written after those that make the series, a round of one each at a time.
const KNOWN: usize = 1_000_000;
const SECOND: i64 = 1_000_000;
const EVERY: i64 = 10 * SECOND;
const START: i64 = 20_000 * 86_400 * SECOND;

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(fill_and_ask(report))?;
    let mut least = None;
    for count in [1_000, 10_000, 100_000] {
        let [new, known] = runtime.block_on(round_by_round(count))?;
        let [few_new, few_known] = *least.get_or_insert([new, known]);
        for (what, cost, few) in [("new series", new, few_new), ("sample", known, few_known)] {
            let beside = ("with 1k series", few);
            let name = format!("CPU per {what}, one a flush, {count} series");
            report.against(name, cost, "us", beside);
        }
    }
    Ok(())
}

async fn fill_and_ask(report: &mut Report) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let series = Series::open_folder(folder.path(), Settings::default()).await?;
    let names = names(SERIES)?;
    let (cpu, begun) = (cpu_time(), Instant::now());
    for round in 0..EACH {
        write(&series, &names, round).await?;
    }
    series.sync().await?;
    let (cpu, took) = (cpu_time() - cpu, begun.elapsed());
    let samples = (EACH * SERIES) as f64;
    let name = |what: &str| format!("a million samples, {SERIES} series: {what}");
    let rate = samples / took.as_secs_f64();
    report.figure(name("written and synced"), rate, "samples/s");
    let cost = cpu.as_secs_f64() * 1e6 / samples;
    report.figure(name("CPU per sample"), cost, "us");
    let one = r#"rate(documents_total{kb="7"}[5m])"#;
    let all = "sum(rate(documents_total[5m]))";
    for (what, query) in [("query of one", one), ("query of the sum of all", all)] {
        let took = ask(&series, query).await?.as_secs_f64() * 1e3;
        report.figure(name(what), took, "ms");
    }
    series.close().await?;
    let bytes = disk_use(folder.path())? as f64 / samples;
    let raw = ("raw (time, value)", 16.0);
    report.against(name("disk per sample"), bytes, "bytes", raw);
    Ok(())
}

/// CPU microseconds a new series costs with its first sample, and a sample after that.
async fn round_by_round(count: usize) -> anyhow::Result<[f64; 2]> {
    let folder = tempfile::tempdir()?;
    let series = Series::open_folder(folder.path(), Settings::default()).await?;
    let names = names(count)?;
    let begun = cpu_time();
    write(&series, &names, 0).await?;
    series.sync().await?;
    let made = cpu_time();
    let rounds = KNOWN / count;
    for round in 1..=rounds {
        write(&series, &names, round).await?;
        series.sync().await?;
    }
    let written = cpu_time();
    series.close().await?;
    let each = |spent: Duration, of: usize| spent.as_secs_f64() * 1e6 / of as f64;
    Ok([
        each(made - begun, count),
        each(written - made, count * rounds),
    ])
}

fn names(count: usize) -> anyhow::Result<Vec<Labels>> {
    let names: Result<Vec<_>, _> = (0..count)
        .map(|kb| Labels::new("documents_total", [("kb", &*kb.to_string()), ("node", "a")]))
        .collect();
    Ok(names?)
}

/// The next sample of every series.
async fn write(series: &Series, names: &[Labels], round: usize) -> anyhow::Result<()> {
    for (n, name) in names.iter().enumerate() {
        let value = (round * 3 + n % 7) as f64;
        series
            .write(name, START + round as i64 * EVERY, value)
            .await?;
    }
    Ok(())
}

/// The median of five.
async fn ask(series: &Series, query: &str) -> anyhow::Result<Duration> {
    let to = START + EACH as i64 * EVERY;
    let range = Range {
        from: START,
        to,
        step: ((to - START) / 20).max(1),
    };
    let mut took = vec![];
    for _ in 0..5 {
        let begun = Instant::now();
        let lines = series.query(query, range).await?;
        anyhow::ensure!(lines.len() == 1, "{query} gave {} lines", lines.len());
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    Ok(took[2])
}

fn disk_use(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => disk_use(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(bytes)
}
