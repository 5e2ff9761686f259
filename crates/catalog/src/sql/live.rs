//! Which versions answer.
//!
//! What answers now is asked by every search, so its bitmap is kept and brought up to
//! date by the changes since: each activation carries the number of the change that last
//! touched it, and numbers are committed in order. Where rows were taken out of history
//! the generation says so, and the bitmap is read anew.

use std::collections::HashMap;
use std::sync::Mutex;

use chrono::{DateTime, Utc};
use model::{DocumentId, GenerationId, KbId, TenantId, VersionId};
use sqlx::{QueryBuilder, query};

use super::Tx;
use super::cells::{Cells, micros};
use super::dialect::Dialect;
use crate::{ActiveVersion, Error, Forgotten, GenerationState, Listed, Live, LiveFilter, Page};

/// What answers, by generation, as of a change.
#[derive(Default)]
pub struct Cache(Mutex<HashMap<GenerationId, (i64, Live)>>);

impl Cache {
    fn get(&self, generation: GenerationId) -> Option<(i64, Live)> {
        let known = self
            .0
            .lock()
            .expect("nobody panics while holding what answers");
        known.get(&generation).cloned()
    }

    fn put(&self, generation: GenerationId, change: i64, live: &Live) {
        let mut known = self
            .0
            .lock()
            .expect("nobody panics while holding what answers");
        let newest = known.entry(generation).or_default();
        if newest.0 <= change {
            *newest = (change, live.clone());
        }
    }
}

pub async fn live<DB: Dialect>(
    c: &mut Tx<DB>,
    cache: &Cache,
    tenant: TenantId,
    kb: KbId,
    filter: &LiveFilter,
) -> Result<Live, Error> {
    let generation = generation::<DB>(c, tenant, kb, filter.generation).await?;
    let narrows = LiveFilter {
        generation: None,
        ..filter.clone()
    } != LiveFilter::default();
    if narrows {
        let mut select = select::<DB>(kb, generation.id, filter);
        let rows = select.build().fetch_all(&mut *c).await?;
        let forgotten = match filter.as_of {
            Some(at) => forgotten::<DB>(c, kb, generation.id, micros(at)).await?,
            None => None,
        };
        return Ok(Live {
            forgotten,
            ..gather::<DB>(&rows)?
        });
    }
    let live = match cache.get(generation.id) {
        Some((change, live)) if change == generation.changes => return Ok(live),
        Some((change, live)) if generation.rebuilt <= change => {
            catch_up::<DB>(c, generation.id, change, live).await?
        }
        _ => {
            let mut select = select::<DB>(kb, generation.id, filter);
            gather::<DB>(&select.build().fetch_all(c).await?)?
        }
    };
    cache.put(generation.id, generation.changes, &live);
    Ok(live)
}

pub async fn newest_flush<DB: Dialect>(c: &mut Tx<DB>) -> Result<u64, Error> {
    let row = query(
        "SELECT coalesce(max(a.needs_flush), 0) AS newest FROM activations a
         JOIN generations g ON g.id = a.generation_id
         WHERE a.closed_at IS NULL AND g.state <> 'retired'",
    )
    .fetch_one(c)
    .await?;
    Cells::<DB>(&row).count("newest")
}

