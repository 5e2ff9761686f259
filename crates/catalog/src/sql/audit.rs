//! Rows as they are, gathered by the document they belong to.

use std::collections::{BTreeMap, BTreeSet};

use model::{DocumentId, KbId, SourceUri, TenantId, VersionId};
use sqlx::{QueryBuilder, query};
use uuid::Uuid;

use super::audit_rows::{activation, head, page_size, pair, run, step, unit, version_or_id};
use super::cells::Cells;
use super::dialect::Dialect;
use super::nameless::named;
use super::{Tx, ledger, noted_kbs, noted_removals, noted_runs, notes, witness, work};
use crate::{DocumentFacts, Dossier, Error, Held, Listed, Page, Witness};

/// Documents read at a time.
const AT_ONCE: u32 = 200;

/// Where a document leaves rows, and by which column.
const TRACES: [(&str, &str); 4] = [
    ("documents", "id"),
    ("document_versions", "document_id"),
    ("activations", "document_id"),
    ("ledger", "document_id"),
];

pub async fn page<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    page: &Page,
) -> Result<Listed<Dossier>, Error> {
    let limit = page.limit.clamp(1, AT_ONCE);
    let after = match &page.after {
        Some(cursor) => cursor
            .parse()
            .map_err(|_| Error::not_found("page", cursor))?,
        None => Uuid::nil(),
    };
    let mut ids = ids_after::<DB>(c, tenant, after, limit).await?;
    let next = ids
        .last()
        .filter(|_| ids.len() == limit as usize)
        .map(Uuid::to_string);
    if next.is_none() {
        ids.extend(told_by_runs_alone::<DB>(c, tenant).await?);
    }
    let items = gather::<DB>(c, tenant, &ids).await?;
    Ok(Listed { items, next })
}

/// Documents that left none of these and never answered: a run tells of them, and of the original
/// they can be tried again from.
async fn told_by_runs_alone<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
) -> Result<Vec<Uuid>, Error> {
    let mut sql: QueryBuilder<DB> = QueryBuilder::new(
        "SELECT DISTINCT r.document_id AS id FROM ingestion_runs r
         WHERE (r.status IN ('queued', 'running', 'failed') OR r.superseded) AND r.tenant_id = ",
    );
    sql.push_bind(tenant.as_uuid());
    sql.push(" AND r.source_uri <> ");
    sql.push_bind(SourceUri::purged().as_str().to_owned());
    for (table, column) in TRACES {
        sql.push(format_args!(
            " AND NOT EXISTS (SELECT 1 FROM {table} t
                WHERE t.{column} = r.document_id AND t.tenant_id = r.tenant_id)"
        ));
    }
    sql.push(named::<DB>("r.document_id"));
    let rows = sql.build().fetch_all(c).await?;
    rows.iter().map(|row| Cells::<DB>(row).get("id")).collect()
}

pub async fn one<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    document: DocumentId,
) -> Result<Dossier, Error> {
    let found = gather::<DB>(c, tenant, &[document.as_uuid()]).await?;
    Ok(found.into_iter().next().unwrap_or(Dossier::new(document)))
}

/// Each table is read from where the page begins, so a page costs what it holds.
async fn ids_after<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    after: Uuid,
    limit: u32,
) -> Result<Vec<Uuid>, Error> {
    let mut select: QueryBuilder<DB> = QueryBuilder::new("SELECT id FROM (");
    for (at, (table, column)) in TRACES.iter().enumerate() {
        select.push(if at == 0 { "" } else { " UNION " });
        select.push(format_args!(
            "SELECT id FROM (SELECT DISTINCT {column} AS id FROM {table} WHERE tenant_id = "
        ));
        select.push_bind(tenant.as_uuid());
        select.push(format_args!(" AND {column} > "));
        select.push_bind(after);
        select.push(named::<DB>(column));
        select.push(format_args!(" ORDER BY {column} LIMIT "));
        select.push_bind(i64::from(limit));
        select.push(format_args!(") AS t{at}"));
    }
    select.push(") AS t ORDER BY id LIMIT ");
    select.push_bind(i64::from(limit));
    let rows = select.build().fetch_all(c).await?;
    rows.iter().map(|row| Cells::<DB>(row).get("id")).collect()
}

