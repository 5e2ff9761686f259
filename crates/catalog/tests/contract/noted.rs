//! What is noted of versions, runs and jobs follows whatever changes them, and tells of whatever
//! should not have.

use catalog::{
    Dossier, JobCount, Mend, NotedRun, Now, RunError, Told, VersionFile, VersionState, every,
};
use model::SourceUri;
use serde_json::json;

use crate::World;

impl World {
    /// Every document, every version and run that has ended, and every job, as it was noted.
    pub async fn is_as_noted(&self, when: &str) {
        for dossier in self.dossiers().await {
            let noted = dossier.facts.clone().map(Told::Was);
            assert_eq!(dossier.noted, noted, "{when}: {dossier:?}");
            for removals in &dossier.noted_removals {
                assert!(removals.stand(), "{when}: {removals:?}");
            }
        }
        for version in self.versions().await {
            let noted = version.witness.as_ref();
            if !version.is_finished() && (version.state != VersionState::Failed || noted.is_none())
            {
                continue;
            }
            assert!(version.facts.is_some(), "{when}: {version:?}");
            assert_eq!(version.told(), version.facts, "{when}: {version:?}");
            let noted = noted.map(|noted| noted.claims);
            assert_eq!(noted, Some(version.claims), "{when}: {version:?}");
        }
        for run in self.noted_runs().await {
            match (&run.now, &run.noted) {
                (Now::Is(now), None) if now.status.is_live() => {}
                (Now::Is(now), None) if now.source_uri == SourceUri::purged() => {}
                (Now::Is(now), Some(Told::Was(told))) => assert_eq!(now, told, "{when}"),
                _ => panic!("{when}: {run:?}"),
            }
        }
        let mut jobs = self.miscounted_jobs().await;
        jobs.retain(|job| job.of == JobCount::Row);
        assert_eq!(jobs, [], "{when}");
    }

    async fn miscounted_jobs(&self) -> Vec<catalog::MiscountedJob> {
        let told = self.catalog.miscounted_jobs(self.place.tenant).await;
        told.unwrap()
    }

    async fn noted_runs(&self) -> Vec<NotedRun> {
        let dossiers = self.dossiers().await.into_iter();
        dossiers.flat_map(|d| d.noted_runs).collect()
    }

    async fn versions(&self) -> Vec<VersionFile> {
        let dossiers = self.dossiers().await.into_iter();
        dossiers.flat_map(|d| d.versions).collect()
    }

    pub async fn dossiers(&self) -> Vec<Dossier> {
        let (catalog, tenant) = (&self.catalog, self.place.tenant);
        every(|page| catalog.dossiers(tenant, page)).await.unwrap()
    }
}

pub async fn a_failed_version_is_noted_until_it_is_tried_again(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    world.admit("a.txt", "one").await;
    let error = RunError {
        code: "oops".into(),
        message: "it did not work".into(),
        hint: None,
    };
    let claim = world.one().await;
    let now = world.clock.now();
    catalog.set_aside(&claim, error, now).await.unwrap();
    assert!(world.versions().await[0].told().is_some());
    world.is_as_noted("failed").await;
    let job = world.job("finds it").await;
    world.bring(&job, &[("b.txt", "two")], true).await;
    let letters = catalog.dead_letters(tenant, catalog::Page::first(9)).await;
    for letter in letters.unwrap().items {
        let replayed = catalog.replay_dead_letter(tenant, letter.id, now).await;
        replayed.unwrap();
    }
    assert_eq!(world.versions().await[0].witness, None, "it is under way");
    world.work_off().await;
    assert!(
        world
            .versions()
            .await
            .iter()
            .all(|one| one.told().is_some())
    );
    world.is_as_noted("done").await;
}

