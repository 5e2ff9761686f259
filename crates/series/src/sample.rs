//! A value at a time, and many of them summed up.

/// Microseconds since 1970. Fine enough that samples of one series hardly ever meet.
pub type Micros = i64;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    pub at: Micros,
    pub value: f64,
}

/// Samples that follow each other in one series, summed up so that what matters
/// of them stays exact: count, sum, extremes, and how much a counter has risen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Summary {
    pub since: Micros,
    pub until: Micros,
    pub count: u64,
    pub sum: f64,
    pub min: f64,
    pub max: f64,
    pub first: f64,
    pub last: f64,
    /// What a counter gained from first to last; a fall is a restart from zero.
    pub rise: f64,
}

impl From<Sample> for Summary {
    fn from(Sample { at, value }: Sample) -> Self {
        Self {
            since: at,
            until: at,
            count: 1,
            sum: value,
            min: value,
            max: value,
            first: value,
            last: value,
            rise: 0.0,
        }
    }
}

impl Summary {
    /// This and one that follows it. Any grouping gives the same result.
    pub fn then(self, next: Self) -> Self {
        Self {
            since: self.since,
            until: next.until,
            count: self.count + next.count,
            sum: self.sum + next.sum,
            min: self.min.min(next.min),
            max: self.max.max(next.max),
            first: self.first,
            last: next.last,
            rise: self.rise + gain(self.last, next.first) + next.rise,
        }
    }

    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

/// What a counter gained from one value to the next.
pub(crate) fn gain(before: f64, after: f64) -> f64 {
    if after >= before {
        after - before
    } else {
        after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_of_summaries_is_the_summary_of_all() {
        let values = [1.0, 4.0, 9.0, 2.0, 3.0, 0.0, 5.0];
        let all: Vec<Summary> = (0..)
            .zip(values)
            .map(|(at, value)| Sample { at, value }.into())
            .collect();
        let whole = all.iter().copied().reduce(Summary::then).unwrap();
        assert_eq!(
            (whole.rise, whole.min, whole.max),
            (8.0 + 2.0 + 1.0 + 5.0, 0.0, 9.0)
        );
        for cut in 1..all.len() {
            let parts = [&all[..cut], &all[cut..]];
            let [a, b] = parts.map(|part| part.iter().copied().reduce(Summary::then).unwrap());
            assert_eq!(a.then(b), whole);
        }
    }
}