type Dossiers = BTreeMap<Uuid, Dossier>;

async fn gather<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    ids: &[Uuid],
) -> Result<Vec<Dossier>, Error> {
    let empty = |id: &Uuid| (*id, Dossier::new(DocumentId::from_uuid(*id)));
    let mut found: Dossiers = ids.iter().map(empty).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = of::<DB>(
        c,
        tenant,
        "SELECT d.*, d.id AS document_id FROM documents d",
        "d.id",
        ids,
    );
    file::<DB, _>(
        &mut found,
        "documents",
        &rows.await?,
        head::<DB>,
        |d, (head, facts)| {
            d.head = Some(head);
            d.facts = Some(facts);
        },
    )?;
    for written in notes::of_owners::<DB, DocumentFacts>(c, ids).await? {
        let (document, subject) = written.of;
        if let Some(dossier) = found.get_mut(&document) {
            match subject == document {
                true => dossier.noted = Some(written.told),
                false => dossier.noted_astray = true,
            }
        }
    }
    for (document, one) in noted_removals::gather::<DB>(c, ids).await? {
        if let Some(dossier) = found.get_mut(&document) {
            dossier.noted_removals.push(one);
        }
    }
    let sql = "SELECT d.* FROM document_versions d";
    let rows = of::<DB>(c, tenant, sql, "d.document_id", ids).await?;
    file::<DB, _>(
        &mut found,
        "document_versions",
        &rows,
        version_or_id::<DB>,
        |d, version| match version {
            Ok(version) => d.versions.push(version),
            Err(id) => d.unread.push(id),
        },
    )?;
    let rows = of::<DB>(
        c,
        tenant,
        "SELECT d.*, v.document_id AS owner FROM activations d
         LEFT JOIN document_versions v ON v.id = d.version_id",
        "d.document_id",
        ids,
    )
    .await?;
    file::<DB, _>(
        &mut found,
        "activations",
        &rows,
        activation::<DB>,
        |d, row| {
            d.activations.push(row);
        },
    )?;
    ledgers::<DB>(c, tenant, ids, &mut found).await?;
    // Ended runs keep their job when a cancel leaves the version to others; begun anew, the job
    // claims what it meets from then on.
    let sql = "SELECT d.*, j.id AS claimant, jv.job_id AS claim FROM ingestion_runs d
        LEFT JOIN jobs j ON j.id = d.job_id AND d.created_at >= j.started_at
            AND j.status IN ('running', 'paused', 'completed', 'failed')
        LEFT JOIN job_versions jv ON jv.job_id = d.job_id AND jv.version_id = d.version_id";
    let rows = of::<DB>(c, tenant, sql, "d.document_id", ids).await?;
    file::<DB, _>(&mut found, "ingestion_runs", &rows, run::<DB>, |d, run| {
        // Of what was purged before, a run tells only that it was.
        if run.source_uri != SourceUri::purged() {
            d.runs.push(run);
        }
    })?;
    for (document, one) in noted_runs::gather::<DB>(c, ids, &rows).await? {
        if let Some(dossier) = found.get_mut(&document) {
            dossier.noted_runs.push(one);
        }
    }
    let shown =
        "JOIN source_objects x ON x.source_id = d.source_id AND x.object_key = d.source_uri";
    for (select, column) in [
        (
            "SELECT x.object_key, d.id AS document_id FROM documents d",
            "d.id",
        ),
        (
            "SELECT x.object_key, d.document_id FROM ingestion_runs d",
            "d.document_id",
        ),
    ] {
        let rows = of::<DB>(c, tenant, &format!("{select} {shown}"), column, ids).await?;
        let key = |row: &DB::Row| Cells::<DB>(row).text("object_key");
        file::<DB, _>(&mut found, "source_objects", &rows, key, |d, key| {
            d.source_keys.push(key);
        })?;
    }
    parts::<DB>(c, tenant, ids, &mut found).await?;
    steps::<DB>(c, tenant, ids, &mut found).await?;
    leave_to_other_tenants::<DB>(c, tenant, &mut found).await?;
    for dossier in found.values_mut() {
        leave_to_others::<DB>(c, dossier).await?;
    }
    successors::<DB>(c, tenant, &mut found).await?;
    let mut found: Vec<Dossier> = found.into_values().collect();
    found.iter_mut().for_each(Dossier::find_renamed);
    found.iter_mut().for_each(in_order);
    Ok(found)
}

