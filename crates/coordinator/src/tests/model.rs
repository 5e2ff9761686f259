//! Random commands against a model: what was accepted, in order.
//!
//! Each seed draws a budget, a store that is slow or fails in its own way, and
//! callers that wait, give up or go away. Whatever happens, the answers that
//! were given must be true. `COORDINATOR_SEED=n` runs one seed alone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::store::{BAD, Fault, Put, Store};
use crate::{Coordinator, Epoch, Error, Receipt, Settings};

const SEEDS: u64 = 2_000;
/// Longer than any deadline a seed can draw: whoever still waits then waits for ever.
const FOREVER: Duration = Duration::from_secs(3600);

#[test]
fn whatever_happens_the_answers_are_true() {
    let seeds = match std::env::var("COORDINATOR_SEED") {
        Ok(seed) => vec![seed.parse().expect("a seed is a number")],
        Err(_) => (0..SEEDS).collect(),
    };
    for seed in seeds {
        let on_panic = NameSeed(seed);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async { Run::new(seed).run().await });
        std::mem::forget(on_panic);
    }
}

struct NameSeed(u64);

impl Drop for NameSeed {
    fn drop(&mut self) {
        eprintln!("COORDINATOR_SEED={}", self.0);
    }
}

struct Run {
    random: StdRng,
    settings: Settings,
    store: Store,
    coordinator: Coordinator<Store>,
    /// The id of each accepted write; its place plus one is its epoch.
    accepted: Arc<Mutex<Vec<(Epoch, u64)>>>,
    callers: JoinSet<()>,
    /// Those who may wait for a write that nobody makes: only the end tells them.
    readers: JoinSet<()>,
    next_id: u64,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let budget = random.random_range(100..5_000);
        let settings = Settings {
            budget_bytes: budget,
            flush_bytes: random.random_range(1..=budget * 2),
            flush_interval: match random.random_bool(0.3) {
                true => FOREVER * 24,
                false => Duration::from_millis(random.random_range(1..500)),
            },
            flush_deadline: Duration::from_secs(random.random_range(1..30)),
        };
        let store = draw_store(&mut random);
        Self {
            coordinator: store.start(settings),
            random,
            settings,
            store,
            accepted: Arc::default(),
            callers: JoinSet::new(),
            readers: JoinSet::new(),
            next_id: 0,
        }
    }

    async fn run(mut self) {
        for _ in 0..self.random.random_range(1..80) {
            self.step().await;
            self.stays_within_budget();
        }
        if self.random.random_bool(0.5) {
            all_answered(&mut self.callers).await;
        }
        let ended = timeout(FOREVER, self.coordinator.shutdown()).await;
        all_answered(&mut self.callers).await;
        all_answered(&mut self.readers).await;
        self.nothing_is_lost(ended.expect("a shutdown ends"));
    }

    async fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..50 => self.write(),
            50..60 => self.try_write(),
            60..65 => self.write_what_is_rejected(),
            65..72 => self.flush(),
            72..78 => self.read(),
            78..80 => self.close_early(),
            80..90 => tokio::task::yield_now().await,
            _ => sleep(Duration::from_millis(self.random.random_range(0..60))).await,
        }
    }

    fn draw_put(&mut self) -> Put {
        self.next_id += 1;
        let bytes = self.random.random_range(0..=self.settings.budget_bytes);
        let bytes = if self.random.random_bool(0.9) {
            bytes / 10
        } else {
            bytes
        };
        Put {
            id: self.next_id,
            bytes,
        }
    }

    /// A caller that writes, then waits for something or goes away at any moment.
    fn write(&mut self) {
        let put = self.draw_put();
        let patience = Duration::from_millis(self.random.random_range(0..200));
        let gives_up = self.random.random_bool(0.2);
        let wish = self.random.random_range(0..3);
        let caller = Caller::of(self);
        self.callers.spawn(async move {
            if gives_up {
                let _ = timeout(patience, caller.write(put, wish)).await;
            } else {
                caller.write(put, wish).await;
            }
        });
    }

    fn try_write(&mut self) {
        let put = self.draw_put();
        if let Ok(receipt) = self.coordinator.try_write(put) {
            self.accepted
                .lock()
                .unwrap()
                .push((receipt.epoch(), put.id));
        }
    }

    fn write_what_is_rejected(&mut self) {
        let before = self.coordinator.watermarks().accepted;
        assert!(self.coordinator.try_write(BAD).is_err());
        assert_eq!(self.coordinator.watermarks().accepted, before);
    }

    fn flush(&mut self) {
        let caller = Caller::of(self);
        self.callers.spawn(async move {
            let asked = caller.coordinator.watermarks().accepted;
            if let Ok(flushed) = caller.coordinator.flush().await {
                assert!(flushed >= asked);
                assert!(caller.coordinator.snapshot().epoch >= asked);
            }
        });
    }

    fn read(&mut self) {
        let ahead = self.random.random_range(0..3);
        let caller = Caller::of(self);
        self.readers.spawn(async move {
            let epoch = Epoch(caller.coordinator.watermarks().accepted.0 + ahead);
            if let Ok(view) = caller.coordinator.snapshot_at_least(epoch).await {
                assert!(view.epoch >= epoch);
                assert_eq!(view.view.len() as u64, view.epoch.0, "whole flushes only");
            }
        });
    }

    fn close_early(&mut self) {
        if self.random.random_bool(0.1) {
            let coordinator = self.coordinator.clone();
            self.callers.spawn(async move {
                let _ = timeout(Duration::ZERO, coordinator.shutdown()).await;
            });
        }
    }

    fn stays_within_budget(&self) {
        let metrics = self.coordinator.metrics();
        assert!(metrics.pending_bytes + metrics.in_flight_bytes <= self.settings.budget_bytes);
        let marks = metrics.watermarks;
        assert!(marks.durable <= marks.flushed && marks.flushed <= marks.accepted);
    }

    /// Cancelled callers aside, who were told nothing, each accepted write is somewhere.
    fn nothing_is_lost(&self, ended: Result<(), Error>) {
        let kept = self.coordinator.kept();
        let mut all = self.store.ids();
        match ended {
            Ok(()) => assert_eq!(self.store.durable_ids(), all),
            Err(_) => {
                for kept in kept {
                    // A lost answer may leave a delta both in the store and kept.
                    if kept.epochs.first.0 > all.len() as u64 {
                        all.extend(&kept.delta.ids);
                    }
                }
            }
        }
        assert_eq!(all.len() as u64, self.coordinator.watermarks().accepted.0);
        for (epoch, id) in self.accepted.lock().unwrap().iter() {
            assert_eq!(all[epoch.0 as usize - 1], *id, "epoch {epoch}");
        }
    }
}

