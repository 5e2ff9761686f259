//! What is under way goes on, though one of its rows says that it has ended or is gone.

use catalog::{Mend, Page, UnderWay};
use model::{DocumentId, JobStatus, RunStatus};
use serde_json::json;

use crate::World;

impl World {
    async fn first_document(&self) -> DocumentId {
        let (catalog, tenant) = (&self.catalog, self.place.tenant);
        let listed = catalog.dossiers(tenant, Page::first(9)).await.unwrap();
        listed.items[0].document
    }
}

pub async fn what_is_under_way_is_known_by_two_of_its_rows_and_goes_on(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    for (at, damage) in [
        "UPDATE document_versions SET state = 'ready' WHERE state = 'pending'",
        "UPDATE document_versions SET state = 'failed' WHERE state = 'pending'",
        "UPDATE ingestion_runs SET status = 'canceled' WHERE status = 'queued'",
        "UPDATE ingestion_runs SET status = 'succeeded', superseded = TRUE WHERE status = 'queued'",
        "UPDATE ingestion_runs SET id = document_id WHERE status = 'queued'",
        "DELETE FROM ingestion_runs WHERE status = 'queued'",
    ]
    .into_iter()
    .enumerate()
    {
        let job = world.job(damage).await;
        let content = format!("the {at}th");
        world.bring(&job, &[("a.txt", &content)], true).await;
        world.vandalise_beyond_references(damage).await;
        let document = world.first_document().await;
        let dossier = catalog.dossier(tenant, document).await.unwrap();
        let version = dossier.versions.last().unwrap();
        assert!(dossier.is_under_way(version), "{damage}");
        let mend = Mend::UnderWay(UnderWay {
            version: version.id,
            source_uri: dossier.source_uri().unwrap(),
            config: json!({}),
        });
        let now = world.clock.now();
        catalog
            .mend(tenant, document, vec![mend], now)
            .await
            .unwrap();
        assert_eq!(catalog.recount_jobs(now).await.unwrap(), [], "{damage}");

        world.work_off().await;
        assert_eq!(world.answering().await, [version.id], "{damage}");
        let run = catalog.run(tenant, version.run).await.unwrap();
        assert_eq!(
            (run.status, run.job, run.stats.chunks_created),
            (RunStatus::Succeeded, Some(job.job), 2),
            "{damage}"
        );
        let job = world.shown(&job).await;
        assert_eq!(job.status, JobStatus::Completed, "{damage}");
        assert_eq!(job.counters.chunks_seen, 2, "{damage}");
        assert_eq!(catalog.miscounted_jobs(tenant).await.unwrap(), []);
        let dossier = catalog.dossier(tenant, document).await.unwrap();
        let version = dossier.versions.last().unwrap();
        assert!(!dossier.is_under_way(version), "{damage}");
        world.is_as_noted(damage).await;
    }
}
