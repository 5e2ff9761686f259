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
use tokio_util::sync::CancellationToken;

use crate::cli::CrashTest;
use crate::commands::stop_on_signal;
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
    /// Whatever is under way is dropped then, and what it made is removed.
    stop: CancellationToken,
}

const STOPPING: &str = "stopping; what the trials have made is being removed";

pub async fn run(config: &Config, args: &CrashTest) -> anyhow::Result<ExitCode> {
    let stop = stop_on_signal(CancellationToken::new(), STOPPING)?;
    let begun = Instant::now();
    let Some((calm, mut passed)) = undisturbed(config, args, &stop).await? else {
        return Err(interrupted());
    };
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
        stop,
    };
    let deaths = deaths(&passed);
    let mut report = Report::new(args.json, &trials.calm, &passed);
    report.begin(deaths.len())?;
    let mut outcomes = stream::iter(deaths)
        .map(|death| trials.one(death))
        .buffered(at_once());
    // To the last of them, whatever happens: each removes what it has made.
    let mut broke = None;
    while let Some(outcome) = outcomes.next().await {
        let told = outcome.and_then(|outcome| outcome.map_or(Ok(()), |one| report.add(one)));
        if let Err(error) = told {
            trials.stop.cancel();
            broke.get_or_insert(error);
        }
    }
    match broke {
        Some(error) => Err(error),
        None if trials.stop.is_cancelled() => Err(interrupted()),
        None => report.finish(),
    }
}

fn at_once() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores * AT_ONCE_PER_CORE
}

fn interrupted() -> anyhow::Error {
    hinted(
        "it was interrupted before every death was tried",
        "run it again, with `--point` for some of the deaths alone",
    )
}

/// What the files come to when nothing happens, and the effects passed on the way; `None` when
/// it was stopped.
async fn undisturbed(
    config: &Config,
    args: &CrashTest,
    stop: &CancellationToken,
) -> anyhow::Result<Option<(State, BTreeMap<String, u64>)>> {
    let place = Place::create(config).await?;
    let ran = stop.run_until_cancelled(async {
        let counted = place.ingest_counted(&args.paths).await;
        (counted, place.verify(LEAST_PATIENCE).await)
    });
    let ran = ran.await;
    place.remove().await?;
    let Some((counted, state)) = ran else {
        return Ok(None);
    };
    let passed = counted?;
    let state = state?;
    if state.documents == 0 {
        return Err(hinted(
            "none of these files could be ingested",
            "`gristmill ingest` says why",
        ));
    }
    Ok(Some((state, passed)))
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
    /// Dies once, is started again, and is judged; `None` when it was stopped.
    async fn one(&self, mut death: CrashAt) -> anyhow::Result<Option<Outcome>> {
        while !self.stop.is_cancelled() {
            let place = Place::create(self.config).await?;
            let tried = self.in_place(&place, &death);
            let tried = self.stop.run_until_cancelled(tried).await;
            place.remove().await?;
            match tried.map(|tried| judged(&death, tried)) {
                Some(Some(outcome)) => return Ok(Some(outcome)),
                // Flushes gather what comes together, so no two runs pass quite as many.
                Some(None) => death.hit /= 2,
                None => break,
            }
        }
        Ok(None)
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
            Ended::Killed { signal } => {
                let why = format!("signal {signal} ended it, and not at the point");
                return Ok(Some(Outcome::failed(death, &why).alive()));
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

/// A place that cannot even be opened is the worst there is, and an outcome like any other.
fn judged(death: &CrashAt, tried: anyhow::Result<Option<Outcome>>) -> Option<Outcome> {
    tried.unwrap_or_else(|error| Some(Outcome::failed(death, &format!("{error:#}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_cannot_be_opened_is_an_outcome() {
        let death: CrashAt = "index.flush:after:1".parse().unwrap();
        let broken = anyhow::anyhow!("the catalog is no database").context("`verify` failed");
        let outcome = judged(&death, Err(broken)).unwrap();
        let why = "`verify` failed: the catalog is no database";
        assert_eq!((outcome.wrong.as_deref(), outcome.died), (Some(why), true));
    }

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
