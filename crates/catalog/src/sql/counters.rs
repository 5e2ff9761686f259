//! What jobs have counted of the runs that ended in them and of the documents they met, held
//! against those runs and against what each batch noted of itself.

use model::{JobId, TenantId};
use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::cells::Cells;
use super::dialect::Dialect;
use super::nameless::named;
use super::{Tx, noted_jobs, recount};
use crate::{Admitted, Error, JobCount, MiscountedJob, Outcome};

/// What a job `j` should have counted since it began, of its runs `r`, its batches `m` and the
/// problems `p` it noted. One that is being canceled, or was, has nothing to count.
const COUNTED: &str = "
    SELECT j.id,
        (SELECT CAST(coalesce(sum(r.chunks_processed), 0) AS BIGINT) FROM ingestion_runs r
         WHERE r.job_id = j.id AND r.counted_in = j.beginnings) AS processed,
        (SELECT CAST(coalesce(sum(r.chunks_skipped), 0) AS BIGINT) FROM ingestion_runs r
         WHERE r.job_id = j.id AND r.counted_in = j.beginnings) AS skipped,
        (SELECT CAST(coalesce(sum(r.chunks_error), 0) AS BIGINT) FROM ingestion_runs r
         WHERE r.job_id = j.id AND r.counted_in = j.beginnings) AS error,
        (SELECT count(*) FROM ingestion_runs r
         WHERE r.job_id = j.id AND r.counted_in = j.beginnings AND r.status = 'failed') AS failed,
        (SELECT count(*) FROM ingestion_runs r
         WHERE r.job_id = j.id AND r.counted_in = j.beginnings
           AND r.status = 'canceled') AS called_off,
        (SELECT CAST(coalesce(sum(m.begun), 0) AS BIGINT) FROM job_batches m
         WHERE m.job_id = j.id) AS docs_begun,
        (SELECT CAST(coalesce(sum(m.skipped), 0) AS BIGINT) FROM job_batches m
         WHERE m.job_id = j.id) AS docs_skipped,
        (SELECT count(*) FROM job_problems p WHERE p.job_id = j.id) AS docs_refused
    FROM jobs j
    WHERE j.tenant_id = $1 AND j.status IN ('running', 'paused', 'completed', 'failed')";

const OTHER_CHUNKS: &str = "(c.processed <> j.chunks_processed OR c.skipped <> j.chunks_skipped
    OR c.error <> j.chunks_error)";

const OTHER_DOCUMENTS: &str = "(c.docs_begun + c.docs_skipped + c.docs_refused <> j.docs_seen
    OR c.docs_skipped <> j.docs_skipped OR c.docs_refused <> j.docs_refused)";

/// Its own are known. Those of others it waited for are among what it found there already, and
/// what was called off since it ended may have failed before.
const OTHER_FAILED: &str = "(j.runs_failed < c.failed
    OR j.runs_failed > c.failed + c.called_off + c.docs_skipped)";

fn differing(one: &str) -> String {
    format!(
        "SELECT j.id, j.chunks_seen, j.docs_seen, j.runs_failed, c.*,
             j.docs_skipped AS told_skipped, j.docs_refused AS told_refused,
             {OTHER_CHUNKS} AS other_chunks, {OTHER_DOCUMENTS} AS other_documents,
             {OTHER_FAILED} AS other_failed
         FROM jobs j JOIN ({COUNTED}) AS c ON c.id = j.id
         WHERE ({OTHER_CHUNKS} OR {OTHER_DOCUMENTS} OR {OTHER_FAILED}) {one}
         ORDER BY j.id"
    )
}

/// What a batch met, besides what it could not take in: that is noted by itself.
pub async fn note<DB: Dialect>(
    c: &mut Tx<DB>,
    job: JobId,
    admitted: &[Admitted],
) -> Result<(), Error> {
    if admitted.is_empty() {
        return Ok(());
    }
    let skipped = |one: &&Admitted| matches!(one.outcome, Outcome::Skipped { .. });
    let skipped = admitted.iter().filter(skipped).count();
    query(
        "INSERT INTO job_batches (job_id, position, begun, skipped)
         SELECT $1, coalesce(max(position), 0) + 1, $2, $3 FROM job_batches WHERE job_id = $1",
    )
    .bind(job.as_uuid())
    .bind(i64::try_from(admitted.len() - skipped).unwrap_or(i64::MAX))
    .bind(i64::try_from(skipped).unwrap_or(i64::MAX))
    .execute(c)
    .await?;
    Ok(())
}

