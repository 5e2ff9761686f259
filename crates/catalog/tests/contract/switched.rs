//! Jobs from before a switch of generations, and what later ones meet.

use std::time::Duration;

use catalog::{
    Activated, DocumentRow, DocumentState, JobChanges, JobClaim, JobOutcome, Page, Removal,
    RunError,
};
use model::DocumentId;

use crate::World;
use crate::generations::{begin, fill, switch};

impl World {
    /// Another generation serves, with all that was answered.
    async fn switches(&self) {
        let kb = begin(self).await;
        fill(self, &kb).await;
        self.work_off().await;
        switch(self, &kb, false).await.unwrap();
    }

    /// A job that shows these files while the generation serves that was switched to last.
    async fn shows(&self, name: &str, files: &[(&str, &str)]) -> JobClaim {
        let (tenant, kb) = (self.place.tenant, self.place.kb);
        let claim = self.job(name).await;
        let serving = self.catalog.kb(tenant, kb).await.unwrap().serving.id;
        let mut batch = self.batch(&claim, files, true);
        for admission in &mut batch.admissions {
            admission.generation = serving;
        }
        let admitted = self.catalog.admit_batch(&claim, batch, self.clock.now());
        admitted.await.unwrap();
        self.work_off().await;
        claim
    }

    async fn row(&self, document: DocumentId) -> DocumentRow {
        let row = self.catalog.document(self.place.tenant, document);
        row.await.unwrap()
    }

    async fn changes(&self, job: &JobClaim) -> JobChanges {
        let changes = self.catalog.job_changes(self.place.tenant, job.job);
        changes.await.unwrap()
    }

    async fn outcomes(&self, job: &JobClaim) -> Vec<JobOutcome> {
        let (tenant, page) = (self.place.tenant, Page::first(9));
        let met = self.catalog.job_documents(tenant, job.job, page);
        let met = met.await.unwrap().items;
        met.iter().map(|one| one.outcome).collect()
    }
}

pub async fn a_job_tells_what_it_met_once_whatever_was_copied(world: &World) {
    use JobOutcome::{New, Skipped};
    let files = [("a", "1"), ("b", "2")];
    let first = world.shows("first", &files).await;
    world.switches().await;
    let second = world.shows("second", &files).await;
    world.switches().await;
    let third = world.shows("third", &files).await;
    let new = JobChanges {
        new: 2,
        ..JobChanges::default()
    };
    let unchanged = JobChanges {
        unchanged: 2,
        ..JobChanges::default()
    };
    for (job, changes, outcome) in [
        (&first, new, New),
        (&second, unchanged, Skipped),
        (&third, unchanged, Skipped),
    ] {
        assert_eq!(world.changes(job).await, changes);
        assert_eq!(world.outcomes(job).await, [outcome; 2]);
    }
}

pub async fn what_a_cancel_leaves_in_a_retired_generation_answers_in_the_serving_one(
    world: &World,
) {
    let first = world.shows("first", &[("a", "old"), ("b", "2")]).await;
    let second = world.shows("second", &[("a", "new")]).await;
    world.switches().await;
    world.switches().await;
    let (tenant, page) = (world.place.tenant, Page::first(9));
    let met = world.catalog.job_documents(tenant, second.job, page).await;
    let document = met.unwrap().items[0].document;

    world.clock.pass(Duration::from_secs(1));
    assert_eq!(world.cancel(&second).await, 3, "with its copies");
    assert_eq!(
        world.answering().await.len(),
        1,
        "its vectors are to be made"
    );
    assert_eq!(
        world.row(document).await.state,
        Some(DocumentState::Pending)
    );
    world.is_as_noted("canceled").await;
    world.work_off().await;
    let row = world.row(document).await;
    assert_eq!(row.state, Some(DocumentState::Ready));
    assert_eq!(row.content_hash, Some(model::ContentHash::of(b"old")));
    assert!(world.answering().await.contains(&row.active.unwrap()));
    world.is_proven(document).await;
    world.is_as_noted("made again").await;
    assert_eq!(world.changes(&first).await.new, 2, "no more than before");
    world.cancel(&first).await;
    assert!(world.answering().await.is_empty());
}