pub async fn rows_that_were_changed_are_known_and_put_back(world: &World) {
    let first = world.job("first").await;
    let mut batch = world.batch(&first, &[("a.txt", "one")], true);
    batch.admissions[0].metadata = json!({ "k": "a" }).as_object().unwrap().clone();
    let admitted = world.catalog.admit_batch(&first, batch, world.clock.now());
    admitted.await.unwrap();
    world.work_off().await;
    let second = world.job("second").await;
    world.bring(&second, &[("a.txt", "one")], true).await;
    world.work_off().await;
    world.is_as_noted("found again").await;
    let whole = world.versions().await.remove(0);
    let document = world.catalog.version(world.place.tenant, whole.id).await;
    let document = document.unwrap().document;
    for damage in [
        "UPDATE document_versions SET title = 'x', filename = 'y', claimed_directly = TRUE",
        "UPDATE document_versions SET metadata = '{}', warnings = '[1]', gaps = '[2]'",
        "UPDATE documents SET created_at = '2001-01-01T00:00:00+00:00'",
        "UPDATE document_versions SET created_at = '2001-01-01T00:00:00+00:00'",
        "DELETE FROM job_versions WHERE outcome = 'skipped'",
        "DELETE FROM job_versions WHERE outcome = 'new'",
        "UPDATE job_versions SET outcome = 'new_version' WHERE outcome = 'new'",
    ] {
        world.vandalise(damage).await;
        let spoilt = world.versions().await.remove(0);
        let told = spoilt.told();
        let known = told != spoilt.facts
            || spoilt.witness.as_ref().map(|one| one.claims) != Some(spoilt.claims);
        assert!(known, "{damage}");
        let mends = vec![Mend::Witnessed(whole.id), Mend::Claims(whole.id)];
        let (tenant, now) = (world.place.tenant, world.clock.now());
        world
            .catalog
            .mend(tenant, document, mends, now)
            .await
            .unwrap();
        world.is_as_noted(damage).await;
        assert_eq!(world.versions().await.remove(0), whole, "{damage}");
    }
    world.vandalise("DELETE FROM version_witnesses").await;
    let (tenant, now) = (world.place.tenant, world.clock.now());
    let mends = vec![Mend::Witness(whole.id)];
    world
        .catalog
        .mend(tenant, document, mends, now)
        .await
        .unwrap();
    assert_eq!(world.versions().await.remove(0), whole);
}

pub async fn a_document_that_was_changed_is_known_and_put_back(world: &World) {
    let (first, ..) = world.first_job().await;
    world.finds_b_gone(&first).await;
    world.finds_b_gone(&first).await;
    world.is_as_noted("removed").await;
    let whole = world.dossiers().await;
    let removed = whole.iter().filter(|one| !one.noted_removals.is_empty());
    let parts: Vec<_> = removed.map(|one| one.noted_removals.len()).collect();
    assert_eq!(parts, [2], "two jobs have a part in one removal");
    for damage in [
        "UPDATE documents SET source_id = NULL",
        "UPDATE documents SET removed_order = 't1', removed_at = created_at",
        "UPDATE documents SET removed_at = NULL",
        "DELETE FROM job_removals",
        "UPDATE job_removals SET before_at = at",
        "DELETE FROM witnesses",
        "UPDATE witnesses SET facts = '{}'",
    ] {
        world.vandalise(damage).await;
        assert_ne!(world.dossiers().await, whole, "{damage}");
        for one in &whole {
            let (tenant, now) = (world.place.tenant, world.clock.now());
            let mended = world
                .catalog
                .mend(tenant, one.document, vec![Mend::Noted], now);
            mended.await.unwrap();
        }
        assert_eq!(world.dossiers().await, whole, "{damage}");
    }
}

