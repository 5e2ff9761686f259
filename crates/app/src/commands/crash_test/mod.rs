//! `crash-test`: the promise that nothing is lost, checked on the user's own files.
//!
//! The files are ingested by children of this program, each into a scratch place of its
//! own. One runs undisturbed and counts every durable effect it passes. The others die
//! at one of those effects, right before or right after it. A server is started then and told
//! of nothing: what was begun must go on by itself, and end with the digest of the undisturbed
//! one. The command is given again only where nothing was begun and nobody was told otherwise.

mod judge;
mod place;
mod report;
mod restart;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use durable::{CrashAt, When};
use futures::{StreamExt as _, stream};

use crate::cli::CrashTest;
use crate::config::Config;
use crate::explain::hinted;

use judge::{Outcome, Restart, State, judge};
use place::{Ended, Place};
use report::Report;
use restart::{Began, Resumed};

/// A restart that takes this many times as long as the undisturbed run has lost its way.
const PATIENCE: u32 = 20;
const LEAST_PATIENCE: Duration = Duration::from_secs(120);
/// A trial mostly waits for the disk.
const AT_ONCE_PER_CORE: usize = 4;

/// What every trial shares.
struct Trials<'a> {
    config: &'a Config,
    args: &'a CrashTest,
    calm: State,
    patience: Duration,
}

pub async fn run(config: &Config, args: &CrashTest) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let (calm, mut passed) = undisturbed(config, args).await?;
    if let Some(unknown) = args.points.iter().find(|p| !passed.contains_key(*p)) {
        return Err(hinted(
            format!("ingesting these files never passes the effect `{unknown}`"),
            format!(
                "there are: {}",
                passed.into_keys().collect::<Vec<_>>().join(", ")
            ),
        ));
    }
    passed.retain(|point, _| args.points.is_empty() || args.points.contains(point));
    let trials = Trials {
        config,
        args,
        calm,
        patience: LEAST_PATIENCE.max(begun.elapsed() * PATIENCE),
    };
    let deaths = deaths(&passed);
    let mut report = Report::new(args.json, &trials.calm, &passed);
    report.begin(deaths.len())?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut outcomes = stream::iter(deaths)
        .map(|death| trials.one(death))
        .buffered(cores * AT_ONCE_PER_CORE);
    while let Some(outcome) = outcomes.next().await {
        report.add(outcome?)?;
    }
    report.finish()
}

/// What the files come to when nothing happens, and the effects passed on the way.
async fn undisturbed(
    config: &Config,
    args: &CrashTest,
) -> anyhow::Result<(State, BTreeMap<String, u64>)> {
    let place = Place::create(config).await?;
    let counted = place.ingest_counted(&args.paths).await;
    let state = place.verify(LEAST_PATIENCE).await;
    place.remove().await?;
    let passed = counted?;
    let state = state?;
    if state.documents == 0 {
        return Err(hinted(
            "none of these files could be ingested",
            "`gristmill ingest` says why",
        ));
    }
    Ok((state, passed))
}

/// At each point, before and after, the first, the middle and the last time it is passed.
fn deaths(passed: &BTreeMap<String, u64>) -> Vec<CrashAt> {
    let mut deaths = Vec::new();
    for (point, &times) in passed {
        let mut hits = vec![1, times.div_ceil(2), times];
        hits.dedup();
        for when in [When::Before, When::After] {
            deaths.extend(hits.iter().map(|&hit| CrashAt {
                point: point.clone(),
                when,
                hit,
            }));
        }
    }
    deaths
}

impl Trials<'_> {
    /// Dies once, is started again, and is judged.
    async fn one(&self, mut death: CrashAt) -> anyhow::Result<Outcome> {
        loop {
            let place = Place::create(self.config).await?;
            let tried = self.in_place(&place, &death).await;
            place.remove().await?;
            match tried? {
                Some(outcome) => return Ok(outcome),
                // Flushes gather what comes together, so no two runs pass quite as many.
                None => death.hit /= 2,
            }
        }
    }

    /// `None` when the point was passed too seldom this time to die at it.
    async fn in_place(&self, place: &Place, death: &CrashAt) -> anyhow::Result<Option<Outcome>> {
        let paths = &self.args.paths;
        let acknowledged = match place.ingest(paths, Some(death), self.patience).await? {
            Ended::Died { acknowledged } => acknowledged,
            Ended::Exited if death.hit > 1 => return Ok(None),
            // What a clock sets off, such as a heartbeat, not every run has time for.
            Ended::Exited => {
                let state = place.verify(self.patience).await?;
                return Ok(Some(judge(death, &self.calm, state).alive()));
            }
            Ended::Stuck => {
                return Ok(Some(Outcome::failed(death, "the run came to no end")));
            }
        };
        let began = match place.resume(self.patience).await? {
            Resumed::Quiet(began) => began,
            Resumed::Stuck { left } => {
                let why = format!("started again, it came to no end: {left}");
                return Ok(Some(Outcome::failed(death, &why)));
            }
        };
        let restart = match began {
            // Whoever gave the command was told nothing, and gives it again.
            Began::Nothing if !acknowledged => {
                let Ended::Exited = place.ingest(paths, None, self.patience).await? else {
                    let why = "given again, it came to no end";
                    return Ok(Some(Outcome::failed(death, why)));
                };
                Restart::Repeated
            }
            // Also where it was told otherwise: what was acknowledged and is not there is lost.
            Began::Nothing | Began::Job => Restart::Resumed,
        };
        let state = place.verify(self.patience).await?;
        Ok(Some(judge(death, &self.calm, state).after(restart)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deaths_are_the_first_the_middle_and_the_last_of_each_point() {
        let passed = BTreeMap::from([("a".to_owned(), 9), ("b".to_owned(), 1)]);
        let named: Vec<_> = deaths(&passed)
            .iter()
            .map(|d| format!("{}:{}:{}", d.point, d.when.as_str(), d.hit))
            .collect();
        let expected = [
            "a:before:1",
            "a:before:5",
            "a:before:9",
            "a:after:1",
            "a:after:5",
            "a:after:9",
            "b:before:1",
            "b:after:1",
        ];
        assert_eq!(named, expected);
    }
}
