//! Stops asking a service that keeps failing, and tries it again carefully.
//!
//! Closed, requests pass. After several failures in a row it opens and refuses for
//! a while; then one request may try, and its outcome closes the breaker or opens
//! it for twice as long.

use std::time::{Duration, Instant};

const FAILURES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
        pause: Duration,
    },
    /// One request is out; nobody else passes before `until`, in case it never returns.
    Trying {
        until: Instant,
        pause: Duration,
    },
}

#[derive(Debug)]
pub struct Breaker {
    state: State,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            state: State::Closed { failures: 0 },
        }
    }
}

impl Breaker {
    /// May a request go out? If not, how long until it is worth asking again.
    pub fn ask(&mut self, now: Instant) -> Result<(), Duration> {
        match self.state {
            State::Closed { .. } => Ok(()),
            State::Open { until, .. } | State::Trying { until, .. } if now < until => {
                Err(until - now)
            }
            State::Open { pause, .. } | State::Trying { pause, .. } => {
                let until = now + pause;
                self.state = State::Trying { until, pause };
                Ok(())
            }
        }
    }

    /// The service answered, if only to say it is busy.
    pub fn answered(&mut self) {
        self.state = State::Closed { failures: 0 };
    }

    pub fn failed(&mut self, now: Instant) {
        self.state = match self.state {
            State::Closed { failures } if failures + 1 < FAILURES => State::Closed {
                failures: failures + 1,
            },
            State::Closed { .. } => open(now, FIRST_PAUSE),
            State::Trying { pause, .. } => open(now, (pause * 2).min(LONGEST_PAUSE)),
            // A request that left before it opened says nothing new.
            State::Open { .. } => self.state,
        };
    }
}

fn open(now: Instant, pause: Duration) -> State {
    State::Open {
        until: now + pause,
        pause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(now: Instant) -> Breaker {
        let mut breaker = Breaker::default();
        (0..FAILURES).for_each(|_| breaker.failed(now));
        breaker
    }

    #[test]
    fn failures_in_a_row_stop_requests_and_an_answer_in_between_does_not() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        for n in 0..3 * FAILURES {
            breaker.failed(now);
            if n % 2 == 1 {
                breaker.answered();
            }
        }
        assert_eq!(breaker.ask(now), Ok(()));
        assert_eq!(opened(now).ask(now), Err(FIRST_PAUSE));
    }

    #[test]
    fn one_request_tries_again_and_its_outcome_decides() {
        let now = Instant::now();
        let later = now + FIRST_PAUSE;
        let mut breaker = opened(now);
        assert_eq!(breaker.ask(later), Ok(()));
        assert_eq!(breaker.ask(later), Err(FIRST_PAUSE));
        breaker.failed(later);
        assert_eq!(breaker.ask(later), Err(FIRST_PAUSE * 2));
        assert_eq!(breaker.ask(later + FIRST_PAUSE * 2), Ok(()));
        breaker.answered();
        assert_eq!(breaker.ask(later), Ok(()));
    }

    #[test]
    fn a_trial_that_never_returns_does_not_block_for_ever() {
        let now = Instant::now();
        let mut breaker = opened(now);
        assert_eq!(breaker.ask(now + FIRST_PAUSE), Ok(()));
        assert_eq!(breaker.ask(now + FIRST_PAUSE * 2), Ok(()));
    }
}
