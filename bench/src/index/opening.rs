//! Opening an index and asking it once, in a process that did nothing before.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use ::index::{Flush, Settings};
use anyhow::{bail, ensure};

use super::data::Data;
use super::peer::write_floats;
use super::{CHUNKS, DIMENSIONS, TOP, all_of, open, space};
use crate::report::{Report, resident};

const QUERY: &str = "query.f32";

/// The files were written a while ago, so the system has most of them in memory.
pub fn opening(report: &mut Report, name: &str, folder: &Path, data: &Data) -> anyhow::Result<()> {
    write_floats(&folder.join(QUERY), &data.queries[..DIMENSIONS])?;
    let said = Command::new(std::env::current_exe()?)
        .arg("open-index")
        .arg(folder)
        .arg(data.size().to_string())
        .output()?;
    let errors = String::from_utf8_lossy(&said.stderr);
    ensure!(said.status.success(), "opening failed: {errors}");
    let text = String::from_utf8(said.stdout)?;
    let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    let [seconds, megabytes] = numbers?[..] else {
        bail!("two numbers were expected, not `{text}`");
    };
    let aim = ("the aim", 2.0);
    let what = format!("{name}: opened and first query answered");
    report.against(what, seconds, "s", aim);
    let aim = ("the aim", 200.0);
    let what = format!("{name}: resident then, the whole process");
    report.against(what, megabytes, "MB", aim);
    Ok(())
}

/// Opens, asks one query, and prints the seconds that took and the megabytes then resident.
pub fn open_index(folder: &Path, size: usize) -> anyhow::Result<()> {
    let query = std::fs::read(folder.join(QUERY))?;
    let four = query.as_chunks::<4>().0.iter();
    let query: Vec<f32> = four.map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let began = Instant::now();
        let index = open(folder, Settings::default()).await?;
        let snapshot = index.snapshot(Flush(0)).await?;
        let live = all_of(size / CHUNKS);
        let found = snapshot.search_vector(space(), &query, &live, TOP).await?;
        let seconds = began.elapsed().as_secs_f64();
        ensure!(found.len() == TOP, "only {} were found", found.len());
        println!("{seconds} {}", resident() as f64 / 1e6);
        index.close().await?;
        Ok(())
    })
}
