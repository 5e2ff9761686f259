//! Claims, fences, waits and failures.

use std::collections::BTreeSet;
use std::time::Duration;

use catalog::{Error, Page, Replayed, Retried, RunError, Untouched, Wait};
use futures::future::join_all;
use model::{RunStatus, TenantId};
use uuid::Uuid;

use crate::World;
use crate::world::{ALL, LEASE};

pub async fn no_step_is_handed_out_twice(world: &World) {
    for at in 0..60 {
        world.admit(&format!("{at}.txt"), "text").await;
    }
    let now = world.clock.now();
    let worker = async |name: usize| {
        let mut held = Vec::new();
        loop {
            let name = format!("worker {name}");
            let claims = world
                .catalog
                .claim(&ALL, &name, 4, LEASE, now)
                .await
                .unwrap();
            if claims.is_empty() {
                return held;
            }
            held.extend(claims);
        }
    };
    let held: Vec<_> = join_all((0..8).map(worker))
        .await
        .into_iter()
        .flatten()
        .collect();
    let distinct: BTreeSet<_> = held.iter().map(|claim| claim.work).collect();
    assert_eq!((held.len(), distinct.len()), (60, 60));

    // Taken again after their leases, every token is greater than any before.
    let greatest = held.iter().map(|claim| claim.token).max().unwrap();
    world.clock.pass(LEASE * 2);
    assert!(
        world
            .claim(60)
            .await
            .iter()
            .all(|claim| claim.token > greatest)
    );
}

pub async fn a_worker_that_overslept_its_lease_changes_nothing(world: &World) {
    world.admit("a.txt", "one").await;
    let now = world.clock.now();
    world.prepare(&world.one().await, 1).await;
    let sleeper = world.one().await;
    let held = world
        .catalog
        .heartbeat(std::slice::from_ref(&sleeper), LEASE, now)
        .await
        .unwrap();
    assert_eq!(held, [true]);
    assert!(
        world.claim(1).await.is_empty(),
        "a running lease is respected"
    );

    let now = world.clock.pass(LEASE * 2);
    let awake = world.one().await;
    assert!(awake.token > sleeper.token);
    let fenced = |error: Error| matches!(error, Error::Fenced { .. });
    assert!(fenced(world.complete(&sleeper).await.unwrap_err()));
    let wait = Wait {
        not_before: now,
        why: "asleep".into(),
    };
    assert!(fenced(
        world
            .catalog
            .release(&sleeper, wait, now)
            .await
            .unwrap_err()
    ));
    assert!(fenced(
        world
            .catalog
            .fail_run(&sleeper, oops(), now)
            .await
            .unwrap_err()
    ));
    assert!(fenced(
        world
            .catalog
            .retry_later(&sleeper, oops(), now, now)
            .await
            .unwrap_err()
    ));
    let held = world
        .catalog
        .heartbeat(&[sleeper, awake.clone()], LEASE, now)
        .await
        .unwrap();
    assert_eq!(held, [false, true]);
    world.complete(&awake).await.unwrap();
    world.work_off().await;
    assert_eq!(world.answering().await.len(), 1);
}

fn oops() -> RunError {
    RunError {
        code: "oops".into(),
        message: "it did not work".into(),
        hint: None,
    }
}

pub async fn a_lease_that_was_ended_is_taken_over_at_once(world: &World) {
    world.admit("a.txt", "one").await;
    let dead = world.one().await;
    let now = world.clock.now();
    assert!(world.claim(1).await.is_empty());
    assert_eq!(world.catalog.expire_leases(now).await.unwrap(), 1);
    let heir = world.one().await;
    assert_eq!(heir.step, dead.step);
    assert!(heir.token > dead.token);
    let held = world.catalog.heartbeat(&[dead, heir], LEASE, now).await;
    assert_eq!(held.unwrap(), [false, true]);
    assert!(
        world.claim(1).await.is_empty(),
        "the heir's lease is respected"
    );
}

pub async fn what_a_clock_ahead_put_off_is_due_once_it_is_set_back(world: &World) {
    let (catalog, day) = (&world.catalog, Duration::from_secs(86_400));
    world.clock.pass(day);
    for name in ["a.txt", "b.txt"] {
        world.admit(name, name).await;
        let (claim, now) = (world.one().await, world.clock.now());
        let later = now + LEASE;
        catalog
            .retry_later(&claim, oops(), later, now)
            .await
            .unwrap();
    }
    world.admit("c.txt", "c").await;
    let now = world.clock.set_back(day);
    assert!(world.claim(3).await.is_empty());

    assert_eq!(catalog.hasten(now).await.unwrap(), 3);
    let claims = world.claim(4).await;
    assert_eq!(claims.len(), 3);
    let wait = Wait {
        not_before: now + LEASE,
        why: "the provider asked for it".into(),
    };
    catalog.release(&claims[0], wait, now).await.unwrap();
    assert_eq!(
        catalog.hasten(now).await.unwrap(),
        0,
        "it waits from now on"
    );
    assert!(world.claim(3).await.is_empty());
    world.clock.pass(LEASE * 2);
    world.work_off().await;
    assert_eq!(world.answering().await.len(), 3);
}

