//! Documents, listed.

use model::{DocumentId, KbId, RunId, SourceId, SourceUri, TenantId, VersionId};
use sqlx::QueryBuilder;

use super::Tx;
use super::cells::Cells;
use super::dialect::Dialect;
use super::paging::{page_by_id, shown};
use crate::{Active, DocumentFilter, DocumentRow, Error, Listed, Page};

/// A document beside the version that describes it (`v`) and its newest one (`n`).
const DOCUMENTS: &str = "SELECT d.id, d.kb_id, d.source_uri, d.source_id, d.created_at,
        d.updated_at, a.version_id AS active, a.opened_at AS active_since, v.id AS version,
        CASE WHEN a.id IS NULL AND d.removed_at IS NOT NULL
            AND v.state IN ('ready', 'superseded') THEN 'removed'
            WHEN v.state = 'canceled' AND EXISTS (SELECT 1 FROM ledger l
                WHERE l.document_id = d.id AND l.kind = 'purged'
                  AND l.at >= v.created_at) THEN 'purging'
            ELSE v.state END AS state,
        v.title, v.filename, v.media_type, v.language, v.size, v.content_hash,
        coalesce(v.chunks, 0) AS chunks, coalesce(v.tokens, 0) AS tokens, v.metadata, v.gaps,
        r.id AS run, r.status AS run_status,
        (SELECT count(*) FROM document_versions x WHERE x.document_id = d.id) AS versions,
        (SELECT count(*) FROM pages p WHERE p.version_id = v.id) AS pages
    FROM documents d
    JOIN generations g ON g.kb_id = d.kb_id AND g.state = 'serving'
    LEFT JOIN activations a
        ON a.document_id = d.id AND a.generation_id = g.id AND a.closed_at IS NULL
    LEFT JOIN document_versions n ON n.id = d.latest_version
    LEFT JOIN document_versions v ON v.id = coalesce(a.version_id, d.latest_version)
    LEFT JOIN ingestion_runs r ON r.id = n.run_id
    WHERE d.tenant_id = ";

fn select<DB: Dialect>(tenant: TenantId) -> QueryBuilder<DB> {
    let mut select = QueryBuilder::new(DOCUMENTS);
    select.push_bind(tenant.as_uuid());
    select
}

pub async fn list<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    filter: &DocumentFilter,
    page: &Page,
) -> Result<Listed<DocumentRow>, Error> {
    let mut select = select::<DB>(tenant);
    narrow(&mut select, filter);
    let limit = page_by_id(&mut select, "d.id", page)?;
    let rows = select.build().fetch_all(c).await?;
    shown::<DB, _>(&rows, limit, "document", read::<DB>)
}

fn narrow<DB: Dialect>(select: &mut QueryBuilder<DB>, filter: &DocumentFilter) {
    select.push(match filter.active {
        Active::Active => " AND a.id IS NOT NULL",
        Active::Current => {
            " AND (a.id IS NOT NULL OR n.state IN ('pending', 'processing', 'failed'))"
        }
        Active::Inactive => " AND a.id IS NULL AND d.latest_version IS NOT NULL",
        Active::All => " AND d.latest_version IS NOT NULL",
        Active::Orphans => " AND d.latest_version IS NULL",
    });
    if let Some(kb) = filter.kb {
        select.push(" AND d.kb_id = ").push_bind(kb.as_uuid());
    }
    if let Some(source) = filter.source {
        select
            .push(" AND d.source_id = ")
            .push_bind(source.as_uuid());
    }
    if let Some(state) = filter.state {
        select
            .push(
                " AND CASE WHEN a.id IS NULL AND d.removed_at IS NOT NULL
                     AND n.state IN ('ready', 'superseded') THEN 'removed'
                     WHEN n.state = 'canceled' AND EXISTS (SELECT 1 FROM ledger l
                         WHERE l.document_id = d.id AND l.kind = 'purged'
                           AND l.at >= n.created_at) THEN 'purging'
                     ELSE n.state END = ",
            )
            .push_bind(state.as_str());
    }
    if let Some(text) = &filter.text {
        let like = format!("%{}%", escaped(&text.to_lowercase()));
        select.push(" AND (");
        for (at, column) in ["d.source_uri", "v.title", "v.filename"].iter().enumerate() {
            select.push(if at == 0 { "" } else { " OR " });
            select
                .push(format_args!("lower({column}) LIKE "))
                .push_bind(like.clone());
            select.push(r" ESCAPE '\'");
        }
        select.push(")");
    }
    for (key, value) in &filter.metadata {
        select.push(
            " AND EXISTS (SELECT 1 FROM version_metadata m
                 WHERE m.kb_id = v.kb_id AND m.version_id = v.id AND m.key = ",
        );
        select
            .push_bind(key.clone())
            .push(" AND m.value = ")
            .push_bind(value.clone())
            .push(")");
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', r"\\")
        .replace('%', r"\%")
        .replace('_', r"\_")
}

pub async fn one<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    document: DocumentId,
) -> Result<DocumentRow, Error> {
    let mut select = select::<DB>(tenant);
    select.push(" AND d.id = ").push_bind(document.as_uuid());
    let row = select.build().fetch_optional(c).await?;
    read::<DB>(&row.ok_or_else(|| Error::not_found("document", document))?)
}

pub async fn by_uri<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    kb: KbId,
    uri: &SourceUri,
) -> Result<Option<DocumentRow>, Error> {
    let mut select = select::<DB>(tenant);
    select.push(" AND d.kb_id = ").push_bind(kb.as_uuid());
    select.push(" AND d.source_uri = ").push_bind(uri.as_str());
    let row = select.build().fetch_optional(c).await?;
    row.as_ref().map(read::<DB>).transpose()
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<DocumentRow, Error> {
    let row = Cells::<DB>(row);
    Ok(DocumentRow {
        id: row.id("id", DocumentId::from_uuid)?,
        kb: row.id("kb_id", KbId::from_uuid)?,
        source_uri: row.uri("source_uri")?,
        source: row.maybe_id("source_id", SourceId::from_uuid)?,
        active: row.maybe_id("active", VersionId::from_uuid)?,
        active_since: row.maybe_at("active_since")?,
        version: row.maybe_id("version", VersionId::from_uuid)?,
        state: row.maybe_word("state")?,
        title: row.maybe_text("title")?,
        filename: row.maybe_text("filename")?,
        media_type: row.maybe_text("media_type")?,
        language: row.maybe_text("language")?,
        size: row.maybe_count("size")?,
        content_hash: row.maybe_hash("content_hash")?,
        chunks: row.count("chunks")?,
        tokens: row.count("tokens")?,
        metadata: row.maybe_json("metadata")?.unwrap_or_default(),
        versions: row.small("versions")?,
        pages: row.small("pages")?,
        gaps: row.maybe_json("gaps")?.unwrap_or_default(),
        run: row.maybe_id("run", RunId::from_uuid)?,
        run_status: row.maybe_word("run_status")?,
        created_at: row.at("created_at")?,
        updated_at: row.at("updated_at")?,
    })
}
