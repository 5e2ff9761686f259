//! Rows as they are, and rows put right.

use catalog::{Dossier, Mend, Page, VersionFacts, replay};
use model::DocumentId;

use crate::World;

async fn dossier(world: &World, document: DocumentId) -> Dossier {
    let found = world.catalog.dossier(world.place.tenant, document).await;
    found.unwrap()
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

    let served = replay(&before.ledger);
    let version = &before.versions[0];
    let run = before.run_of(version.id).unwrap().clone();
    let facts = VersionFacts {
        id: version.id,
        kb: version.kb,
        generation: version.generation,
        run: version.run,
        number: version.number,
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
        Mend::Activations(served),
    ];
    let now = world.clock.now();
    catalog
        .mend(tenant, first.document, mends, now)
        .await
        .unwrap();
    assert_eq!(dossier(world, first.document).await, before);
    assert_eq!(world.answering().await.len(), 2);

    let all = catalog.dossiers(tenant, Page::first(1)).await.unwrap();
    assert_eq!(all.items, [before], "a page at a time, by id");
    let rest = catalog.dossiers(tenant, Page::following(all.next.unwrap(), 9));
    assert_eq!(rest.await.unwrap().items.len(), 1);
    assert_eq!(catalog.held(tenant).await.unwrap().len(), 3);
    let (one, two) = (
        catalog.fence().await.unwrap(),
        catalog.fence().await.unwrap(),
    );
    assert!(one < two);
}
