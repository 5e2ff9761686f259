//! The way of one document.

use catalog::{Activated, Completion, LiveFilter, Outcome, Page};
use model::{RunStatus, Step};

use crate::World;

pub async fn a_document_goes_from_admission_to_answering(world: &World) {
    let admitted = world.admit("a.txt", "one").await;
    assert_eq!(admitted.outcome, Outcome::New);

    let prep = world.one().await;
    assert_eq!(
        prep.step,
        Step::Prep {
            version: admitted.version
        }
    );
    let (pass, follow_ups) = world.prepare(&prep, 2).await;
    assert_eq!((pass, follow_ups.len()), (1, 2));

    let extracts = world.claim(10).await;
    assert_eq!(extracts.len(), 2);
    assert_eq!(
        world.complete(&extracts[0]).await.unwrap(),
        Completion::OthersOpen
    );
    assert_eq!(
        world.complete(&extracts[1]).await.unwrap(),
        Completion::Last
    );

    assert!(
        world.answering().await.is_empty(),
        "nothing answers before Finalize"
    );
    assert_eq!(
        world.activate(&world.one().await).await.unwrap(),
        Activated::Active
    );
    assert_eq!(world.answering().await, [admitted.version]);
    assert!(world.claim(10).await.is_empty(), "no work is left");

    let (tenant, kb) = (world.place.tenant, world.place.kb);
    let live = world
        .catalog
        .live(tenant, kb, LiveFilter::default())
        .await
        .unwrap();
    assert_eq!(live.at_least, 7, "as new as the flush it needs");
    let run = world
        .catalog
        .run(tenant, admitted.run.unwrap())
        .await
        .unwrap();
    assert_eq!(
        (run.status, run.stats.chunks_created),
        (RunStatus::Succeeded, 2)
    );
    let documents = world
        .catalog
        .documents(tenant, Default::default(), Page::first(10))
        .await;
    assert_eq!(documents.unwrap().items[0].active, Some(admitted.version));
    let active = world
        .catalog
        .all_active(None, Page::first(10))
        .await
        .unwrap();
    assert_eq!(active.items[0].version, admitted.version);
}

pub async fn a_version_without_units_goes_straight_to_finalize(world: &World) {
    let admitted = world.admit("empty.txt", "").await;
    let (pass, follow_ups) = world.prepare(&world.one().await, 0).await;
    assert_eq!(
        follow_ups,
        [Step::Finalize {
            version: admitted.version,
            pass
        }]
    );
    assert_eq!(
        world.activate(&world.one().await).await.unwrap(),
        Activated::Active
    );
}
