//! What must hold once nothing is left to do.

use std::collections::BTreeMap;

use anyhow::ensure;
use catalog::{
    Active, Catalog, DocumentFilter, DocumentRow, JobFilter, Page, Run, RunFilter, every,
};
use engine::objects::Key;
use index::Flush;
use model::{JobStatus, RunStatus, VersionId};

use crate::house::House;

/// The digest, once every invariant was found to hold.
pub async fn check(house: &House) -> anyhow::Result<String> {
    let tenant = house.first.tenant;
    let catalog = &*house.plain;
    let due = catalog.next_due().await?;
    ensure!(due.is_none(), "there is work left, due {due:?}");
    let filter = DocumentFilter {
        active: Active::All,
        ..DocumentFilter::default()
    };
    let all = Page::first(Page::MAX);
    let documents = catalog.documents(tenant, filter, all).await?.items;
    one_active_version(house, &documents).await?;
    let versions = versions(house, &documents).await?;
    no_chunk_without_a_version(house, &versions).await?;
    counters_equal_rows(house).await?;
    let recounted = house.engine.housekeeping().guarded.jobs_recounted;
    ensure!(recounted == 0, "{recounted} jobs had counted wrongly");
    let verified = house.engine.verify(tenant).await?;
    let wrong = &verified.disagreements;
    ensure!(wrong.is_empty(), "verify is not clean: {wrong:#?}");
    Ok(verified.digest.to_string())
}

async fn one_active_version(house: &House, documents: &[DocumentRow]) -> anyhow::Result<()> {
    for document in documents {
        let tenant = house.first.tenant;
        let activations = every(|page| house.plain.activations(tenant, document.id, page));
        let open: Vec<_> = activations
            .await?
            .into_iter()
            .filter(|activation| activation.closed_at.is_none())
            .map(|activation| activation.version)
            .collect();
        let expected: Vec<_> = document.active.into_iter().collect();
        let uri = &document.source_uri;
        ensure!(open == expected, "{uri}: {open:?} open, {expected:?} named");
    }
    Ok(())
}

async fn versions(
    house: &House,
    documents: &[DocumentRow],
) -> anyhow::Result<BTreeMap<VersionId, u64>> {
    let mut versions = BTreeMap::new();
    for document in documents {
        let tenant = house.first.tenant;
        let of = every(|page| house.plain.versions(tenant, document.id, page)).await?;
        versions.extend(of.into_iter().map(|version| (version.id, version.chunks)));
    }
    Ok(versions)
}

/// Nor an object, nor a version of the index the catalog does not know.
async fn no_chunk_without_a_version(
    house: &House,
    versions: &BTreeMap<VersionId, u64>,
) -> anyhow::Result<()> {
    let parts = house.engine.parts();
    let snapshot = parts.index.snapshot(Flush(0)).await?;
    for (_, version, _) in snapshot.versions().await? {
        let known = versions.contains_key(&version);
        ensure!(known, "the index holds {version}, of which nobody knows");
    }
    let made = Key::versions(house.first.tenant);
    for (key, _) in parts.objects.list_below(&made).await? {
        let known = key.owner().is_some_and(|of| versions.contains_key(&of));
        ensure!(known, "{key} belongs to nobody");
    }
    Ok(())
}

async fn counters_equal_rows(house: &House) -> anyhow::Result<()> {
    let tenant = house.first.tenant;
    let catalog: &dyn Catalog = &*house.plain;
    let all = || Page::first(Page::MAX);
    let runs = catalog.runs(tenant, RunFilter::default(), all()).await?;
    let status = catalog.status(tenant, engine::Clock::now(&*house.clock));
    let status = status.await?;
    let with = |status: RunStatus| runs.items.iter().filter(|r| r.status == status).count() as u64;
    let counted = [
        status.runs_succeeded,
        status.runs_failed,
        status.runs_canceled,
    ];
    let rows = [
        with(RunStatus::Succeeded),
        with(RunStatus::Failed),
        with(RunStatus::Canceled),
    ];
    ensure!(counted == rows, "runs: {counted:?} counted, {rows:?} rows");
    let miscounted = catalog.recount_tallies().await?;
    ensure!(miscounted.is_empty(), "tallies: {miscounted:?}");
    let jobs = catalog.jobs(tenant, JobFilter::default(), all()).await?;
    for job in jobs.items {
        let met = catalog.job_documents(tenant, job.id, all()).await?.items;
        let problems = catalog.job_problems(tenant, job.id, all()).await?.items;
        let of: Vec<_> = runs
            .items
            .iter()
            .filter(|r| r.job == Some(job.id))
            .collect();
        let counters = job.counters;
        if job.status == JobStatus::NotStarted {
            ensure!(met.is_empty(), "a canceled job left {met:?}");
            ensure!(
                counters == Default::default(),
                "{counters:?} of a canceled job"
            );
            continue;
        }
        let sum = |part: fn(&Run) -> u64| of.iter().map(|run| part(run)).sum::<u64>();
        let of_others = |r: &&Run| {
            let claimed = met.iter().any(|one| one.run == r.id);
            claimed && r.job != Some(job.id) && r.finished_at >= job.started_at
        };
        let waited_for = runs.items.iter().filter(of_others);
        let failed = of.iter().copied().chain(waited_for);
        let failed = failed.filter(|r| r.status == RunStatus::Failed).count();
        let expected = catalog::JobCounters {
            docs_seen: (met.len() + problems.len()) as u64,
            docs_skipped: counters.docs_skipped,
            docs_refused: problems.len() as u64,
            runs_open: 0,
            runs_awaited: 0,
            runs_failed: failed as u64,
            chunks_seen: sum(|r| {
                r.stats.chunks_processed + r.stats.chunks_skipped + r.stats.chunks_error
            }),
            chunks_processed: sum(|r| r.stats.chunks_processed),
            chunks_skipped: sum(|r| r.stats.chunks_skipped),
            chunks_error: sum(|r| r.stats.chunks_error),
        };
        ensure!(
            counters == expected,
            "{counters:#?} counted, {expected:#?} in rows"
        );
    }
    Ok(())
}
