//! What outlives a purged document tells that it was there, and no more what it was called.
//!
//! Rows that speak of it alone lose their words with its rows: runs, uploads, problems, answers
//! kept for requests made twice. What a job was configured with is every document's that it met:
//! it goes with the last of them, and not before the job has ended.
//!
//! Of what came under its id or its address since the purge began nothing is taken.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use model::{DocumentId, JobStatus, KbId, RunId, SourceUri, TenantId, VersionId};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::cells::{Cells, json as cell};
use super::dialect::Dialect;
use super::noted_jobs::{self, Part};
use super::{Tx, noted_runs};
use crate::{Error, Removing, ToldOf};

/// In the place of a name.
const PURGED: &str = "purged";
const WHY: &str = "the document was purged";

/// A document some of whose versions were purged, before its rows go.
pub struct Called {
    tenant: TenantId,
    document: DocumentId,
    kb: Uuid,
    uri: String,
    versions: Vec<VersionId>,
    jobs: BTreeMap<Uuid, Had>,
}

/// What a job had to do with what is purged: the first of these that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Had {
    /// It claims a version.
    Met,
    /// It brought one and claims none, as one that was canceled.
    Brought,
    /// It could not take it in.
    Refused,
}

/// What is known of documents whose purge takes these versions; nothing of those that are
/// removed in another way. Their documents are locked.
pub async fn called<DB: Dialect>(
    c: &mut Tx<DB>,
    removing: &[Removing],
) -> Result<Vec<Called>, Error> {
    let mut called: Vec<Called> = Vec::new();
    for version in removing {
        let Some(found) = being_purged::<DB>(c, version).await? else {
            continue;
        };
        if called
            .last()
            .is_none_or(|last| last.document != found.document)
        {
            called.push(found);
        }
        if let Some(last) = called.last_mut() {
            last.versions.push(version.version);
            last.learn(Had::Met, met_by::<DB>(c, version).await?);
            last.learn(Had::Brought, brought_by::<DB>(c, version).await?);
        }
    }
    Ok(called)
}

/// One that came anew since its document was purged is removed for another reason.
async fn being_purged<DB: Dialect>(
    c: &mut Tx<DB>,
    version: &Removing,
) -> Result<Option<Called>, Error> {
    let row = query(
        "SELECT d.source_uri FROM documents d
         JOIN document_versions v ON v.document_id = d.id AND v.id = $2
         WHERE d.id = $1 AND EXISTS (SELECT 1 FROM ledger l
             WHERE l.document_id = d.id AND l.kind = 'purged' AND l.at >= v.created_at)",
    )
    .bind(version.document.as_uuid())
    .bind(version.version.as_uuid())
    .fetch_optional(c)
    .await?;
    let read = |row: &DB::Row| {
        Ok(Called {
            tenant: version.tenant,
            document: version.document,
            kb: version.kb.as_uuid(),
            uri: Cells::<DB>(row).text("source_uri")?,
            versions: Vec::new(),
            jobs: BTreeMap::new(),
        })
    };
    row.as_ref().map(read).transpose()
}

/// The jobs that claim a version, or one of its document that lost its row: they brought it, or found
/// it there.
async fn met_by<DB: Dialect>(c: &mut Tx<DB>, version: &Removing) -> Result<Vec<Uuid>, Error> {
    let rows = query(
        "SELECT job_id FROM job_versions WHERE version_id = $1
         UNION SELECT j.job_id FROM ingestion_runs r
         JOIN job_versions j ON j.version_id = r.version_id
         WHERE r.document_id = $2
           AND NOT EXISTS (SELECT 1 FROM document_versions v WHERE v.id = r.version_id)",
    )
    .bind(version.version.as_uuid())
    .bind(version.document.as_uuid())
    .fetch_all(c)
    .await?;
    jobs_of::<DB>(&rows)
}

async fn brought_by<DB: Dialect>(c: &mut Tx<DB>, version: &Removing) -> Result<Vec<Uuid>, Error> {
    let rows = query(
        "SELECT job_id FROM ingestion_runs
         WHERE document_id = $1 AND version_id = $2 AND job_id IS NOT NULL",
    )
    .bind(version.document.as_uuid())
    .bind(version.version.as_uuid())
    .fetch_all(c)
    .await?;
    jobs_of::<DB>(&rows)
}

fn jobs_of<DB: Dialect>(rows: &[DB::Row]) -> Result<Vec<Uuid>, Error> {
    rows.iter()
        .map(|row| Cells::<DB>(row).get("job_id"))
        .collect()
}

