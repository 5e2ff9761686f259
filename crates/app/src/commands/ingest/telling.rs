//! Says of each document how it ended, as soon as that is known.
//!
//! Documents are told in the order the job met them, a page at a time: a page waits for its
//! slowest document, so nothing is asked for twice once it was told.

use model::{Gap, Warning};
use serde::Deserialize;
use uuid::Uuid;

use super::report::{Line, Outcome, Report};
use crate::client::{Client, with_query};
use crate::commands::{Rows, each};

const PAGE: &str = "50";

/// What the job brought or found.
#[derive(Debug, Deserialize)]
struct Found {
    source_uri: String,
    document_id: Uuid,
    run_id: Uuid,
    outcome: Outcome,
    run_status: Option<String>,
    chunks: u64,
    gaps: Vec<Gap>,
    warnings: Vec<Warning>,
    error: Option<String>,
}

/// What it removed.
#[derive(Debug, Deserialize)]
struct Removed {
    source_uri: String,
    document_id: Uuid,
}

#[derive(Debug, Deserialize)]
struct Refused {
    source_uri: Option<String>,
    message: String,
}

pub struct Telling {
    job: Uuid,
    report: Report,
    /// Where the first page begins that was not told.
    cursor: Option<String>,
}

impl Telling {
    pub fn new(job: Uuid, report: Report) -> Self {
        Self {
            job,
            report,
            cursor: None,
        }
    }

    pub fn job(&self) -> Uuid {
        self.job
    }

    /// Tells whole pages that have ended. The last page may still grow: it is left to the end.
    pub async fn go_on(&mut self, client: &Client) -> anyhow::Result<()> {
        loop {
            let page = self.page(client).await?;
            let Some(next) = page
                .next
                .filter(|_| page.items.iter().all(Found::has_ended))
            else {
                return Ok(());
            };
            for found in page.items {
                self.report.add(found.into_line())?;
            }
            self.cursor = Some(next);
        }
    }

    /// Tells the rest, what was removed, and what could not be taken in; the job has ended, and with it every run
    /// it waited for.
    pub async fn finish(mut self, client: &Client) -> anyhow::Result<Report> {
        loop {
            let page = self.page(client).await?;
            for found in page.items {
                self.report.add(found.into_line())?;
            }
            match page.next {
                Some(next) => self.cursor = Some(next),
                None => break,
            }
        }
        let (job, report) = (self.job, &mut self.report);
        let removals = format!("/v1/jobs/{job}/removals");
        each(client, &removals, &[], usize::MAX, |one: Removed| {
            report.add(Line::removed(one.source_uri, one.document_id))
        })
        .await?;
        let problems = format!("/v1/jobs/{job}/problems");
        each(client, &problems, &[], usize::MAX, |one: Refused| {
            report.add(Line::refused(one.source_uri, one.message))
        })
        .await?;
        Ok(self.report)
    }

    async fn page(&self, client: &Client) -> anyhow::Result<Rows<Found>> {
        let query = [
            ("limit", Some(PAGE.to_owned())),
            ("cursor", self.cursor.clone()),
        ];
        let path = format!("/v1/jobs/{}/documents", self.job);
        client.get(&with_query(&path, &query)).await
    }
}

impl Found {
    fn has_ended(&self) -> bool {
        !matches!(self.run_status.as_deref(), Some("queued" | "running"))
    }

    fn into_line(self) -> Line {
        let failed = matches!(self.run_status.as_deref(), Some("failed" | "canceled"));
        Line {
            source_uri: Some(self.source_uri),
            document_id: Some(self.document_id),
            run_id: Some(self.run_id),
            outcome: if failed {
                Outcome::Failed
            } else {
                self.outcome
            },
            chunks: self.chunks,
            gaps: self.gaps,
            warnings: self.warnings,
            error: self.error.filter(|_| failed),
        }
    }
}
