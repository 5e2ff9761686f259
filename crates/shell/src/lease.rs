//! The claims this process holds, kept alive by a timer.
//!
//! A claim whose lease was lost is told so: its task stops. Were it to go on,
//! the fence would refuse its writes; stopping only saves the work.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use catalog::Claim;
use engine::Engine;
use tokio_util::sync::CancellationToken;

#[derive(Clone, Default)]
pub(crate) struct Held(Arc<Mutex<HashMap<Key, Entry>>>);

/// Work and fence: steps claimed in one go may share the fence, a step claimed twice the work.
type Key = (i64, u64);

fn key(claim: &Claim) -> Key {
    (claim.work, claim.token)
}

struct Entry {
    claim: Claim,
    lost: CancellationToken,
}

impl Held {
    /// Registers a claim under a key that no other claim shares.
    pub(crate) fn hold(&self, claim: Claim) -> Hold {
        let lost = CancellationToken::new();
        let key = key(&claim);
        let entry = Entry {
            claim,
            lost: lost.clone(),
        };
        self.lock().insert(key, entry);
        Hold {
            held: self.clone(),
            key,
            lost,
        }
    }

    pub(crate) fn claims(&self) -> Vec<Claim> {
        self.lock().values().map(|e| e.claim.clone()).collect()
    }

    fn lose(&self, key: Key) {
        if let Some(entry) = self.lock().get(&key) {
            entry.lost.cancel();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Entry>> {
        self.0
            .lock()
            .expect("nothing panics while it holds the claims")
    }
}

/// A claim is held for as long as this lives.
pub(crate) struct Hold {
    held: Held,
    key: Key,
    lost: CancellationToken,
}

impl Hold {
    pub(crate) async fn lost(&self) {
        self.lost.cancelled().await;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.held.lock().remove(&self.key);
    }
}

/// Beats for as long as it is polled, also while the last deliveries end. A beat that fails is tried again at the next tick; the
/// lease is long enough for several.
pub(crate) async fn beat(engine: Arc<Engine>, held: Held, every: Duration, lease: Duration) {
    let mut tick = tokio::time::interval(every);
    let mut suspected = HashSet::new();
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let claims = held.claims();
        if claims.is_empty() {
            continue;
        }
        let now = engine.parts().clock.now();
        match engine.parts().catalog.heartbeat(&claims, lease, now).await {
            Ok(still) => {
                let unknown: HashSet<Key> = claims
                    .iter()
                    .zip(still)
                    .filter(|(_, held)| !held)
                    .map(|(claim, _)| key(claim))
                    .collect();
                // A step that ended while we asked is unknown too; it is gone by the next beat.
                for key in unknown.intersection(&suspected) {
                    held.lose(*key);
                }
                suspected = unknown;
            }
            Err(error) => tracing::warn!(%error, "heartbeat failed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Step;

    use super::*;

    fn nil<T: std::str::FromStr<Err: std::fmt::Debug>>() -> T {
        "00000000-0000-0000-0000-000000000000"
            .parse()
            .expect("an id")
    }

    fn claim(work: i64, token: u64) -> Claim {
        Claim {
            work,
            token,
            step: Step::Prep { version: nil() },
            attempt: 1,
            unanswered: 0,
            tenant: nil(),
            kb: nil(),
            generation: nil(),
            document: nil(),
            run: nil(),
            version_number: 1,
            job: None,
            lease_until: chrono::DateTime::UNIX_EPOCH,
            trace: None,
        }
    }

    #[test]
    fn steps_claimed_in_one_go_are_held_each_for_itself() {
        let held = Held::default();
        let first = held.hold(claim(1, 7));
        let _second = held.hold(claim(2, 7));
        assert_eq!(held.claims().len(), 2);
        drop(first);
        assert_eq!(held.claims(), [claim(2, 7)]);
    }
}
