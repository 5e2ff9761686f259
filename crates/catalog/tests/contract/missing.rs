//! What a job removed because its source shows it no more.

use std::time::Duration;

use catalog::{
    Deactivated, Error, JobClaim, LedgerKind, LiveFilter, NewJob, Removal, Unseen, every,
};
use model::{DocumentId, VersionId};
use serde_json::json;

use crate::World;
use crate::world::LEASE;

impl World {
    /// Removes what the job's source has not shown; how many answered until now.
    pub async fn remove_missing(&self, claim: &JobClaim) -> u64 {
        let missing = self.catalog.unseen(claim, None, 9).await.unwrap();
        let now = self.clock.pass(Duration::from_secs(1));
        let removed = self.catalog.remove_missing(claim, missing, now);
        removed.await.unwrap()
    }

    /// Another job of the same source, begun and taken.
    async fn next_job(&self, before: &JobClaim) -> JobClaim {
        let (catalog, tenant) = (&self.catalog, self.place.tenant);
        let now = self.clock.pass(Duration::from_secs(1));
        let job = NewJob {
            kb: self.place.kb,
            source: before.source,
            config: json!({}),
            initiated_by: None,
        };
        let job = catalog.create_job(tenant, job, now).await.unwrap();
        catalog.start_job(tenant, job.id, now).await.unwrap();
        self.listing().await
    }

    /// A job over a folder of `a` and `b`, worked off.
    pub async fn first_job(&self) -> (JobClaim, VersionId, VersionId) {
        let first = self.job("folder").await;
        self.bring(&first, &[("a", "1"), ("b", "2")], true).await;
        self.work_off().await;
        let answering = self.answering().await;
        (first, answering[0], answering[1])
    }

    /// The next job over it, which finds `b` gone.
    pub async fn finds_b_gone(&self, before: &JobClaim) -> JobClaim {
        let job = self.next_job(before).await;
        self.bring(&job, &[("a", "1")], false).await;
        self.remove_missing(&job).await;
        self.bring(&job, &[], true).await;
        job
    }

    /// A job over all there is, begun while another is at work, which finds `b` gone.
    pub async fn misses_b(&self, before: &JobClaim) -> JobClaim {
        let all = JobClaim {
            source: None,
            ..before.clone()
        };
        let job = self.next_job(&all).await;
        self.bring(&job, &[("a", "1")], false).await;
        let mut missing = self.unseen(&job).await;
        missing.retain(|one| one.source_uri.as_str() == "file:///b");
        let now = self.clock.pass(Duration::from_secs(1));
        let removed = self.catalog.remove_missing(&job, missing, now);
        assert_eq!(removed.await.unwrap(), 0, "it has not answered");
        self.bring(&job, &[], true).await;
        job
    }

    async fn unseen(&self, claim: &JobClaim) -> Vec<Unseen> {
        self.catalog.unseen(claim, None, 9).await.unwrap()
    }

    async fn document_of(&self, version: VersionId) -> DocumentId {
        let version = self.catalog.version(self.place.tenant, version).await;
        version.unwrap().document
    }
}

pub async fn what_a_canceled_job_removed_answers_again(world: &World) {
    let (first, a, b) = world.first_job().await;
    let second = world.finds_b_gone(&first).await;
    assert_eq!(world.answering().await, [a]);
    let between = world.clock.pass(Duration::from_secs(1));
    world.clock.pass(Duration::from_secs(1));

    assert_eq!(world.cancel(&second).await, 0);
    assert_eq!(world.answering().await, [a, b]);
    let then = LiveFilter {
        as_of: Some(between),
        ..LiveFilter::default()
    };
    assert_eq!(
        world.answering_in(then).await,
        [a, b],
        "as if never removed"
    );
    let document = world.document_of(b).await;
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let ledger = every(|page| catalog.ledger(tenant, document, page));
    let kinds: Vec<_> = ledger
        .await
        .unwrap()
        .iter()
        .map(|entry| entry.kind)
        .collect();
    use LedgerKind::{Activated, Deactivated, Reinstated};
    assert_eq!(kinds, [Activated, Deactivated, Reinstated]);
    world.is_proven(document).await;

    // Nor does anything else of the removal count any more.
    let again = world.finds_b_gone(&first).await;
    let changes = catalog.job_changes(tenant, again.job).await.unwrap();
    assert_eq!((changes.unchanged, changes.removed), (1, 1));
    assert_eq!(world.answering().await, [a]);
    assert_eq!(catalog.recount_tallies().await.unwrap(), []);
}

pub async fn a_removal_another_job_has_a_part_in_outlives_a_cancel(world: &World) {
    let (first, a, b) = world.first_job().await;
    let second = world.finds_b_gone(&first).await;
    let third = world.finds_b_gone(&first).await;
    let changes = world.catalog.job_changes(world.place.tenant, third.job);
    assert_eq!(changes.await.unwrap().removed, 0, "another removed it");
    world.cancel(&second).await;
    assert_eq!(world.answering().await, [a]);
    world.cancel(&third).await;
    assert_eq!(world.answering().await, [a, b]);
    world.is_proven(world.document_of(b).await).await;
}

