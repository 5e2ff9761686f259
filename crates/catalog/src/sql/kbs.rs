//! Knowledge bases and their generations.

use chrono::{DateTime, Utc};
use model::{GenerationId, KbId, TenantId};
use sqlx::{QueryBuilder, query};
use uuid::Uuid;

use super::Tx;
use super::cells::{Cells, json};
use super::dialect::Dialect;
use super::noted_kbs;
use super::paging::{cut, of_name, page_by_name};
use crate::{
    Error, Generation, GenerationFacts, GenerationSpec, GenerationState, Kb, Listed, Page,
    Retention,
};

/// A knowledge base beside each of its open generations.
pub const KBS: &str = "SELECT k.id, k.tenant_id, k.name, k.retention, k.created_at,
        g.id AS generation_id, g.number AS generation_number, g.spec, g.state AS generation_state
    FROM knowledge_bases k
    JOIN generations g ON g.kb_id = k.id AND g.state IN ('serving', 'building')";

pub async fn create<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    name: &str,
    spec: &GenerationSpec,
    now: DateTime<Utc>,
) -> Result<Kb, Error> {
    let id = Uuid::now_v7();
    let fresh = query(
        "INSERT INTO knowledge_bases (id, tenant_id, name, retention, created_at)
         SELECT $1, id, $3, $4, $5 FROM tenants WHERE id = $2
         ON CONFLICT DO NOTHING RETURNING id",
    )
    .bind(id)
    .bind(tenant.as_uuid())
    .bind(name)
    .bind(json(&Retention::default()))
    .bind(now)
    .fetch_optional(&mut *c)
    .await?;
    fresh.ok_or_else(|| Error::conflict("knowledge base", format!("`{name}` exists already")))?;
    // Beside a second one of that name, the first could not come back.
    if noted_kbs::is_noted::<DB>(c, tenant, name).await? {
        let why = format!("the row of `{name}` is lost: run `gristmill repair`");
        return Err(Error::conflict("knowledge base", why));
    }
    let kb = KbId::from_uuid(id);
    let first = GenerationFacts {
        id: GenerationId::from_uuid(Uuid::now_v7()),
        number: 1,
        spec: spec.clone(),
        state: GenerationState::Serving,
        created_at: now,
        serving_since: Some(now),
    };
    insert_generation::<DB>(c, kb, &first).await?;
    noted_kbs::write::<DB>(c, tenant, kb).await?;
    one::<DB>(c, tenant, kb).await
}

pub async fn insert_generation<DB: Dialect>(
    c: &mut Tx<DB>,
    kb: KbId,
    generation: &GenerationFacts,
) -> Result<(), Error> {
    query(
        "INSERT INTO generations (id, kb_id, number, spec, state, created_at, serving_since)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(generation.id.as_uuid())
    .bind(kb.as_uuid())
    .bind(i64::from(generation.number))
    .bind(json(&generation.spec))
    .bind(generation.state.as_str())
    .bind(generation.created_at)
    .bind(generation.serving_since)
    .execute(c)
    .await?;
    Ok(())
}

pub async fn lock<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId, kb: KbId) -> Result<Kb, Error> {
    query("UPDATE knowledge_bases SET name = name WHERE id = $1")
        .bind(kb.as_uuid())
        .execute(&mut *c)
        .await?;
    one::<DB>(c, tenant, kb).await
}

pub async fn list<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    page: &Page,
) -> Result<Listed<Kb>, Error> {
    // Paged before they are joined: one that builds a generation has two rows.
    let mut select: QueryBuilder<DB> = QueryBuilder::new(KBS);
    select.push(" WHERE k.id IN (SELECT id FROM knowledge_bases WHERE tenant_id = ");
    select.push_bind(tenant.as_uuid());
    let limit = page_by_name(&mut select, page)?;
    select.push(") ORDER BY k.name, g.state DESC");
    let rows = select.build().fetch_all(c).await?;
    let kbs = gather::<DB>(&rows)?;
    Ok(cut(kbs, limit, |kb| of_name(&kb.name)))
}

pub async fn one<DB: Dialect>(c: &mut Tx<DB>, tenant: TenantId, kb: KbId) -> Result<Kb, Error> {
    let sql = format!("{KBS} WHERE k.id = $1 AND k.tenant_id = $2 ORDER BY g.state DESC");
    let rows = query(sqlx::AssertSqlSafe(sql))
        .bind(kb.as_uuid())
        .bind(tenant.as_uuid())
        .fetch_all(c)
        .await?;
    gather::<DB>(&rows)?
        .pop()
        .ok_or_else(|| Error::not_found("knowledge base", kb))
}

pub async fn by_name<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    name: &str,
) -> Result<Kb, Error> {
    let sql = format!("{KBS} WHERE k.tenant_id = $1 AND k.name = $2 ORDER BY g.state DESC");
    let rows = query(sqlx::AssertSqlSafe(sql))
        .bind(tenant.as_uuid())
        .bind(name)
        .fetch_all(c)
        .await?;
    gather::<DB>(&rows)?
        .pop()
        .ok_or_else(|| Error::not_found("knowledge base", name))
}

/// Rows of one knowledge base follow each other, the serving generation's first.
pub fn gather<DB: Dialect>(rows: &[DB::Row]) -> Result<Vec<Kb>, Error> {
    let mut kbs: Vec<Kb> = Vec::new();
    for row in rows {
        let generation = read_generation::<DB>(row)?;
        match kbs.last_mut() {
            Some(kb) if generation.state == GenerationState::Building => {
                kb.building = Some(generation);
            }
            _ => kbs.push(read_kb::<DB>(row, generation)?),
        }
    }
    Ok(kbs)
}

fn read_kb<DB: Dialect>(row: &DB::Row, serving: Generation) -> Result<Kb, Error> {
    let row = Cells::<DB>(row);
    Ok(Kb {
        id: row.id("id", KbId::from_uuid)?,
        tenant: row.id("tenant_id", TenantId::from_uuid)?,
        name: row.text("name")?,
        serving,
        building: None,
        retention: row.json("retention")?,
        created_at: row.at("created_at")?,
    })
}

/// Reads the columns `generation_id`, `generation_number`, `spec` and `generation_state`.
pub fn read_generation<DB: Dialect>(row: &DB::Row) -> Result<Generation, Error> {
    let row = Cells::<DB>(row);
    Ok(Generation {
        id: row.id("generation_id", GenerationId::from_uuid)?,
        number: row.small("generation_number")?,
        spec: row.json("spec")?,
        state: row.word("generation_state")?,
    })
}