/// Held against the generation that served at that time.
async fn forgotten<DB: Dialect>(
    c: &mut Tx<DB>,
    kb: KbId,
    serving: GenerationId,
    at: DateTime<Utc>,
) -> Result<Option<Forgotten>, Error> {
    let row = query(
        "SELECT g.serving_since, (
             SELECT count(DISTINCT a.document_id) FROM activations a
             JOIN document_versions v ON v.id = a.version_id
             WHERE a.generation_id = (SELECT o.id FROM generations o
                     WHERE o.kb_id = g.kb_id AND o.state = 'retired' AND o.serving_since <= $3
                     ORDER BY o.serving_since DESC, o.number DESC LIMIT 1)
               AND a.opened_at <= $3 AND (a.closed_at IS NULL OR a.closed_at > $3)
               AND NOT EXISTS (
                   SELECT 1 FROM activations b JOIN document_versions w ON w.id = b.version_id
                   WHERE b.document_id = a.document_id AND b.generation_id = g.id
                     AND b.opened_at <= $3 AND (b.closed_at IS NULL OR b.closed_at > $3)
                     AND w.content_hash = v.content_hash)) AS documents
         FROM generations g WHERE g.id = $1 AND g.kb_id = $2 AND g.serving_since > $3",
    )
    .bind(serving.as_uuid())
    .bind(kb.as_uuid())
    .bind(at)
    .fetch_optional(c)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let row = Cells::<DB>(&row);
    let documents = row.count("documents")?;
    let since = row.at("serving_since")?;
    Ok((documents > 0).then_some(Forgotten { documents, since }))
}

fn gather<DB: Dialect>(rows: &[DB::Row]) -> Result<Live, Error> {
    let mut live = Live::default();
    for row in rows {
        let row = Cells::<DB>(row);
        live.numbers.insert(row.small("number")?);
        live.at_least = live.at_least.max(row.count("needs_flush")?);
    }
    Ok(live)
}

/// Applies what has changed since. A version may have been closed and another of its
/// activations opened: what is open counts, so it comes last.
async fn catch_up<DB: Dialect>(
    c: &mut Tx<DB>,
    generation: GenerationId,
    since: i64,
    mut live: Live,
) -> Result<Live, Error> {
    let rows = query(
        "SELECT number, needs_flush, closed_at FROM activations
         WHERE generation_id = $1 AND change > $2
         ORDER BY CASE WHEN closed_at IS NULL THEN 1 ELSE 0 END",
    )
    .bind(generation.as_uuid())
    .bind(since)
    .fetch_all(c)
    .await?;
    for row in &rows {
        let row = Cells::<DB>(row);
        let number = row.small("number")?;
        if row.maybe_at("closed_at")?.is_some() {
            live.numbers.remove(number);
        } else {
            live.numbers.insert(number);
            live.at_least = live.at_least.max(row.count("needs_flush")?);
        }
    }
    Ok(live)
}

struct Changes {
    id: GenerationId,
    changes: i64,
    rebuilt: i64,
}

async fn generation<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    kb: KbId,
    named: Option<GenerationId>,
) -> Result<Changes, Error> {
    let row = query(
        "SELECT g.id, g.changes, g.rebuilt, g.state FROM generations g JOIN knowledge_bases k ON k.id = g.kb_id
         WHERE k.id = $1 AND k.tenant_id = $2
           AND CASE WHEN $4 THEN g.id = $3 ELSE g.state = 'serving' END",
    )
    .bind(kb.as_uuid())
    .bind(tenant.as_uuid())
    .bind(named.map(GenerationId::as_uuid))
    .bind(named.is_some())
    .fetch_optional(c)
    .await?
    .ok_or_else(|| Error::not_found("knowledge base", kb))?;
    let row = Cells::<DB>(&row);
    let id = row.id("id", GenerationId::from_uuid)?;
    if row.word::<GenerationState>("state")? == GenerationState::Retired {
        return Err(Error::Retired { generation: id });
    }
    Ok(Changes {
        id,
        changes: row.get("changes")?,
        rebuilt: row.get("rebuilt")?,
    })
}