/// What a document was before its row went, with all that a canceled job had brought of it, is the
/// one's that came anew under its address: its runs are that one's from here on. Its earlier selves
/// are still to be unsaid.
///
/// No index leads to runs by their address: asked once for a purge, it reads those of the tenant.
pub async fn take_over<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    document: DocumentId,
) -> Result<Vec<Called>, Error> {
    let rows = query(
        "SELECT r.id, r.document_id, r.kb_id, r.source_uri FROM documents d
         JOIN ingestion_runs r ON r.tenant_id = d.tenant_id AND r.kb_id = d.kb_id
             AND r.source_uri = d.source_uri
         WHERE d.id = $1 AND d.tenant_id = $2 AND r.document_id <> d.id
           AND r.status IN ('succeeded', 'failed', 'canceled')
           AND NOT EXISTS (SELECT 1 FROM document_versions v WHERE v.id = r.version_id)
           AND NOT EXISTS (SELECT 1 FROM documents o WHERE o.id = r.document_id)
         ORDER BY r.document_id, r.id",
    )
    .bind(document.as_uuid())
    .bind(tenant.as_uuid())
    .fetch_all(&mut *c)
    .await?;
    let mut selves: Vec<Called> = Vec::new();
    for row in &rows {
        let row = Cells::<DB>(row);
        let run = row.id("id", RunId::from_uuid)?;
        let was = row.id("document_id", DocumentId::from_uuid)?;
        query("UPDATE ingestion_runs SET document_id = $2 WHERE id = $1")
            .bind(run.as_uuid())
            .bind(document.as_uuid())
            .execute(&mut *c)
            .await?;
        noted_runs::hand_over_one::<DB>(c, run, (was, document)).await?;
        if selves.last().is_none_or(|last| last.document != was) {
            selves.push(Called {
                tenant,
                document: was,
                kb: row.get("kb_id")?,
                uri: row.text("source_uri")?,
                versions: Vec::new(),
                jobs: BTreeMap::new(),
            });
        }
    }
    Ok(selves)
}

/// A run that was purged keeps when it was and how it ended.
const NAMELESS: &str = "source_uri = $1, error_hint = NULL,
    error_message = CASE WHEN error_code IS NULL THEN NULL ELSE $2 END";

/// The runs of a version that is purged.
pub async fn runs<DB: Dialect>(c: &mut Tx<DB>, version: &Removing) -> Result<(), Error> {
    let sql =
        format!("UPDATE ingestion_runs SET {NAMELESS} WHERE document_id = $3 AND version_id = $4");
    query(AssertSqlSafe(sql))
        .bind(SourceUri::purged().as_str())
        .bind(WHY)
        .bind(version.document.as_uuid())
        .bind(version.version.as_uuid())
        .execute(&mut *c)
        .await?;
    noted_runs::forget_version::<DB>(c, version.document, version.version).await
}

impl Called {
    pub fn is(&self, version: &Removing) -> bool {
        self.versions.contains(&version.version)
    }

    fn learn(&mut self, had: Had, jobs: Vec<Uuid>) {
        for job in jobs {
            let known = self.jobs.entry(job).or_insert(had);
            *known = had.min(*known);
        }
    }

    /// When its versions' rows are gone: the words of all that outlives them.
    pub async fn unsay<DB: Dialect>(mut self, c: &mut Tx<DB>) -> Result<(), Error> {
        let until = self.until::<DB>(c).await?;
        self.unname_runs::<DB>(c, until).await?;
        // Somebody has brought it anew meanwhile: what it is called is that one's.
        let named = until.is_none();
        if named {
            let brought = self.ever_brought_by::<DB>(c).await?;
            self.learn(Had::Brought, brought);
            let refused = self.refused_by::<DB>(c).await?;
            self.learn(Had::Refused, refused);
            self.forget_shown::<DB>(c).await?;
        }
        self.unname_uploads::<DB>(c, until).await?;
        self.unname_answers::<DB>(c, until).await?;
        for (job, had) in &self.jobs {
            self.note_in_job::<DB>(c, (*job, *had), named).await?;
        }
        if named {
            self.unname_problems::<DB>(c).await?;
        }
        self.forget_news::<DB>(c, until).await
    }

