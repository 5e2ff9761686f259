//! Brings every run that nobody is at to a worker, over HTTP, until one takes it.
//!
//! Which runs those are is read from the queue's own rows, at start, whenever work is added
//! and from time to time: nothing is remembered here that a crash could lose, and what a
//! worker dropped is brought again once its lease has run out. Where no worker answers, runs
//! say so and wait; after the guard's limit for queued runs they end among the dead letters,
//! for only here can a worker be missing altogether. A worker whose slots are taken is not
//! missing.

use std::sync::Arc;
use std::time::Duration;

use catalog::{RunError, Unattended, Wait};
use chrono::{DateTime, TimeDelta, Utc};
use engine::{Disposition, Error};
use tokio::sync::Notify;

use crate::hands::Hands;
use crate::post::{Answer, Post};

/// Looked at in one round.
const AT_ONCE: u32 = 64;
/// However long a worker asks us to stay away.
const LONGEST: Duration = Duration::from_secs(10 * 60);

pub(crate) struct Dispatcher {
    hands: Hands,
    post: Post,
    /// A slot of this process is free: where the worker is this process, ask at once.
    freed: Arc<Notify>,
}

/// What to wait for after a round.
enum Next {
    News,
    Slot(Duration),
    Time(Duration),
}

impl Dispatcher {
    pub(crate) fn new(hands: Hands, post: Post, freed: Arc<Notify>) -> Self {
        Self { hands, post, freed }
    }

    pub(crate) async fn run(self) {
        let mut news = self.hands.engine.news();
        let mut silence = Silence::default();
        loop {
            // Seen before the round, so that work added meanwhile is not slept through.
            news.borrow_and_update();
            let next = self.round(&mut silence).await;
            let stop = self.stopped();
            match next {
                Next::News => tokio::select! {
                    () = stop => return,
                    changed = news.changed() => if changed.is_err() { return },
                    () = tokio::time::sleep(self.hands.settings.poll) => {}
                },
                Next::Slot(after) => tokio::select! {
                    () = stop => return,
                    () = self.freed.notified() => {}
                    () = tokio::time::sleep(after) => {}
                },
                Next::Time(after) => tokio::select! {
                    () = stop => return,
                    () = tokio::time::sleep(after) => {}
                },
            }
        }
    }

    /// Our own door closes before our workers end: from then on nobody is asked, for nothing
    /// could be told from a silence.
    async fn stopped(&self) {
        tokio::select! {
            () = self.hands.stop.cancelled() => {}
            () = self.post.closing.cancelled() => {}
        }
    }

    async fn round(&self, silence: &mut Silence) -> Next {
        match self.bring_all(silence).await {
            Ok(next) => next,
            Err(error) => {
                tracing::warn!(
                    error = error.explain(),
                    "runs could not be brought to a worker"
                );
                Next::Time(self.hands.engine.settings().retry.first)
            }
        }
    }

    async fn bring_all(&self, silence: &mut Silence) -> Result<Next, Error> {
        let parts = self.hands.engine.parts();
        let waiting = parts.catalog.unattended(AT_ONCE, parts.clock.now()).await?;
        for one in &waiting {
            let answer = match self.bring(one).await {
                Err(error) if is_its_own(&error) => {
                    self.set_aside(one, &error).await;
                    continue;
                }
                answer => answer?,
            };
            if self.post.closing.is_cancelled() {
                break;
            }
            match answer {
                Answer::Taken => silence.broken(),
                Answer::Stale => {}
                Answer::Refused(why) => {
                    silence.broken();
                    self.give_up(one, refused(&why)).await?;
                }
                Answer::Full(after) => {
                    silence.broken();
                    return Ok(Next::Slot(after));
                }
                Answer::Nobody { why, after } => {
                    let after = self.nobody(silence, &waiting, &why, after).await?;
                    return Ok(Next::Time(after));
                }
            }
        }
        Ok(Next::News)
    }

    async fn bring(&self, one: &Unattended) -> Result<Answer, Error> {
        let payload = match self.hands.engine.payload(one.tenant, one.run).await {
            Ok(payload) => payload,
            // Removed since it was listed.
            Err(Error::Catalog(catalog::Error::NotFound { .. })) => return Ok(Answer::Stale),
            Err(error) => return Err(error),
        };
        Ok(self.post.bring(&payload).await)
    }