pub async fn miscounted<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
) -> Result<Vec<MiscountedJob>, Error> {
    let rows = query(AssertSqlSafe(differing(&named::<DB>("j.id"))))
        .bind(tenant.as_uuid())
        .fetch_all(&mut *c)
        .await?;
    let mut found = Vec::new();
    for row in &rows {
        found.extend(read::<DB>(row)?);
    }
    found.extend(recount::miscounted::<DB>(c, tenant).await?);
    // By the id it goes by, such a row has counted what none of its own rows tell of.
    let renamed = noted_jobs::renamed::<DB>(c, tenant).await?;
    found.retain(|one| !renamed.iter().any(|(is, _)| *is == one.job));
    found.extend(noted_jobs::otherwise::<DB>(c, tenant).await?);
    Ok(found)
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<Vec<MiscountedJob>, Error> {
    let row = Cells::<DB>(row);
    let sum = |names: &[&str]| names.iter().map(|name| row.get::<i64>(name)).sum();
    let mut found = Vec::new();
    for (wrong, of, told, parts) in [
        (
            "other_chunks",
            JobCount::Chunks,
            "chunks_seen",
            &["processed", "skipped", "error"][..],
        ),
        (
            "other_documents",
            JobCount::Documents,
            "docs_seen",
            &["docs_begun", "docs_skipped", "docs_refused"],
        ),
        ("other_failed", JobCount::Failed, "runs_failed", &["failed"]),
    ] {
        if row.get(wrong)? {
            let (told, counted): (i64, Result<i64, Error>) = (row.get(told)?, sum(parts));
            found.push(MiscountedJob {
                job: row.id("id", JobId::from_uuid)?,
                of,
                told,
                counted: counted?,
            });
        }
    }
    Ok(found)
}

/// Whoever ends a run or takes a batch in counts it in the same transaction: under the job's lock
/// both agree, or never will.
pub async fn put_right<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId) -> Result<(), Error> {
    // First: what a row has to count depends on how far it is.
    noted_jobs::put_right::<DB>(c, tenant).await?;
    for wrong in miscounted::<DB>(c, tenant).await? {
        let job = wrong.job.as_uuid();
        let lock = format!("SELECT id FROM jobs WHERE id = $1 {}", DB::FOR_UPDATE);
        query(AssertSqlSafe(lock))
            .bind(job)
            .fetch_optional(&mut *c)
            .await?;
        recount::<DB>(c, tenant, job).await?;
    }
    Ok(())
}

async fn recount<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId, job: Uuid) -> Result<(), Error> {
    let Some(row) = differing_one::<DB>(c, tenant, job).await? else {
        return Ok(());
    };
    if let Some(met) = lost_by_batches::<DB>(c, job, &row).await? {
        note_again::<DB>(c, job, &met).await?;
    }
    let Some(row) = differing_one::<DB>(c, tenant, job).await? else {
        return Ok(());
    };
    let row = Cells::<DB>(&row);
    let failed: i64 = match row.get("other_failed")? {
        true => row.get::<i64>("failed")? + failed_elsewhere::<DB>(c, job).await?,
        false => row.get("runs_failed")?,
    };
    query(
        "UPDATE jobs SET chunks_seen = $2 + $3 + $4, chunks_processed = $2, chunks_skipped = $3,
             chunks_error = $4, docs_seen = $5 + $6 + $7, docs_skipped = $6, docs_refused = $7,
             runs_failed = $8
         WHERE id = $1",
    )
    .bind(job)
    .bind(row.get::<i64>("processed")?)
    .bind(row.get::<i64>("skipped")?)
    .bind(row.get::<i64>("error")?)
    .bind(row.get::<i64>("docs_begun")?)
    .bind(row.get::<i64>("docs_skipped")?)
    .bind(row.get::<i64>("docs_refused")?)
    .bind(failed)
    .execute(c)
    .await?;
    Ok(())
}

