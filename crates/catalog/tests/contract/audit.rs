//! Rows as they are, and rows put right.

use std::time::Duration;

use catalog::{
    DocumentHead, Dossier, JobCount, Mend, NewUpload, Page, UploadEnd, VersionFacts, replay,
};
use model::{ContentHash, DocumentId, SourceOrder, SourceUri};
use uuid::Uuid;

use crate::{World, generations};

async fn dossier(world: &World, document: DocumentId) -> Dossier {
    let found = world.catalog.dossier(world.place.tenant, document).await;
    found.unwrap()
}

/// With activations called by their place: they are written under new ids.
fn relabelled(mut dossier: Dossier) -> Dossier {
    let ids: Vec<Uuid> = dossier.activations.iter().map(|row| row.id).collect();
    let place = |id: Uuid| ids.iter().position(|known| *known == id);
    let label = |id: Uuid| Uuid::from_u128(place(id).map_or(u128::MAX, |at| at as u128));
    for row in &mut dossier.activations {
        row.id = label(row.id);
        row.replaced = row.replaced.map(label);
    }
    dossier
}

pub async fn putting_right_what_is_right_changes_nothing(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    world.admit("a.txt", "two").await;
    world.work_off().await;
    world.admit("b.txt", "other").await;
    world.work_off().await;
    let before = dossier(world, first.document).await;
    assert_eq!((before.versions.len(), before.activations.len()), (2, 2));
    assert!(before.unreadable.is_empty());

    let version = &before.versions[0];
    let run = before.run_of(version.id).unwrap().clone();
    let facts = VersionFacts {
        id: version.id,
        kb: version.kb,
        generation: version.generation,
        run: version.run,
        number: Some(version.number),
        content_hash: version.content_hash,
        size: version.size,
        filename: version.filename.clone(),
        order: model::SourceOrder::of_time(run.created_at),
        state: version.state,
        root_hash: version.root_hash,
        created_at: run.created_at,
    };
    let mends = vec![
        Mend::Document(before.head.clone().unwrap(), run.created_at),
        Mend::Run(run),
        Mend::Version(facts),
        Mend::Filterable(version.id),
        Mend::Activations,
    ];
    let now = world.clock.now();
    catalog
        .mend(tenant, first.document, mends, now)
        .await
        .unwrap();
    let (before, after) = (
        relabelled(before),
        relabelled(dossier(world, first.document).await),
    );
    assert_eq!(after, before);
    assert_eq!(world.answering().await.len(), 2);

    let all = catalog.dossiers(tenant, Page::first(1)).await.unwrap();
    let items: Vec<_> = all.items.into_iter().map(relabelled).collect();
    assert_eq!(items, [before], "a page at a time, by id");
    let rest = catalog.dossiers(tenant, Page::following(all.next.unwrap(), 9));
    assert_eq!(rest.await.unwrap().items.len(), 1);
    assert_eq!(catalog.held(tenant).await.unwrap().len(), 3);
    let (one, two) = (
        catalog.fence().await.unwrap(),
        catalog.fence().await.unwrap(),
    );
    assert!(one < two);
}

pub async fn the_sources_order_of_a_version_is_told_thrice(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    // Shown again, later: it stands there from now on.
    let later = world.clock.pass(Duration::from_secs(5));
    world.take(world.place.file("a.txt", "one", later)).await;
    let place = SourceOrder::of_time(later);
    let stands = async || {
        let dossier = dossier(world, first.document).await;
        let (version, run) = (&dossier.versions[0], &dossier.runs[0]);
        (
            version.order == place,
            version.order_stands(),
            run.order.as_ref() == Some(&place),
        )
    };
    assert_eq!(stands().await, (true, Some(true), true));
    world
        .vandalise("UPDATE document_versions SET source_order = 't1'")
        .await;
    assert_eq!(stands().await, (false, Some(false), true));
    world
        .vandalise("UPDATE ingestion_runs SET source_order = NULL")
        .await;
    let mend = vec![Mend::Order(first.version, place.clone())];
    let now = world.clock.now();
    catalog
        .mend(tenant, first.document, mend, now)
        .await
        .unwrap();
    assert_eq!(stands().await, (true, Some(true), true));
}

