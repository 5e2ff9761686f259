//! What becomes of a delivery once the engine has answered.

use std::time::Duration;

use catalog::RunError;
use engine::retry::Policy;
use engine::{Disposition, Error};
use model::FollowUps;

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// In this order: a crash in between repeats the delivery and loses nothing.
    SendThenAck(FollowUps),
    /// Give it back; it was not its turn.
    Wait { why: String, after: Duration },
    /// Give it back and count the attempt; with attempts used up it becomes a dead letter.
    Retry { error: RunError, after: Duration },
    /// The document is at fault.
    FailRun(RunError),
    /// We are at fault.
    SetAside(RunError),
    /// It was called off.
    Stop(&'static str),
    /// It is no longer ours to answer for.
    Forget,
}

pub fn verdict(
    answer: Result<FollowUps, Error>,
    attempt: u32,
    policy: &Policy,
    jitter: f64,
) -> Verdict {
    let error = match answer {
        Ok(follow_ups) => return Verdict::SendThenAck(follow_ups),
        Err(error) => error,
    };
    match error.disposition() {
        Disposition::Retry { after } => Verdict::Retry {
            error: error.on_run(),
            after: after.unwrap_or_else(|| policy.backoff(attempt, jitter)),
        },
        Disposition::Wait { why, after } => Verdict::Wait { why, after },
        Disposition::Reject => Verdict::FailRun(error.on_run()),
        Disposition::Halt => Verdict::SetAside(error.on_run()),
        Disposition::Stop { why } => Verdict::Stop(why),
        Disposition::Drop => Verdict::Forget,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(error: Error) -> Verdict {
        verdict(Err(error), 1, &Policy::default(), 1.0)
    }

    #[test]
    fn every_answer_has_its_acknowledgement() {
        let why = "the job is paused";
        let after_a_second = Duration::from_secs(1);
        assert_eq!(
            after(Error::Paused { why }),
            Verdict::Wait {
                why: why.to_owned(),
                after: after_a_second
            }
        );
        assert_eq!(
            after(Error::CalledOff { why: "canceled" }),
            Verdict::Stop("canceled")
        );
        assert!(matches!(
            after(Error::StageStopped),
            Verdict::Retry { after, .. } if after == after_a_second
        ));
        let fenced = catalog::Error::Fenced { work: 7 };
        assert_eq!(after(fenced.into()), Verdict::Forget);
        let other = Error::OtherModel {
            serving: "a".to_owned(),
            ours: "b".to_owned(),
        };
        assert!(matches!(after(other), Verdict::SetAside(_)));
        let done = verdict(Ok(vec![]), 1, &Policy::default(), 1.0);
        assert_eq!(done, Verdict::SendThenAck(vec![]));
    }
}
