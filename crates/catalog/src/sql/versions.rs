//! Versions, their units and their activations, read.

use model::{
    DocumentId, GenerationId, KbId, PageSize, RunId, TenantId, UnitName, UserId, VersionId,
};
use sqlx::{AssertSqlSafe, QueryBuilder, query};
use uuid::Uuid;

use super::cells::Cells;
use super::dialect::Dialect;
use super::kbs::read_generation;
use super::paging::{AtMoment, cut};
use super::{Tx, ledger, paging};
use crate::{ActivationRow, Error, Listed, Page, UnitRow, Version, VersionRow};

const VERSIONS: &str = "SELECT v.*, d.source_uri, g.number AS generation_number, g.spec,
        g.state AS generation_state
    FROM document_versions v
    JOIN documents d ON d.id = v.document_id
    JOIN generations g ON g.id = v.generation_id";

pub async fn one<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    version: VersionId,
) -> Result<Version, Error> {
    let row = query(AssertSqlSafe(format!(
        "{VERSIONS} WHERE v.id = $1 AND v.tenant_id = $2"
    )))
    .bind(version.as_uuid())
    .bind(tenant.as_uuid())
    .fetch_optional(c)
    .await?;
    read::<DB>(&row.ok_or_else(|| Error::not_found("version", version))?)
}

pub async fn of_document<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    document: DocumentId,
    page: &Page,
) -> Result<Listed<Version>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new(VERSIONS);
    select.push(" WHERE v.document_id = ");
    select.push_bind(document.as_uuid());
    select.push(" AND v.tenant_id = ");
    select.push_bind(tenant.as_uuid());
    if let Some(number) = paging::after::<u32>(page)? {
        select.push(" AND v.number < ");
        select.push_bind(i64::from(number));
    }
    select.push(" ORDER BY v.number DESC");
    let limit = paging::limit(&mut select, page);
    let rows = select.build().fetch_all(c).await?;
    let items = rows.iter().map(read::<DB>).collect::<Result<Vec<_>, _>>()?;
    Ok(cut(items, limit, |version| version.number))
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<Version, Error> {
    let generation = read_generation::<DB>(row)?;
    let row = Cells::<DB>(row);
    Ok(Version {
        id: row.id("id", VersionId::from_uuid)?,
        document: row.id("document_id", DocumentId::from_uuid)?,
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        kb: row.id("kb_id", KbId::from_uuid)?,
        generation,
        number: row.small("number")?,
        source_uri: row.uri("source_uri")?,
        content_hash: row.hash("content_hash")?,
        size: row.count("size")?,
        media_type: row.maybe_text("media_type")?,
        filename: row.text("filename")?,
        title: row.maybe_text("title")?,
        language: row.maybe_text("language")?,
        metadata: row.json("metadata")?,
        order: row.order("source_order")?,
        pass: row.small("pass")?,
        units_total: row.small("units_total")?,
        units_open: row.small("units_open")?,
        state: row.word("state")?,
        needs_flush: row.maybe_count("needs_flush")?,
        chunks: row.count("chunks")?,
        tokens: row.count("tokens")?,
        root_hash: row.maybe_hash("root_hash")?,
        gaps: row.json("gaps")?,
        warnings: row.json("warnings")?,
        created_at: row.at("created_at")?,
        run: row.id("run_id", RunId::from_uuid)?,
    })
}

pub async fn units<DB: Dialect>(c: &mut Tx<DB>, version: VersionId) -> Result<Vec<UnitRow>, Error> {
    let rows = query(
        "SELECT unit, position, state, chunks, tokens, reused, reason FROM document_units
         WHERE version_id = $1 ORDER BY position, unit",
    )
    .bind(version.as_uuid())
    .fetch_all(c)
    .await?;
    rows.iter().map(read_unit::<DB>).collect()
}

/// The same for whom the version belongs to, and for nobody else.
pub async fn units_of<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    version: VersionId,
) -> Result<Vec<UnitRow>, Error> {
    let rows = query(
        "SELECT unit, position, state, chunks, tokens, reused, reason FROM document_units
         WHERE version_id = (SELECT id FROM document_versions WHERE id = $1 AND tenant_id = $2)
         ORDER BY position, unit",
    )
    .bind(version.as_uuid())
    .bind(tenant.as_uuid())
    .fetch_all(&mut *c)
    .await?;
    if rows.is_empty() {
        // Without units, or not there.
        one::<DB>(c, tenant, version).await?;
    }
    rows.iter().map(read_unit::<DB>).collect()
}

