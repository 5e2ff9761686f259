//! The write coordinator: cost of a write, group commit, memory under overload.

use std::sync::Arc;
use std::time::{Duration, Instant};

use coordinator::{
    BoxError, Coordinator, Delta, Epoch, Epochs, FlushError, FlushHandler, Flushed, Settings, Start,
};

use crate::report::{Report, cpu_time, resident};

const WRITE_BYTES: usize = 200;
const FLUSH_TIME: Duration = Duration::from_millis(20);
const DURABLE_RUN: Duration = Duration::from_secs(3);

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    // First, while the process is small: later topics would leave memory behind.
    runtime.block_on(overload(report))?;
    for producers in [1, 8] {
        runtime.block_on(accepted(report, producers))?;
    }
    runtime.block_on(per_pending(report))?;
    for producers in [1, 8, 64] {
        runtime.block_on(durable(report, producers))?;
    }
    Ok(())
}

#[derive(Default)]
struct Rows(Vec<Box<[u8]>>);

impl Delta for Rows {
    type Op = Box<[u8]>;
    type Rejected = std::convert::Infallible;

    fn weigh(op: &Self::Op) -> usize {
        op.len() + size_of::<Self::Op>()
    }

    fn check(&self, _: &Self::Op) -> Result<(), Self::Rejected> {
        Ok(())
    }

    fn apply(&mut self, op: Self::Op) {
        self.0.push(op);
    }

    fn successor(&self) -> Self {
        Self(Vec::with_capacity(self.0.len()))
    }
}

/// A store that takes its time and keeps nothing.
struct Null {
    flush_time: Duration,
}

impl FlushHandler for Null {
    type Delta = Rows;
    type Snapshot = ();

    async fn flush(&self, _: Arc<Rows>, epochs: Epochs) -> Result<Flushed<()>, FlushError> {
        if !self.flush_time.is_zero() {
            tokio::time::sleep(self.flush_time).await;
        }
        Ok(Flushed {
            snapshot: (),
            sequence: epochs.last.0,
        })
    }

    async fn sync(&self) -> Result<(), FlushError> {
        Ok(())
    }

    async fn durable_past(&self, _: u64) -> Result<(), BoxError> {
        Ok(())
    }
}

fn start(settings: Settings, flush_time: Duration) -> Coordinator<Null> {
    let start = Start {
        epoch: Epoch(0),
        snapshot: (),
    };
    Coordinator::start(settings, start, Rows::default(), Null { flush_time })
}

fn row() -> Box<[u8]> {
    vec![7; WRITE_BYTES].into_boxed_slice()
}

/// Runs `producers` tasks, `each` writes per task, and gives back how long they took.
async fn produce(
    coordinator: &Coordinator<Null>,
    producers: u64,
    each: u64,
) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..producers)
        .map(|_| {
            let coordinator = coordinator.clone();
            tokio::spawn(async move {
                for _ in 0..each {
                    coordinator.write(row()).await?;
                }
                Ok::<_, coordinator::Error>(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(begun.elapsed())
}

async fn accepted(report: &mut Report, producers: u64) -> anyhow::Result<()> {
    let writes = 4_000_000;
    let coordinator = start(Settings::default(), Duration::ZERO);
    let cpu = cpu_time();
    let took = produce(&coordinator, producers, writes / producers).await?;
    coordinator.shutdown().await?;
    let cpu = cpu_time() - cpu;
    report.against(
        format!("accepted writes, {producers} producers, null flush"),
        writes as f64 / took.as_secs_f64(),
        "writes/s",
        ("aim", 1e6),
    );
    report.against(
        format!("CPU per 200-byte write, {producers} producers"),
        cpu.as_secs_f64() * 1e6 / writes as f64,
        "us",
        ("aim at 1 producer", 0.4),
    );
    Ok(())
}

/// The cost of a write does not depend on how many are pending.
///
/// In CPU time, over as many writes each time: the delta's own memory still grows
/// by doubling, which a longer run spreads evenly.
async fn per_pending(report: &mut Report) -> anyhow::Result<()> {
    let settings = Settings {
        flush_interval: Duration::from_secs(3600),
        ..Settings::with_budget(2 << 30)
    };
    let mut first = None;
    for pending in [10_000, 100_000, 1_000_000] {
        let coordinator = start(settings, Duration::ZERO);
        produce(&coordinator, 1, pending).await?;
        let (probe, cpu) = (1_000_000, cpu_time());
        produce(&coordinator, 1, probe).await?;
        let cost = (cpu_time() - cpu).as_secs_f64() * 1e6 / probe as f64;
        let base = *first.get_or_insert(cost);
        report.against(
            format!("CPU per write with {pending} pending before"),
            cost,
            "us",
            ("with 10k before", base),
        );
        coordinator.shutdown().await?;
    }
    Ok(())
}

async fn durable(report: &mut Report, producers: usize) -> anyhow::Result<()> {
    let coordinator = start(Settings::default(), FLUSH_TIME);
    let begun = Instant::now();
    let tasks: Vec<_> = (0..producers)
        .map(|_| tokio::spawn(durable_writer(coordinator.clone(), begun)))
        .collect();
    let mut latencies = vec![];
    for task in tasks {
        latencies.extend(task.await??);
    }
    let took = begun.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let metrics = coordinator.metrics();
    let flush = metrics.flushes.sum().as_secs_f64() / metrics.flushes.count() as f64;
    report.against(
        format!("durable writes, {producers} producers, 20 ms flush"),
        latencies.len() as f64 / took,
        "writes/s",
        ("producers / flush time", producers as f64 / flush),
    );
    report.against(
        format!("durable write p50, {producers} producers"),
        latencies[latencies.len() / 2].as_secs_f64() * 1e3,
        "ms",
        ("flush time", flush * 1e3),
    );
    report.figure(
        format!("durable writes per flush, {producers} producers"),
        latencies.len() as f64 / metrics.flushes.count() as f64,
        "writes",
    );
    Ok(coordinator.shutdown().await?)
}

async fn durable_writer(
    coordinator: Coordinator<Null>,
    begun: Instant,
) -> Result<Vec<Duration>, coordinator::Error> {
    let mut latencies = vec![];
    while begun.elapsed() < DURABLE_RUN {
        let asked = Instant::now();
        coordinator.write(row()).await?.durable().await?;
        latencies.push(asked.elapsed());
    }
    Ok(latencies)
}

/// Writers far faster than the store: what is resident beyond the start, against the budget.
async fn overload(report: &mut Report) -> anyhow::Result<()> {
    let budget = 16 << 20;
    let coordinator = start(Settings::with_budget(budget), Duration::from_millis(50));
    let before = resident();
    let watched = coordinator.clone();
    let watch = tokio::spawn(async move {
        let mut most = (0, 0);
        while watched.state() != coordinator::State::Failed
            && watched.watermarks().accepted.0 < 1_000_000
        {
            let metrics = watched.metrics();
            most.0 = most.0.max(resident());
            most.1 = most.1.max(metrics.pending_bytes + metrics.in_flight_bytes);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        most
    });
    produce(&coordinator, 64, 1_000_000 / 64 + 1).await?;
    let (most_resident, most_held) = watch.await?;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let beside = ("budget", mib(budget as u64));
    let grown = most_resident.saturating_sub(before);
    report.against(
        "held under overload, 64 producers",
        mib(most_held as u64),
        "MiB",
        beside,
    );
    report.against(
        "resident under overload, 64 producers",
        mib(grown),
        "MiB",
        beside,
    );
    Ok(coordinator.shutdown().await?)
}
