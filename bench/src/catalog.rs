//! The catalog: what a document costs it, and whether answers stay fast as it grows.
//!
//! On SQLite with every commit synced. The limit beside the rates is a bare synced
//! single-row commit on the same disk in the same run: what one transaction per call
//! could reach at best.

use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::{
    Activation, Catalog, Claim, LiveFilter, Prepared, RunStats, Settings, UnitDone, UnitOutcome,
};
use chrono::Utc;
use model::{ContentHash, Step, StepKind, UnitName};
use testkit::Place;
use tokio::task::JoinSet;

use crate::report::Report;

const ALL: [StepKind; 3] = [StepKind::Prep, StepKind::Extract, StepKind::Finalize];
const WORKERS: usize = 32;

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(measure(report))
}

async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let limit = bare_commits(folder.path())?;
    let url = format!("sqlite://{}", folder.path().join("catalog.db").display());
    let catalog = catalog::open(&Settings::new(url)).await?;
    let place = testkit::place(&*catalog, Utc::now()).await?;
    let mut have = 0;
    for size in [1_000, 10_000, 100_000] {
        let begun = Instant::now();
        admit(&catalog, place, have..size).await?;
        let admitted = f64::from(size - have) / begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        work_off(&catalog).await?;
        let worked = f64::from(size - have) / begun.elapsed().as_secs_f64();
        have = size;
        let peer = ("bare commits", limit);
        report.against(format!("admissions, up to {size}"), admitted, "1/s", peer);
        // Four transactions each: claims aside, Prep, Extract, Finalize.
        report.against(
            format!("documents worked off, up to {size}"),
            worked,
            "1/s",
            peer,
        );
        reads(report, &*catalog, place, size).await?;
    }
    Ok(())
}

/// Synced single-row commits per second, one after another.
fn bare_commits(folder: &std::path::Path) -> anyhow::Result<f64> {
    use std::io::Write;
    let mut file = std::fs::File::create(folder.join("limit"))?;
    let begun = Instant::now();
    let mut commits = 0;
    while begun.elapsed() < Duration::from_secs(1) {
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        commits += 1;
    }
    Ok(f64::from(commits) / begun.elapsed().as_secs_f64())
}

async fn admit(
    catalog: &Arc<dyn Catalog>,
    place: Place,
    names: std::ops::Range<u32>,
) -> anyhow::Result<()> {
    let names: Vec<u32> = names.collect();
    let mut tasks = JoinSet::new();
    for names in names
        .chunks(names.len().div_ceil(WORKERS))
        .map(<[u32]>::to_vec)
    {
        let catalog = catalog.clone();
        tasks.spawn(async move {
            for name in names {
                let now = Utc::now();
                let file = place.file(&format!("{name}.txt"), &name.to_string(), now);
                catalog.admit(file, now).await?;
            }
            Ok::<(), catalog::Error>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

async fn work_off(catalog: &Arc<dyn Catalog>) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    for _ in 0..WORKERS {
        let catalog = catalog.clone();
        tasks.spawn(async move {
            let lease = Duration::from_secs(600);
            loop {
                let claims = catalog.claim(&ALL, "bench", 16, lease, Utc::now()).await?;
                if claims.is_empty() {
                    return Ok::<(), catalog::Error>(());
                }
                for claim in &claims {
                    perform(&*catalog, claim).await?;
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

async fn perform(catalog: &dyn Catalog, claim: &Claim) -> Result<(), catalog::Error> {
    let now = Utc::now();
    match claim.step.clone() {
        Step::Prep { .. } => {
            let unit = UnitName::new("only").expect("a plain name");
            let prepared = Prepared {
                pass: 1,
                units: vec![(unit, 0)],
                ..Prepared::default()
            };
            catalog.prepared(claim, prepared, now).await.map(drop)
        }
        Step::Extract { pass, unit, .. } => {
            let outcome = UnitOutcome::Done {
                chunks: 1,
                tokens: 9,
                reused: 0,
                flush: 1,
            };
            catalog
                .complete_unit(
                    claim,
                    UnitDone {
                        unit,
                        pass,
                        outcome,
                    },
                    now,
                )
                .await
                .map(drop)
        }
        Step::Finalize { version, pass } => {
            let stats = RunStats {
                chunks_created: 1,
                chunks_processed: 1,
                ..RunStats::default()
            };
            let root_hash = ContentHash::of(b"root");
            let activation = Activation {
                version,
                pass,
                root_hash,
                flush: 1,
                stats,
            };
            catalog.activate(claim, activation, now).await.map(drop)
        }
    }
}

async fn reads(
    report: &mut Report,
    catalog: &dyn Catalog,
    Place { tenant, kb, .. }: Place,
    size: u32,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    let status = catalog.status(tenant, Utc::now()).await?;
    report.figure(format!("status at {size}"), millis(begun), "ms");
    anyhow::ensure!(
        status.documents_active == u64::from(size),
        "every document answers"
    );
    for name in ["live, first", "live, again"] {
        let begun = Instant::now();
        let live = catalog.live(tenant, kb, LiveFilter::default()).await?;
        report.figure(format!("{name}, at {size}"), millis(begun), "ms");
        anyhow::ensure!(
            live.numbers.len() == u64::from(size),
            "every version is in the bitmap"
        );
    }
    let begun = Instant::now();
    let page = catalog::Page::first(100);
    catalog.documents(tenant, Default::default(), page).await?;
    report.figure(
        format!("a page of documents at {size}"),
        millis(begun),
        "ms",
    );
    Ok(())
}

fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1000.0
}
