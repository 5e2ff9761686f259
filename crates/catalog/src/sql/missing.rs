//! Documents a job removes because its source shows them no more, and that answer again when
//! it is canceled.
//!
//! A removal is claimed as versions are: a job that finds a document removed by another's
//! listing, and would have removed it, has a part in it, and the last of them to be canceled
//! takes it back. What came after it stays: a version that has served since has then replaced
//! what was closed, and a removal by somebody else holds.

use chrono::{DateTime, Utc};
use model::{
    ContentHash, DocumentId, GenerationId, JobId, JobStatus, SourceOrder, TenantId, VersionId,
};
use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::activate::{CAME_AFTER, lock_if_there, next_change, touch};
use super::cells::Cells;
use super::dialect::Dialect;
use super::events::tell;
use super::ledger::{self, Fact};
use super::removal::{close_all, news, open_activations, removed_at};
use super::{Tx, bring_back, jobs, kbs, noted_documents, noted_removals, stand_in};
use crate::{Error, JobClaim, LedgerKind, Removal, Unseen};

/// Removes documents for the job; how many answered until now. What is under way of them will not
/// answer either. Shows the job's fence.
pub async fn remove<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &JobClaim,
    mut missing: Vec<Unseen>,
    now: DateTime<Utc>,
) -> Result<u64, Error> {
    // As a batch's documents are locked.
    missing.sort_by(|a, b| a.source_uri.cmp(&b.source_uri));
    let mut there = Vec::with_capacity(missing.len());
    for one in &missing {
        if lock_if_there::<DB>(c, claim.tenant, one.document).await? {
            there.push(one.document);
        }
    }
    let mut closed = Vec::new();
    for document in there {
        if remove_one::<DB>(c, claim, document, now).await? {
            closed.push(document);
        }
    }
    let held = query(
        "UPDATE jobs SET heartbeat_at = $3, updated_at = $3
         WHERE id = $1 AND token = $2 AND status IN ('running', 'paused') AND NOT exhausted
         RETURNING id",
    )
    .bind(claim.job.as_uuid())
    .bind(claim.token.cast_signed())
    .bind(now)
    .fetch_optional(&mut *c)
    .await?;
    held.ok_or_else(|| Error::conflict("job", "its listing is no longer held by this worker"))?;
    for document in &closed {
        let news = news(claim.tenant, *document, "document.deactivated");
        tell::<DB>(c, news, now).await?;
    }
    Ok(closed.len() as u64)
}

/// Something of a document `d` is under way and will answer: it came after the last removal.
pub fn to_answer() -> String {
    format!(
        "EXISTS (SELECT 1 FROM ingestion_runs r JOIN document_versions v ON v.id = r.version_id
             WHERE r.document_id = d.id AND r.status IN ('queued', 'running') AND {CAME_AFTER})"
    )
}

/// Whether it answered until now.
async fn remove_one<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &JobClaim,
    document: DocumentId,
    now: DateTime<Utc>,
) -> Result<bool, Error> {
    let open = open_activations::<DB>(c, document).await?;
    if open.is_empty() {
        // What was removed before stays so, though what has come since were never to answer.
        take_part::<DB>(c, claim.job, document).await?;
        if !is_to_answer::<DB>(c, document).await? {
            return Ok(false);
        }
    }
    let at = removed_at::<DB>(c, document, now).await?;
    let rows = query(
        "INSERT INTO job_removals (job_id, document_id, at, before_at, before_order)
         SELECT $1, d.id, $3, d.removed_at, d.removed_order FROM documents d WHERE d.id = $2
         ON CONFLICT DO NOTHING RETURNING *",
    )
    .bind(claim.job.as_uuid())
    .bind(document.as_uuid())
    .bind(at)
    .fetch_all(&mut *c)
    .await?;
    note_parts::<DB>(c, claim.job, document, &rows).await?;
    let of = (claim.tenant, document);
    close_all::<DB>(c, of, &open, &Removal::default(), at).await?;
    Ok(!open.is_empty())
}

/// A part in a removal there was before; none, where no job made it.
async fn take_part<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
    document: DocumentId,
) -> Result<(), Error> {
    let rows = query(
        "INSERT INTO job_removals (job_id, document_id, at, before_at, before_order)
         SELECT $1, m.document_id, m.at, m.before_at, m.before_order
         FROM job_removals m JOIN documents d ON d.id = m.document_id AND d.removed_at = m.at
         WHERE m.document_id = $2
         ON CONFLICT DO NOTHING RETURNING *",
    )
    .bind(job.as_uuid())
    .bind(document.as_uuid())
    .fetch_all(&mut *c)
    .await?;
    note_parts::<DB>(c, job, document, &rows).await
}

