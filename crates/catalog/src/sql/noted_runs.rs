//! Notes of runs that have ended, beside their rows.
//!
//! Written where a run ends; from then on whoever changes what is noted changes that part of the
//! note. A run that is under way again, or whose document was purged, has none.

use std::collections::BTreeMap;

use model::{
    ContentHash, DocumentId, GenerationId, JobId, KbId, RunId, SourceId, SourceUri, TenantId,
    UserId, VersionId,
};
use sqlx::{AssertSqlSafe, QueryBuilder, query};
use uuid::Uuid;

use super::cells::{Cells, bytes, json};
use super::dialect::Dialect;
use super::mend::Owner;
use super::{Tx, columns, ledger};
use crate::{Error, Note, NotedRun, Now, RunFacts, RunStats, RunType, Told};

type Of = (DocumentId, RunId);

fn ids((document, run): Of) -> (Uuid, Uuid) {
    (document.as_uuid(), run.as_uuid())
}

/// Notes a run that has just ended as its row has it.
pub async fn write<DB: Dialect>(c: &mut Tx<DB>, row: &DB::Row) -> Result<(), Error> {
    let cells = Cells::<DB>(row);
    let document = cells.id("document_id", DocumentId::from_uuid)?;
    let run = cells.id("id", RunId::from_uuid)?;
    put::<DB>(c, (document, run), &read::<DB>(row)?).await
}

/// Notes how a run ended, now that it has ended otherwise.
pub async fn restate_end<DB: Dialect>(c: &mut Tx<DB>, row: &DB::Row) -> Result<(), Error> {
    let cells = Cells::<DB>(row);
    let document = cells.id("document_id", DocumentId::from_uuid)?;
    let of = (document, cells.id("id", RunId::from_uuid)?);
    let Some(noted) = standing::<DB>(c, of).await? else {
        return Ok(());
    };
    let now = read::<DB>(row)?;
    let facts = RunFacts {
        status: now.status,
        superseded: now.superseded,
        error_code: now.error_code,
        error_message: now.error_message,
        error_hint: now.error_hint,
        ..noted
    };
    put::<DB>(c, of, &facts).await
}

/// The run is under way again: what is noted of it is not yet.
pub async fn forget<DB: Dialect>(c: &mut Tx<DB>, of: Of) -> Result<(), Error> {
    let (document, run) = ids(of);
    query("DELETE FROM run_witnesses WHERE document_id = $1 AND run_id = $2")
        .bind(document)
        .bind(run)
        .execute(c)
        .await?;
    Ok(())
}

/// The runs of a version that is purged keep when they were and how they ended; nothing else is to
/// tell of them.
pub async fn forget_version<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    version: VersionId,
) -> Result<(), Error> {
    for row in of_document::<DB>(c, document).await? {
        let Ok(run) = Cells::<DB>(&row).id("run_id", RunId::from_uuid) else {
            continue;
        };
        // Of whom one tells that was changed nobody knows.
        if told::<DB>(&row, (document, run)).is_none_or(|facts| facts.version == version) {
            forget::<DB>(c, (document, run)).await?;
        }
    }
    Ok(())
}

/// Nothing of the document lives on: nothing tells of its runs.
pub async fn forget_all<DB: Dialect>(c: &mut Tx<DB>, document: DocumentId) -> Result<(), Error> {
    query("DELETE FROM run_witnesses WHERE document_id = $1")
        .bind(document.as_uuid())
        .execute(c)
        .await?;
    Ok(())
}

async fn of_document<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
) -> Result<Vec<DB::Row>, Error> {
    let rows = query("SELECT * FROM run_witnesses WHERE document_id = $1")
        .bind(document.as_uuid())
        .fetch_all(c)
        .await?;
    Ok(rows)
}

/// What was noted of one document's runs is noted of another's.
pub async fn hand_over<DB: Dialect>(
    c: &mut Tx<DB>,
    from: DocumentId,
    to: DocumentId,
) -> Result<(), Error> {
    for row in of_document::<DB>(c, from).await? {
        let Ok(run) = Cells::<DB>(&row).id("run_id", RunId::from_uuid) else {
            continue;
        };
        if let Some(facts) = told::<DB>(&row, (from, run)) {
            put::<DB>(c, (to, run), &facts).await?;
        }
        forget::<DB>(c, (from, run)).await?;
    }
    Ok(())
}

/// As [`hand_over`], of one run.
pub async fn hand_over_one<DB: Dialect>(
    c: &mut Tx<DB>,
    run: RunId,
    (from, to): (DocumentId, DocumentId),
) -> Result<(), Error> {
    if let Some(facts) = standing::<DB>(c, (from, run)).await? {
        put::<DB>(c, (to, run), &facts).await?;
    }
    forget::<DB>(c, (from, run)).await
}

