//! What became of each document: a line each for programs, a table for people.

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::commands::{print_line, print_text, table};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    New,
    NewVersion,
    Skipped,
    Failed,
}

#[derive(Debug, Serialize)]
pub struct Line {
    pub source_uri: Option<String>,
    pub document_id: Option<Uuid>,
    pub run_id: Option<Uuid>,
    pub outcome: Outcome,
    pub chunks: u64,
    pub error: Option<String>,
}

impl Line {
    /// Something the job could not take in.
    pub fn refused(source_uri: Option<String>, message: String) -> Self {
        Self {
            source_uri,
            document_id: None,
            run_id: None,
            outcome: Outcome::Failed,
            chunks: 0,
            error: Some(message),
        }
    }
}

pub struct Report {
    json: bool,
    counts: BTreeMap<Outcome, (u64, u64)>,
    failures: Vec<(String, String)>,
}

/// Failures named in the table; a program reads them all from the lines.
const NAMED: usize = 20;

impl Report {
    pub fn new(json: bool) -> Self {
        Self {
            json,
            counts: BTreeMap::new(),
            failures: Vec::new(),
        }
    }

    pub fn add(&mut self, line: Line) -> anyhow::Result<()> {
        let (documents, chunks) = self.counts.entry(line.outcome).or_default();
        *documents += 1;
        *chunks += line.chunks;
        if self.json {
            print_line(&serde_json::to_value(&line)?)?;
        }
        if let Some(error) = line.error {
            self.failures
                .push((line.source_uri.unwrap_or_default(), error));
        }
        Ok(())
    }

    pub fn finish(self) -> anyhow::Result<ExitCode> {
        if !self.json {
            print_text(&self.table())?;
        }
        let failed = self.counts.contains_key(&Outcome::Failed);
        Ok(if failed {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }

    fn table(&self) -> String {
        let row = |name: &str, outcome| {
            let (documents, chunks) = self.counts.get(&outcome).copied().unwrap_or_default();
            vec![name.to_owned(), documents.to_string(), chunks.to_string()]
        };
        let rows = [
            row("new", Outcome::New),
            row("new version", Outcome::NewVersion),
            row("skipped", Outcome::Skipped),
            row("failed", Outcome::Failed),
        ];
        let mut out = table(&["", "DOCUMENTS", "CHUNKS"], &rows);
        for (uri, error) in self.failures.iter().take(NAMED) {
            out.push_str(&format!("failed: {uri}: {error}\n"));
        }
        if let Some(more) = self.failures.len().checked_sub(NAMED + 1) {
            out.push_str(&format!("… and {} more; --json lists all\n", more + 1));
        }
        out
    }
}
