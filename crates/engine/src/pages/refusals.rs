//! Documents that could not be printed, and pages that could not be drawn, remembered for a
//! while: trying again takes minutes of a core, and anybody may ask again at once.

use std::collections::VecDeque;
use std::sync::Mutex;

use chrono::{DateTime, TimeDelta, Utc};
use model::VersionId;

const FOR: TimeDelta = TimeDelta::minutes(15);
/// The oldest are forgotten first.
const MOST: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<VecDeque<Refusal>>);

/// A page of a version, or its print.
pub(super) type Subject = (VersionId, Option<u32>);

#[derive(Debug)]
struct Refusal {
    of: Subject,
    why: String,
    until: DateTime<Utc>,
}

impl Refusals {
    pub(super) fn remember(&self, of: Subject, why: String, now: DateTime<Utc>) {
        let mut all = self.0.lock().expect("nothing panics while it holds them");
        all.retain(|one| one.of != of && now < one.until);
        if all.len() == MOST {
            all.pop_front();
        }
        all.push_back(Refusal {
            of,
            why,
            until: now + FOR,
        });
    }

    pub(super) fn why(&self, of: Subject, now: DateTime<Utc>) -> Option<String> {
        let all = self.0.lock().expect("nothing panics while it holds them");
        let found = all.iter().find(|one| one.of == of)?;
        (now < found.until).then(|| found.why.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_remembered_for_a_while_and_only_so_many_are() {
        let refusals = Refusals::default();
        let now = DateTime::UNIX_EPOCH;
        let version = |n: usize| (VersionId::from_uuid(uuid::Uuid::from_u128(n as u128)), None);
        let first = version(MOST);
        refusals.remember(first, "it hung".to_owned(), now);
        assert_eq!(refusals.why(first, now).as_deref(), Some("it hung"));
        assert_eq!(refusals.why(version(0), now), None);
        assert_eq!(refusals.why((first.0, Some(1)), now), None, "a page of it");
        assert_eq!(refusals.why(first, now + FOR), None);
        for n in 0..MOST {
            refusals.remember(version(n), String::new(), now);
        }
        assert_eq!(refusals.why(first, now), None);
    }
}