pub async fn what_came_too_late_by_a_changed_place_answers_once_that_is_right(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    world
        .vandalise("UPDATE document_versions SET source_order = 'x'")
        .await;
    let second = world.admit("a.txt", "two").await;
    world.work_off().await;
    assert_eq!(world.answering().await, [first.version]);
    let told = dossier(world, first.document).await.runs[0].order.clone();
    let mend = Mend::Order(first.version, told.unwrap());
    let now = world.clock.now();
    let mended = catalog.mend(tenant, first.document, vec![mend], now);
    mended.await.unwrap();
    assert_eq!(world.answering().await, [second.version]);
    world.is_proven(first.document).await;
    world.is_as_noted("once it answers").await;
}

pub async fn a_job_that_has_miscounted_is_told_and_put_right(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let told = async || catalog.miscounted_jobs(tenant).await.unwrap();
    let listing = world.job("folder").await;
    world.bring(&listing, &[("a", "1"), ("b", "2")], true).await;
    world.work_off().await;
    let counters = world.shown(&listing).await.counters;
    assert_eq!((counters.chunks_seen, told().await.len()), (4, 0));
    world
        .vandalise("UPDATE jobs SET chunks_seen = chunks_seen + 1, chunks_error = chunks_error + 1")
        .await;
    let wrong = told().await;
    assert_eq!(
        (wrong[0].job, wrong[0].told, wrong[0].counted),
        (listing.job, 5, 4)
    );
    catalog.recount_met(tenant).await.unwrap();
    assert_eq!(told().await, []);
    assert_eq!(world.shown(&listing).await.counters, counters);

    world
        .vandalise("UPDATE jobs SET docs_seen = docs_seen + 3, docs_skipped = 1")
        .await;
    let wrong = told().await;
    let documents = (JobCount::Documents, 5, 2);
    assert_eq!((wrong[0].of, wrong[0].told, wrong[0].counted), documents);
    catalog.recount_met(tenant).await.unwrap();
    assert_eq!(told().await, []);
    assert_eq!(world.shown(&listing).await.counters, counters);

    world.vandalise("UPDATE jobs SET runs_open = 7").await;
    let wrong = told().await;
    let runs = (JobCount::Runs, 7, 0);
    assert_eq!((wrong[0].of, wrong[0].told, wrong[0].counted), runs);
    catalog.recount_jobs(world.clock.now()).await.unwrap();
    assert_eq!(told().await, []);

    // What ended before it began anew counts no more, whatever the clock says.
    let earlier = world.clock.now() - Duration::from_secs(3600);
    catalog
        .start_job(tenant, listing.job, earlier)
        .await
        .unwrap();
    assert_eq!(told().await, []);
}

pub async fn a_copy_for_another_generation_is_no_newer_version(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    let kb = generations::begin(world).await;
    assert_eq!(generations::fill(world, &kb).await, 1);
    world.work_off().await;
    let before = dossier(world, first.document).await;
    let latest = async || dossier(world, first.document).await.head.unwrap().latest;
    assert_eq!(
        (before.versions.len(), latest().await),
        (2, Some(first.version))
    );
    assert!(!before.is_outdated(first.version));
    let now = world.clock.now();
    let mended = catalog.mend(tenant, first.document, vec![Mend::Noted], now);
    mended.await.unwrap();
    assert_eq!(latest().await, Some(first.version));

    let second = world.admit("a.txt", "two").await;
    world.work_off().await;
    let damage = "UPDATE documents SET latest_version =
        (SELECT v.id FROM document_versions v ORDER BY v.number LIMIT 1)";
    world.vandalise(damage).await;
    assert!(
        dossier(world, first.document)
            .await
            .is_outdated(first.version)
    );
    let mended = catalog.mend(tenant, first.document, vec![Mend::Noted], now);
    mended.await.unwrap();
    assert_eq!(latest().await, Some(second.version));
}

