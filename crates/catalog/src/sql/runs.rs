//! Runs, read.

use async_trait::async_trait;
use model::{DocumentId, JobId, KbId, RunId, SourceId, StepKind, TenantId, UserId, VersionId};
use sqlx::QueryBuilder;

use super::cells::Cells;
use super::dialect::Dialect;
use super::paging::{page_by_id, shown};
use super::{Sql, Tx};
use crate::{Error, Listed, Page, Run, RunError, RunFilter, RunStats, Runs};

const RUNS: &str = "SELECT r.*, v.title, v.filename, coalesce(v.units_total, 0) AS units_total,
        coalesce(v.units_total - v.units_open, 0) AS units_done, j.status AS job_status,
        (SELECT max(w.lease_until) FROM work w WHERE w.run_id = r.id) AS leased_until
    FROM ingestion_runs r LEFT JOIN document_versions v ON v.id = r.version_id
    LEFT JOIN jobs j ON j.id = r.job_id
    WHERE r.tenant_id = ";

#[async_trait]
impl<DB: Dialect> Runs for Sql<DB> {
    async fn run(&self, tenant: TenantId, run: RunId) -> Result<Run, Error> {
        self.read("catalog.run", move |c| Box::pin(one::<DB>(c, tenant, run)))
            .await
    }

    async fn runs(
        &self,
        tenant: TenantId,
        filter: RunFilter,
        page: Page,
    ) -> Result<Listed<Run>, Error> {
        self.read("catalog.runs", move |c| {
            Box::pin(list::<DB>(c, tenant, filter, page))
        })
        .await
    }
}

async fn one<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId, run: RunId) -> Result<Run, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new(RUNS);
    select
        .push_bind(tenant.as_uuid())
        .push(" AND r.id = ")
        .push_bind(run.as_uuid());
    let row = select.build().fetch_optional(c).await?;
    read::<DB>(&row.ok_or_else(|| Error::not_found("run", run))?)
}

async fn list<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    filter: RunFilter,
    page: Page,
) -> Result<Listed<Run>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new(RUNS);
    select.push_bind(tenant.as_uuid());
    if let Some(status) = filter.status {
        select.push(" AND r.status = ").push_bind(status.as_str());
    }
    let ids = [
        (" AND r.kb_id = ", filter.kb.map(KbId::as_uuid)),
        (
            " AND r.document_id = ",
            filter.document.map(DocumentId::as_uuid),
        ),
        (" AND r.job_id = ", filter.job.map(JobId::as_uuid)),
        (" AND r.source_id = ", filter.source.map(SourceId::as_uuid)),
    ];
    for (condition, id) in ids {
        if let Some(id) = id {
            select.push(condition).push_bind(id);
        }
    }
    let limit = page_by_id(&mut select, "r.id", &page)?;
    let rows = select.build().fetch_all(c).await?;
    shown::<DB, _>(&rows, limit, "run", read::<DB>)
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<Run, Error> {
    let row = Cells::<DB>(row);
    Ok(Run {
        id: row.id("id", RunId::from_uuid)?,
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        kb: row.id("kb_id", KbId::from_uuid)?,
        document: row.id("document_id", DocumentId::from_uuid)?,
        version: row.id("version_id", VersionId::from_uuid)?,
        source_uri: row.text("source_uri")?,
        title: row.maybe_text("title")?,
        filename: row.maybe_text("filename")?,
        status: row.word("status")?,
        superseded: row.get("superseded")?,
        run_type: row.word("run_type")?,
        source: row.maybe_id("source_id", SourceId::from_uuid)?,
        job: row.maybe_id("job_id", JobId::from_uuid)?,
        initiated_by: row.maybe_id("initiated_by", UserId::from_uuid)?,
        config: row.json("config")?,
        stats: read_stats(&row)?,
        error: read_error(&row)?,
        waiting: row.maybe_text("waiting")?,
        waiting_until: row.maybe_at("waiting_until")?,
        stage: row.maybe_text("stage")?.as_deref().and_then(stage),
        units_total: row.small("units_total")?,
        units_done: row.small("units_done")?,
        created_at: row.at("created_at")?,
        started_at: row.maybe_at("started_at")?,
        updated_at: row.at("updated_at")?,
        finished_at: row.maybe_at("finished_at")?,
        heartbeat_at: row.maybe_at("heartbeat_at")?,
        leased_until: row.maybe_at("leased_until")?,
        job_status: row.maybe_word("job_status")?,
        trace: row.maybe_text("trace")?,
    })
}

fn stage(name: &str) -> Option<StepKind> {
    let kinds = [StepKind::Prep, StepKind::Extract, StepKind::Finalize];
    kinds.into_iter().find(|kind| kind.as_str() == name)
}

fn read_stats<DB: Dialect>(row: &Cells<'_, DB>) -> Result<RunStats, Error> {
    Ok(RunStats {
        chunks_created: row.count("chunks_created")?,
        tokens_total: row.count("tokens_total")?,
        chunks_processed: row.count("chunks_processed")?,
        chunks_skipped: row.count("chunks_skipped")?,
        chunks_error: row.count("chunks_error")?,
    })
}

fn read_error<DB: Dialect>(row: &Cells<'_, DB>) -> Result<Option<RunError>, Error> {
    let Some(code) = row.maybe_text("error_code")? else {
        return Ok(None);
    };
    let message = row.maybe_text("error_message")?.unwrap_or_default();
    Ok(Some(RunError {
        code,
        message,
        hint: row.maybe_text("error_hint")?,
    }))
}
