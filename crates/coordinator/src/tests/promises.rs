//! What the coordinator promises, one test each. Time is paused throughout.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::store::{BAD, Fault, POISON, Put, Puts, Store, ZeroId, put};
use crate::{Coordinator, Epoch, Error, Failure, Settings, State, Watermarks};

const FLUSH: Duration = Duration::from_millis(20);

fn settings() -> Settings {
    Settings {
        budget_bytes: 10_000,
        flush_bytes: 5_000,
        flush_interval: Duration::from_secs(1),
        flush_deadline: Duration::from_secs(10),
    }
}

fn cause(error: &Error) -> &Failure {
    match error {
        Error::Failed(cause) => cause,
        other => panic!("expected a failure, got {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_flush_is_told_to_all_and_loses_nothing() {
    let store = Store::new().fail_with([Fault::Permanent]);
    let coordinator = store.start(settings());
    let first = coordinator.write(put(1)).await.unwrap();
    let waiting = tokio::spawn(async move { first.durable().await });
    tokio::time::sleep(FLUSH / 2).await;
    assert_eq!(coordinator.state(), State::Flushing);
    let behind = coordinator.write(put(2)).await.unwrap();

    let told = waiting.await.unwrap().unwrap_err();
    assert!(told.to_string().contains("disk full"), "{told}");
    assert!(behind.flushed().await.is_err());
    assert_eq!(coordinator.state(), State::Failed);
    for refused in [
        coordinator.write(put(3)).await.unwrap_err(),
        coordinator.try_write(put(3)).unwrap_err(),
        coordinator.flush().await.unwrap_err(),
        coordinator.shutdown().await.unwrap_err(),
    ] {
        assert!(matches!(cause(&refused), Failure::Refused(_)), "{refused}");
    }
    assert_eq!(coordinator.watermarks().accepted, Epoch(2));
    let kept = coordinator.kept();
    let ids: Vec<_> = kept.iter().flat_map(|kept| &kept.delta.ids).collect();
    assert_eq!(ids, [&1, &2]);
}

#[tokio::test(start_paused = true)]
async fn a_transient_error_is_retried_on_the_same_delta() {
    let store = Store::new().fail_with([Fault::Before, Fault::After, Fault::Before]);
    let coordinator = store.start(settings());
    let receipt = coordinator.write(put(1)).await.unwrap();
    receipt.durable().await.unwrap();
    assert_eq!(store.attempts(), 4);
    assert_eq!(store.durable_ids(), [1]);
    assert_eq!(coordinator.metrics().retries, 3);
}

#[tokio::test(start_paused = true)]
async fn retries_and_stalls_end_at_the_deadline() {
    for (fault, expected) in [(Fault::Before, "unavailable"), (Fault::Hang, "not answer")] {
        let store = Store::new().fail_with([fault; 1000]);
        let coordinator = store.start(settings());
        let begun = Instant::now();
        let receipt = coordinator.write(put(1)).await.unwrap();
        let error = receipt.flushed().await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(begun.elapsed() <= settings().flush_deadline + FLUSH);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panicking_handler_leaves_nobody_waiting() {
    let coordinator = Store::new().fail_with([Fault::Panic]).start(settings());
    let receipt = coordinator.write(put(1)).await.unwrap();
    let error = receipt.durable().await.unwrap_err();
    assert!(matches!(cause(&error), Failure::Stopped));
    assert_eq!(coordinator.kept().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stops_fails_the_coordinator_at_once() {
    let store = Store::new();
    let coordinator = store.start(settings());
    coordinator.write(put(1)).await.unwrap();
    coordinator.sync().await.unwrap();
    store.close();
    let receipt = coordinator.write(put(2)).await;
    let error = match receipt {
        Ok(receipt) => receipt.flushed().await.unwrap_err(),
        Err(error) => error,
    };
    assert!(error.to_string().contains("fenced"), "{error}");
}

async fn durable_writes(coordinator: &Coordinator<Store>, producers: u64, each: u64) {
    durable_writes_from(coordinator, producers, each, |_| Duration::ZERO).await;
}

/// Each producer writes, waits until it is durable, and writes again, beginning after a time of its own.
async fn durable_writes_from(
    coordinator: &Coordinator<Store>,
    producers: u64,
    each: u64,
    begins: impl Fn(u64) -> Duration,
) {
    let tasks = (0..producers).map(|producer| {
        let coordinator = coordinator.clone();
        let begins = begins(producer);
        tokio::spawn(async move {
            tokio::time::sleep(begins).await;
            for n in 0..each {
                let receipt = coordinator.write(put(producer * each + n + 1)).await;
                receipt.unwrap().durable().await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn durable_writers_share_a_flush() {
    for producers in [1, 8, 64] {
        let store = Store::new();
        let coordinator = store.start(settings());
        durable_writes(&coordinator, producers, 50).await;
        // The first flush may start with the first writer alone; from then on all are in each.
        assert!(store.attempts() <= 50 + 2, "{}", store.attempts());
    }
}

/// However many began while the flush of the others went on: they do not take turns for ever.
#[tokio::test(start_paused = true)]
async fn durable_writers_share_a_flush_whenever_each_began() {
    for late in [1, 8, 16, 24, 32, 48, 63] {
        let store = Store::new();
        let coordinator = store.start(settings());
        let begins = |producer| match producer < late {
            true => FLUSH / 2,
            false => Duration::ZERO,
        };
        durable_writes_from(&coordinator, 64, 50, begins).await;
        assert!(store.attempts() <= 50 + 3, "{late}: {}", store.attempts());
    }
}

#[tokio::test(start_paused = true)]
async fn a_lone_durable_writer_waits_for_one_flush_only() {
    let coordinator = Store::new().start(settings());
    for id in 1..=3 {
        let begun = Instant::now();
        let receipt = coordinator.write(put(id)).await.unwrap();
        receipt.durable().await.unwrap();
        assert_eq!(begun.elapsed(), FLUSH);
    }
}

/// Of many whom a long flush served one comes back; what presses meanwhile is not kept waiting.
#[tokio::test(start_paused = true)]
async fn who_waits_for_others_to_come_back_waits_no_longer_than_the_timer_or_a_full_budget_allow() {
    let after_a_long_flush = || async {
        let mut store = Store::new();
        store.flush_time = Duration::from_secs(400);
        let coordinator = store.start(Settings {
            flush_deadline: Duration::from_secs(1000),
            ..settings()
        });
        durable_writes(&coordinator, 8, 1).await;
        let receipt = coordinator.write(put(9)).await.unwrap();
        let waiting = tokio::spawn(async move { receipt.durable().await });
        tokio::time::sleep(FLUSH).await;
        assert_eq!(coordinator.state(), State::Accumulating);
        (coordinator, waiting)
    };
    let (coordinator, waiting) = after_a_long_flush().await;
    tokio::time::sleep(settings().flush_interval).await;
    assert_eq!(coordinator.state(), State::Flushing, "the timer");
    waiting.await.unwrap().unwrap();

    let (coordinator, _waiting) = after_a_long_flush().await;
    let large = Put {
        id: 10,
        bytes: 5_000,
    };
    coordinator.write(large).await.unwrap();
    tokio::time::sleep(FLUSH).await;
    assert_eq!(coordinator.state(), State::Flushing, "the size");

    let (coordinator, _waiting) = after_a_long_flush().await;
    let closing = coordinator.clone();
    let closing = tokio::spawn(async move { closing.shutdown().await });
    tokio::time::sleep(FLUSH).await;
    assert_eq!(coordinator.state(), State::Flushing, "the shutdown");
    closing.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn memory_stays_within_the_budget_and_everyone_gets_through() {
    let store = Store::new();
    let coordinator = store.start(settings());
    let tasks: Vec<_> = (0..200u64)
        .map(|id| {
            let coordinator = coordinator.clone();
            let bytes = if id % 50 == 7 { 9_999 } else { 300 };
            tokio::spawn(async move { coordinator.write(Put { id: id + 1, bytes }).await })
        })
        .collect();
    let mut most = 0;
    while coordinator.watermarks().accepted < Epoch(200) {
        let metrics = coordinator.metrics();
        most = most.max(metrics.pending_bytes + metrics.in_flight_bytes);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(most <= settings().budget_bytes, "{most}");
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    coordinator.shutdown().await.unwrap();
    assert_eq!(store.durable_ids().len(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_write_larger_than_the_budget_is_refused_and_a_full_one_is_said_to_be() {
    let coordinator = Store::new().start(settings());
    let huge = Put {
        id: 1,
        bytes: 10_001,
    };
    let error = coordinator.write(huge).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { bytes: 10_001, .. }));
    let all = Put {
        id: 1,
        bytes: 10_000,
    };
    coordinator.try_write(all).unwrap();
    let error = coordinator.try_write(put(2)).unwrap_err();
    assert!(matches!(error, Error::Full { .. }));
}

#[tokio::test(start_paused = true)]
async fn durable_advances_by_itself_after_a_timer_flush() {
    let mut store = Store::new();
    store.tick = Some(Duration::from_millis(100));
    let coordinator = store.start(settings());
    coordinator.write(put(1)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        coordinator.watermarks(),
        Watermarks {
            accepted: Epoch(1),
            flushed: Epoch(1),
            durable: Epoch(1)
        }
    );
    assert_eq!(store.contents.lock().unwrap().syncs, 0);
}

#[tokio::test(start_paused = true)]
async fn a_flush_is_accepted_when_the_budget_is_used_up() {
    let store = Store::new();
    let coordinator = store.start(Settings {
        flush_bytes: usize::MAX,
        flush_interval: Duration::from_secs(3600),
        ..settings()
    });
    for id in 1..=100 {
        coordinator.write(put(id)).await.unwrap();
    }
    assert!(coordinator.try_write(put(101)).is_err());
    assert_eq!(coordinator.flush().await.unwrap(), Epoch(100));
    assert_eq!(store.ids().len(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_drains_also_when_the_budget_is_used_up() {
    let store = Store::new().fail_with([Fault::Before]);
    let coordinator = store.start(settings());
    let writers: Vec<_> = (1..=300)
        .map(|id| {
            let coordinator = coordinator.clone();
            tokio::spawn(async move { coordinator.write(put(id)).await })
        })
        .collect();
    tokio::time::sleep(FLUSH / 2).await;
    coordinator.shutdown().await.unwrap();
    let mut accepted = 0;
    for writer in writers {
        match writer.await.unwrap() {
            Ok(_) => accepted += 1,
            Err(error) => assert!(matches!(error, Error::ShutDown), "{error}"),
        }
    }
    assert!(accepted >= 100, "{accepted}");
    assert_eq!(store.durable_ids().len(), accepted);
    assert_eq!(coordinator.state(), State::Idle);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_that_cannot_make_things_durable_says_so() {
    let store = Store::new();
    store
        .contents
        .lock()
        .unwrap()
        .sync_faults
        .push_back(Fault::Permanent);
    let coordinator = store.start(settings());
    coordinator.write(put(1)).await.unwrap();
    let error = coordinator.shutdown().await.unwrap_err();
    assert!(error.to_string().contains("bad disk"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_closed_after_a_shutdown_has_not_failed() {
    // Which of the two is seen first is drawn by lot.
    for _ in 0..64 {
        let store = Store::new();
        let coordinator = store.start(settings());
        coordinator.write(put(1)).await.unwrap();
        coordinator.shutdown().await.unwrap();
        store.close();
        tokio::time::sleep(FLUSH).await;
        assert_eq!(coordinator.state(), State::Idle);
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_still_flushes() {
    let store = Store::new();
    let coordinator = store.start(settings());
    let receipt = coordinator.write(put(1)).await.unwrap();
    drop(coordinator);
    receipt.durable().await.unwrap();
    assert_eq!(store.durable_ids(), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_write_takes_no_epoch_and_no_room() {
    let coordinator = Store::new().start(settings());
    coordinator.write(put(1)).await.unwrap();
    for _ in 0..1000 {
        let error = coordinator.write(BAD).await.unwrap_err();
        assert!(error.rejected::<ZeroId>().is_some());
    }
    let metrics = coordinator.metrics();
    assert_eq!((metrics.pending_bytes, metrics.rejected), (100, 1000));
    let receipt = coordinator.write(put(2)).await.unwrap();
    assert_eq!(receipt.epoch(), Epoch(2));
}

#[tokio::test(start_paused = true)]
async fn a_reader_sees_its_own_write_and_whole_flushes_only() {
    let store = Store::new();
    let coordinator = store.start(settings());
    let mut views = coordinator.snapshots();
    let watcher = tokio::spawn(async move {
        let mut seen = vec![];
        while let Some(view) = views.next().await {
            seen.push((view.epoch, view.view.len() as u64));
        }
        seen
    });
    for id in 1..=30 {
        let receipt = coordinator.write(put(id)).await.unwrap();
        if id % 10 == 0 {
            let view = coordinator
                .snapshot_at_least(receipt.epoch())
                .await
                .unwrap();
            assert_eq!(view.view.last(), Some(&id));
        }
    }
    coordinator.shutdown().await.unwrap();
    drop(coordinator);
    let seen = watcher.await.unwrap();
    let whole = [10, 20, 30].map(|n| (Epoch(n), n));
    assert_eq!(seen, whole);
}

#[tokio::test(start_paused = true)]
async fn a_reader_may_wait_for_a_write_that_is_yet_to_come() {
    let coordinator = Store::new().start(settings());
    let reader = {
        let coordinator = coordinator.clone();
        tokio::spawn(async move { coordinator.snapshot_at_least(Epoch(2)).await })
    };
    coordinator.write(put(1)).await.unwrap();
    coordinator.write(put(2)).await.unwrap();
    let view = reader.await.unwrap().unwrap();
    assert_eq!(*view.view, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_writer_leaves_its_room_to_others() {
    let coordinator = Store::new().start(settings());
    let all = Put {
        id: 1,
        bytes: 10_000,
    };
    coordinator.write(all).await.unwrap();
    let cancelled = tokio::time::timeout(FLUSH / 2, coordinator.write(all)).await;
    assert!(cancelled.is_err());
    assert_eq!(coordinator.metrics().waiting_writers, 0);
    let next = coordinator.write(all).await.unwrap();
    assert_eq!(next.epoch(), Epoch(2));
    next.durable().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_start_continues_from_the_stored_flush() {
    let store = Store::new();
    let start = crate::Start {
        epoch: Epoch(41),
        snapshot: Arc::default(),
    };
    let delta = Puts::default();
    let coordinator = Coordinator::start(settings(), start, delta, store);
    assert_eq!(coordinator.snapshot().epoch, Epoch(41));
    let receipt = coordinator.write(put(1)).await.unwrap();
    assert_eq!(receipt.epoch(), Epoch(42));
    receipt.flushed().await.unwrap();
    assert_eq!(coordinator.snapshot().epoch, Epoch(42));
}

#[tokio::test(start_paused = true)]
async fn a_write_touches_the_delta_as_often_however_much_is_pending() {
    let delta = Puts::default();
    let touched = Arc::clone(&delta.touched);
    let start = crate::Start {
        epoch: Epoch(0),
        snapshot: Arc::default(),
    };
    let settings = Settings {
        flush_interval: Duration::from_secs(3600),
        ..Settings::default()
    };
    let coordinator = Coordinator::start(settings, start, delta, Store::new());
    for id in 1..=10_000 {
        coordinator.write(put(id)).await.unwrap();
        // Once to check, once to apply; its weight is a matter of the write alone.
        assert_eq!(touched.load(Ordering::Relaxed), 2 * id as usize);
    }
    assert_eq!(coordinator.metrics().pending_bytes, 10_000 * 100);
}

#[tokio::test(start_paused = true)]
async fn a_delta_that_panics_is_never_flushed() {
    let store = Store::new();
    let coordinator = store.start(settings());
    let receipt = coordinator.write(put(1)).await.unwrap();
    let writer = coordinator.clone();
    let panicked = tokio::spawn(async move { writer.write(POISON).await.is_ok() }).await;
    assert!(panicked.is_err());
    let error = receipt.durable().await.unwrap_err();
    assert!(matches!(cause(&error), Failure::Poisoned), "{error}");
    assert!(coordinator.write(put(2)).await.is_err());
    assert!(coordinator.shutdown().await.is_err());
    assert!(store.ids().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_delta_that_panics_at_its_first_write_leaves_nobody_waiting() {
    let coordinator = Store::new().start(settings());
    let reader = {
        let coordinator = coordinator.clone();
        tokio::spawn(async move { coordinator.snapshot_at_least(Epoch(1)).await })
    };
    // The flusher rests by now, and no time to flush is near.
    tokio::time::sleep(FLUSH).await;
    let writer = coordinator.clone();
    let panicked = tokio::spawn(async move { writer.write(POISON).await.is_ok() }).await;
    assert!(panicked.is_err());
    let told = tokio::time::timeout(FLUSH, reader).await;
    let error = told.expect("it is told at once").unwrap().unwrap_err();
    assert!(matches!(cause(&error), Failure::Poisoned), "{error}");
}