fn read_unit<DB: Dialect>(row: &DB::Row) -> Result<UnitRow, Error> {
    let row = Cells::<DB>(row);
    Ok(UnitRow {
        name: UnitName::new(row.text("unit")?).map_err(Error::corrupt)?,
        index: row.small("position")?,
        state: row.word("state")?,
        chunks: row.count("chunks")?,
        tokens: row.count("tokens")?,
        reused: row.count("reused")?,
        reason: row.maybe_text("reason")?,
    })
}

pub async fn by_number<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    kb: KbId,
    numbers: &[u32],
) -> Result<Vec<VersionRow>, Error> {
    let mut found = Vec::with_capacity(numbers.len());
    for numbers in numbers.chunks(1000) {
        let mut select: QueryBuilder<DB> = QueryBuilder::new(
            "SELECT v.number, v.id, v.document_id, d.source_uri, v.content_hash, v.title,
                 v.filename, v.media_type, v.gaps
             FROM document_versions v JOIN documents d ON d.id = v.document_id
             WHERE v.kb_id = ",
        );
        select
            .push_bind(kb.as_uuid())
            .push(" AND v.tenant_id = ")
            .push_bind(tenant.as_uuid());
        select.push(" AND v.number IN (");
        let mut list = select.separated(", ");
        for number in numbers {
            list.push_bind(i64::from(*number));
        }
        let rows = select.push(")").build().fetch_all(&mut *c).await?;
        for row in &rows {
            found.push(read_row::<DB>(row)?);
        }
    }
    Ok(found)
}

fn read_row<DB: Dialect>(row: &DB::Row) -> Result<VersionRow, Error> {
    let row = Cells::<DB>(row);
    Ok(VersionRow {
        number: row.small("number")?,
        version: row.id("id", VersionId::from_uuid)?,
        document: row.id("document_id", DocumentId::from_uuid)?,
        source_uri: row.uri("source_uri")?,
        content_hash: row.hash("content_hash")?,
        title: row.maybe_text("title")?,
        filename: row.text("filename")?,
        media_type: row.maybe_text("media_type")?,
        gaps: row.json("gaps")?,
    })
}

pub async fn activations<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    document: DocumentId,
    page: &Page,
) -> Result<Listed<ActivationRow>, Error> {
    let mut select: QueryBuilder<DB> =
        QueryBuilder::new("SELECT * FROM activations WHERE document_id = ");
    select.push_bind(document.as_uuid());
    select.push(" AND tenant_id = ");
    select.push_bind(tenant.as_uuid());
    if let Some(AtMoment(at, id)) = paging::after(page)? {
        select.push(" AND (opened_at, id) > (").push_bind(at);
        select.push(", ").push_bind(id).push(")");
    }
    select.push(" ORDER BY opened_at, id");
    let limit = paging::limit(&mut select, page);
    let rows = select.build().fetch_all(c).await?;
    let items = rows.iter().map(read_activation::<DB>);
    let items = items.collect::<Result<Vec<_>, _>>()?;
    let place = |(id, row): &(Uuid, ActivationRow)| AtMoment(row.opened_at, *id);
    Ok(cut(items, limit, place).map(|(_, row)| row))
}

fn read_activation<DB: Dialect>(row: &DB::Row) -> Result<(Uuid, ActivationRow), Error> {
    let row = Cells::<DB>(row);
    let activation = ActivationRow {
        version: row.id("version_id", VersionId::from_uuid)?,
        number: row.small("number")?,
        generation: row.id("generation_id", GenerationId::from_uuid)?,
        opened_at: row.at("opened_at")?,
        closed_at: row.maybe_at("closed_at")?,
        cause: row.word("cause")?,
        by: row.maybe_id("opened_by", UserId::from_uuid)?,
    };
    Ok((row.get("id")?, activation))
}

pub async fn pages<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    version: VersionId,
) -> Result<Vec<PageSize>, Error> {
    one::<DB>(c, tenant, version).await?;
    let rows = query("SELECT width, height FROM pages WHERE version_id = $1 ORDER BY page")
        .bind(version.as_uuid())
        .fetch_all(c)
        .await?;
    let read = |row| {
        let row = Cells::<DB>(row);
        Ok(PageSize {
            width: row.get::<f64>("width")? as f32,
            height: row.get::<f64>("height")? as f32,
        })
    };
    rows.iter().map(read).collect()
}

pub async fn unknown<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    versions: Vec<VersionId>,
) -> Result<Vec<VersionId>, Error> {
    let mut unknown = Vec::new();
    for version in versions {
        let row = query("SELECT id FROM document_versions WHERE id = $1 AND tenant_id = $2")
            .bind(version.as_uuid())
            .bind(tenant.as_uuid())
            .fetch_optional(&mut *c)
            .await?;
        if row.is_none() && !ledger::tells_of::<DB>(c, tenant, version).await? {
            unknown.push(version);
        }
    }
    Ok(unknown)
}