pub async fn what_came_after_a_removal_stays_when_it_is_taken_back(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let (first, a, b) = world.first_job().await;
    let document = world.document_of(b).await;
    let removes = world.finds_b_gone(&first).await;
    let returns = world.next_job(&first).await;
    let files = [("a", "1"), ("b", "3")];
    world.bring(&returns, &files, true).await;
    world.work_off().await;
    let removes_again = world.finds_b_gone(&first).await;
    assert_eq!(world.answering().await, [a]);

    world.cancel(&removes).await;
    assert_eq!(world.answering().await, [a], "it was removed again");
    world.is_proven(document).await;
    world.cancel(&removes_again).await;
    let answering = world.answering().await;
    assert_eq!(answering.len(), 2);
    assert!(!answering.contains(&b), "what returned answers");
    world.is_proven(document).await;
    world.cancel(&returns).await;
    assert_eq!(world.answering().await, [a, b], "as before all three");
    world.is_proven(document).await;

    let removes = world.finds_b_gone(&first).await;
    let now = world.clock.pass(Duration::from_secs(1));
    let by_hand = catalog.deactivate(tenant, document, Removal::default(), now);
    assert_eq!(by_hand.await.unwrap(), Deactivated::NothingOpen);
    world.cancel(&removes).await;
    assert_eq!(world.answering().await, [a], "somebody else removed it too");
    world.is_proven(document).await;
}

pub async fn whoever_lists_no_more_removes_nothing(world: &World) {
    let (first, a, b) = world.first_job().await;
    let slow = world.next_job(&first).await;
    world.bring(&slow, &[("a", "1")], false).await;
    let missing = world.catalog.unseen(&slow, None, 9).await.unwrap();
    assert_eq!(missing.len(), 1);
    let late = async || {
        let now = world.clock.now();
        let late = world.catalog.remove_missing(&slow, missing.clone(), now);
        assert!(matches!(late.await, Err(Error::Conflict { .. })));
        assert_eq!(world.answering().await, [a, b]);
    };
    world.clock.pass(LEASE * 2);
    assert_eq!(world.listing().await.job, slow.job);
    late().await;
    world.cancel(&slow).await;
    late().await;
}

pub async fn what_is_under_way_does_not_answer_when_its_file_is_gone(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.job("folder").await;
    world.bring(&first, &[("a", "1"), ("b", "2")], true).await;
    let canceled = world.misses_b(&first).await;
    world.cancel(&canceled).await;
    let second = world.misses_b(&first).await;
    let changes = catalog.job_changes(tenant, second.job).await.unwrap();
    assert_eq!(changes.removed, 1);
    let third = world.misses_b(&first).await;
    let changes = catalog.job_changes(tenant, third.job).await.unwrap();
    assert_eq!(changes.removed, 0, "another removed it");
    world.is_as_noted("removed").await;
    world.work_off().await;
    let [a] = world.answering().await[..] else {
        panic!("one answers")
    };

    world.cancel(&second).await;
    assert_eq!(world.answering().await, [a]);
    world.cancel(&third).await;
    let [_, b] = world.answering().await[..] else {
        panic!("what came of it answers")
    };
    world.is_proven(world.document_of(b).await).await;
    world.is_as_noted("taken back").await;
}

pub async fn what_is_under_way_answers_when_its_file_is_back(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.job("folder").await;
    let files = [("a", "1"), ("b", "2")];
    world.bring(&first, &files, true).await;
    let removes = world.misses_b(&first).await;
    let all = JobClaim {
        source: None,
        ..first.clone()
    };
    let returns = world.next_job(&all).await;
    world.bring(&returns, &files, true).await;
    let removes_again = world.misses_b(&first).await;
    let changes = catalog.job_changes(tenant, removes_again.job).await;
    assert_eq!(changes.unwrap().removed, 1, "it was to answer again");
    let returns_again = world.next_job(&all).await;
    world.bring(&returns_again, &files, true).await;

    world.cancel(&removes).await;
    world.work_off().await;
    let answering = world.answering().await;
    assert_eq!(answering.len(), 2);
    world.cancel(&removes_again).await;
    assert_eq!(world.answering().await, answering);
    world.is_proven(world.document_of(answering[1]).await).await;
    world.is_as_noted("in the end").await;
}

pub async fn what_comes_back_and_is_gone_before_it_answers_stays_gone(world: &World) {
    let (first, a, b) = world.first_job().await;
    let removes = world.finds_b_gone(&first).await;
    let returns = world.next_job(&first).await;
    let files = [("a", "1"), ("b", "3")];
    world.bring(&returns, &files, true).await;
    let removes_again = world.misses_b(&returns).await;
    world.work_off().await;
    assert_eq!(world.answering().await, [a]);

    for job in [&removes, &returns] {
        world.cancel(job).await;
        assert_eq!(world.answering().await, [a]);
    }
    world.cancel(&removes_again).await;
    assert_eq!(world.answering().await, [a, b], "as before all three");
    world.is_proven(world.document_of(b).await).await;
    world.is_as_noted("in the end").await;
}