async fn all_answered(callers: &mut JoinSet<()>) {
    let answers = async {
        while let Some(caller) = callers.join_next().await {
            caller.expect("no caller saw an untrue answer");
        }
    };
    timeout(FOREVER, answers)
        .await
        .expect("nobody waits for ever");
}

struct Caller {
    coordinator: Coordinator<Store>,
    store: Store,
    accepted: Arc<Mutex<Vec<(Epoch, u64)>>>,
}

impl Caller {
    fn of(run: &Run) -> Self {
        Self {
            coordinator: run.coordinator.clone(),
            store: run.store.clone(),
            accepted: Arc::clone(&run.accepted),
        }
    }

    async fn write(&self, put: Put, wish: u8) {
        let Ok(receipt) = self.coordinator.write(put).await else {
            return;
        };
        let epoch = receipt.epoch();
        self.accepted.lock().unwrap().push((epoch, put.id));
        self.wait(&receipt, put, wish).await;
    }

    async fn wait(&self, receipt: &Receipt, put: Put, wish: u8) {
        let place = receipt.epoch().0 as usize - 1;
        match wish {
            0 => {}
            1 if receipt.flushed().await.is_ok() => {
                assert_eq!(self.coordinator.snapshot().view[place], put.id);
            }
            2 if receipt.durable().await.is_ok() => {
                assert_eq!(self.store.durable_ids()[place], put.id);
            }
            _ => assert!(self.coordinator.write(put).await.is_err()),
        }
    }
}

fn draw_store(random: &mut StdRng) -> Store {
    let mut store = Store::new();
    store.flush_time = Duration::from_millis(random.random_range(0..100));
    store.tick = random
        .random_bool(0.5)
        .then(|| Duration::from_millis(random.random_range(0..200)));
    let worst = random.random_range(0..6);
    let faults: Vec<_> = (0..20).map(|_| draw_fault(random, worst)).collect();
    store.contents.lock().unwrap().sync_faults =
        (0..20).map(|_| draw_fault(random, worst.min(3))).collect();
    store.fail_with(faults)
}

/// From a store that never fails (0) to one that may do anything (5).
fn draw_fault(random: &mut StdRng, worst: u8) -> Fault {
    if random.random_bool(0.6) {
        return Fault::None;
    }
    match random.random_range(0..=worst) {
        0 => Fault::None,
        1 => Fault::Before,
        2 => Fault::After,
        3 if random.random_bool(0.3) => Fault::Permanent,
        4 if random.random_bool(0.3) => Fault::Hang,
        _ => Fault::Before,
    }
}
