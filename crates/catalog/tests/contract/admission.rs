//! Who gets in, and as what.

use std::collections::BTreeSet;

use catalog::{Error, LiveFilter, Outcome, Page, Removal, RunFilter, SkipReason, every};
use futures::future::join_all;

use crate::World;

pub async fn sixty_four_admissions_of_the_same_bytes_make_one_run(world: &World) {
    let now = world.clock.now();
    let admissions = (0..64).map(|_| world.take(world.place.file("a.txt", "one", now)));
    let admitted = join_all(admissions).await;

    let new = admitted
        .iter()
        .filter(|one| one.outcome == Outcome::New)
        .count();
    assert_eq!(new, 1);
    let reason = SkipReason::LiveRun;
    let joined = admitted
        .iter()
        .filter(|one| one.outcome == Outcome::Skipped { reason })
        .count();
    assert_eq!(joined, 63);
    let runs: BTreeSet<_> = admitted.iter().map(|one| one.run).collect();
    assert_eq!(runs.len(), 1, "all were told the same run");
    let page = Page::first(100);
    let listed = world
        .catalog
        .runs(world.place.tenant, RunFilter::default(), page)
        .await
        .unwrap();
    assert_eq!(listed.items.len(), 1);
    assert_eq!(world.claim(100).await.len(), 1);
}

pub async fn bytes_that_serve_are_skipped_and_bytes_that_served_are_not(world: &World) {
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    let again = world.admit("a.txt", "one").await;
    assert_eq!(
        again.outcome,
        Outcome::Skipped {
            reason: SkipReason::SameContent
        }
    );
    assert_eq!(again.version, first.version);

    let second = world.admit("a.txt", "two").await;
    assert_eq!(
        (second.outcome, second.document),
        (Outcome::NewVersion, first.document)
    );
    world.work_off().await;
    let third = world.admit("a.txt", "one").await;
    assert_eq!(
        third.outcome,
        Outcome::NewVersion,
        "its place in the order is new"
    );
    world.work_off().await;
    assert_eq!(world.answering().await, [third.version]);

    let (tenant, now) = (world.place.tenant, world.clock.now());
    world
        .catalog
        .deactivate(tenant, first.document, Removal::default(), now)
        .await
        .unwrap();
    assert!(world.answering().await.is_empty());
    assert_eq!(
        world.admit("a.txt", "one").await.outcome,
        Outcome::NewVersion
    );
    world.work_off().await;
    assert_eq!(
        world.answering().await.len(),
        1,
        "what returns answers again"
    );
}

pub async fn what_is_anothers_is_unknown(world: &World) {
    let admitted = world.admit("a.txt", "one").await;
    world.work_off().await;
    let now = world.clock.now();
    let other = world.catalog.create_tenant("other", now).await.unwrap().id;
    let catalog = &world.catalog;
    let unknown = |error: Error| matches!(error, Error::NotFound { .. });

    let mut theirs = world.place.file("b.txt", "two", now);
    theirs.tenant = other;
    assert!(unknown(catalog.admit(theirs, now).await.unwrap_err()));
    assert!(unknown(
        catalog.kb(other, world.place.kb).await.unwrap_err()
    ));
    assert!(unknown(
        catalog.version(other, admitted.version).await.unwrap_err()
    ));
    assert!(unknown(
        catalog
            .document(other, admitted.document)
            .await
            .unwrap_err()
    ));
    assert!(unknown(
        catalog.run(other, admitted.run.unwrap()).await.unwrap_err()
    ));
    assert!(unknown(
        catalog.units(other, admitted.version).await.unwrap_err()
    ));
    assert!(unknown(
        catalog.pages(other, admitted.version).await.unwrap_err()
    ));
    let live = catalog
        .live(other, world.place.kb, LiveFilter::default())
        .await;
    assert!(unknown(live.unwrap_err()));
    let rows = catalog
        .versions_by_number(other, world.place.kb, &[0])
        .await
        .unwrap();
    assert!(rows.is_empty());
    let removal = Removal::default();
    assert!(unknown(
        catalog
            .deactivate(other, admitted.document, removal, now)
            .await
            .unwrap_err()
    ));
    let purge = catalog
        .begin_purge(other, admitted.document, None, now)
        .await;
    assert!(unknown(purge.unwrap_err()));
    assert!(catalog.events_after(other, 0, 10).await.unwrap().is_empty());
    assert!(
        every(|page| catalog.ledger(other, admitted.document, page))
            .await
            .unwrap()
            .is_empty()
    );
}