/// Notes every run that has ended, when notes are new to a catalog.
pub async fn write_all<DB: Dialect>(c: &mut Tx<DB>) -> Result<(), Error> {
    const AT_ONCE: usize = 200;
    let mut after = Uuid::nil();
    loop {
        let rows = query(
            "SELECT * FROM ingestion_runs WHERE status IN ('succeeded', 'failed', 'canceled')
               AND source_uri <> $1 AND id > $2 ORDER BY id LIMIT $3",
        )
        .bind(SourceUri::purged().as_str())
        .bind(after)
        .bind(AT_ONCE as i64)
        .fetch_all(&mut *c)
        .await?;
        for row in &rows {
            // One that cannot be read is named for that.
            if read::<DB>(row).is_ok() {
                write::<DB>(c, row).await?;
            }
        }
        match rows.last() {
            Some(row) if rows.len() == AT_ONCE => after = Cells::<DB>(row).get("id")?,
            _ => return Ok(()),
        }
    }
}

/// A run's row as it was noted, or, where no note stands, the note as the row has it. A note that
/// does not stand and is of no row tells nothing, and goes.
pub async fn mend<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, document): Owner,
    run: RunId,
) -> Result<(), Error> {
    if let Some(facts) = standing::<DB>(c, (document, run)).await? {
        set::<DB>(c, (tenant, document), run, &facts).await?;
        return put_back::<DB>(c, run).await;
    }
    put_back::<DB>(c, run).await?;
    let row = query(
        "SELECT * FROM ingestion_runs WHERE id = $1 AND document_id = $2
           AND status IN ('succeeded', 'failed', 'canceled')",
    )
    .bind(run.as_uuid())
    .bind(document.as_uuid())
    .fetch_optional(&mut *c)
    .await?;
    match row {
        Some(row) => write::<DB>(c, &row).await,
        None => forget::<DB>(c, (document, run)).await,
    }
}

/// What is not noted of it, where that cannot be read.
async fn put_back<DB: Dialect>(c: &mut Tx<DB>, run: RunId) -> Result<(), Error> {
    columns::put_back::<DB>(c, "ingestion_runs", columns::OF_RUN, run.as_uuid()).await
}

async fn set<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, document): Owner,
    run: RunId,
    facts: &RunFacts,
) -> Result<(), Error> {
    query(
        "INSERT INTO ingestion_runs (id, tenant_id, document_id, kb_id, generation_id, version_id,
             source_uri, content_hash, job_id, source_id, status, superseded, run_type,
             initiated_by, config, chunks_created, tokens_total, chunks_processed, chunks_skipped,
             chunks_error, counted_in, error_code, error_message, error_hint, stage, trace,
             created_at, started_at, finished_at, updated_at, source_order)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
             $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, coalesce($29, $27),
             (SELECT v.source_order FROM document_versions v WHERE v.id = $6))
         ON CONFLICT (id) DO UPDATE SET tenant_id = $2, document_id = $3, kb_id = $4,
             generation_id = $5, version_id = $6, source_uri = $7, content_hash = $8, job_id = $9,
             source_id = $10, status = $11, superseded = $12, run_type = $13, initiated_by = $14,
             config = $15, chunks_created = $16, tokens_total = $17, chunks_processed = $18,
             chunks_skipped = $19, chunks_error = $20, counted_in = $21, error_code = $22,
             error_message = $23, error_hint = $24, stage = $25, trace = $26, created_at = $27,
             started_at = $28, finished_at = $29",
    )
    .bind(run.as_uuid())
    .bind(tenant.as_uuid())
    .bind(document.as_uuid())
    .bind(facts.kb.as_uuid())
    .bind(facts.generation.as_uuid())
    .bind(facts.version.as_uuid())
    .bind(facts.source_uri.as_str())
    .bind(bytes(&facts.content_hash))
    .bind(facts.job.map(JobId::as_uuid))
    .bind(facts.source.map(SourceId::as_uuid))
    .bind(facts.status.as_str())
    .bind(facts.superseded)
    .bind(facts.run_type.as_str())
    .bind(facts.initiated_by.map(UserId::as_uuid))
    .bind(json(&facts.config))
    .bind(facts.stats.chunks_created.cast_signed())
    .bind(facts.stats.tokens_total.cast_signed())
    .bind(facts.stats.chunks_processed.cast_signed())
    .bind(facts.stats.chunks_skipped.cast_signed())
    .bind(facts.stats.chunks_error.cast_signed())
    .bind(facts.counted_in)
    .bind(facts.error_code.as_deref())
    .bind(facts.error_message.as_deref())
    .bind(facts.error_hint.as_deref())
    .bind(facts.stage.as_deref())
    .bind(facts.trace.as_deref())
    .bind(facts.created_at)
    .bind(facts.started_at)
    .bind(facts.finished_at)
    .execute(c)
    .await?;
    Ok(())
}