    /// Says on the runs why they wait, and gives up those that have waited long enough;
    /// gives how long to wait before asking again.
    async fn nobody(
        &self,
        silence: &mut Silence,
        waiting: &[Unattended],
        why: &str,
        after: Option<Duration>,
    ) -> Result<Duration, Error> {
        let engine = &self.hands.engine;
        let now = engine.parts().clock.now();
        let limit = engine.settings().guard.queued;
        let lasted = silence.goes_on(now);
        if silence.times == 1 {
            tracing::warn!(why, "no worker takes runs");
        }
        if lasted >= limit {
            let overdue = waiting.iter().filter(|one| since(one.since, now) >= limit);
            for one in overdue {
                self.give_up(one, no_worker(why, limit)).await?;
            }
        }
        let retry = engine.settings().retry;
        let after = after.unwrap_or_else(|| retry.backoff(silence.times, rand::random()));
        let after = after.min(LONGEST);
        let wait = Wait {
            not_before: now + TimeDelta::from_std(after).unwrap_or(TimeDelta::minutes(1)),
            why: format!("no worker takes it: {why}"),
        };
        engine.parts().catalog.await_worker(wait, now).await?;
        Ok(after)
    }

    /// What cannot be read of a run keeps no other from being brought, even where the run cannot
    /// be ended for it either.
    async fn set_aside(&self, one: &Unattended, why: &Error) {
        if let Err(error) = self.give_up(one, why.on_run()).await {
            let (error, why) = (error.explain(), why.explain());
            tracing::error!(run_id = %one.run, error, why, "work could not be set aside");
        }
    }

    /// Unless a worker has it after all.
    async fn give_up(&self, one: &Unattended, error: RunError) -> Result<(), Error> {
        let parts = self.hands.engine.parts();
        let (now, why) = (parts.clock.now(), error.message.clone());
        if parts.catalog.bury_unattended(one.run, error, now).await? {
            tracing::error!(run_id = %one.run, error = %why, "work set aside");
        }
        Ok(())
    }
}

/// Whether it says nothing of any other run.
fn is_its_own(error: &Error) -> bool {
    matches!(error.disposition(), Disposition::Halt | Disposition::Reject)
}

fn no_worker(why: &str, limit: Duration) -> RunError {
    let minutes = limit.as_secs() / 60;
    RunError {
        code: "no_worker".to_owned(),
        message: format!("no worker took it for {minutes} minutes: {why}"),
        hint: Some(
            "start the worker or correct workers.url, then replay the dead letter; \
             with runtime = \"inline\" the server does the work itself"
                .to_owned(),
        ),
    }
}

fn refused(why: &str) -> RunError {
    RunError {
        code: "worker_refused".to_owned(),
        message: format!("the worker does not take it: {why}"),
        hint: Some("see whether server and worker are of one version, then replay it".to_owned()),
    }
}

/// How long no worker has been heard of, as far as this process asked. A server that was off
/// has asked nobody, so nothing is held against runs that waited for it.
#[derive(Debug, Default)]
struct Silence {
    began: Option<DateTime<Utc>>,
    times: u32,
}

impl Silence {
    fn broken(&mut self) {
        *self = Self::default();
    }

    /// Asked in vain once more: how long it has lasted.
    fn goes_on(&mut self, now: DateTime<Utc>) -> Duration {
        self.times += 1;
        since(*self.began.get_or_insert(now), now)
    }
}

fn since(then: DateTime<Utc>, now: DateTime<Utc>) -> Duration {
    (now - then).to_std().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_counted_from_its_beginning_until_anybody_answers() {
        let at = |minutes| DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes);
        let minutes = |n: u64| Duration::from_secs(n * 60);
        let mut silence = Silence::default();
        assert_eq!(silence.goes_on(at(0)), minutes(0));
        assert_eq!(silence.goes_on(at(59)), minutes(59));
        silence.broken();
        assert_eq!(silence.goes_on(at(70)), minutes(0));
        assert_eq!((silence.goes_on(at(130)), silence.times), (minutes(60), 2));
    }
}
