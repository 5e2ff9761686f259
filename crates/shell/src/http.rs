//! Runs that deliveries of their own brought, each carried through by itself.
//!
//! Whoever delivers names a run. Its steps are rows of the queue already: they are claimed
//! under the same leases as inline, until the run has ended or waits. A run in a slot is
//! taken once, however often it is delivered; one that another process is at is left to it
//! by the claim. So a delivery may be lost, late or repeated, and changes nothing.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};

use engine::delegation::Taken;
use model::RunId;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::hands::{CLAIM_BATCH, Hands, Of};

/// Takes runs as long as there are slots. Cheap to clone.
#[derive(Clone)]
pub struct Delegated {
    hands: Hands,
    slots: Arc<Semaphore>,
    under_way: Arc<Mutex<HashSet<RunId>>>,
    freed: Arc<Notify>,
}

impl Delegated {
    pub(crate) fn new(hands: Hands) -> Self {
        let slots = hands.settings.run_slots;
        Self {
            hands,
            slots: Arc::new(Semaphore::new(slots)),
            under_way: Arc::default(),
            freed: Arc::default(),
        }
    }

    /// Told whenever a slot is free again.
    pub(crate) fn freed(&self) -> Arc<Notify> {
        self.freed.clone()
    }

    /// Answers at once; what is accepted goes on by itself.
    pub fn take(&self, run: RunId) -> Taken {
        if self.hands.stop.is_cancelled() {
            return Taken::NoWorkers;
        }
        let mut under_way = self.lock();
        if under_way.contains(&run) {
            return Taken::AlreadyRunning;
        }
        let Ok(permit) = self.slots.clone().try_acquire_owned() else {
            return Taken::Full;
        };
        under_way.insert(run);
        drop(under_way);
        let slot = Slot {
            of: self.clone(),
            run,
            permit: Some(permit),
        };
        self.hands.deliveries.spawn(slot.carry_through());
        Taken::Accepted
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<RunId>> {
        self.under_way
            .lock()
            .expect("nothing panics while it holds the runs")
    }
}

/// Held by one run for as long as this lives.
struct Slot {
    of: Delegated,
    run: RunId,
    permit: Option<OwnedSemaphorePermit>,
}

impl Slot {
    /// What is due of the run, again and again, until nothing is.
    async fn carry_through(self) {
        let hands = &self.of.hands;
        let worker = format!("{}-http", std::process::id());
        while !hands.stop.is_cancelled() {
            let claims = hands.claim(Of::Run(self.run), &worker, CLAIM_BATCH).await;
            if claims.is_empty() {
                return;
            }
            let carried = claims.into_iter().map(|claim| hands.carry(claim));
            let carried: Vec<_> = carried.map(|step| hands.deliveries.spawn(step)).collect();
            for step in carried {
                // One that panicked is delivered again when its lease runs out.
                let _ = step.await;
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.of.lock().remove(&self.run);
        drop(self.permit.take());
        self.of.freed.notify_one();
    }
}