pub async fn a_nul_in_what_a_document_says_of_itself_is_no_obstacle(world: &World) {
    let mut admission = world.place.file("a.txt", "one", world.clock.now());
    admission.title = Some("a\0title".into());
    admission.metadata.insert("team".into(), "gr\0ist".into());
    admission
        .metadata
        .insert("years".into(), serde_json::json!([2025, 2026]));
    let admitted = world.take(admission).await;
    world.work_off().await;
    let version = world
        .catalog
        .version(world.place.tenant, admitted.version)
        .await
        .unwrap();
    assert_eq!(version.title.as_deref(), Some("atitle"));

    let with = |key: &str, value: &str| LiveFilter {
        metadata: vec![(key.to_owned(), value.to_owned())],
        ..LiveFilter::default()
    };
    assert_eq!(
        world.answering_in(with("team", "grist")).await,
        [admitted.version]
    );
    assert_eq!(
        world.answering_in(with("years", "2026")).await,
        [admitted.version]
    );
    assert!(world.answering_in(with("years", "2024")).await.is_empty());
}

pub async fn a_number_is_not_given_twice_whatever_became_of_the_count(world: &World) {
    let first = world.admit("a.txt", "one").await;
    world
        .vandalise("UPDATE knowledge_bases SET next_number = 0")
        .await;
    let second = world.admit("b.txt", "two").await;
    let number = async |version| {
        let version = world.catalog.version(world.place.tenant, version).await;
        version.unwrap().number
    };
    assert_eq!(
        number(second.version).await,
        number(first.version).await + 1
    );
}

/// Nothing a database could make shorter.
fn noise(length: usize) -> String {
    let hashes = (0..).map(|n: u32| model::ContentHash::of(&n.to_be_bytes()).to_string());
    let mut text = String::new();
    for hash in hashes {
        text.push_str(&hash);
        if text.len() >= length {
            text.truncate(length);
            return text;
        }
    }
    text
}

pub async fn an_address_is_as_long_as_any_database_takes_and_no_longer(world: &World) {
    let listing = world.job("folder").await;
    let longest = model::SourceUri::MAX_BYTES - "file:///".len();
    let (fits, beyond) = (noise(longest), noise(longest + 1));
    world.bring(&listing, &[(&fits, "1")], true).await;
    world.work_off().await;
    assert_eq!(world.answering().await.len(), 1);
    let now = world.clock.now();
    let refused = world
        .catalog
        .admit(world.place.file(&beyond, "2", now), now)
        .await;
    assert!(
        matches!(
            refused,
            Err(Error::Conflict {
                what: "address",
                ..
            })
        ),
        "{refused:?}"
    );
}

pub async fn metadata_too_long_to_be_looked_up_is_no_obstacle(world: &World) {
    let now = world.clock.now();
    let mut long = world.place.file("a.txt", "1", now);
    let value = noise(60_000);
    long.metadata
        .insert("note".to_owned(), value.clone().into());
    long.metadata.insert("kind".to_owned(), "mill".into());
    world.take(long).await;
    world.work_off().await;
    let filter = LiveFilter {
        metadata: vec![("kind".to_owned(), "mill".to_owned())],
        ..LiveFilter::default()
    };
    let found = world.answering_in(filter).await;
    assert_eq!(found.len(), 1);
    let version = world
        .catalog
        .version(world.place.tenant, found[0])
        .await
        .unwrap();
    assert_eq!(version.metadata["note"], value, "it is kept whole");
}