async fn put<DB: Dialect>(c: &mut Tx<DB>, of: Of, facts: &RunFacts) -> Result<(), Error> {
    let note = Note::new(ids(of), facts);
    let (document, run) = ids(of);
    query(
        "INSERT INTO run_witnesses (document_id, run_id, facts, sum) VALUES ($1, $2, $3, $4)
         ON CONFLICT (document_id, run_id) DO UPDATE SET facts = $3, sum = $4",
    )
    .bind(document)
    .bind(run)
    .bind(note.facts)
    .bind(bytes(&note.sum))
    .execute(c)
    .await?;
    Ok(())
}

/// What is noted of a run, if that is still what was noted.
async fn standing<DB: Dialect>(c: &mut Tx<DB>, of: Of) -> Result<Option<RunFacts>, Error> {
    let (document, run) = ids(of);
    let sql = format!(
        "SELECT * FROM run_witnesses WHERE document_id = $1 AND run_id = $2 {}",
        DB::FOR_UPDATE
    );
    let row = query(AssertSqlSafe(sql))
        .bind(document)
        .bind(run)
        .fetch_optional(c)
        .await?;
    Ok(row.and_then(|row| told::<DB>(&row, of)))
}

/// For each run that is mended, so it must not read all that is noted.
pub const ELSEWHERE: &str = "SELECT * FROM run_witnesses WHERE run_id = $1 AND document_id <> $2";

/// The other document a run was noted for, and what that tells of it.
pub async fn elsewhere<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    run: RunId,
) -> Result<Option<(DocumentId, RunFacts)>, Error> {
    let rows = query(ELSEWHERE)
        .bind(run.as_uuid())
        .bind(document.as_uuid())
        .fetch_all(c)
        .await?;
    let noted = rows.iter().find_map(|row| {
        let other = Cells::<DB>(row).id("document_id", DocumentId::from_uuid);
        let other = other.ok()?;
        Some((other, told::<DB>(row, (other, run))?))
    });
    Ok(noted)
}

/// One that cannot be read tells nothing, as one that was changed.
fn told<DB: Dialect>(row: &DB::Row, of: Of) -> Option<RunFacts> {
    Cells::<DB>(row).note().ok()?.told(ids(of))
}