/// Entries are of the document they name, by their hash too, whosever they say they are.
async fn ledgers<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    ids: &[Uuid],
    found: &mut Dossiers,
) -> Result<(), Error> {
    let rows = among::<DB>(c, "SELECT * FROM ledger", "document_id", ids).await?;
    let read = |row: &DB::Row| {
        let owner = Cells::<DB>(row).id("tenant_id", TenantId::from_uuid);
        Ok((ledger::read::<DB>(row)?, owner.ok() == Some(tenant)))
    };
    file::<DB, _>(found, "ledger", &rows, read, |d, (entry, is_ours)| {
        d.ledger.push(entry);
        d.ledger_astray += usize::from(!is_ours);
    })
}

async fn among<DB: Dialect>(
    c: &mut Tx<DB>,
    select: &str,
    column: &str,
    ids: &[Uuid],
) -> Result<Vec<DB::Row>, Error> {
    let mut sql: QueryBuilder<DB> = QueryBuilder::new(select);
    sql.push(format_args!(" WHERE {column} IN ("));
    let mut list = sql.separated(", ");
    for id in ids {
        list.push_bind(*id);
    }
    Ok(sql.push(")").build().fetch_all(c).await?)
}

/// What hangs on versions: units, pages, what filters look up.
async fn parts<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    ids: &[Uuid],
    found: &mut Dossiers,
) -> Result<(), Error> {
    let joined = |table: &str| {
        format!(
            "SELECT x.*, d.document_id FROM {table} x JOIN document_versions d ON d.id = x.version_id"
        )
    };
    let rows = of::<DB>(c, tenant, &joined("document_units"), "d.document_id", ids).await?;
    file::<DB, _>(
        found,
        "document_units",
        &rows,
        unit::<DB>,
        |d, (id, unit, hash)| {
            if let Some(version) = d.versions.iter_mut().find(|v| v.id == id) {
                version
                    .artifacts
                    .units
                    .extend(hash.map(|hash| (unit.name.clone(), hash)));
                version.units.push(unit);
            }
        },
    )?;
    let mut rows = of::<DB>(c, tenant, &joined("pages"), "d.document_id", ids).await?;
    rows.sort_by_key(|row| Cells::<DB>(row).get::<i64>("page").ok());
    file::<DB, _>(
        found,
        "pages",
        &rows,
        page_size::<DB>,
        |d, (id, page, size)| {
            let mine = d.versions.iter_mut().filter(|v| v.id == id);
            // One that is not where it would come next is missing, and the next one with it.
            let next = mine.filter(|version| version.pages.len() as u64 + 1 == page);
            next.for_each(|version| version.pages.push(size));
        },
    )?;
    let rows = of::<DB>(c, tenant, &joined("version_metadata"), "d.document_id", ids).await?;
    file::<DB, _>(
        found,
        "version_metadata",
        &rows,
        pair::<DB>,
        |d, (id, kb, pair)| {
            // Filters ask in a knowledge base: what is said to be in another is not found.
            let mine = d.versions.iter_mut().filter(|v| v.id == id && v.kb == kb);
            mine.for_each(|version| version.filterable.push(pair.clone()));
        },
    )?;
    notes::<DB>(c, tenant, ids, found).await
}