async fn is_to_answer<DB: Dialect>(c: &mut Tx<DB>, document: DocumentId) -> Result<bool, Error> {
    let sql = format!(
        "SELECT d.id FROM documents d WHERE d.id = $1 AND {}",
        to_answer()
    );
    let row = query(AssertSqlSafe(sql))
        .bind(document.as_uuid())
        .fetch_optional(c)
        .await?;
    Ok(row.is_some())
}

async fn note_parts<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
    document: DocumentId,
    rows: &[DB::Row],
) -> Result<(), Error> {
    for row in rows {
        let part = noted_removals::read::<DB>(row)?;
        noted_removals::add::<DB>(c, document, job, part).await?;
    }
    Ok(())
}

/// Takes back the next removals of a job that is being canceled; how many it looked at.
pub async fn reinstate_some<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: JobId,
    limit: u32,
    now: DateTime<Utc>,
) -> Result<u64, Error> {
    let known = jobs::one::<DB>(c, tenant, job).await?;
    match known.status {
        JobStatus::Canceled => {}
        // Another call of the same cancel has finished it.
        JobStatus::NotStarted => return Ok(0),
        _ => return Err(Error::conflict("job", "it is not being canceled")),
    }
    // Before any document, as admissions do: what answers again may have to be admitted.
    let kb = kbs::lock::<DB>(c, tenant, known.kb).await?;
    // Of several removals of one document the last goes first, as it came.
    let rows = query(
        "SELECT document_id, at FROM job_removals WHERE job_id = $1
         ORDER BY document_id, at DESC LIMIT $2",
    )
    .bind(job.as_uuid())
    .bind(i64::from(limit))
    .fetch_all(&mut *c)
    .await?;
    let mut removals = Vec::with_capacity(rows.len());
    for row in &rows {
        let row = Cells::<DB>(row);
        let removal = TakenBack {
            tenant,
            document: row.id("document_id", DocumentId::from_uuid)?,
            at: row.at("at")?,
        };
        lock_if_there::<DB>(c, tenant, removal.document).await?;
        stand_in::lock_runs::<DB>(c, removal.document).await?;
        removals.push(removal);
    }
    let mut told = Vec::new();
    for removal in removals {
        let Some(answers) = removal.by::<DB>(c, job, now).await? else {
            continue;
        };
        if answers {
            told.push(news(tenant, removal.document, "document.reinstated"));
        }
        told.extend(bring_back::begin::<DB>(c, &kb, removal.document, now).await?);
    }
    for news in told {
        tell::<DB>(c, news, now).await?;
    }
    Ok(rows.len() as u64)
}

/// A removal that is to be as if it had not been.
struct TakenBack {
    tenant: TenantId,
    document: DocumentId,
    at: DateTime<Utc>,
}

/// An activation the removal closed.
struct Closed {
    id: Uuid,
    version: VersionId,
    generation: GenerationId,
    at: DateTime<Utc>,
    content_hash: ContentHash,
    root_hash: Option<ContentHash>,
}

impl TakenBack {
    /// Whether the document answers again; `None` where others have a part in the removal. It is
    /// locked.
    async fn by<DB: Dialect>(
        &self,
        c: &mut Tx<DB>,
        job: JobId,
        now: DateTime<Utc>,
    ) -> Result<Option<bool>, Error> {
        let Some(before) = self.part_of::<DB>(c, job).await? else {
            return Ok(None);
        };
        let stood = self.restore::<DB>(c, before).await?;
        let mut answers = false;
        for closed in self.closed::<DB>(c).await? {
            answers |= self.reopen::<DB>(c, &closed, stood, now).await?;
        }
        answers |= stand_in::serve::<DB>(c, self.tenant, self.document, now).await?;
        Ok(Some(answers))
    }

    /// Ends the job's part in the removal: what was before it, when that was the last part.
    async fn part_of<DB: Dialect>(
        &self,
        c: &mut Tx<DB>,
        job: JobId,
    ) -> Result<Option<Before>, Error> {
        let part = query(
            "DELETE FROM job_removals WHERE job_id = $1 AND document_id = $2 AND at = $3
             RETURNING before_at, before_order",
        )
        .bind(job.as_uuid())
        .bind(self.document.as_uuid())
        .bind(self.at)
        .fetch_optional(&mut *c)
        .await?;
        // Another call of the same cancel may have been faster.
        let Some(part) = part else { return Ok(None) };
        noted_removals::change::<DB>(c, self.document, |of, parts| {
            parts.retain(|part| of != job || part.at != self.at);
        })
        .await?;
        let others =
            query("SELECT at FROM job_removals WHERE document_id = $1 AND at = $2 LIMIT 1")
                .bind(self.document.as_uuid())
                .bind(self.at)
                .fetch_optional(c)
                .await?;
        let part = Cells::<DB>(&part);
        let before = Before {
            at: part.maybe_at("before_at")?,
            order: part.maybe_text("before_order")?,
        };
        Ok(others.is_none().then_some(before))
    }

