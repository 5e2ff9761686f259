//! The next generation: filled from what serves, switched to in one step, or given up.

use std::time::Duration;

use catalog::{
    ActivationCause, ActivationFile, Admitted, Building, Error, GenerationSpec, Kb, LiveFilter,
    RunError, every,
};
use model::{ChunkPolicy, Strategy};

use crate::World;

fn next() -> GenerationSpec {
    GenerationSpec {
        policy: ChunkPolicy::for_limit(254).with_strategy(Strategy::Sentence),
        ..testkit::generation()
    }
}

pub async fn begin(world: &World) -> Kb {
    let (tenant, kb) = (world.place.tenant, world.place.kb);
    let begun = world
        .catalog
        .begin_generation(tenant, kb, next(), world.clock.now());
    begun.await.unwrap()
}

/// Begins every document that is missing; how many there were.
pub async fn fill(world: &World, kb: &Kb) -> u32 {
    let now = world.clock.pass(Duration::from_secs(1));
    let (mut begun, mut after) = (0, None);
    loop {
        let some = world.catalog.rebuild_some(kb, after, 20, now);
        let some = some.await.unwrap();
        begun += some.begun;
        after = some.next;
        if after.is_none() {
            return begun;
        }
    }
}

async fn progress(world: &World) -> Building {
    let (tenant, kb) = (world.place.tenant, world.place.kb);
    world.catalog.building(tenant, kb).await.unwrap().unwrap()
}

pub async fn switch(world: &World, kb: &Kb, leave_failed: bool) -> Result<Kb, Error> {
    let now = world.clock.pass(Duration::from_secs(1));
    let generation = kb.building_id().unwrap();
    world
        .catalog
        .switch_generation(kb.tenant, kb.id, generation, leave_failed, now)
        .await
}

async fn uris(world: &World, filter: LiveFilter) -> Vec<String> {
    let (tenant, kb) = (world.place.tenant, world.place.kb);
    let live = world.catalog.live(tenant, kb, filter).await.unwrap();
    let numbers: Vec<u32> = live.numbers.iter().collect();
    let rows = world.catalog.versions_by_number(tenant, kb, &numbers);
    let mut uris: Vec<String> = rows
        .await
        .unwrap()
        .iter()
        .map(|row| row.source_uri.to_string())
        .collect();
    uris.sort();
    uris
}

pub async fn a_generation_is_built_beside_the_one_that_serves(world: &World) {
    for name in ["a.txt", "b.txt", "c.txt"] {
        world.admit(name, name).await;
    }
    world.work_off().await;
    let served = world.answering().await;
    let before = world.clock.now();
    let kb = begin(world).await;
    let building = kb.building.clone().unwrap();
    assert_eq!((kb.serving.number, building.number), (1, 2));
    assert_eq!(begin(world).await, kb, "asked again, it is the same");
    let other = world
        .catalog
        .begin_generation(kb.tenant, kb.id, testkit::generation(), before)
        .await;
    assert!(matches!(other, Err(Error::Conflict { .. })));
    let early = switch(world, &kb, false).await;
    assert!(matches!(early, Err(Error::Conflict { .. })), "{early:?}");

    assert_eq!(fill(world, &kb).await, 3);
    assert_eq!(fill(world, &kb).await, 0, "they are under way");
    world.work_off().await;
    let done = progress(world).await;
    assert_eq!((done.documents, done.built, done.open_runs), (3, 3, 0));
    assert_eq!(world.answering().await, served, "the old one serves on");

    let switched = switch(world, &kb, false).await.unwrap();
    assert_eq!((switched.serving.number, switched.building), (2, None));
    let answering = world.answering().await;
    assert_eq!(answering.len(), 3);
    assert!(answering.iter().all(|version| !served.contains(version)));
    let then = LiveFilter {
        as_of: Some(before),
        ..LiveFilter::default()
    };
    assert_eq!(world.answering_in(then).await, answering, "as before");
    let old = LiveFilter {
        generation: Some(kb.serving.id),
        ..LiveFilter::default()
    };
    let asked = world.catalog.live(kb.tenant, kb.id, old).await;
    assert!(matches!(asked, Err(Error::Retired { .. })));
    let late = world.place.file("d.txt", "d", world.clock.now());
    let late = world.catalog.admit(late, world.clock.now()).await;
    assert!(matches!(late, Err(Error::Retired { .. })));
}