/// What the queue holds of versions.
async fn steps<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    ids: &[Uuid],
    found: &mut Dossiers,
) -> Result<(), Error> {
    let rows = of::<DB>(c, tenant, "SELECT d.* FROM work d", "d.document_id", ids).await?;
    file::<DB, _>(found, "work", &rows, step::<DB>, |d, (filed, step)| {
        let mine = d.versions.iter_mut().filter(|v| v.id == filed.version);
        mine.for_each(|version| match &step {
            Some(step) => version.steps.push(step.clone()),
            None => version.unread_steps += 1,
        });
        d.work.push(filed);
    })
}

/// What was noted of versions, and how that is now.
async fn notes<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    ids: &[Uuid],
    found: &mut Dossiers,
) -> Result<(), Error> {
    let now = witness::gather::<DB>(c, "v.document_id", ids).await?;
    for version in found.values_mut().flat_map(|d| &mut d.versions) {
        if let Some(now) = now.get(&version.id) {
            version.facts = Some(now.facts.clone());
            version.claims = now.claims;
        }
    }
    let joined = "SELECT x.*, d.document_id FROM version_witnesses x
        JOIN document_versions d ON d.id = x.version_id";
    let rows = of::<DB>(c, tenant, joined, "d.document_id", ids).await?;
    for row in &rows {
        let cells = Cells::<DB>(row);
        let owner = found.get_mut(&cells.get::<Uuid>("document_id")?);
        let Ok(version) = cells.id("version_id", VersionId::from_uuid) else {
            continue;
        };
        // One that cannot be read tells nothing, as one that was changed.
        let noted = witness::read::<DB>(row).unwrap_or_else(|_| Witness::silent());
        let mine = owner.into_iter().flat_map(|d| &mut d.versions);
        let mine = mine.filter(|v| v.id == version);
        mine.for_each(|version| version.witness = Some(noted.clone()));
    }
    Ok(())
}

/// Rows that say they are this tenant's, of documents in a knowledge base that was noted as another's:
/// they are missed there, and put right with that.
async fn leave_to_other_tenants<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    found: &mut Dossiers,
) -> Result<(), Error> {
    leave_ledgers::<DB>(c, tenant, found).await?;
    let kbs: BTreeSet<KbId> = found.values().filter_map(Dossier::kb).collect();
    let others = noted_kbs::of_others::<DB>(c, tenant, kbs).await?;
    found.retain(|_, dossier| dossier.kb().is_none_or(|kb| !others.contains(&kb)));
    Ok(())
}

/// A ledger alone, of a document that is another tenant's.
async fn leave_ledgers<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    found: &mut Dossiers,
) -> Result<(), Error> {
    let theirs = |d: &Dossier| d.is_ledger_alone() && d.ledger_astray == d.ledger.len();
    found.retain(|_, dossier| !theirs(dossier));
    let alone = found.iter().filter(|(_, d)| d.is_ledger_alone());
    let alone: Vec<Uuid> = alone.map(|(id, _)| *id).collect();
    if alone.is_empty() {
        return Ok(());
    }
    let rows = among::<DB>(c, "SELECT id, tenant_id FROM documents", "id", &alone).await?;
    for row in &rows {
        let row = Cells::<DB>(row);
        if row.id("tenant_id", TenantId::from_uuid).ok() != Some(tenant) {
            found.remove(&row.get::<Uuid>("id")?);
        }
    }
    Ok(())
}