    /// Whether this was the document's last removal.
    async fn restore<DB: Dialect>(&self, c: &mut Tx<DB>, before: Before) -> Result<bool, Error> {
        query(
            "UPDATE job_removals SET before_at = $3, before_order = $4
             WHERE document_id = $1 AND before_at = $2",
        )
        .bind(self.document.as_uuid())
        .bind(self.at)
        .bind(before.at)
        .bind(before.order.clone())
        .execute(&mut *c)
        .await?;
        noted_removals::change::<DB>(c, self.document, |_, parts| {
            let after = parts
                .iter_mut()
                .filter(|part| part.before_at == Some(self.at));
            after.for_each(|part| {
                part.before_at = before.at;
                part.before_order = before.order.clone().map(SourceOrder::from_stored);
            });
        })
        .await?;
        let stood = query(
            "UPDATE documents SET removed_at = $3, removed_order = $4
             WHERE id = $1 AND removed_at = $2 RETURNING id",
        )
        .bind(self.document.as_uuid())
        .bind(self.at)
        .bind(before.at)
        .bind(before.order.clone())
        .fetch_optional(&mut *c)
        .await?;
        if stood.is_some() {
            let order = before.order.as_deref();
            noted_documents::restate_removal::<DB>(c, self.document, before.at, order).await?;
        }
        Ok(stood.is_some())
    }

    /// What the removal closed and nothing has replaced. None is closed before it was opened.
    async fn closed<DB: Dialect>(&self, c: &mut Tx<DB>) -> Result<Vec<Closed>, Error> {
        let rows = query(
            "SELECT a.id, a.version_id, a.generation_id, a.closed_at, v.content_hash, v.root_hash
             FROM activations a JOIN document_versions v ON v.id = a.version_id
             WHERE a.document_id = $1
               AND a.closed_at = CASE WHEN a.opened_at > $2 THEN a.opened_at ELSE $2 END
               AND NOT EXISTS (SELECT 1 FROM activations n
                   WHERE n.document_id = a.document_id AND n.replaced = a.id)
             ORDER BY a.generation_id, a.opened_at",
        )
        .bind(self.document.as_uuid())
        .bind(self.at)
        .fetch_all(c)
        .await?;
        let read = |row| {
            let row = Cells::<DB>(row);
            Ok(Closed {
                id: row.get("id")?,
                version: row.id("version_id", VersionId::from_uuid)?,
                generation: row.id("generation_id", GenerationId::from_uuid)?,
                at: row.at("closed_at")?,
                content_hash: row.hash("content_hash")?,
                root_hash: row.maybe_hash("root_hash")?,
            })
        };
        rows.iter().map(read).collect()
    }

    /// Lets it serve on: to what came next in its generation, which has then replaced it, or,
    /// where the document is not removed any more, to this day. Whether it is open.
    async fn reopen<DB: Dialect>(
        &self,
        c: &mut Tx<DB>,
        closed: &Closed,
        stood: bool,
        now: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let next = query(
            "SELECT id, opened_at FROM activations
             WHERE document_id = $1 AND generation_id = $2 AND replaced IS NULL AND id <> $3
               AND opened_at >= $4
             ORDER BY opened_at, id LIMIT 1",
        )
        .bind(self.document.as_uuid())
        .bind(closed.generation.as_uuid())
        .bind(closed.id)
        .bind(closed.at)
        .fetch_optional(&mut *c)
        .await?;
        let mut until = None;
        if let Some(next) = &next {
            let next = Cells::<DB>(next);
            until = Some(next.at("opened_at")?);
            query("UPDATE activations SET replaced = $2 WHERE id = $1")
                .bind(next.get::<Uuid>("id")?)
                .bind(closed.id)
                .execute(&mut *c)
                .await?;
        } else if !stood {
            return Ok(false);
        }
        let change = next_change::<DB>(c, closed.generation).await?;
        query("UPDATE activations SET closed_at = $2, change = $3 WHERE id = $1")
            .bind(closed.id)
            .bind(until)
            .bind(change)
            .execute(&mut *c)
            .await?;
        touch::<DB>(c, self.document, now).await?;
        // At the time from which it serves on, so that the ledger alone tells which it was.
        ledger::append::<DB>(c, self.fact(closed), closed.at).await?;
        Ok(until.is_none())
    }

    fn fact(&self, closed: &Closed) -> Fact {
        Fact {
            tenant: self.tenant,
            document: self.document,
            kind: LedgerKind::Reinstated,
            version: Some(closed.version),
            generation: Some(closed.generation),
            content_hash: Some(closed.content_hash),
            root_hash: closed.root_hash,
            by: None,
        }
    }
}

/// How the document stood before it was removed.
struct Before {
    at: Option<DateTime<Utc>>,
    order: Option<String>,
}