pub async fn a_time_before_the_switch_says_what_it_cannot_answer(world: &World) {
    for name in ["a.txt", "b.txt", "c.txt"] {
        world.admit(name, name).await;
    }
    world.work_off().await;
    let whole = world.clock.now();
    world.clock.pass(Duration::from_secs(60));
    world.admit("a.txt", "anew").await;
    world.work_off().await;
    let changed = world.clock.now();
    let lacks = async |at| {
        let (tenant, kb) = (world.place.tenant, world.place.kb);
        let filter = LiveFilter {
            as_of: Some(at),
            ..LiveFilter::default()
        };
        world
            .catalog
            .live(tenant, kb, filter)
            .await
            .unwrap()
            .forgotten
    };
    assert_eq!(lacks(whole).await, None, "all is there still");
    for generation in 2..=3 {
        world.clock.pass(Duration::from_secs(60));
        let kb = begin(world).await;
        fill(world, &kb).await;
        world.work_off().await;
        let switched = switch(world, &kb, false).await.unwrap();
        assert_eq!(switched.serving.number, generation);
        let since = world.clock.now();
        let lost = catalog::Forgotten {
            documents: 1,
            since,
        };
        assert_eq!(lacks(whole).await, Some(lost), "what a.txt was");
        assert_eq!(lacks(changed).await, None, "the others answered on");
        assert_eq!(lacks(since).await, None);
    }
    let before = whole - Duration::from_secs(3600);
    assert_eq!(lacks(before).await, None, "nothing answered then");
}

pub async fn what_serves_is_mirrored_whatever_becomes_of_it_meanwhile(world: &World) {
    let (tenant, catalog) = (world.place.tenant, &world.catalog);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    world.admit("a.txt", "two").await;
    let gone = world.admit("b.txt", "b").await;
    world.work_off().await;
    let kb = begin(world).await;
    fill(world, &kb).await;
    world.work_off().await;

    let now = world.clock.pass(Duration::from_secs(1));
    let back = catalog.rollback(tenant, first.document, first.version, None, now);
    back.await.unwrap();
    let removal = catalog::Removal::default();
    let removed = catalog.deactivate(tenant, gone.document, removal, now);
    removed.await.unwrap();
    world.admit("c.txt", "c").await;
    world.work_off().await;
    let left = progress(world).await;
    assert_eq!((left.documents, left.built), (2, 0));
    assert_eq!(fill(world, &kb).await, 2);
    world.work_off().await;
    switch(world, &kb, false).await.unwrap();
    let answering = uris(world, LiveFilter::default()).await;
    assert_eq!(answering, ["file:///a.txt", "file:///c.txt"]);
    let versions = every(|page| catalog.versions(tenant, first.document, page));
    let versions = versions.await.unwrap();
    let serving = world.answering().await;
    let serving = versions.iter().find(|v| serving.contains(&v.id)).unwrap();
    assert_eq!(serving.content_hash, model::ContentHash::of(b"one"));
    let again = catalog.rollback(tenant, first.document, first.version, None, now);
    assert!(matches!(again.await, Err(Error::Conflict { .. })));
}

pub async fn a_rollback_holds_in_the_next_generation_too(world: &World) {
    let (tenant, catalog) = (world.place.tenant, &world.catalog);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    world.admit("a.txt", "two").await;
    world.work_off().await;
    let now = world.clock.pass(Duration::from_secs(1));
    let back = catalog.rollback(tenant, first.document, first.version, None, now);
    back.await.unwrap();
    let kb = begin(world).await;
    fill(world, &kb).await;
    world.work_off().await;
    switch(world, &kb, false).await.unwrap();
    let place = testkit::Place {
        generation: kb.building_id().unwrap(),
        ..world.place
    };
    let file = place.file("a.txt", "two", world.clock.pass(Duration::from_secs(1)));
    let reason = catalog::SkipReason::RolledBack;
    let unchanged = world.take(file).await.outcome;
    assert_eq!(unchanged, catalog::Outcome::Skipped { reason });
    let file = place.file("a.txt", "three", world.clock.pass(Duration::from_secs(1)));
    let changed = world.take(file).await;
    world.work_off().await;
    assert_eq!(world.answering().await, [changed.version]);
    world.is_proven(first.document).await;
}