/// Rows that say they are of this document and are another's, as was noted there or as what is still
/// to be done tells: they are missed there, and put right with that.
async fn leave_to_others<DB: Dialect>(c: &mut Tx<DB>, dossier: &mut Dossier) -> Result<(), Error> {
    for (version, run) in dossier.doubtful() {
        let noted = noted_runs::elsewhere::<DB>(c, dossier.document, run).await?;
        let noted = noted.is_some_and(|(_, facts)| facts.version == version);
        if noted || work::is_elsewhere::<DB>(c, dossier.document, version).await? {
            dossier.leave(version, run);
        }
    }
    Ok(())
}

/// Of documents that lost their row.
async fn successors<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    found: &mut Dossiers,
) -> Result<(), Error> {
    for dossier in found.values_mut().filter(|d| d.head.is_none()) {
        let Some((uri, kb)) = dossier.source_uri().zip(dossier.kb()) else {
            continue;
        };
        let row = query(
            "SELECT id FROM documents WHERE tenant_id = $1 AND kb_id = $2 AND source_uri = $3
               AND id <> $4",
        )
        .bind(tenant.as_uuid())
        .bind(kb.as_uuid())
        .bind(uri.as_str())
        // Its own row may be there, and nobody can read it.
        .bind(dossier.document.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
        let id = |row| Cells::<DB>(&row).id("id", DocumentId::from_uuid).ok();
        dossier.successor = row.and_then(id);
    }
    Ok(())
}

async fn of<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    select: &str,
    column: &str,
    ids: &[Uuid],
) -> Result<Vec<DB::Row>, Error> {
    let mut sql: QueryBuilder<DB> = QueryBuilder::new(select);
    sql.push(" WHERE d.tenant_id = ")
        .push_bind(tenant.as_uuid());
    sql.push(format_args!(" AND {column} IN ("));
    let mut list = sql.separated(", ");
    for id in ids {
        list.push_bind(*id);
    }
    Ok(sql.push(")").build().fetch_all(c).await?)
}

/// Puts rows into their dossiers; one that cannot be read is noted there.
fn file<DB: Dialect, T>(
    found: &mut Dossiers,
    table: &'static str,
    rows: &[DB::Row],
    read: impl Fn(&DB::Row) -> Result<T, Error>,
    mut put: impl FnMut(&mut Dossier, T),
) -> Result<(), Error> {
    for row in rows {
        let document: Uuid = Cells::<DB>(row).get("document_id")?;
        let Some(dossier) = found.get_mut(&document) else {
            continue;
        };
        match read(row) {
            Ok(value) => put(dossier, value),
            Err(_) => dossier.unreadable.push(table),
        }
    }
    Ok(())
}

fn in_order(dossier: &mut Dossier) {
    dossier
        .versions
        .sort_by_key(|version| (version.number, version.id));
    dossier
        .activations
        .sort_by_key(|row| (row.opened_at, row.closed_at.is_none()));
    dossier.ledger.sort_by_key(|entry| entry.seq);
    dossier.runs.sort_by_key(|run| run.id);
    for version in &mut dossier.versions {
        version.units.sort_by_key(|unit| unit.position);
        version.filterable.sort();
    }
    dossier.source_keys.sort();
    dossier.source_keys.dedup();
}

/// What cannot be read of a version lets go of nothing else of it.
pub async fn held<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId) -> Result<Vec<Held>, Error> {
    let rows = query(
        "SELECT v.id, v.content_hash, r.content_hash AS brought FROM document_versions v
         LEFT JOIN ingestion_runs r ON r.id = v.run_id WHERE v.tenant_id = $1",
    )
    .bind(tenant.as_uuid())
    .fetch_all(c)
    .await?;
    let read = |row| {
        let row = Cells::<DB>(row);
        let content_hash = row.hash("content_hash").or_else(|_| row.hash("brought"));
        Some(Held {
            version: row.id("id", VersionId::from_uuid).ok()?,
            content_hash: content_hash.ok(),
        })
    };
    Ok(rows.iter().filter_map(read).collect())
}
