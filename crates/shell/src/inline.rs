//! Workers as tasks of this process, fed by the queue in the catalog.
//!
//! One lane for each kind of step: it takes whatever is due, of whichever run.

use std::sync::Arc;

use catalog::Claim;
use model::StepKind;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use crate::hands::{CLAIM_BATCH, Hands, Of};

/// Starts the lanes; each runs until its hands are stopped.
pub(crate) fn start(hands: &Hands) -> impl Iterator<Item = JoinHandle<()>> {
    let lanes = [
        (StepKind::Prep, hands.settings.prep_slots),
        (StepKind::Extract, hands.settings.extract_slots),
        (StepKind::Finalize, hands.settings.finalize_slots),
    ];
    lanes.into_iter().map(|(kind, slots)| {
        let lane = Lane {
            hands: hands.clone(),
            kind,
            slots: Arc::new(Semaphore::new(slots)),
        };
        tokio::spawn(lane.run())
    })
}

/// The deliveries of one kind of step, as many at a time as there are slots.
struct Lane {
    hands: Hands,
    kind: StepKind,
    slots: Arc<Semaphore>,
}

impl Lane {
    async fn run(self) {
        let worker = format!("{}-{}", std::process::id(), self.kind.as_str());
        let mut news = self.hands.engine.news();
        while !self.hands.stop.is_cancelled() {
            // Seen before the claim, so work added while we look is not slept through.
            news.borrow_and_update();
            let Some(permits) = self.free_slots().await else {
                return;
            };
            let of = Of::Kind(self.kind);
            let claimed = self.hands.claim(of, &worker, permits.len()).await;
            let idle = claimed.len() < permits.len();
            for (claim, permit) in claimed.into_iter().zip(permits) {
                self.deliver(claim, permit);
            }
            if idle {
                tokio::select! {
                    () = self.hands.stop.cancelled() => return,
                    changed = news.changed() => if changed.is_err() { return },
                    () = tokio::time::sleep(self.hands.settings.poll) => {}
                }
            }
        }
    }

    async fn free_slots(&self) -> Option<Vec<OwnedSemaphorePermit>> {
        let first = tokio::select! {
            () = self.hands.stop.cancelled() => return None,
            permit = self.slots.clone().acquire_owned() => permit.ok()?,
        };
        let mut permits = vec![first];
        while permits.len() < CLAIM_BATCH {
            match self.slots.clone().try_acquire_owned() {
                Ok(permit) => permits.push(permit),
                Err(_) => break,
            }
        }
        Some(permits)
    }

    fn deliver(&self, claim: Claim, permit: OwnedSemaphorePermit) {
        let carried = self.hands.carry(claim);
        self.hands.deliveries.spawn(async move {
            carried.await;
            drop(permit);
        });
    }
}