pub async fn a_rollback_to_what_is_built_already_holds_in_the_next_generation(world: &World) {
    let mut first = Vec::new();
    for name in ["a.txt", "b.txt"] {
        first.push(world.admit(name, "one").await);
    }
    world.work_off().await;
    let kb = begin(world).await;
    assert_eq!(fill(world, &kb).await, 2);
    world.work_off().await;
    let back_to = async |name, one: &Admitted| {
        world.admit(name, "two").await;
        world.work_off().await;
        let now = world.clock.pass(Duration::from_secs(1));
        let (tenant, document) = (world.place.tenant, one.document);
        let back = world
            .catalog
            .rollback(tenant, document, one.version, None, now);
        back.await.unwrap();
        assert_eq!(progress(world).await.built, 2);
    };
    back_to("a.txt", &first[0]).await;
    assert_eq!(fill(world, &kb).await, 0, "nothing is missing");
    assert_eq!(rolled_back(world, &first[0]).await, 2, "in both");
    // No round comes between this one and the switch.
    back_to("b.txt", &first[1]).await;
    let ago = world.clock.now();
    switch(world, &kb, false).await.unwrap();

    let place = testkit::Place {
        generation: kb.building_id().unwrap(),
        ..world.place
    };
    let answering = world.answering().await;
    let then = LiveFilter {
        as_of: Some(ago),
        ..LiveFilter::default()
    };
    assert_eq!(world.answering_in(then).await, answering);
    for (name, one) in ["a.txt", "b.txt"].iter().zip(&first) {
        let file = place.file(name, "two", world.clock.pass(Duration::from_secs(1)));
        let reason = catalog::SkipReason::RolledBack;
        let unchanged = world.take(file).await.outcome;
        assert_eq!(unchanged, catalog::Outcome::Skipped { reason }, "{name}");
        assert_eq!(rolled_back(world, one).await, 2, "{name}");
        world.is_proven(one.document).await;
    }
    assert_eq!(world.answering().await, answering);
}

pub async fn a_copy_under_way_when_its_document_was_removed_answers_for_nothing_since(
    world: &World,
) {
    let first = world.admit("a.txt", "a").await;
    world.work_off().await;
    let kb = begin(world).await;
    assert_eq!(fill(world, &kb).await, 1);
    let copying = world.claim(9).await;
    assert_eq!(copying.len(), 1);

    let now = world.clock.pass(Duration::from_secs(1));
    let removal = catalog::Removal::default();
    let removed = world
        .catalog
        .deactivate(kb.tenant, first.document, removal, now);
    removed.await.unwrap();
    world.clock.pass(Duration::from_secs(1));
    let again = world.admit("a.txt", "a").await;
    assert_eq!(again.document, first.document);
    while let Some(claim) = world.claim(1).await.pop() {
        world.perform(&claim).await.unwrap();
    }
    let answering = world.answering().await;
    assert_eq!(answering, [again.version]);

    world.perform(&copying[0]).await.unwrap();
    world.work_off().await;
    world.is_proven(first.document).await;
    fill(world, &kb).await;
    world.work_off().await;
    assert_eq!(progress(world).await.built, 1);
    switch(world, &kb, false).await.unwrap();
    assert_eq!(world.answering().await.len(), 1);
    world.is_proven(first.document).await;
}

pub async fn nothing_is_rolled_back_to_what_does_not_serve_yet(world: &World) {
    let first = world.admit("a.txt", "a").await;
    world.work_off().await;
    let kb = begin(world).await;
    fill(world, &kb).await;
    world.work_off().await;
    let versions = every(|page| world.catalog.versions(kb.tenant, first.document, page));
    let copy = versions
        .await
        .unwrap()
        .into_iter()
        .find(|version| version.id != first.version);
    let copy = copy.expect("it is built").id;
    let now = world.clock.now();
    let removal = catalog::Removal::default();
    let removed = world
        .catalog
        .deactivate(kb.tenant, first.document, removal, now);
    removed.await.unwrap();
    let back = world
        .catalog
        .rollback(kb.tenant, first.document, copy, None, now);
    let refused = back.await;
    assert!(
        matches!(refused, Err(Error::Conflict { .. })),
        "{refused:?}"
    );
}