    /// Up to when it is purged, if it lives on: what came later is of the one that came anew.
    async fn until<DB: Dialect>(&self, c: &mut Tx<DB>) -> Result<Option<DateTime<Utc>>, Error> {
        let row = query(
            "SELECT max(l.at) AS last FROM ledger l JOIN documents d ON d.id = l.document_id
             WHERE d.id = $1 AND l.kind = 'purged'",
        )
        .bind(self.document.as_uuid())
        .fetch_one(c)
        .await?;
        Cells::<DB>(&row).maybe_at("last")
    }

    /// Of an earlier self whose runs another has now: the words of the rest.
    pub async fn unsay_in_passing<DB: Dialect>(self, c: &mut Tx<DB>) -> Result<(), Error> {
        self.unname_uploads::<DB>(c, None).await?;
        self.unname_answers::<DB>(c, None).await?;
        self.forget_news::<DB>(c, None).await
    }

    /// Jobs too of which no version tells any more that they brought it.
    async fn ever_brought_by<DB: Dialect>(&self, c: &mut Tx<DB>) -> Result<Vec<Uuid>, Error> {
        let rows = query(
            "SELECT job_id FROM ingestion_runs WHERE document_id = $1 AND job_id IS NOT NULL",
        )
        .bind(self.document.as_uuid())
        .fetch_all(c)
        .await?;
        jobs_of::<DB>(&rows)
    }

    /// How far such a job had come may be this very file.
    async fn refused_by<DB: Dialect>(&self, c: &mut Tx<DB>) -> Result<Vec<Uuid>, Error> {
        let rows = query(
            "SELECT p.job_id FROM job_problems p JOIN jobs j ON j.id = p.job_id
             WHERE p.source_uri = $1 AND j.kb_id = $2",
        )
        .bind(&self.uri)
        .bind(self.kb)
        .fetch_all(c)
        .await?;
        jobs_of::<DB>(&rows)
    }

    /// Those too whose versions went before, with a canceled job or an abandoned generation.
    async fn unname_runs<DB: Dialect>(
        &self,
        c: &mut Tx<DB>,
        until: Option<DateTime<Utc>>,
    ) -> Result<(), Error> {
        let sql = format!(
            "UPDATE ingestion_runs SET {NAMELESS}
             WHERE document_id = $3 AND created_at <= coalesce($4, created_at)
               AND NOT EXISTS (SELECT 1 FROM document_versions v
                   WHERE v.id = ingestion_runs.version_id)
             RETURNING id"
        );
        let rows = query(AssertSqlSafe(sql))
            .bind(SourceUri::purged().as_str())
            .bind(WHY)
            .bind(self.document.as_uuid())
            .bind(until)
            .fetch_all(&mut *c)
            .await?;
        if until.is_none() {
            return noted_runs::forget_all::<DB>(c, self.document).await;
        }
        for row in &rows {
            let run = Cells::<DB>(row).id("id", RunId::from_uuid)?;
            noted_runs::forget::<DB>(c, (self.document, run)).await?;
        }
        Ok(())
    }

    /// Other sources than the one it is said to be of may have shown it too.
    async fn forget_shown<DB: Dialect>(&self, c: &mut Tx<DB>) -> Result<(), Error> {
        query(
            "DELETE FROM source_objects WHERE object_key = $1
               AND source_id IN (SELECT id FROM ingestion_sources WHERE kb_id = $2)",
        )
        .bind(&self.uri)
        .bind(self.kb)
        .execute(c)
        .await?;
        Ok(())
    }

    /// One that was begun before and read since is called as what came of it.
    async fn unname_uploads<DB: Dialect>(
        &self,
        c: &mut Tx<DB>,
        until: Option<DateTime<Utc>>,
    ) -> Result<(), Error> {
        let rows = query(
            "SELECT id FROM uploads WHERE tenant_id = $1 AND document_id = $2
               AND created_at <= coalesce($3, created_at)
               AND NOT EXISTS (SELECT 1 FROM document_versions v
                   WHERE v.document_id = $2 AND v.run_id = uploads.run_id)",
        )
        .bind(self.tenant.as_uuid())
        .bind(self.document.as_uuid())
        .bind(until)
        .fetch_all(&mut *c)
        .await?;
        for row in &rows {
            let id: Uuid = Cells::<DB>(row).get("id")?;
            query("UPDATE uploads SET filename = $2, object_key = $3, error = NULL WHERE id = $1")
                .bind(id)
                .bind(PURGED)
                .bind(format!("{PURGED}/{}", id.simple()))
                .execute(&mut *c)
                .await?;
        }
        Ok(())
    }

