//! A row nobody can read holds up nothing but what it is about.

use catalog::{JobFilter, Page};
use model::RunStatus;
use serde_json::json;

use crate::World;
use crate::world::LEASE;

pub async fn a_step_nobody_can_read_is_made_again_and_holds_up_no_other(world: &World) {
    for name in ["a.txt", "b.txt", "c.txt"] {
        world.admit(name, name).await;
    }
    // Each kind of step in turn, and every column it is read from that a database lets be wrong.
    for damage in [
        r#"UPDATE work SET step = '"x"' WHERE id = (SELECT min(id) FROM work)"#,
        r#"UPDATE work SET step = '"x"', number = -1 WHERE id = (SELECT min(id) FROM work)"#,
        r#"UPDATE work SET step = '{}', attempts = -1 WHERE id = (SELECT min(id) FROM work)"#,
    ] {
        world.vandalise(damage).await;
        let mut claims = world.claim(3).await;
        assert_eq!(claims.len(), 2, "the others are handed out: {damage}");
        claims.extend(world.claim(3).await);
        assert_eq!(claims.len(), 3, "and then the one made again: {damage}");
        for claim in &claims {
            world.perform(claim).await.unwrap();
        }
    }
    assert_eq!(world.answering().await.len(), 3);
}

pub async fn a_step_that_can_never_be_read_ends_among_the_dead_letters(world: &World) {
    let hurt = world.admit("a.txt", "one").await;
    let other = world.admit("b.txt", "two").await;
    // What the step is made of again is as wrong.
    world
        .vandalise("UPDATE document_versions SET number = -1 WHERE filename = 'a.txt'")
        .await;
    world
        .vandalise(
            "UPDATE work SET number = -1, deliveries = 99
             WHERE version_id = (SELECT id FROM document_versions WHERE number = -1)",
        )
        .await;
    for _ in 0..20 {
        world.work_off().await;
        world.clock.pass(LEASE * 2);
    }
    let catalog = &world.catalog;
    let tenant = world.place.tenant;
    let run = catalog.run(tenant, hurt.run.unwrap()).await.unwrap();
    assert_eq!(run.status, RunStatus::Failed);
    assert_eq!(run.error.unwrap().code, "step_unreadable");
    let letters = catalog.dead_letters(tenant, Page::first(9)).await.unwrap();
    assert_eq!(letters.items.len(), 1);
    let run = catalog.run(tenant, other.run.unwrap()).await.unwrap();
    assert_eq!(run.status, RunStatus::Succeeded);
}

pub async fn a_job_nobody_can_read_holds_up_no_other(world: &World) {
    let hurt = world.job("first").await;
    world.bring(&hurt, &[("a.txt", "one")], false).await;
    let other = world.job("second").await;
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    catalog.expire_leases(world.clock.now()).await.unwrap();
    world
        .vandalise("UPDATE jobs SET docs_skipped = -1 WHERE cursor IS NOT NULL")
        .await;
    assert_eq!(world.listing().await.job, other.job);
    let listed = catalog.jobs(tenant, JobFilter::default(), Page::first(9));
    let listed: Vec<_> = listed.await.unwrap().items;
    assert_eq!(
        listed.iter().map(|job| job.id).collect::<Vec<_>>(),
        [other.job]
    );

    world
        .vandalise("UPDATE jobs SET docs_skipped = 0 WHERE cursor IS NOT NULL")
        .await;
    world.clock.pass(LEASE * 2);
    // PostgreSQL keeps no text in the place of a cursor.
    if world.url.starts_with("sqlite") {
        world
            .vandalise("UPDATE jobs SET cursor = '{x' WHERE cursor IS NOT NULL")
            .await;
        let listed = catalog.jobs(tenant, JobFilter::default(), Page::first(9));
        assert_eq!(listed.await.unwrap().items.len(), 2);
    }
    let listing = world.listing().await;
    assert_eq!(
        (listing.job, listing.cursor),
        (hurt.job, Some(json!({ "after": "a.txt" })))
    );
}
