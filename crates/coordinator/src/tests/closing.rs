//! Shutting down, however it falls between the flusher's steps.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::store::{Puts, Store, put};
use crate::flusher::Flusher;
use crate::progress::End;
use crate::shared::Shared;
use crate::{Epoch, Settings, Start};

const STRESS: Duration = Duration::from_secs(1);

/// Every write is flushed at once, and none is synced unless somebody asks.
fn settings() -> Settings {
    Settings {
        budget_bytes: 10_000,
        flush_bytes: 1,
        flush_interval: Duration::from_secs(5),
        flush_deadline: Duration::from_secs(10),
    }
}

fn store() -> Store {
    let mut store = Store::new();
    store.flush_time = Duration::ZERO;
    store
}

#[tokio::test(start_paused = true)]
async fn a_flusher_that_sees_the_closing_before_it_is_asked_to_sync_syncs_all_the_same() {
    let store = store();
    let start = Start {
        epoch: Epoch(0),
        snapshot: Arc::default(),
    };
    let shared = Shared::new(settings(), start, Puts::default(), store.clone());
    let shared = Arc::new(shared);
    Flusher::spawn(Arc::clone(&shared));
    let (op, begun) = (put(1), tokio::time::Instant::now());
    shared.try_room(100).unwrap();
    shared.accept(op, 100, begun).unwrap();
    while shared.progress.watermarks().flushed < Epoch(1) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // The first half of closing; the flusher runs before the second, which asks.
    shared.pending().close();
    shared.progress.kick();
    assert!(matches!(shared.progress.ended().await, End::Drained));
    assert_eq!(store.durable_ids(), [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_was_accepted_is_durable_once_shutting_down_has_succeeded() {
    let begun = Instant::now();
    for round in 0.. {
        let store = store();
        let coordinator = store.start(settings());
        coordinator.try_write(put(1)).unwrap();
        while coordinator.watermarks().flushed < Epoch(1) {
            std::hint::spin_loop();
        }
        (0..round % 400).for_each(|_| std::hint::spin_loop());
        coordinator.shutdown().await.unwrap();
        assert_eq!(store.durable_ids(), [1], "in round {round}");
        if begun.elapsed() > STRESS {
            break;
        }
    }
}
