//! Counts that are kept as rows change, by the database itself (migration 0013).
//!
//! A count is the sum of its shards. Differences commute, so that writers share no row and
//! what puts a wrong count right stops no writer: it adds what is missing.

use std::collections::{BTreeMap, BTreeSet};

use model::{KbId, TenantId};
use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::cells::Cells;
use super::dialect::Dialect;
use super::{Tx, noted_kbs};
use crate::{Error, Miscounted};

/// What the rows themselves say.
const COUNTED: &str = "
    SELECT tenant_id AS scope, 'documents' AS kind, count(*) AS n FROM documents GROUP BY tenant_id
    UNION ALL
    SELECT tenant_id, 'runs.' || status, count(*) FROM ingestion_runs GROUP BY tenant_id, status
    UNION ALL
    SELECT generation_id, 'active.documents', count(*)
    FROM activations WHERE closed_at IS NULL GROUP BY generation_id
    UNION ALL
    SELECT generation_id, 'active.chunks', CAST(sum(chunks) AS BIGINT)
    FROM activations WHERE closed_at IS NULL GROUP BY generation_id";

/// By kind.
pub type Tallies = BTreeMap<String, u64>;

pub async fn of_scope<DB: Dialect>(c: &mut Tx<DB>, scope: Uuid) -> Result<Tallies, Error> {
    let rows = query(
        "SELECT kind, CAST(sum(n) AS BIGINT) AS n FROM tallies WHERE scope = $1 GROUP BY kind",
    )
    .bind(scope)
    .fetch_all(c)
    .await?;
    gather::<DB>(&rows)
}

/// Of the generations that serve a tenant's knowledge bases.
pub async fn of_serving<DB: Dialect>(c: &mut Tx<DB>, tenant: Uuid) -> Result<Tallies, Error> {
    let rows = query(
        "SELECT t.kind, CAST(sum(t.n) AS BIGINT) AS n
         FROM knowledge_bases k
         JOIN generations g ON g.kb_id = k.id AND g.state = 'serving'
         JOIN tallies t ON t.scope = g.id
         WHERE k.tenant_id = $1 GROUP BY t.kind",
    )
    .bind(tenant)
    .fetch_all(c)
    .await?;
    gather::<DB>(&rows)
}

fn gather<DB: Dialect>(rows: &[DB::Row]) -> Result<Tallies, Error> {
    let tally = |row: &DB::Row| {
        let row = Cells::<DB>(row);
        // Below zero only where somebody else wrote here; the janitor will put it right.
        let n = row.get::<i64>("n")?.max(0).cast_unsigned();
        Ok((row.get("kind")?, n))
    };
    rows.iter().map(tally).collect()
}

/// Counts all rows, and tells what the tallies have otherwise.
pub async fn miscounted<DB: Dialect>(c: &mut Tx<DB>) -> Result<Vec<Miscounted>, Error> {
    let sql = format!(
        "SELECT scope, kind, CAST(sum(n) AS BIGINT) AS counted, CAST(sum(told) AS BIGINT) AS told
         FROM (SELECT scope, kind, n, 0 AS told FROM ({COUNTED}) AS rows
               UNION ALL SELECT scope, kind, 0, n FROM tallies) AS both_ways
         GROUP BY scope, kind HAVING sum(n) <> sum(told) ORDER BY scope, kind"
    );
    let rows = query(AssertSqlSafe(sql)).fetch_all(c).await?;
    let read = |row: &DB::Row| {
        let row = Cells::<DB>(row);
        // Of nobody; the rows that count there are named for that.
        let of = row.get("scope").ok()?;
        let counts = || {
            Ok(Miscounted {
                of,
                kind: row.get("kind")?,
                told: row.get("told")?,
                counted: row.get("counted")?,
            })
        };
        Some(counts())
    };
    rows.iter().filter_map(read).collect()
}

/// Of those, the ones of a tenant and of its generations.
pub async fn miscounted_of<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: Uuid,
) -> Result<Vec<Miscounted>, Error> {
    let mut miscounted = miscounted::<DB>(c).await?;
    let rows = query(
        "SELECT g.id FROM generations g JOIN knowledge_bases k ON k.id = g.kb_id
         WHERE k.tenant_id = $1",
    )
    .bind(tenant)
    .fetch_all(&mut *c)
    .await?;
    let mut scopes = BTreeSet::from([tenant]);
    for row in &rows {
        scopes.extend(Cells::<DB>(row).get::<Uuid>("id").ok());
    }
    miscounted.retain(|tally| scopes.contains(&tally.of));
    if miscounted.iter().any(|tally| tally.of == tenant) {
        let others = of_others::<DB>(c, tenant).await?;
        let right = |tally: &Miscounted| {
            let others = others.get(&tally.kind).copied().unwrap_or_default();
            tally.of == tenant && tally.counted - others == tally.told
        };
        miscounted.retain(|tally| !right(tally));
    }
    Ok(miscounted)
}

/// How many rows of each kind say they are a tenant's, and are of a knowledge base that was noted as
/// another's: they go back there, and were never counted here.
async fn of_others<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: Uuid,
) -> Result<BTreeMap<String, i64>, Error> {
    let rows = query(
        "SELECT kb_id, 'documents' AS kind, count(*) AS n
         FROM documents WHERE tenant_id = $1 GROUP BY kb_id
         UNION ALL
         SELECT kb_id, 'runs.' || status, count(*)
         FROM ingestion_runs WHERE tenant_id = $1 GROUP BY kb_id, status",
    )
    .bind(tenant)
    .fetch_all(&mut *c)
    .await?;
    let kb = |row: &DB::Row| Cells::<DB>(row).id("kb_id", KbId::from_uuid).ok();
    let kbs = rows.iter().filter_map(kb).collect();
    let others = noted_kbs::of_others::<DB>(c, TenantId::from_uuid(tenant), kbs).await?;
    let mut counted = BTreeMap::new();
    for row in &rows {
        if kb(row).is_some_and(|kb| others.contains(&kb)) {
            let row = Cells::<DB>(row);
            *counted.entry(row.get("kind")?).or_default() += row.get::<i64>("n")?;
        }
    }
    Ok(counted)
}

pub async fn put_right<DB: Dialect>(c: &mut Tx<DB>) -> Result<(), Error> {
    if let Some(lock) = DB::LOCK_TALLIES {
        query(lock).execute(&mut *c).await?;
    }
    let sql = format!(
        "INSERT INTO tallies (scope, kind, shard, n)
         SELECT scope, kind, 0, CAST(sum(n) AS BIGINT)
         FROM (SELECT scope, kind, n FROM ({COUNTED}) AS rows
               UNION ALL SELECT scope, kind, -n FROM tallies) AS both_ways
         WHERE TRUE GROUP BY scope, kind HAVING sum(n) <> 0 ORDER BY scope, kind
         ON CONFLICT (scope, kind, shard) DO UPDATE SET n = tallies.n + excluded.n"
    );
    query(AssertSqlSafe(sql)).execute(c).await?;
    Ok(())
}
