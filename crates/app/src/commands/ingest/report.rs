//! What became of each document: a line each for programs, a table for people.

use std::collections::BTreeMap;
use std::process::ExitCode;

use model::{Gap, Warning};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::commands::{print_line, print_text, table};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    New,
    NewVersion,
    Skipped,
    Removed,
    Failed,
}

#[derive(Debug, Serialize)]
pub struct Line {
    pub source_uri: Option<String>,
    pub document_id: Option<Uuid>,
    pub run_id: Option<Uuid>,
    pub outcome: Outcome,
    pub chunks: u64,
    /// What could not be read of it.
    pub gaps: Vec<Gap>,
    pub warnings: Vec<Warning>,
    pub error: Option<String>,
}

impl Line {
    /// Something the job could not take in.
    pub fn refused(source_uri: Option<String>, message: String) -> Self {
        Self {
            error: Some(message),
            ..Self::without_run(source_uri, Outcome::Failed)
        }
    }

    /// Something that answers no more.
    pub fn removed(source_uri: String, document: Uuid) -> Self {
        Self {
            document_id: Some(document),
            ..Self::without_run(Some(source_uri), Outcome::Removed)
        }
    }

    fn without_run(source_uri: Option<String>, outcome: Outcome) -> Self {
        Self {
            source_uri,
            document_id: None,
            run_id: None,
            outcome,
            chunks: 0,
            gaps: Vec::new(),
            warnings: Vec::new(),
            error: None,
        }
    }
}

pub struct Report {
    json: bool,
    counts: BTreeMap<Outcome, (u64, u64)>,
    /// Of documents and what became of them, what is worth a line in the table.
    failed: Vec<String>,
    removed: Vec<String>,
    not_read: Vec<String>,
    warned: Vec<String>,
}

/// Of each kind, named in the table; a program reads them all from the lines.
const NAMED: usize = 20;

impl Report {
    pub fn new(json: bool) -> Self {
        Self {
            json,
            counts: BTreeMap::new(),
            failed: Vec::new(),
            removed: Vec::new(),
            not_read: Vec::new(),
            warned: Vec::new(),
        }
    }

    pub fn add(&mut self, line: Line) -> anyhow::Result<()> {
        let (documents, chunks) = self.counts.entry(line.outcome).or_default();
        *documents += 1;
        *chunks += line.chunks;
        if self.json {
            print_line(&serde_json::to_value(&line)?)?;
        }
        let uri = line.source_uri.unwrap_or_default();
        if line.outcome == Outcome::Removed {
            self.removed.push(format!("removed: {uri}"));
        }
        let failed = line.error.map(|error| format!("failed: {uri}: {error}"));
        self.failed.extend(failed);
        let not_read = |gap: &Gap| format!("could not be read: {uri}{}", whereabouts(gap));
        self.not_read.extend(line.gaps.iter().map(not_read));
        let warned = |warning: &Warning| format!("warning: {uri}: {}", warning.message);
        self.warned.extend(line.warnings.iter().map(warned));
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
        // Only who asked for that, and met it, is told of removals.
        let gone = self.counts.contains_key(&Outcome::Removed);
        let rows = rows
            .into_iter()
            .chain(gone.then(|| row("removed", Outcome::Removed)));
        let mut out = table(&["", "DOCUMENTS", "CHUNKS"], &rows.collect::<Vec<_>>());
        for lines in [&self.failed, &self.removed, &self.not_read, &self.warned] {
            for line in lines.iter().take(NAMED) {
                out.push_str(&format!("{line}\n"));
            }
            if let Some(more) = lines.len().checked_sub(NAMED + 1) {
                out.push_str(&format!("… and {} more; --json lists all\n", more + 1));
            }
        }
        out
    }
}

/// `, page 3: it is a picture without text`
fn whereabouts(gap: &Gap) -> String {
    let pages = match gap.pages {
        None => String::new(),
        Some((first, last)) if first == last => format!(", page {first}"),
        Some((first, last)) => format!(", pages {first}–{last}"),
    };
    format!("{pages}: {}", gap.reason)
}
