//! How much to send in one request, and when the next one may leave.
//!
//! The size halves when the service is pushed too hard and grows back a little
//! with every answer, up to what the service was found to take: so many inputs, and so
//! much text, each by itself, as a service that bounds one says nothing of the other. One
//! that says when it will listen again is believed, for every request, not only the one
//! it refused.

use std::time::{Duration, Instant};

/// What is in one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    pub inputs: usize,
    /// Of text.
    pub bytes: usize,
}

impl Load {
    pub fn of(texts: &[&str]) -> Self {
        Self {
            inputs: texts.len(),
            bytes: texts.iter().map(|text| text.len()).sum(),
        }
    }

    pub fn most(self, other: Self) -> Self {
        Self {
            inputs: self.inputs.max(other.inputs),
            bytes: self.bytes.max(other.bytes),
        }
    }
}

/// What there was too much of in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Inputs,
    Bytes,
}

#[derive(Debug)]
pub struct Pace {
    size: usize,
    most: Load,
    /// The most of either that was ever answered.
    borne: Load,
    not_before: Option<Instant>,
}

impl Pace {
    /// Never sends more inputs than `most` at once, nor less than one.
    pub fn new(most: usize) -> Self {
        Self {
            size: most.max(1),
            most: Load {
                inputs: most.max(1),
                bytes: usize::MAX,
            },
            borne: Load::default(),
            not_before: None,
        }
    }

    /// What may go at once; one input may, however long it is.
    pub fn load(&self) -> Load {
        Load {
            inputs: self.size,
            bytes: self.most.bytes,
        }
    }

    /// How long the next request must still wait.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let not_before = self.not_before?;
        (now < not_before).then(|| not_before - now)
    }

    pub fn answered(&mut self, load: Load) {
        self.borne = self.borne.most(load);
        // It takes more text than was thought: what was refused had too much of something else.
        if load.bytes > self.most.bytes {
            self.most.bytes = usize::MAX;
        }
        self.size = (self.size + self.most.inputs.div_ceil(8)).min(self.most.inputs);
    }

    /// What there was too much of in a refused request: as the service says, unless it has
    /// answered as much of that before.
    pub fn too_much(&mut self, refused: Load, said: Measure) -> Measure {
        let many = refused.inputs > self.borne.inputs;
        let much = refused.bytes > self.borne.bytes;
        match (many, much) {
            (true, true) => said,
            (true, false) => Measure::Inputs,
            (false, true) => Measure::Bytes,
            // It takes less than it did.
            (false, false) => {
                self.borne = Load::default();
                said
            }
        }
    }

    /// More of this at once than it has answered is too much for it.
    pub fn keep_to_what_was_answered(&mut self, measure: Measure) {
        match measure {
            Measure::Inputs => {
                self.most.inputs = self.most.inputs.min(self.borne.inputs.max(1));
                // What was taken for too much text before may have been too many inputs.
                self.most.bytes = usize::MAX;
            }
            Measure::Bytes => self.most.bytes = self.most.bytes.min(self.borne.bytes.max(1)),
        }
        self.size = self.size.min(self.most.inputs);
    }

    /// Too slow, too much or too fast.
    pub fn pushed_too_hard(&mut self) {
        self.size = (self.size / 2).max(1);
    }

    pub fn hold_until(&mut self, until: Instant) {
        self.not_before = self.not_before.max(Some(until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Load = Load {
        inputs: 0,
        bytes: 0,
    };

    fn load(inputs: usize, bytes: usize) -> Load {
        Load { inputs, bytes }
    }

    #[test]
    fn the_size_halves_under_strain_and_grows_back_to_the_limit() {
        let mut pace = Pace::new(64);
        (0..10).for_each(|_| pace.pushed_too_hard());
        assert_eq!(pace.load().inputs, 1);
        let sizes: Vec<_> = (0..9)
            .map(|_| {
                pace.answered(NOTHING);
                pace.load().inputs
            })
            .collect();
        assert_eq!(sizes, [9, 17, 25, 33, 41, 49, 57, 64, 64]);
    }

    #[test]
    fn it_grows_back_no_further_than_the_service_was_found_to_take() {
        let mut pace = Pace::new(64);
        pace.answered(load(12, 5000));
        pace.keep_to_what_was_answered(Measure::Inputs);
        assert_eq!(pace.load(), load(12, usize::MAX));
        pace.keep_to_what_was_answered(Measure::Bytes);
        (0..9).for_each(|_| pace.answered(NOTHING));
        assert_eq!(pace.load(), load(12, 5000));
    }

    #[test]
    fn a_refusal_is_about_what_was_never_answered_as_much_of() {
        use Measure::{Bytes, Inputs};
        let mut pace = Pace::new(64);
        assert_eq!(pace.too_much(load(64, 100), Bytes), Bytes);
        assert_eq!(pace.too_much(load(64, 100), Inputs), Inputs);
        pace.answered(load(32, 5000));
        assert_eq!(pace.too_much(load(64, 100), Bytes), Inputs);
        assert_eq!(pace.too_much(load(32, 9000), Inputs), Bytes);
        assert_eq!(pace.too_much(load(64, 9000), Bytes), Bytes);
    }

    #[test]
    fn a_service_that_takes_less_than_it_did_is_sent_less() {
        let mut pace = Pace::new(64);
        pace.answered(load(64, 9000));
        let measure = pace.too_much(load(32, 4000), Measure::Inputs);
        pace.answered(load(16, 2000));
        pace.keep_to_what_was_answered(measure);
        assert_eq!(pace.load(), load(16, usize::MAX));
    }

    #[test]
    fn an_input_longer_than_all_that_goes_together_was_thought_to_be_frees_the_others() {
        let mut pace = Pace::new(64);
        pace.answered(load(32, 500));
        pace.keep_to_what_was_answered(Measure::Bytes);
        pace.answered(load(1, 500));
        assert_eq!(pace.load().bytes, 500);
        pace.answered(load(1, 900));
        assert_eq!(pace.load().bytes, usize::MAX);
    }

    #[test]
    fn the_longest_wait_asked_for_is_kept() {
        let now = Instant::now();
        let mut pace = Pace::new(1);
        pace.hold_until(now + Duration::from_secs(9));
        pace.hold_until(now + Duration::from_secs(2));
        assert_eq!(pace.wait(now), Some(Duration::from_secs(9)));
        assert_eq!(pace.wait(now + Duration::from_secs(9)), None);
    }
}