async fn differing_one<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    job: Uuid,
) -> Result<Option<DB::Row>, Error> {
    let row = query(AssertSqlSafe(differing("AND j.id = $2")))
        .bind(tenant.as_uuid())
        .bind(job)
        .fetch_optional(c)
        .await?;
    Ok(row)
}

/// Documents a job met, but for what it could not take in.
struct Met {
    begun: i64,
    skipped: i64,
}

impl Met {
    /// Whether it is told by other rows as well, and batches that differ have lost some, or were
    /// changed. Those rows may go with what is purged, and never tell too little otherwise.
    fn outweighs(&self, batches: &Self, others: &Self) -> bool {
        let part = |row: i64, batches: i64, others: i64| {
            row == batches || others == row || batches < row && row < others
        };
        self.begun + self.skipped > 0
            && part(self.begun, batches.begun, others.begun)
            && part(self.skipped, batches.skipped, others.skipped)
    }
}

/// What a job's row says it met, where it is the notes of its batches that are wrong.
async fn lost_by_batches<DB: Dialect>(
    c: &mut Tx<DB>,
    job: Uuid,
    row: &DB::Row,
) -> Result<Option<Met>, Error> {
    let cells = Cells::<DB>(row);
    let count = |name: &str| cells.get::<i64>(name);
    if !cells.get::<bool>("other_documents")? || count("told_refused")? != count("docs_refused")? {
        return Ok(None);
    }
    let told = Met {
        begun: count("docs_seen")? - count("told_skipped")? - count("told_refused")?,
        skipped: count("told_skipped")?,
    };
    let batches = Met {
        begun: count("docs_begun")?,
        skipped: count("docs_skipped")?,
    };
    let others = met_by_others::<DB>(c, job).await?;
    Ok(Some(told).filter(|told| told.outweighs(&batches, &others)))
}

/// As its runs tell, and its claims. Copies are claimed like what they were made of.
async fn met_by_others<DB: Dialect>(c: &mut Tx<DB>, job: Uuid) -> Result<Met, Error> {
    let row = query(
        "SELECT (SELECT count(*) FROM ingestion_runs r WHERE r.job_id = j.id
               AND (r.counted_in = j.beginnings OR r.status IN ('queued', 'running'))) AS begun,
             (SELECT count(DISTINCT v.document_id) FROM job_versions jv
              JOIN document_versions v ON v.id = jv.version_id
              WHERE jv.job_id = j.id AND jv.outcome = 'skipped') AS skipped
         FROM jobs j WHERE j.id = $1",
    )
    .bind(job)
    .fetch_one(c)
    .await?;
    let row = Cells::<DB>(&row);
    Ok(Met {
        begun: row.get("begun")?,
        skipped: row.get("skipped")?,
    })
}

/// In one row what its batches met.
async fn note_again<DB: Dialect>(c: &mut Tx<DB>, job: Uuid, met: &Met) -> Result<(), Error> {
    query("DELETE FROM job_batches WHERE job_id = $1")
        .bind(job)
        .execute(&mut *c)
        .await?;
    query("INSERT INTO job_batches (job_id, position, begun, skipped) VALUES ($1, 1, $2, $3)")
        .bind(job)
        .bind(met.begun)
        .bind(met.skipped)
        .execute(c)
        .await?;
    Ok(())
}

/// Runs of others that a job found under way, and that have failed since it began. Copies made for
/// a generation being built are nobody's to wait for.
async fn failed_elsewhere<DB: Dialect>(c: &mut Tx<DB>, job: Uuid) -> Result<i64, Error> {
    let row = query(
        "SELECT count(*) AS failed FROM job_versions jv
         JOIN jobs j ON j.id = jv.job_id
         JOIN document_versions v ON v.id = jv.version_id
         JOIN ingestion_runs r ON r.id = v.run_id AND r.status = 'failed'
           AND r.run_type <> 'reindex' AND r.job_id IS DISTINCT FROM jv.job_id AND r.finished_at >= j.started_at
         WHERE jv.job_id = $1 AND jv.outcome = 'skipped'",
    )
    .bind(job)
    .fetch_one(c)
    .await?;
    Cells::<DB>(&row).get("failed")
}