pub async fn a_lease_by_a_clock_ahead_ends_no_later_than_one_given_now(world: &World) {
    let (catalog, day) = (&world.catalog, Duration::from_secs(86_400));
    world.clock.pass(day);
    for name in ["alive.txt", "dead.txt"] {
        world.admit(name, name).await;
    }
    let claims = world.claim(2).await;
    let listing = world.job("folder").await;
    let now = world.clock.set_back(day);
    assert_eq!(catalog.bound_leases(LEASE, now).await.unwrap(), 3);
    assert_eq!(catalog.bound_leases(LEASE, now).await.unwrap(), 0);
    assert!(
        world.claim(2).await.is_empty(),
        "whoever is alive is not disturbed"
    );

    world.clock.pass(LEASE / 2);
    let alive = &claims[..1];
    let now = world.clock.now();
    assert_eq!(catalog.heartbeat(alive, LEASE, now).await.unwrap(), [true]);
    let now = world.clock.pass(LEASE / 2);
    let heir = world.one().await;
    assert_eq!((heir.work, heir.unanswered), (claims[1].work, 1));
    assert!(heir.token > claims[1].token);
    assert!(world.listing().await.token > listing.token);
    assert_eq!(
        catalog.bound_leases(LEASE, now).await.unwrap(),
        0,
        "those given now are as long as they may be"
    );
}

pub async fn waiting_is_not_failing_and_failing_ends_among_the_dead_letters(world: &World) {
    let admitted = world.admit("a.txt", "one").await;
    let (catalog, tenant, run) = (&world.catalog, world.place.tenant, admitted.run.unwrap());
    for _ in 0..10 {
        let claim = world.one().await;
        assert_eq!(claim.attempt, 1, "a wait counts for nothing");
        let not_before = world.clock.now() + Duration::from_secs(5);
        let wait = Wait {
            not_before,
            why: "the provider asked us to slow down".into(),
        };
        catalog
            .release(&claim, wait, world.clock.now())
            .await
            .unwrap();
        assert!(world.claim(1).await.is_empty(), "not before its time");
        let shown = catalog.run(tenant, run).await.unwrap();
        let why = "the provider asked us to slow down";
        assert_eq!(shown.waiting.as_deref(), Some(why));
        world.clock.pass(Duration::from_secs(5));
    }
    for attempt in 1..=3 {
        let claim = world.one().await;
        assert_eq!(claim.attempt, attempt);
        let now = world.clock.now();
        let told = catalog.retry_later(&claim, oops(), now, now).await.unwrap();
        let last = attempt == 3;
        assert_eq!(
            told,
            if last {
                Retried::DeadLettered
            } else {
                Retried::Scheduled
            }
        );
    }
    let shown = catalog.run(tenant, run).await.unwrap();
    assert_eq!(
        (shown.status, shown.error),
        (RunStatus::Failed, Some(oops()))
    );
    assert!(world.claim(1).await.is_empty());
    let letters = catalog
        .dead_letters(tenant, Page::first(10))
        .await
        .unwrap()
        .items;
    assert_eq!((letters.len(), letters[0].run), (1, run));

    let replayed = world.replay(letters[0].id).await.unwrap();
    assert_eq!((replayed.run, replayed.already), (run, false));
    world.work_off().await;
    assert_eq!(world.answering().await, [admitted.version]);
}

impl World {
    async fn replay(&self, letter: Uuid) -> Result<Replayed, Error> {
        let now = self.clock.now();
        let tenant = self.place.tenant;
        self.catalog.replay_dead_letter(tenant, letter, now).await
    }
}

