//! What answers, and when it did.

use std::time::Duration;

use catalog::{
    Activated, Active, Admitted, Deactivated, DocumentFilter, DocumentState, LedgerKind,
    LiveFilter, Mend, Outcome, Page, Removal, SkipReason, VersionFacts, VersionState, every,
};
use model::{DocumentId, RunStatus, SourceOrder};

use crate::World;

/// Takes the version's steps up to its Finalize and holds that.
async fn hold(world: &World) -> catalog::Claim {
    world.prepare(&world.one().await, 0).await;
    world.one().await
}

pub async fn an_older_version_that_finishes_late_is_superseded(world: &World) {
    let older = world.admit("a.txt", "older").await;
    let late = hold(world).await;
    let newer = world.admit("a.txt", "newer").await;
    world.work_off().await;
    assert_eq!(world.answering().await, [newer.version]);

    assert_eq!(world.activate(&late).await.unwrap(), Activated::Superseded);
    assert_eq!(world.activate(&late).await.unwrap(), Activated::Superseded);
    assert_eq!(world.answering().await, [newer.version]);
    let run = world
        .catalog
        .run(world.place.tenant, older.run.unwrap())
        .await
        .unwrap();
    assert_eq!((run.status, run.superseded), (RunStatus::Succeeded, true));
}

pub async fn a_late_finisher_does_not_undo_a_rollback(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    world.admit("a.txt", "two").await;
    let late = hold(world).await;
    world.admit("a.txt", "three").await;
    world.work_off().await;
    let now = world.clock.now();
    catalog
        .rollback(tenant, first.document, first.version, None, now)
        .await
        .unwrap();
    assert_eq!(world.activate(&late).await.unwrap(), Activated::Superseded);
    assert_eq!(world.answering().await, [first.version]);
}

pub async fn a_rollback_holds_until_new_bytes_arrive(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    world.admit("a.txt", "two").await;
    world.work_off().await;
    let third = world.admit("a.txt", "three").await;
    world.work_off().await;
    let back = async |version| {
        let now = world.clock.pass(Duration::from_secs(1));
        let back = catalog.rollback(tenant, first.document, version, None, now);
        back.await.unwrap();
    };
    back(first.version).await;
    for _ in 0..2 {
        let again = world.admit("a.txt", "three").await;
        let reason = SkipReason::RolledBack;
        assert_eq!(again.outcome, Outcome::Skipped { reason });
        assert_eq!(again.version, third.version);
    }
    world.work_off().await;
    assert_eq!(world.answering().await, [first.version]);

    // Not what the source showed last, but what it had shown before.
    let reverted = world.admit("a.txt", "two").await;
    assert_eq!(reverted.outcome, Outcome::NewVersion);
    world.work_off().await;
    assert_eq!(world.answering().await, [reverted.version]);

    // What was taken down and put up again has come anew.
    back(first.version).await;
    let now = world.clock.pass(Duration::from_secs(1));
    let gone = catalog.deactivate(tenant, first.document, Removal::default(), now);
    assert_eq!(gone.await.unwrap(), Deactivated::Closed);
    let returned = world.admit("a.txt", "two").await;
    assert_eq!(returned.outcome, Outcome::NewVersion);
    world.work_off().await;
    assert_eq!(world.answering().await, [returned.version]);
}

pub async fn bytes_shown_again_stand_where_they_were_shown_again(world: &World) {
    let kept = world.admit("a.txt", "kept").await;
    world.work_off().await;
    world.admit("a.txt", "between").await;
    let late = hold(world).await;
    assert!(matches!(
        world.admit("a.txt", "kept").await.outcome,
        Outcome::Skipped { .. }
    ));
    assert_eq!(world.activate(&late).await.unwrap(), Activated::Superseded);
    assert_eq!(world.answering().await, [kept.version]);
}

pub async fn a_removed_document_returns_only_with_what_came_after(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.admit("a.txt", "one").await;
    let late = hold(world).await;
    let removal = Removal::default();
    let told = catalog
        .deactivate(tenant, first.document, removal, world.clock.now())
        .await;
    assert_eq!(told.unwrap(), Deactivated::NothingOpen);
    assert_eq!(world.activate(&late).await.unwrap(), Activated::Superseded);

    // Restored from a backup, with the old time of change.
    let old = world.clock.now() - Duration::from_secs(86_400);
    world.clock.pass(Duration::from_secs(1));
    let restored = world.take(world.place.file("a.txt", "one", old)).await;
    world.work_off().await;
    assert_eq!(world.answering().await, [restored.version]);

    // By the source's own order, a removal from before is no removal.
    let stale = Removal {
        order: Some(SourceOrder::of_time(old - Duration::from_secs(1))),
        by: None,
    };
    let told = catalog
        .deactivate(tenant, first.document, stale, world.clock.now())
        .await;
    assert_eq!(told.unwrap(), Deactivated::Stale);
    let newer = Removal {
        order: Some(SourceOrder::of_time(world.clock.now())),
        by: None,
    };
    let told = catalog
        .deactivate(tenant, first.document, newer, world.clock.now())
        .await;
    assert_eq!(told.unwrap(), Deactivated::Closed);
    assert!(world.answering().await.is_empty());
}