    /// A request made twice is still not done twice; its answer told the name of the file.
    async fn unname_answers<DB: Dialect>(
        &self,
        c: &mut Tx<DB>,
        until: Option<DateTime<Utc>>,
    ) -> Result<(), Error> {
        query(
            "UPDATE idempotency_keys SET response = $3
             WHERE tenant_id = $1 AND CAST(response AS TEXT) LIKE $2
               AND created_at <= coalesce($4, created_at)",
        )
        .bind(self.tenant.as_uuid())
        .bind(format!("%{}%", self.document))
        .bind(cell(&json!({ PURGED: true })))
        .bind(until)
        .execute(c)
        .await?;
        Ok(())
    }

    async fn unname_problems<DB: Dialect>(&self, c: &mut Tx<DB>) -> Result<(), Error> {
        query(
            "UPDATE job_problems SET source_uri = $3, message = $4
             WHERE source_uri = $1 AND job_id IN (SELECT id FROM jobs WHERE kb_id = $2)",
        )
        .bind(&self.uri)
        .bind(self.kb)
        .bind(SourceUri::purged().as_str())
        .bind(WHY)
        .execute(c)
        .await?;
        Ok(())
    }

    /// That it failed, and of what, is nobody's news any more.
    async fn forget_news<DB: Dialect>(
        &self,
        c: &mut Tx<DB>,
        until: Option<DateTime<Utc>>,
    ) -> Result<(), Error> {
        const FAILED: &str = "tenant_id = $1 AND document_id = $2 AND kind = 'run.failed'
            AND at <= coalesce($3, at)";
        let deliveries = format!(
            "DELETE FROM webhook_deliveries WHERE tenant_id = $1
               AND event_id IN (SELECT id FROM events WHERE {FAILED})"
        );
        query(AssertSqlSafe(deliveries))
            .bind(self.tenant.as_uuid())
            .bind(self.document.as_uuid())
            .bind(until)
            .execute(&mut *c)
            .await?;
        let events = format!("UPDATE events SET data = $4 WHERE {FAILED}");
        query(AssertSqlSafe(events))
            .bind(self.tenant.as_uuid())
            .bind(self.document.as_uuid())
            .bind(until)
            .bind(cell(&json!({})))
            .execute(c)
            .await?;
        Ok(())
    }

    /// Where a job was given this file by name and others besides, or stands at it, it forgets the
    /// name at once; what it was configured with is to go if that is of this file.
    async fn note_in_job<DB: Dialect>(
        &self,
        c: &mut Tx<DB>,
        (job, had): (Uuid, Had),
        named: bool,
    ) -> Result<(), Error> {
        let sql = format!("SELECT * FROM jobs WHERE id = $1 {}", DB::FOR_UPDATE);
        let row = query(AssertSqlSafe(sql))
            .bind(job)
            .fetch_optional(&mut *c)
            .await?;
        let Some(row) = row else { return Ok(()) };
        let mut config: Value = Cells::<DB>(&row).json("config")?;
        let stands_there = named && stands_at::<DB>(&row, &self.uri);
        // One that has not ended, or failed, goes on from there: it forgets that when it has ended.
        let forgets = stands_there && has_ended::<DB>(&row)?;
        let is_due = self.is_told_by(&config, had, named) || stands_there && !forgets;
        if named {
            unname_root(&mut config, &self.uri);
        }
        let row = query(
            "UPDATE jobs SET purged = purged OR $2, config = $3,
                 cursor = CASE WHEN $4 THEN NULL ELSE cursor END
             WHERE id = $1 RETURNING *",
        )
        .bind(job)
        .bind(is_due)
        .bind(cell(&config))
        .bind(forgets)
        .fetch_one(&mut *c)
        .await?;
        noted_jobs::restate::<DB>(c, &row, Part::Configured).await?;
        if forgets {
            noted_jobs::restate::<DB>(c, &row, Part::Standing).await?;
        }
        Ok(())
    }

    /// Whether what a job was configured with tells of this file. One that claims nothing of it may
    /// be wanted for the others it was given.
    fn is_told_by(&self, config: &Value, had: Had, named: bool) -> bool {
        match had {
            Had::Met => true,
            Had::Brought => has_metadata(config) || named && is_of_it_alone(config, &self.uri),
            Had::Refused => named && is_of_it_alone(config, &self.uri),
        }
    }
}