/// In how many generations the document answers as it was rolled back to.
async fn rolled_back(world: &World, one: &Admitted) -> usize {
    let dossier = world.catalog.dossier(world.place.tenant, one.document);
    let activations = dossier.await.unwrap().activations;
    let is_it =
        |row: &&ActivationFile| row.closed_at.is_none() && row.cause == ActivationCause::Rollback;
    activations.iter().filter(is_it).count()
}

pub async fn runs_under_way_are_taken_along_by_the_switch(world: &World) {
    world.admit("a.txt", "a").await;
    world.work_off().await;
    let kb = begin(world).await;
    fill(world, &kb).await;
    world.work_off().await;
    let queued = world.admit("b.txt", "b").await;
    let held = world.one().await;
    switch(world, &kb, false).await.unwrap();
    let stale = world.perform(&held).await;
    assert!(matches!(stale, Err(Error::Fenced { .. })), "{stale:?}");
    world.work_off().await;
    let answering = uris(world, LiveFilter::default()).await;
    assert_eq!(answering, ["file:///a.txt", "file:///b.txt"]);
    let run = world.catalog.run(kb.tenant, queued.run.unwrap()).await;
    assert_eq!(run.unwrap().status, model::RunStatus::Succeeded);
}

pub async fn a_document_that_cannot_be_built_holds_the_switch_back(world: &World) {
    world.admit("a.txt", "a").await;
    world.admit("b.txt", "b").await;
    world.work_off().await;
    let kb = begin(world).await;
    fill(world, &kb).await;
    let poor = world.claim(1).await.remove(0);
    let error = RunError {
        code: "unreadable".into(),
        message: "it cannot be read".into(),
        hint: None,
    };
    let now = world.clock.now();
    world.catalog.fail_run(&poor, error, now).await.unwrap();
    world.work_off().await;
    assert_eq!(fill(world, &kb).await, 0, "it is not tried for ever");
    assert_eq!(progress(world).await.failed, 1);
    let refused = switch(world, &kb, false).await;
    assert!(matches!(refused, Err(Error::Conflict { .. })));
    assert_eq!(world.answering().await.len(), 2);
    switch(world, &kb, true).await.unwrap();
    assert_eq!(world.answering().await.len(), 1);
}

pub async fn an_abandoned_generation_leaves_nothing(world: &World) {
    let catalog = &world.catalog;
    let served = world.admit("a.txt", "a").await;
    world.admit("b.txt", "b").await;
    world.work_off().await;
    let kb = begin(world).await;
    fill(world, &kb).await;
    world.perform(&world.claim(1).await[0]).await.unwrap();
    let now = world.clock.now();
    let generation = kb.building_id().unwrap();
    let after = catalog.abandon_generation(kb.tenant, kb.id, generation, now);
    assert_eq!(after.await.unwrap().building, None);
    let retired = catalog.retired_generations().await.unwrap();
    let [retired] = &retired[..] else {
        panic!("one is retired, not {retired:?}")
    };
    let removing = catalog.never_served(retired, 10).await.unwrap();
    assert_eq!(removing.len(), 2);
    let versions: Vec<_> = removing.iter().map(|version| version.version).collect();
    let free = catalog.forget_versions(kb.tenant, &versions).await.unwrap();
    assert_eq!(free, [], "the originals still serve");
    assert_eq!(catalog.never_served(retired, 10).await.unwrap(), []);
    assert_eq!(world.claim(9).await.len(), 0, "no work is left");
    let versions = every(|page| catalog.versions(kb.tenant, served.document, page));
    let versions = versions.await.unwrap();
    assert_eq!(versions.len(), 1);
    assert_eq!(world.answering().await.len(), 2);
    begin(world).await;
}