pub async fn what_is_shown_again_while_under_way_answers_though_it_was_removed(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let before = world.clock.now();
    for (name, removed_again) in [("a.txt", false), ("b.txt", true)] {
        // Put back where it was, with its old time of change.
        let show = || world.take(world.place.file(name, "one", before));
        let first = show().await;
        let late = hold(world).await;
        let remove = async || {
            let now = world.clock.pass(Duration::from_secs(1));
            let told = catalog.deactivate(tenant, first.document, Removal::default(), now);
            assert_eq!(told.await.unwrap(), Deactivated::NothingOpen);
        };
        remove().await;
        // Even with the clock where it was.
        let again = show().await;
        let reason = SkipReason::LiveRun;
        assert_eq!(again.outcome, Outcome::Skipped { reason });
        assert_eq!(again.version, first.version);
        if removed_again {
            remove().await;
        }

        let overtaken = world.activate(&late).await.unwrap() == Activated::Superseded;
        assert_eq!(overtaken, removed_again);
        let answers = world.answering().await.contains(&first.version);
        assert_eq!(answers, !removed_again);
        world.is_proven(first.document).await;
    }
    world.is_as_noted("in the end").await;
}

pub async fn what_came_after_a_removal_answers_though_it_lost_its_row(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let before = world.clock.now();
    for (name, ended) in [("a.txt", false), ("b.txt", true)] {
        let show = || world.take(world.place.file(name, "one", before));
        let first = show().await;
        if ended {
            world.work_off().await;
        }
        let now = world.clock.pass(Duration::from_secs(1));
        let told = catalog.deactivate(tenant, first.document, Removal::default(), now);
        told.await.unwrap();
        let again = show().await;
        assert_eq!(again.version != first.version, ended);
        lose(world, &again).await;
        world.work_off().await;
        assert!(world.answering().await.contains(&again.version), "{name}");
        world.is_proven(first.document).await;
    }
    world.is_as_noted("in the end").await;
}

/// Its version loses its row and is written again as `repair` would have it, of which its run tells.
async fn lose(world: &World, admitted: &Admitted) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let lost = "DELETE FROM document_versions WHERE state = 'pending'";
    world.vandalise_beyond_references(lost).await;
    let dossier = catalog.dossier(tenant, admitted.document).await.unwrap();
    let (run, told) = dossier.told_of(admitted.version).unwrap();
    let facts = VersionFacts {
        id: admitted.version,
        kb: told.kb,
        generation: told.generation,
        run,
        number: None,
        content_hash: told.content_hash,
        size: 3,
        filename: "what its address ends in".into(),
        order: dossier.runs.last().unwrap().order.clone().unwrap(),
        state: VersionState::Pending,
        root_hash: None,
        created_at: told.created_at,
    };
    let mends = vec![Mend::Version(facts)];
    let now = world.clock.now();
    let mended = catalog.mend(tenant, admitted.document, mends, now);
    mended.await.unwrap();
}

pub async fn nothing_older_replaces_what_a_removed_document_was_rolled_back_to(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let shown = world.clock.now();
    let newer = world.take(world.place.file("a.txt", "newer", shown)).await;
    world.work_off().await;
    let now = world.clock.pass(Duration::from_secs(1));
    let removed = catalog.deactivate(tenant, newer.document, Removal::default(), now);
    assert_eq!(removed.await.unwrap(), Deactivated::Closed);
    let stands = async || {
        let row = catalog.document(tenant, newer.document).await.unwrap();
        (row.active.is_some(), row.state)
    };
    assert_eq!(stands().await, (false, Some(DocumentState::Removed)));
    let asked = async |state| {
        let filter = DocumentFilter {
            active: Active::All,
            state: Some(state),
            ..DocumentFilter::default()
        };
        let found = catalog.documents(tenant, filter, Page::first(9)).await;
        found.unwrap().items.len()
    };
    assert_eq!(asked(DocumentState::Removed).await, 1);
    assert_eq!(asked(DocumentState::Ready).await, 0);

    let now = world.clock.pass(Duration::from_secs(1));
    let back = catalog.rollback(tenant, newer.document, newer.version, None, now);
    back.await.unwrap();
    assert_eq!(stands().await, (true, Some(DocumentState::Ready)));
    world.clock.pass(Duration::from_secs(1));
    let before = shown - Duration::from_secs(60);
    world.take(world.place.file("a.txt", "older", before)).await;
    world.work_off().await;
    assert_eq!(world.answering().await, [newer.version]);
}