fn stands_at<DB: Dialect>(job: &DB::Row, uri: &str) -> bool {
    let cursor: Option<Value> = Cells::<DB>(job).maybe_json("cursor").unwrap_or_default();
    cursor.is_some_and(|cursor| cursor["after"] == uri)
}

fn has_ended<DB: Dialect>(job: &DB::Row) -> Result<bool, Error> {
    let job = Cells::<DB>(job);
    let status: JobStatus = job.word("status")?;
    let ended = matches!(status, JobStatus::Completed | JobStatus::NotStarted);
    Ok(ended && job.count("runs_open")? == 0)
}

/// Whether a job was given this file and nothing besides.
fn is_of_it_alone(config: &Value, uri: &str) -> bool {
    let roots = config.get("roots").and_then(Value::as_array);
    roots.is_some_and(|roots| !roots.is_empty() && roots.iter().all(|root| is_it(root, uri)))
}

/// Of several roots, the one that is this file.
fn unname_root(config: &mut Value, uri: &str) {
    if is_of_it_alone(config, uri) {
        return;
    }
    if let Some(roots) = config.get_mut("roots").and_then(Value::as_array_mut) {
        roots.retain(|root| !is_it(root, uri));
    }
}

fn is_it(root: &Value, uri: &str) -> bool {
    root.as_str().is_some_and(|root| names(uri, root))
}

/// Whether a root, a path or its URI, is the file of this URI.
fn names(uri: &str, root: &str) -> bool {
    let path = uri.strip_prefix("file://");
    uri == root || path.is_some_and(|path| unescaped(path) == root.as_bytes())
}

fn unescaped(path: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| first == b'%');
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = &after[if byte.is_some() { 2 } else { 0 }..];
    }
    bytes
}

const ENDED: &str = "j.purged AND j.status IN ('completed', 'failed', 'not_started')
    AND j.runs_open = 0";
const NOTHING_LEFT: &str = "NOT EXISTS (SELECT 1 FROM job_versions v WHERE v.job_id = j.id)";

/// Jobs that have something to forget.
pub async fn is_due<DB: Dialect>(c: &mut Tx<DB>) -> Result<bool, Error> {
    let sql = format!(
        "SELECT j.id FROM jobs j WHERE {ENDED}
           AND ({NOTHING_LEFT} OR j.cursor IS NOT NULL AND j.status <> 'failed') LIMIT 1"
    );
    let row = query(AssertSqlSafe(sql)).fetch_optional(c).await?;
    Ok(row.is_some())
}

/// Jobs that have ended, and met documents that were purged: all of them, and what they were
/// configured with goes, or some, and how far the listing had come.
pub async fn forget_configured<DB: Dialect>(c: &mut Tx<DB>) -> Result<(), Error> {
    let sql = format!(
        "UPDATE jobs AS j SET config = $1, cursor = NULL, purged = FALSE
         WHERE {ENDED} AND {NOTHING_LEFT} RETURNING *"
    );
    let forgetful = query(AssertSqlSafe(sql))
        .bind(cell(&json!({ PURGED: true })))
        .fetch_all(&mut *c)
        .await?;
    for row in &forgetful {
        noted_jobs::restate::<DB>(c, row, Part::Configured).await?;
        noted_jobs::restate::<DB>(c, row, Part::Standing).await?;
    }
    // One that failed goes on from there.
    let sql = format!(
        "UPDATE jobs AS j SET cursor = NULL
         WHERE {ENDED} AND j.status <> 'failed' AND j.cursor IS NOT NULL RETURNING *"
    );
    for row in &query(AssertSqlSafe(sql)).fetch_all(&mut *c).await? {
        noted_jobs::restate::<DB>(c, row, Part::Standing).await?;
    }
    if let Some(mark) = DB::MARK_UNSCRUBBED {
        query(mark).execute(c).await?;
    }
    Ok(())
}

/// Whether everything a job met was purged, and with it what the job was to do.
pub fn is_forgotten(config: &Value) -> bool {
    config.get(PURGED).is_some()
}