pub async fn what_was_removed_before_a_switch_answers_after_it_when_that_is_taken_back(
    world: &World,
) {
    let (first, _, b) = world.first_job().await;
    let second = world.finds_b_gone(&first).await;
    let tenant = world.place.tenant;
    let document = world.catalog.version(tenant, b).await.unwrap().document;
    world.switches().await;
    assert_eq!(world.answering().await.len(), 1);

    world.clock.pass(Duration::from_secs(1));
    world.cancel(&second).await;
    assert_eq!(
        world.row(document).await.state,
        Some(DocumentState::Pending)
    );
    world.work_off().await;
    assert_eq!(world.answering().await.len(), 2);
    world.is_proven(document).await;
    world.is_as_noted("in the end").await;
}

pub async fn a_copy_that_failed_is_no_failure_of_a_job_that_met_the_document(world: &World) {
    let files = [("a", "1"), ("b", "2")];
    world.shows("first", &files).await;
    let second = world.shows("second", &files).await;
    let kb = begin(world).await;
    fill(world, &kb).await;
    for claim in world.claim(9).await {
        let error = RunError {
            code: "oops".into(),
            message: "it did not work".into(),
            hint: None,
        };
        let set_aside = world.catalog.set_aside(&claim, error, world.clock.now());
        set_aside.await.unwrap();
    }
    let counters = world.shown(&second).await.counters;
    assert_eq!(counters.runs_failed, 0);
    world.vandalise("UPDATE jobs SET runs_failed = 7").await;
    let tenant = world.place.tenant;
    world.catalog.recount_met(tenant).await.unwrap();
    assert_eq!(world.shown(&second).await.counters, counters);
}

pub async fn what_came_too_late_before_a_switch_answers_after_it_when_that_is_taken_back(
    world: &World,
) {
    let first = world.job("first").await;
    world.bring(&first, &[("a", "old")], true).await;
    world.prepare(&world.one().await, 0).await;
    let late = world.one().await;
    let second = world.job("second").await;
    world.bring(&second, &[("a", "new")], true).await;
    world.work_off().await;
    assert_eq!(world.activate(&late).await.unwrap(), Activated::Superseded);
    let tenant = world.place.tenant;
    let document = world.catalog.version(tenant, late.step.version()).await;
    let document = document.unwrap().document;
    world.switches().await;

    world.clock.pass(Duration::from_secs(1));
    assert_eq!(world.cancel(&second).await, 2, "with its copy");
    assert_eq!(
        world.row(document).await.state,
        Some(DocumentState::Pending)
    );
    world.work_off().await;
    let row = world.row(document).await;
    assert_eq!(row.state, Some(DocumentState::Ready));
    assert_eq!(row.content_hash, Some(model::ContentHash::of(b"old")));
    assert_eq!(world.answering().await, [row.active.unwrap()]);
    world.is_proven(document).await;
    world.is_as_noted("made again").await;
    world.cancel(&first).await;
    assert!(world.answering().await.is_empty());
}

pub async fn what_was_removed_under_way_answers_after_a_switch_when_that_is_taken_back(
    world: &World,
) {
    let first = world.job("first").await;
    world.bring(&first, &[("a", "1"), ("b", "2")], true).await;
    let second = world.misses_b(&first).await;
    world.work_off().await;
    world.switches().await;
    assert_eq!(world.answering().await.len(), 1);

    world.clock.pass(Duration::from_secs(1));
    world.cancel(&second).await;
    world.work_off().await;
    assert_eq!(world.answering().await.len(), 2);
    world.is_as_noted("in the end").await;
}

pub async fn what_came_after_a_removal_answers_after_a_switch_when_what_replaced_it_is_taken_back(
    world: &World,
) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    world.shows("first", &[("a", "gone")]).await;
    let old = world.answering().await[0];
    let document = catalog.version(tenant, old).await.unwrap().document;
    let ago = world.clock.now();
    let now = world.clock.pass(Duration::from_secs(1));
    let removed = catalog.deactivate(tenant, document, Removal::default(), now);
    removed.await.unwrap();
    world.clock.pass(Duration::from_secs(1));
    let second = world.shows("second", &[("a", "new")]).await;
    world.take(world.place.file("a", "late", ago)).await;
    world.work_off().await;
    world.switches().await;

    world.clock.pass(Duration::from_secs(1));
    world.cancel(&second).await;
    world.work_off().await;
    let row = world.row(document).await;
    assert_eq!(row.content_hash, Some(model::ContentHash::of(b"late")));
    assert_eq!(world.answering().await, [row.active.unwrap()]);
    world.is_proven(document).await;
    world.is_as_noted("made again").await;
}