fn select<DB: Dialect>(
    kb: KbId,
    generation: GenerationId,
    filter: &LiveFilter,
) -> QueryBuilder<DB> {
    let mut select = QueryBuilder::new("SELECT a.number, a.needs_flush FROM activations a");
    if filter.language.is_some() {
        select.push(" JOIN document_versions v ON v.id = a.version_id");
    }
    select
        .push(" WHERE a.generation_id = ")
        .push_bind(generation.as_uuid());
    match filter.as_of.map(micros) {
        None => {
            select.push(" AND a.closed_at IS NULL");
        }
        Some(at) => {
            select.push(" AND a.opened_at <= ").push_bind(at);
            select
                .push(" AND (a.closed_at IS NULL OR a.closed_at > ")
                .push_bind(at)
                .push(")");
        }
    }
    if let Some(language) = &filter.language {
        select
            .push(" AND v.language = ")
            .push_bind(language.clone());
    }
    if !filter.documents.is_empty() {
        select.push(" AND a.document_id IN (");
        let mut list = select.separated(", ");
        for document in &filter.documents {
            list.push_bind(document.as_uuid());
        }
        select.push(")");
    }
    for (key, value) in &filter.metadata {
        select.push(
            " AND a.version_id IN (SELECT m.version_id FROM version_metadata m WHERE m.kb_id = ",
        );
        select
            .push_bind(kb.as_uuid())
            .push(" AND m.key = ")
            .push_bind(key.clone())
            .push(" AND m.value = ")
            .push_bind(value.clone())
            .push(")");
    }
    select
}

/// The cursor of [`all_active`]: knowledge base and number of the last row.
pub async fn all_active<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: Option<TenantId>,
    page: &Page,
) -> Result<Listed<ActiveVersion>, Error> {
    let limit = page.limit.clamp(1, Page::MAX);
    let mut select: QueryBuilder<DB> = QueryBuilder::new(
        "SELECT a.tenant_id, a.kb_id, a.generation_id, a.version_id, a.number, a.document_id,
             d.source_uri, v.content_hash, v.root_hash, a.chunks, a.needs_flush
         FROM activations a
         JOIN generations g ON g.id = a.generation_id AND g.state = 'serving'
         JOIN documents d ON d.id = a.document_id
         JOIN document_versions v ON v.id = a.version_id
         WHERE a.closed_at IS NULL",
    );
    if let Some(tenant) = tenant {
        select
            .push(" AND a.tenant_id = ")
            .push_bind(tenant.as_uuid());
    }
    if let Some(cursor) = &page.after {
        let (kb, number) = read_cursor(cursor)?;
        select
            .push(" AND (a.kb_id, a.number) > (")
            .push_bind(kb.as_uuid());
        select.push(", ").push_bind(number).push(")");
    }
    select
        .push(" ORDER BY a.kb_id, a.number LIMIT ")
        .push_bind(i64::from(limit) + 1);
    let rows = select.build().fetch_all(c).await?;
    let read = rows.iter().map(read_active::<DB>);
    let mut items = read.collect::<Result<Vec<_>, _>>()?;
    let more = items.len() > limit as usize;
    items.truncate(limit as usize);
    let next = items
        .last()
        .filter(|_| more)
        .map(|last| format!("{}.{}", last.kb, last.number));
    Ok(Listed { items, next })
}

fn read_cursor(cursor: &str) -> Result<(KbId, i64), Error> {
    let read = || {
        let (kb, number) = cursor.split_once('.')?;
        Some((kb.parse().ok()?, number.parse().ok()?))
    };
    read().ok_or_else(|| Error::not_found("page", cursor))
}

fn read_active<DB: Dialect>(row: &DB::Row) -> Result<ActiveVersion, Error> {
    let row = Cells::<DB>(row);
    Ok(ActiveVersion {
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        kb: row.id("kb_id", KbId::from_uuid)?,
        generation: row.id("generation_id", GenerationId::from_uuid)?,
        version: row.id("version_id", VersionId::from_uuid)?,
        number: row.small("number")?,
        document: row.id("document_id", DocumentId::from_uuid)?,
        source_uri: row.uri("source_uri")?,
        content_hash: row.hash("content_hash")?,
        root_hash: row.hash("root_hash")?,
        chunks: row.count("chunks")?,
        needs_flush: row.count("needs_flush")?,
    })
}