/// What is still told of a document that was purged; `of` is the knowledge base it was in, and
/// what it was called there. What came under its id or its address since tells of itself.
pub async fn told_of<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, document): (TenantId, DocumentId),
    of: Option<(KbId, SourceUri)>,
) -> Result<ToldOf, Error> {
    let mut told = ToldOf::default();
    let by_document = [
        "SELECT count(*) AS n FROM ingestion_runs
         WHERE tenant_id = $1 AND document_id = $2 AND source_uri <> 'purged://'
           AND NOT EXISTS (SELECT 1 FROM document_versions v
               JOIN ledger l ON l.document_id = v.document_id AND l.kind = 'purged'
               WHERE v.id = ingestion_runs.version_id AND v.state <> 'canceled')
           AND created_at <= coalesce((SELECT max(l.at) FROM ledger l
               WHERE l.document_id = $2 AND l.kind = 'purged'), created_at)",
        "SELECT count(*) AS n FROM uploads
         WHERE tenant_id = $1 AND document_id = $2 AND filename <> 'purged'
           AND NOT EXISTS (SELECT 1 FROM document_versions v
               JOIN ledger l ON l.document_id = v.document_id AND l.kind = 'purged'
               WHERE v.document_id = $2 AND v.run_id = uploads.run_id
                 AND v.state <> 'canceled')
           AND created_at <= coalesce((SELECT max(l.at) FROM ledger l
               WHERE l.document_id = $2 AND l.kind = 'purged'), created_at)",
    ];
    for sql in by_document {
        let row = query(sql).bind(tenant.as_uuid()).bind(document.as_uuid());
        told.rows += Cells::<DB>(&row.fetch_one(&mut *c).await?).count("n")?;
    }
    let answers = "SELECT count(*) AS n FROM idempotency_keys
        WHERE tenant_id = $1 AND CAST(response AS TEXT) LIKE $2
          AND created_at <= coalesce((SELECT max(l.at) FROM ledger l
              WHERE l.document_id = $3 AND l.kind = 'purged'), created_at)";
    let row = query(answers)
        .bind(tenant.as_uuid())
        .bind(format!("%{document}%"))
        .bind(document.as_uuid());
    told.rows += Cells::<DB>(&row.fetch_one(&mut *c).await?).count("n")?;
    let Some((kb, uri)) = of else { return Ok(told) };
    let by_address = [
        "job_problems WHERE source_uri = $2 AND job_id IN (SELECT id FROM jobs WHERE kb_id = $1)",
        "source_objects WHERE object_key = $2
           AND source_id IN (SELECT id FROM ingestion_sources WHERE kb_id = $1)",
    ];
    for rows in by_address {
        let sql = format!(
            "SELECT count(*) AS n FROM {rows}
               AND NOT EXISTS (SELECT 1 FROM documents d
                   JOIN document_versions v ON v.document_id = d.id AND v.state <> 'canceled'
                   JOIN ledger l ON l.document_id = $3 AND l.kind = 'purged'
                   WHERE d.kb_id = $1 AND d.source_uri = $2)"
        );
        let row = query(AssertSqlSafe(sql))
            .bind(kb.as_uuid())
            .bind(uri.as_str())
            .bind(document.as_uuid());
        told.rows += Cells::<DB>(&row.fetch_one(&mut *c).await?).count("n")?;
    }
    let rows = query("SELECT config, cursor FROM jobs WHERE purged AND kb_id = $1")
        .bind(kb.as_uuid())
        .fetch_all(c)
        .await?;
    for row in &rows {
        let row = Cells::<DB>(row);
        let config: Value = row.json("config")?;
        let cursor: Option<Value> = row.maybe_json("cursor").unwrap_or_default();
        let stands_there = cursor.is_some_and(|cursor| cursor["after"] == uri.as_str());
        told.jobs += u64::from(stands_there || says_something(&config, uri.as_str()));
    }
    Ok(told)
}

fn says_something(config: &Value, uri: &str) -> bool {
    let roots = config.get("roots").and_then(Value::as_array);
    has_metadata(config) || roots.is_some_and(|roots| roots.iter().any(|root| is_it(root, uri)))
}

fn has_metadata(config: &Value) -> bool {
    let metadata = config.get("metadata").and_then(Value::as_object);
    metadata.is_some_and(|metadata| !metadata.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_that_is_the_file_is_unnamed_and_others_stay() {
        let uri = "file:///docs/a%20b%C3%A9.md";
        let mut config = json!({ "roots": ["/docs/a bé.md", uri, "/docs", "/docs/a bé.md.md"] });
        unname_root(&mut config, uri);
        assert_eq!(config, json!({ "roots": ["/docs", "/docs/a bé.md.md"] }));
        let mut alone = json!({ "roots": [uri] });
        unname_root(&mut alone, uri);
        assert_eq!(
            alone,
            json!({ "roots": [uri] }),
            "a job without roots is none"
        );
    }
}
