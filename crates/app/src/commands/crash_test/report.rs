//! The matrix of outcomes, for people or for programs.

use std::collections::BTreeMap;
use std::process::ExitCode;

use durable::When;
use serde_json::json;

use crate::commands::{print_line, print_text, table};

use super::judge::{Outcome, Restart, State};

pub struct Report {
    json: bool,
    calm: State,
    passed: BTreeMap<String, u64>,
    outcomes: Vec<Outcome>,
}

impl Report {
    pub fn new(json: bool, calm: &State, passed: &BTreeMap<String, u64>) -> Self {
        Self {
            json,
            calm: calm.clone(),
            passed: passed.clone(),
            outcomes: Vec::new(),
        }
    }

    pub fn begin(&self, deaths: usize) -> anyhow::Result<()> {
        if self.json {
            return Ok(());
        }
        print_text(&format!(
            "undisturbed: {} documents, {} chunks, digest {}\n\
             {} durable effects; dying {deaths} times\n",
            self.calm.documents,
            self.calm.chunks,
            self.calm.digest,
            self.passed.len(),
        ))
    }

    pub fn add(&mut self, outcome: Outcome) -> anyhow::Result<()> {
        if self.json {
            print_line(&json!({
                "point": outcome.death.point,
                "when": outcome.death.when.as_str(),
                "hit": outcome.death.hit,
                "died": outcome.died,
                "restart": outcome.restart.map(Restart::as_str),
                "digest": outcome.state.as_ref().map(|state| &state.digest),
                "lost": outcome.lost,
                "duplicated": outcome.duplicated,
                "ok": outcome.wrong.is_none(),
                "error": outcome.wrong,
            }))?;
        }
        self.outcomes.push(outcome);
        Ok(())
    }

    pub fn finish(self) -> anyhow::Result<ExitCode> {
        let all_well = self.outcomes.iter().all(|outcome| outcome.wrong.is_none());
        if !self.json {
            print_text(&self.matrix())?;
            print_text(&self.sum())?;
        }
        Ok(if all_well {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    fn matrix(&self) -> String {
        let rows: Vec<_> = self
            .passed
            .iter()
            .map(|(point, times)| {
                let cell = |when| self.cell(point, when);
                vec![
                    point.clone(),
                    times.to_string(),
                    cell(When::Before),
                    cell(When::After),
                ]
            })
            .collect();
        table(&["POINT", "PASSED", "BEFORE", "AFTER"], &rows)
    }

    fn cell(&self, point: &str, when: When) -> String {
        let of_it = |o: &&Outcome| o.death.point == point && o.death.when == when;
        let tried = self.outcomes.iter().filter(of_it);
        let (mut deaths, mut equal) = (0, 0);
        for outcome in tried {
            deaths += 1;
            equal += usize::from(outcome.wrong.is_none());
        }
        if equal == deaths {
            format!("{deaths} equal")
        } else {
            format!("{} of {deaths} WRONG", deaths - equal)
        }
    }

    fn sum(&self) -> String {
        let lost: u64 = self.outcomes.iter().map(|o| o.lost).sum();
        let duplicated: u64 = self.outcomes.iter().map(|o| o.duplicated).sum();
        let deaths = self.outcomes.iter().filter(|o| o.died).count();
        let alive = self.outcomes.len() - deaths;
        let mut out = String::new();
        if alive > 0 {
            out.push_str(&format!("{alive} times the point was not passed again\n"));
        }
        let repeated = |o: &&Outcome| o.restart == Some(Restart::Repeated);
        let repeated = self.outcomes.iter().filter(repeated).count();
        if repeated > 0 {
            out.push_str(&format!(
                "{repeated} deaths came before anything was begun or acknowledged: the command was \
                 given again; after the others a server went on by itself\n"
            ));
        }
        out.push_str(&format!(
            "{deaths} deaths: {lost} lost, {duplicated} duplicated, "
        ));
        let wrong: Vec<_> = self.outcomes.iter().filter(|o| o.wrong.is_some()).collect();
        if wrong.is_empty() {
            out.push_str(&format!("all digests equal: {}\n", self.calm.digest));
        } else {
            out.push_str(&format!("{} ended otherwise\n", wrong.len()));
        }
        for outcome in wrong {
            let why = outcome.wrong.as_deref().unwrap_or_default();
            let death = &outcome.death;
            out.push_str(&format!(
                "{} {} the {}. time: {why}\n",
                death.when.as_str(),
                death.point,
                death.hit,
            ));
        }
        out
    }
}
