//! How fast a job goes, in words.

use catalog::Pace;

use crate::ui::{duration, figure};

/// `2 documents/s, 20 chunks/s`
pub fn rates(pace: &Pace) -> String {
    let documents = figure(pace.documents_per_second);
    let chunks = figure(pace.chunks_per_second);
    format!("{documents} documents/s, {chunks} chunks/s")
}

/// `about 30 s left`, where that can be known.
pub fn left(pace: &Pace) -> Option<String> {
    let left = |seconds| format!("about {} left", duration(seconds as f64));
    pace.seconds_left.map(left)
}

/// Both, of a job that somebody is at.
pub fn words(pace: &Pace) -> String {
    match left(pace) {
        None => rates(pace),
        Some(left) => format!("{}, {left}", rates(pace)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_said() {
        let pace = Pace {
            documents_per_second: 2.0,
            chunks_per_second: 20.0,
            seconds_left: Some(300),
        };
        let said = "2 documents/s, 20 chunks/s, about 5 min left";
        assert_eq!(words(&pace), said);
        let paused = Pace {
            seconds_left: None,
            ..pace
        };
        assert_eq!(words(&paused), "2 documents/s, 20 chunks/s");
    }
}
