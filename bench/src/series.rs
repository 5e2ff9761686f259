//! The time-series store: cost of a sample as series grow in number, and of a query.
//!
//! Every series gets as many samples, so that what a new series costs once weighs alike in
//! every row. Ten thousand series make a million samples.

use std::path::Path;
use std::time::{Duration, Instant};

use series::{Labels, Range, Series, Settings};

use crate::report::{Report, cpu_time};

const EACH: usize = 100;
const SECOND: i64 = 1_000_000;
const EVERY: i64 = 10 * SECOND;
const START: i64 = 20_000 * 86_400 * SECOND;

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let mut least = None;
    for count in [1_000, 10_000, 100_000] {
        let folder = tempfile::tempdir()?;
        let cost = runtime.block_on(fill_and_ask(report, folder.path(), count))?;
        let base = *least.get_or_insert(cost);
        let beside = ("with 1k series", base);
        report.against(
            format!("CPU per sample, {count} series"),
            cost,
            "us",
            beside,
        );
        let bytes = disk_use(folder.path())? as f64 / (EACH * count) as f64;
        let raw = ("raw (time, value)", 16.0);
        report.against(
            format!("disk per sample, {count} series"),
            bytes,
            "bytes",
            raw,
        );
    }
    Ok(())
}

/// Writes and queries; gives back the CPU time a sample took to write.
async fn fill_and_ask(report: &mut Report, folder: &Path, count: usize) -> anyhow::Result<f64> {
    let series = Series::open_folder(folder, Settings::default()).await?;
    let (cpu, begun) = (cpu_time(), Instant::now());
    fill(&series, count).await?;
    let (cpu, took) = (cpu_time() - cpu, begun.elapsed());
    report.figure(
        format!("samples written and synced, {count} series"),
        (EACH * count) as f64 / took.as_secs_f64(),
        "samples/s",
    );
    let one = r#"rate(documents_total{kb="7"}[5m])"#;
    let all = "sum(rate(documents_total[5m]))";
    for (name, query) in [("one series", one), ("the sum of all", all)] {
        let took = ask(&series, query).await?;
        report.figure(
            format!("query of {name}, {count} series"),
            took.as_secs_f64() * 1e3,
            "ms",
        );
    }
    series.close().await?;
    Ok(cpu.as_secs_f64() * 1e6 / (EACH * count) as f64)
}

/// Every series gets its next sample in turn, as a node that reports its figures does.
async fn fill(series: &Series, count: usize) -> anyhow::Result<()> {
    let names: Result<Vec<_>, _> = (0..count)
        .map(|kb| Labels::new("documents_total", [("kb", &*kb.to_string()), ("node", "a")]))
        .collect();
    let names = names?;
    for n in 0..EACH * count {
        let round = (n / count) as i64;
        let value = (round * 3 + (n % 7) as i64) as f64;
        series
            .write(&names[n % count], START + round * EVERY, value)
            .await?;
    }
    Ok(series.sync().await?)
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