pub async fn what_a_job_met_outlives_the_notes_of_its_batches(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let files = [("a", "1"), ("b", "2")];
    let first = world.job("folder").await;
    world.bring(&first, &files, true).await;
    world.work_off().await;
    let again = world.job("same").await;
    world.bring(&again, &files, true).await;
    let counters = async || {
        let (first, again) = (world.shown(&first).await, world.shown(&again).await);
        (first.counters, again.counters)
    };
    let before = counters().await;
    assert_eq!((before.0.docs_seen, before.1.docs_skipped), (2, 2));
    for damage in [
        "DELETE FROM job_batches",
        "UPDATE job_batches SET begun = begun + 1",
        "UPDATE job_batches SET skipped = skipped + 1",
        "UPDATE job_batches SET begun = 0, skipped = 0",
    ] {
        world.vandalise(damage).await;
        let wrong = catalog.miscounted_jobs(tenant).await.unwrap();
        assert_eq!(wrong.len(), 2, "{damage}");
        catalog.recount_met(tenant).await.unwrap();
        let wrong = catalog.miscounted_jobs(tenant).await.unwrap();
        assert_eq!(wrong, [], "{damage}");
        assert_eq!(counters().await, before, "{damage}");
    }
}

/// The hashes of its entries, each with the one it follows.
fn chain(dossier: &Dossier) -> Vec<(Option<ContentHash>, ContentHash)> {
    let links = dossier.ledger.iter().map(|entry| (entry.prev, entry.hash));
    links.collect()
}

pub async fn what_follows_on_a_lost_end_of_a_ledger_leaves_it_broken(world: &World) {
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    world.admit("a.txt", "two").await;
    world.work_off().await;
    let lost = dossier(world, first.document).await;
    let lost = lost.ledger.last().unwrap().clone();
    world
        .vandalise("DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger)")
        .await;
    let left = dossier(world, first.document).await;
    assert_eq!(
        left.head.unwrap().end_stands(first.document),
        Some(true),
        "it is the ledger that lost something"
    );
    world.admit("a.txt", "three").await;
    world.work_off().await;
    let now = dossier(world, first.document).await;
    assert_eq!(now.ledger.last().unwrap().prev, Some(lost.hash));
}

pub async fn an_end_of_a_ledger_that_was_changed_is_not_taken_for_a_lost_one(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    let before = dossier(world, first.document).await;
    let damage = "UPDATE documents SET ledger_head = (SELECT content_hash FROM ledger)";
    let stands = async || {
        let head = dossier(world, first.document).await.head.unwrap();
        head.end_stands(first.document)
    };
    world.vandalise(damage).await;
    assert_eq!(stands().await, Some(false));
    let mend = Mend::Document(before.head.clone().unwrap(), world.clock.now());
    let mended = catalog.mend(tenant, first.document, vec![mend], world.clock.now());
    mended.await.unwrap();
    assert_eq!(dossier(world, first.document).await.head, before.head);

    world.vandalise(damage).await;
    world.admit("a.txt", "two").await;
    world.work_off().await;
    assert_eq!(stands().await, Some(true));
    let links = chain(&dossier(world, first.document).await);
    let follows = |pair: &[(Option<ContentHash>, ContentHash)]| pair[1].0 == Some(pair[0].1);
    assert!(links.windows(2).all(follows), "{links:?}");
}

pub async fn a_row_keeps_the_end_its_ledger_has_lost_whatever_else_is_mended(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    world.admit("a.txt", "two").await;
    world.work_off().await;
    let head = dossier(world, first.document).await.head.unwrap();
    world
        .vandalise("DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger)")
        .await;
    let now = world.clock.now();
    let mends = vec![Mend::Document(head.clone(), now)];
    let mended = catalog.mend(tenant, first.document, mends, now).await;
    mended.unwrap();
    assert_eq!(dossier(world, first.document).await.head, Some(head));
}