/// Whether a note tells that a run of this tenant brought these bytes, which keeps them.
pub async fn tell_of_bytes<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    hash: &ContentHash,
) -> Result<bool, Error> {
    let rows = query("SELECT * FROM run_witnesses WHERE facts LIKE $1")
        .bind(format!("%{hash}%"))
        .fetch_all(&mut *c)
        .await?;
    for row in &rows {
        let cells = Cells::<DB>(row);
        let document = cells.id("document_id", DocumentId::from_uuid);
        let run = cells.id("run_id", RunId::from_uuid);
        let (Ok(document), Ok(run)) = (document, run) else {
            continue;
        };
        let Some(facts) = told::<DB>(row, (document, run)) else {
            continue;
        };
        let of = (document, facts.version);
        if facts.content_hash == *hash
            && facts.keeps_its_original()
            && is_of::<DB>(c, tenant, facts.kb).await?
            && !ledger::let_go::<DB>(c, of, facts.created_at).await?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Of a knowledge base that is gone nobody knows whose it was, so it may be anybody's.
async fn is_of<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId, kb: KbId) -> Result<bool, Error> {
    let row = query("SELECT tenant_id FROM knowledge_bases WHERE id = $1")
        .bind(kb.as_uuid())
        .fetch_optional(c)
        .await?;
    let Some(row) = row else { return Ok(true) };
    Ok(Cells::<DB>(&row).id("tenant_id", TenantId::from_uuid)? == tenant)
}

/// The runs of some documents, given their rows, and what was noted of each.
pub async fn gather<DB: Dialect>(
    c: &mut Tx<DB>,
    documents: &[Uuid],
    rows: &[DB::Row],
) -> Result<Vec<(Uuid, NotedRun)>, Error> {
    let mut found: BTreeMap<(Uuid, Uuid), NotedRun> = BTreeMap::new();
    for row in rows {
        let cells = Cells::<DB>(row);
        let (Ok(document), Ok(run)) = (cells.get("document_id"), cells.get("id")) else {
            continue;
        };
        let now = read::<DB>(row).ok();
        let now = now.filter(|_| columns::are_sound::<DB>(row, columns::OF_RUN));
        let now = now.map_or(Now::Unreadable, Now::Is);
        found.insert((document, run), noted(run, now));
    }
    let mut sql: QueryBuilder<DB> =
        QueryBuilder::new("SELECT * FROM run_witnesses WHERE document_id IN (");
    let mut list = sql.separated(", ");
    for id in documents {
        list.push_bind(*id);
    }
    for row in &sql.push(")").build().fetch_all(c).await? {
        let cells = Cells::<DB>(row);
        let (Ok(document), Ok(run)) = (cells.get("document_id"), cells.get("run_id")) else {
            continue;
        };
        let of: (Uuid, Uuid) = (document, run);
        let said = told::<DB>(row, (DocumentId::from_uuid(of.0), RunId::from_uuid(of.1)));
        let one = found.entry(of).or_insert_with(|| noted(of.1, Now::Gone));
        one.noted = Some(said.map_or(Told::Changed, Told::Was));
    }
    let found = found
        .into_iter()
        .map(|((document, _), one)| (document, one));
    Ok(found.collect())
}

fn noted(run: Uuid, now: Now<RunFacts>) -> NotedRun {
    NotedRun {
        run: RunId::from_uuid(run),
        now,
        noted: None,
    }
}

/// The columns of a run's row that are noted once it ends, and cannot be read now.
pub async fn spoilt<DB: Dialect>(c: &mut Tx<DB>, run: Uuid) -> Result<Vec<&'static str>, Error> {
    let row = query("SELECT * FROM ingestion_runs WHERE id = $1")
        .bind(run)
        .fetch_optional(c)
        .await?;
    let Some(row) = row else {
        return Ok(Vec::new());
    };
    let row = Cells::<DB>(&row);
    let id = |name| row.get::<Uuid>(name).is_ok();
    let maybe_id = |name| row.get::<Option<Uuid>>(name).is_ok();
    let text = |name| row.maybe_text(name).is_ok();
    let count = |name| row.count(name).is_ok();
    let at = |name| row.maybe_at(name).is_ok();
    let sound = [
        ("tenant_id", id("tenant_id")),
        ("kb_id", id("kb_id")),
        ("generation_id", id("generation_id")),
        ("document_id", id("document_id")),
        ("version_id", id("version_id")),
        ("source_uri", row.uri("source_uri").is_ok()),
        ("content_hash", row.hash("content_hash").is_ok()),
        ("job_id", maybe_id("job_id")),
        ("source_id", maybe_id("source_id")),
        ("run_type", row.word::<RunType>("run_type").is_ok()),
        ("initiated_by", maybe_id("initiated_by")),
        ("config", row.json::<serde_json::Value>("config").is_ok()),
        ("chunks_created", count("chunks_created")),
        ("tokens_total", count("tokens_total")),
        ("chunks_processed", count("chunks_processed")),
        ("chunks_skipped", count("chunks_skipped")),
        ("chunks_error", count("chunks_error")),
        ("error_code", text("error_code")),
        ("error_message", text("error_message")),
        ("error_hint", text("error_hint")),
        ("stage", text("stage")),
        ("trace", text("trace")),
        ("created_at", row.at("created_at").is_ok()),
        ("started_at", at("started_at")),
        ("finished_at", at("finished_at")),
    ];
    let spoilt = sound.into_iter().filter(|(_, sound)| !sound);
    Ok(spoilt.map(|(name, _)| name).collect())
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<RunFacts, Error> {
    let row = Cells::<DB>(row);
    let content_hash: ContentHash = row.hash("content_hash")?;
    Ok(RunFacts {
        kb: row.id("kb_id", KbId::from_uuid)?,
        generation: row.id("generation_id", GenerationId::from_uuid)?,
        version: row.id("version_id", VersionId::from_uuid)?,
        source_uri: row.uri("source_uri")?,
        content_hash,
        job: row.maybe_id("job_id", JobId::from_uuid)?,
        source: row.maybe_id("source_id", SourceId::from_uuid)?,
        status: row.word("status")?,
        superseded: row.get("superseded")?,
        run_type: row.word("run_type")?,
        initiated_by: row.maybe_id("initiated_by", UserId::from_uuid)?,
        config: row.json("config")?,
        stats: RunStats {
            chunks_created: row.count("chunks_created")?,
            tokens_total: row.count("tokens_total")?,
            chunks_processed: row.count("chunks_processed")?,
            chunks_skipped: row.count("chunks_skipped")?,
            chunks_error: row.count("chunks_error")?,
        },
        counted_in: row.get("counted_in")?,
        error_code: row.maybe_text("error_code")?,
        error_message: row.maybe_text("error_message")?,
        error_hint: row.maybe_text("error_hint")?,
        stage: row.maybe_text("stage")?,
        trace: row.maybe_text("trace")?,
        created_at: row.at("created_at")?,
        started_at: row.maybe_at("started_at")?,
        finished_at: row.maybe_at("finished_at")?,
    })
}