pub async fn a_letter_replayed_again_is_answered_as_the_first_time(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    world.admit("a.txt", "one").await;
    let fail = async || {
        let now = world.clock.now();
        catalog
            .set_aside(&world.one().await, oops(), now)
            .await
            .unwrap();
        let listed = catalog.dead_letters(tenant, Page::first(9)).await;
        listed.unwrap().items[0].id
    };
    let letter = fail().await;
    let at_once = join_all((0..8).map(|_| world.replay(letter))).await;
    let at_once: Vec<_> = at_once.into_iter().map(Result::unwrap).collect();
    let first = at_once.iter().find(|told| !told.already).unwrap();
    let same = |told: &&Replayed| (told.run, told.at) == (first.run, first.at);
    assert_eq!(at_once.iter().filter(same).count(), 8);
    assert_eq!(at_once.iter().filter(|told| told.already).count(), 7);

    // What fails again is another letter, and asking for the old one does not replay it.
    let second = fail().await;
    world.clock.pass(Duration::from_secs(9));
    let told = world.replay(letter).await.unwrap();
    assert_eq!(
        (told.run, told.at, told.already),
        (first.run, first.at, true)
    );
    assert!(world.claim(9).await.is_empty());
    let stranger = TenantId::from_uuid(Uuid::now_v7());
    let theirs = catalog.replay_dead_letter(stranger, letter, world.clock.now());
    assert!(matches!(theirs.await, Err(Error::NotFound { .. })));

    // Retried by its run, it is answered too; and not for ever.
    catalog
        .retry_run(tenant, first.run, world.clock.now())
        .await
        .unwrap();
    assert!(world.replay(second).await.unwrap().already);
    world.work_off().await;
    let later = world.clock.pass(Duration::from_secs(9));
    catalog.prune(later, later).await.unwrap();
    assert!(matches!(
        world.replay(second).await,
        Err(Error::NotFound { .. })
    ));
}

pub async fn a_document_at_fault_leaves_no_work(world: &World) {
    let admitted = world.admit("a.txt", "one").await;
    world.prepare(&world.one().await, 4).await;
    let claims = world.claim(2).await;
    world
        .catalog
        .fail_run(&claims[0], oops(), world.clock.now())
        .await
        .unwrap();
    assert!(matches!(
        world.complete(&claims[1]).await,
        Err(Error::Fenced { .. })
    ));
    assert!(world.claim(10).await.is_empty());
    let run = world
        .catalog
        .run(world.place.tenant, admitted.run.unwrap())
        .await
        .unwrap();
    assert_eq!(run.status, RunStatus::Failed);
}

pub async fn work_that_went_missing_is_recreated_where_the_run_stands(world: &World) {
    let admitted = world.admit("a.txt", "one").await;
    let untouched = Duration::from_secs(3600);
    let recreate = async || {
        let now = world.clock.pass(untouched * 2);
        world
            .catalog
            .recreate_missing_work(
                Untouched {
                    queued: untouched,
                    running: untouched,
                },
                now,
            )
            .await
            .unwrap()
    };
    assert!(recreate().await.is_empty(), "its work is there");
    for stands_at in ["prep", "extract", "finalize"] {
        world.vandalise("DELETE FROM work").await;
        assert_eq!(recreate().await, [admitted.run.unwrap()]);
        let claim = world.one().await;
        assert_eq!(claim.step.kind().as_str(), stands_at);
        world.perform(&claim).await.unwrap();
    }
    assert!(recreate().await.is_empty(), "an ended run needs none");
    assert_eq!(world.answering().await, [admitted.version]);
}

pub async fn a_step_made_again_blames_nobody_for_the_others_of_its_run(world: &World) {
    world.admit("a.txt", "one").await;
    world.prepare(&world.one().await, 3).await;
    world
        .vandalise(
            r#"UPDATE work SET step = '"x"', deliveries = 4 WHERE id = (SELECT min(id) FROM work)"#,
        )
        .await;
    assert!(world.claim(1).await.is_empty(), "it cannot be read");
    let claims = world.claim(9).await;
    let mut unanswered: Vec<_> = claims.iter().map(|claim| claim.unanswered).collect();
    unanswered.sort_unstable();
    assert_eq!(unanswered, [0, 0, 5], "no worker was lost with the others");
}

pub async fn a_run_that_lost_its_version_is_not_waited_for(world: &World) {
    let admitted = world.admit("a.txt", "one").await;
    world.vandalise("DELETE FROM work").await;
    world.vandalise("DELETE FROM document_versions").await;
    let untouched = Untouched {
        queued: Duration::from_secs(60),
        running: Duration::from_secs(60),
    };
    let now = world.clock.pass(Duration::from_secs(120));
    let recreated = world.catalog.recreate_missing_work(untouched, now).await;
    assert_eq!(recreated.unwrap(), []);
    let run = world
        .catalog
        .run(world.place.tenant, admitted.run.unwrap())
        .await
        .unwrap();
    assert_eq!(run.status, RunStatus::Failed);
    assert_eq!(run.error.unwrap().code, "version_lost");
}