pub async fn a_run_that_was_changed_or_lost_is_known_and_put_back(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let job = world.job("brings it").await;
    world.bring(&job, &[("a.txt", "one")], true).await;
    let [live] = &world.noted_runs().await[..] else {
        panic!("there is one run");
    };
    assert_eq!(live.noted, None, "of what is under way nothing is noted");
    world.work_off().await;
    let whole = world.noted_runs().await;
    let document = catalog.version(tenant, world.versions().await[0].id).await;
    let document = document.unwrap().document;
    let runs = catalog.runs(tenant, Default::default(), catalog::Page::first(9));
    let shown = runs.await.unwrap().items;
    for damage in [
        "UPDATE ingestion_runs SET created_at = '2001-01-01T00:00:00+00:00'",
        "UPDATE ingestion_runs SET started_at = NULL, finished_at = NULL",
        "UPDATE ingestion_runs SET tokens_total = 99, chunks_skipped = 99, counted_in = 99",
        "UPDATE ingestion_runs SET error_code = 'a', error_message = 'b', error_hint = 'c'",
        "UPDATE ingestion_runs SET config = '{}', run_type = 'repair', stage = 'prep'",
        "UPDATE ingestion_runs SET job_id = NULL, initiated_by = id, trace = 'x'",
        "DELETE FROM ingestion_runs",
        "DELETE FROM run_witnesses",
        "UPDATE run_witnesses SET facts = '{}'",
    ] {
        world.vandalise(damage).await;
        assert_ne!(world.noted_runs().await, whole, "{damage}");
        let mends = vec![Mend::NotedRun(whole[0].run)];
        let now = world.clock.now();
        catalog.mend(tenant, document, mends, now).await.unwrap();
        assert_eq!(world.noted_runs().await, whole, "{damage}");
        world.is_as_noted(damage).await;
        let runs = catalog.runs(tenant, Default::default(), catalog::Page::first(9));
        let mut runs = runs.await.unwrap().items;
        // When it was last heard of is no part of what a lost run said.
        runs[0].heartbeat_at = shown[0].heartbeat_at;
        assert_eq!(runs, shown, "{damage}");
    }
}

pub async fn a_note_that_names_nobody_is_dropped(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let claim = world.job("brings it").await;
    world.bring(&claim, &[("a.txt", "one")], true).await;
    world.work_off().await;
    let version = world.versions().await[0].id;
    let document = catalog.version(tenant, version).await.unwrap().document;
    let whole = world.noted_runs().await;

    world
        .vandalise("UPDATE run_witnesses SET run_id = document_id")
        .await;
    let found = world.noted_runs().await;
    assert_eq!(found.len(), 2, "the run, and a note of none");
    let mends = found.iter().map(|one| Mend::NotedRun(one.run)).collect();
    let now = world.clock.now();
    catalog.mend(tenant, document, mends, now).await.unwrap();
    assert_eq!(world.noted_runs().await, whole);

    world
        .vandalise("UPDATE job_witnesses SET job_id = tenant_id")
        .await;
    assert_eq!(world.miscounted_jobs().await.len(), 2);
    catalog.recount_met(tenant).await.unwrap();
    assert_eq!(world.miscounted_jobs().await, []);
}

pub async fn a_job_that_was_changed_or_lost_is_known_and_put_back(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let claim = world.job("brings them").await;
    world
        .bring(&claim, &[("a.txt", "one"), ("b.txt", "two")], true)
        .await;
    world.work_off().await;
    let whole = world.shown(&claim).await;
    for damage in [
        "UPDATE jobs SET status = 'failed', error = 'it was torn', finished_at = NULL",
        "UPDATE jobs SET config = '{}', initiated_by = id, purged = TRUE",
        "UPDATE jobs SET created_at = '2001-01-01T00:00:00+00:00', started_at = NULL",
        "UPDATE jobs SET cursor = '{}', exhausted = FALSE, beginnings = 99",
        "DELETE FROM job_witnesses",
        "UPDATE job_witnesses SET facts = '{}'",
    ] {
        world.vandalise(damage).await;
        let mut told = world.miscounted_jobs().await;
        told.retain(|one| one.of == JobCount::Row);
        assert_eq!(told.len(), 1, "{damage}");
        assert_eq!(told[0].job, claim.job, "{damage}");
        catalog.recount_met(tenant).await.unwrap();
        assert_eq!(world.miscounted_jobs().await, [], "{damage}");
        assert_eq!(world.shown(&claim).await, whole, "{damage}");
    }
}