pub async fn a_document_takes_over_what_came_under_its_address(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let first = world.admit("a.txt", "one").await;
    world.work_off().await;
    let lost = dossier(world, first.document).await;
    let now = world.clock.pass(Duration::from_secs(1));
    let purging = catalog.begin_purge(tenant, first.document, None, now);
    let gone: Vec<_> = purging.await.unwrap().iter().map(|v| v.version).collect();
    catalog.forget_versions(tenant, &gone).await.unwrap();
    world.clock.pass(Duration::from_secs(1));
    let second = world.admit("a.txt", "one").await;
    world.work_off().await;
    let third = world.admit("a.txt", "two").await;
    world.work_off().await;
    assert_eq!(second.document, third.document);
    assert_ne!(second.document, first.document);
    let other = dossier(world, second.document).await;

    let mends = vec![
        Mend::Reunion {
            head: DocumentHead {
                latest: None,
                ledger_head: None,
                ledger_sum: None,
                ..lost.head.clone().unwrap()
            },
            created: now,
            with: second.document,
        },
        Mend::Activations,
    ];
    let now = world.clock.now();
    let mended = catalog.mend(tenant, first.document, mends, now).await;
    mended.unwrap();
    let whole = dossier(world, first.document).await;
    // But for when the document came, which is noted with each.
    let but_since = |dossier: &Dossier| {
        let mut versions = dossier.versions.clone();
        for version in &mut versions {
            version.witness = None;
            version.facts.as_mut().unwrap().document_since = None;
        }
        versions
    };
    assert_eq!(but_since(&whole), but_since(&other));
    world.is_as_noted("reunited").await;
    let told = |dossier: &Dossier| {
        let row = |row: &catalog::ActivationFile| (row.version, row.opened_at, row.closed_at);
        dossier.activations.iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(told(&whole), told(&other));
    let entries = lost.ledger.len() + 1 + other.ledger.len();
    assert_eq!(whole.ledger.len(), entries, "both are told, and the purge");
    let head = whole.head.as_ref().unwrap();
    assert_eq!(head.latest, Some(third.version));
    assert_eq!(head.ledger_head, whole.ledger.last().map(|last| last.hash));
    assert_eq!(world.answering().await, [third.version]);

    let left = dossier(world, second.document).await;
    assert!(left.head.is_none() && left.versions.is_empty() && left.runs.is_empty());
    assert!(replay(&left.ledger).is_empty(), "it tells of nothing more");
    assert_eq!(catalog.miscounted(tenant).await.unwrap(), []);
    let again = world.admit("a.txt", "two").await;
    assert_eq!(again.document, first.document, "the address is its own");
}

pub async fn a_lost_upload_that_was_never_read_is_called_as_it_was(world: &World) {
    let (catalog, tenant, kb) = (&world.catalog, world.place.tenant, world.place.kb);
    let now = world.clock.now();
    let mut admission = world.place.file("x", "one", now);
    admission.source_uri = SourceUri::of_upload(&admission.content_hash);
    admission.filename = "mill.md".into();
    admission.media_type = Some("text/markdown".into());
    let admitted = world.take(admission).await;
    let upload = NewUpload {
        kb,
        object_key: "uploads/mill.md".into(),
        filename: "mill.md".into(),
        size: 3,
        media_type: Some("text/markdown".into()),
        initiated_by: None,
        expires_at: now + Duration::from_secs(9),
    };
    let upload = catalog.create_upload(tenant, upload, now).await.unwrap();
    let (document, run) = (admitted.document, admitted.run);
    let end = UploadEnd::Admitted { document, run };
    let finished = catalog.finish_upload(tenant, upload.id, end, now).await;
    finished.unwrap();
    let whole = dossier(world, document).await.versions.remove(0);
    world
        .vandalise_beyond_references("DELETE FROM document_versions")
        .await;
    let facts = VersionFacts {
        id: whole.id,
        kb,
        generation: whole.generation,
        run: whole.run,
        number: None,
        content_hash: whole.content_hash,
        size: whole.size,
        filename: "what its address ends in".into(),
        order: whole.order.clone(),
        state: whole.state,
        root_hash: None,
        created_at: whole.created_at,
    };
    let mended = catalog.mend(tenant, document, vec![Mend::Version(facts)], now);
    mended.await.unwrap();
    let now = dossier(world, document).await.versions.remove(0);
    assert_eq!(
        (now.filename, now.media_type, now.number),
        (whole.filename, whole.media_type, whole.number)
    );
}