pub async fn history_can_be_read_rolled_back_and_proven(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    let then = world.clock.now();
    let second = world.admit("a.txt", "two").await;
    world.work_off().await;
    let as_of = |at| LiveFilter {
        as_of: Some(at),
        ..LiveFilter::default()
    };
    assert_eq!(world.answering_in(as_of(then)).await, [first.version]);
    assert_eq!(world.answering().await, [second.version]);

    let now = world.clock.pass(Duration::from_secs(1));
    catalog
        .rollback(tenant, first.document, first.version, None, now)
        .await
        .unwrap();
    catalog
        .rollback(tenant, first.document, first.version, None, now)
        .await
        .unwrap();
    assert_eq!(world.answering().await, [first.version]);
    assert_eq!(
        every(|page| catalog.activations(tenant, first.document, page))
            .await
            .unwrap()
            .len(),
        3
    );

    let ledger = every(|page| catalog.ledger(tenant, first.document, page));
    let ledger = ledger.await.unwrap();
    let kinds: Vec<_> = ledger.iter().map(|entry| entry.kind).collect();
    use LedgerKind::{Activated, RolledBack};
    assert_eq!(kinds, [Activated, Activated, RolledBack]);
    let mut prev = None;
    for entry in &ledger {
        assert_eq!((entry.prev, entry.hash), (prev, entry.computed_hash()));
        prev = Some(entry.hash);
    }
}

pub async fn a_clock_that_jumps_back_leaves_history_in_order(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    world.admit("a.txt", "two").await;
    let finalize = hold(world).await;
    let activation = catalog::Activation {
        version: finalize.step.version(),
        pass: 1,
        root_hash: model::ContentHash::of(b"root"),
        flush: 7,
        stats: Default::default(),
    };
    let earlier = world.clock.now() - Duration::from_secs(3600);
    catalog
        .activate(&finalize, activation, earlier)
        .await
        .unwrap();
    let history = every(|page| catalog.activations(tenant, first.document, page));
    let history = history.await.unwrap();
    assert_eq!(history[0].closed_at, Some(history[1].opened_at));
    assert!(history[0].opened_at <= history[1].opened_at);
}

const DAY: Duration = Duration::from_secs(86_400);

/// What served follows one another, and is told so by the ledger.
async fn is_in_order(world: &World, document: DocumentId) {
    let history = every(|page| {
        let tenant = world.place.tenant;
        world.catalog.activations(tenant, document, page)
    });
    let history = history.await.unwrap();
    for pair in history.windows(2) {
        assert!(pair[0].closed_at.unwrap() <= pair[1].opened_at, "{pair:?}");
    }
    world.is_proven(document).await;
}

pub async fn a_document_removed_by_a_clock_ahead_returns_after_it_is_set_back(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    let ahead = world.clock.pass(DAY);
    let gone = catalog.deactivate(tenant, first.document, Removal::default(), ahead);
    assert_eq!(gone.await.unwrap(), Deactivated::Closed);
    world.clock.set_back(DAY);

    let back = world.admit("a.txt", "one").await;
    world.work_off().await;
    assert_eq!(world.answering().await, [back.version]);
    let newer = world.admit("a.txt", "two").await;
    world.work_off().await;
    assert_eq!(world.answering().await, [newer.version]);
    is_in_order(world, first.document).await;
}

pub async fn a_removal_by_a_clock_set_back_comes_after_what_was_there(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    world.clock.pass(DAY);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    world.admit("a.txt", "two").await;
    let late = hold(world).await;
    let now = world.clock.set_back(DAY);
    let gone = catalog.deactivate(tenant, first.document, Removal::default(), now);
    assert_eq!(gone.await.unwrap(), Deactivated::Closed);
    assert_eq!(world.activate(&late).await.unwrap(), Activated::Superseded);
    assert!(world.answering().await.is_empty());

    // As the source has it now: older than what was removed.
    let back = world.admit("a.txt", "three").await;
    world.work_off().await;
    assert_eq!(world.answering().await, [back.version]);
    is_in_order(world, first.document).await;
}
