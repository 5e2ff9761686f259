//! Fan-out and fan-in.

use catalog::{Activated, Completion, Error, Page};
use futures::future::join_all;

use crate::World;
use crate::world::LEASE;

pub async fn of_sixteen_units_at_once_one_is_last_and_stays_the_last(world: &World) {
    world.admit("a.txt", "one").await;
    world.prepare(&world.one().await, 16).await;
    let claims = world.claim(16).await;
    assert_eq!(claims.len(), 16);

    let deliver = || join_all(claims.iter().map(|claim| world.complete(claim)));
    let first: Vec<_> = deliver().await.into_iter().map(Result::unwrap).collect();
    assert_eq!(
        first
            .iter()
            .filter(|told| **told == Completion::Last)
            .count(),
        1
    );
    // Delivered again, each is told what it was told: the loser loses, the winner wins.
    let again: Vec<_> = deliver().await.into_iter().map(Result::unwrap).collect();
    assert_eq!(again, first);
    assert_eq!(world.claim(16).await.len(), 1, "Finalize is there, once");
}

pub async fn a_repeated_prep_opens_a_pass_and_silences_the_one_before(world: &World) {
    let admitted = world.admit("a.txt", "one").await;
    let prep = world.one().await;
    world.prepare(&prep, 2).await;
    let old = world.claim(2).await;

    // Someone decides to begin again: the step is queued anew.
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let error = catalog::RunError {
        code: "test".into(),
        message: "again".into(),
        hint: None,
    };
    catalog
        .fail_run(&old[0], error, world.clock.now())
        .await
        .unwrap();
    catalog
        .retry_run(tenant, admitted.run.unwrap(), world.clock.now())
        .await
        .unwrap();
    let (pass, _) = world.prepare(&world.one().await, 3).await;
    assert_eq!(pass, 2);

    assert_eq!(
        world.complete(&old[1]).await.unwrap(),
        Completion::StalePass
    );
    assert_eq!(
        catalog.units(tenant, admitted.version).await.unwrap().len(),
        3
    );
    assert!(
        catalog
            .units(tenant, admitted.version)
            .await
            .unwrap()
            .iter()
            .all(|unit| unit.chunks == 0)
    );
    world.work_off().await;
    assert_eq!(world.answering().await, [admitted.version]);
}

pub async fn an_answer_that_was_lost_is_given_again(world: &World) {
    world.admit("a.txt", "one").await;
    let prep = world.one().await;
    let (_, answer) = world.prepare(&prep, 1).await;
    let (_, again) = world.prepare(&prep, 1).await;
    assert_eq!(again, answer);

    let extract = world.one().await;
    assert_eq!(world.complete(&extract).await.unwrap(), Completion::Last);
    assert_eq!(world.complete(&extract).await.unwrap(), Completion::Last);

    let finalize = world.one().await;
    assert_eq!(world.activate(&finalize).await.unwrap(), Activated::Active);
    assert_eq!(world.activate(&finalize).await.unwrap(), Activated::Active);
    let document = finalize.document;
    let tenant = world.place.tenant;
    let ledger = world.catalog.ledger(tenant, document, Page::first(10));
    let ledger = ledger.await.unwrap().items;
    assert_eq!(ledger.len(), 1, "answered twice, done once");

    // Only to whom it was given: any other claim is refused.
    let stranger = catalog::Claim {
        token: finalize.token + 1,
        ..finalize
    };
    assert!(matches!(
        world.activate(&stranger).await,
        Err(Error::Fenced { .. })
    ));
    let held = world
        .catalog
        .heartbeat(&[stranger], LEASE, world.clock.now())
        .await
        .unwrap();
    assert_eq!(held, [false]);
}
