//! Generations: the next one is filled from what serves, then takes its place.

use chrono::{DateTime, Utc};
use model::{DocumentId, GenerationId, KbId, RunId, Step, TenantId, VersionId};
use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::activate::{lock_document, lock_if_there, take_up};
use super::cancel::removed;
use super::cells::{Cells, json};
use super::dialect::Dialect;
use super::events::{News, tell};
use super::kbs::{self, KBS, gather, insert_generation, one};
use super::removal::{REMOVING, end_runs, lock_runs, read, withdraw};
use super::{Tx, admit, alike, ledger, noted_kbs, versions, work};
use crate::{
    Admission, Building, Error, Generation, GenerationFacts, GenerationSpec, GenerationState, Kb,
    Rebuilt, Removing, Retired, RunType,
};

/// An open activation `a` of the serving generation, and its version `v`.
const SERVING: &str = "FROM activations a JOIN document_versions v ON v.id = a.version_id
    WHERE a.generation_id = $1 AND a.closed_at IS NULL";

/// The generation being built answers with the same bytes.
const BUILT: &str = "EXISTS (SELECT 1 FROM activations b
        JOIN document_versions w ON w.id = b.version_id
        WHERE b.document_id = a.document_id AND b.generation_id = $2 AND b.closed_at IS NULL
          AND w.content_hash = v.content_hash)";

/// A run of the same bytes in the generation being built, by its status.
fn run_is(statuses: &str) -> String {
    format!(
        "EXISTS (SELECT 1 FROM ingestion_runs r
            WHERE r.document_id = a.document_id AND r.generation_id = $2
              AND r.content_hash = v.content_hash AND r.status IN ({statuses}))"
    )
}

pub async fn begin<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, kb): (TenantId, KbId),
    spec: GenerationSpec,
    now: DateTime<Utc>,
) -> Result<Kb, Error> {
    let known = kbs::lock::<DB>(c, tenant, kb).await?;
    match &known.building {
        Some(building) if building.spec == spec => return Ok(known),
        Some(_) => {
            let why = "another generation is being built: switch to it or abandon it first";
            return Err(Error::conflict("knowledge base", why));
        }
        None => {}
    }
    let row = query("SELECT max(number) AS number FROM generations WHERE kb_id = $1")
        .bind(kb.as_uuid())
        .fetch_one(&mut *c)
        .await?;
    let next = GenerationFacts {
        id: GenerationId::from_uuid(Uuid::now_v7()),
        number: Cells::<DB>(&row).small("number")? + 1,
        spec,
        state: GenerationState::Building,
        created_at: now,
        serving_since: None,
    };
    insert_generation::<DB>(c, kb, &next).await?;
    let number = i64::from(next.number);
    noted_kbs::add::<DB>(c, (tenant, kb), next).await?;
    tell::<DB>(c, news(tenant, kb, "generation.begun", number), now).await?;
    one::<DB>(c, tenant, kb).await
}

fn news(tenant: TenantId, kb: KbId, kind: &'static str, number: i64) -> News {
    News {
        tenant,
        kind,
        run: None,
        document: None,
        job: None,
        data: serde_json::json!({ "kb": kb, "generation": number }),
    }
}

pub async fn building<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    kb: KbId,
) -> Result<Option<Building>, Error> {
    let known = one::<DB>(c, tenant, kb).await?;
    match &known.building {
        Some(building) => progress::<DB>(c, known.serving.id, building)
            .await
            .map(Some),
        None => Ok(None),
    }
}

async fn progress<DB: Dialect>(
    c: &mut Tx<DB>,
    serving: GenerationId,
    building: &Generation,
) -> Result<Building, Error> {
    let failed = run_is("'failed'");
    let row = query(AssertSqlSafe(format!(
        "SELECT count(*) AS documents,
             CAST(coalesce(sum(CASE WHEN {BUILT} THEN 1 ELSE 0 END), 0) AS BIGINT) AS built,
             CAST(coalesce(sum(CASE WHEN NOT {BUILT} AND {failed} THEN 1 ELSE 0 END), 0)
                 AS BIGINT) AS failed
         {SERVING}"
    )))
    .bind(serving.as_uuid())
    .bind(building.id.as_uuid())
    .fetch_one(&mut *c)
    .await?;
    let open_runs = open_runs::<DB>(c, building.id).await?;
    let row = Cells::<DB>(&row);
    Ok(Building {
        generation: building.clone(),
        documents: row.count("documents")?,
        built: row.count("built")?,
        failed: row.count("failed")?,
        open_runs,
    })
}

async fn open_runs<DB: Dialect>(c: &mut Tx<DB>, generation: GenerationId) -> Result<u64, Error> {
    let row = query(
        "SELECT count(*) AS open FROM ingestion_runs
         WHERE generation_id = $1 AND status IN ('queued', 'running')",
    )
    .bind(generation.as_uuid())
    .fetch_one(c)
    .await?;
    Cells::<DB>(&row).count("open")
}

pub async fn all_building<DB: Dialect>(c: &mut Tx<DB>) -> Result<Vec<Kb>, Error> {
    let sql = format!(
        "{KBS} WHERE k.id IN (SELECT b.kb_id FROM generations b WHERE b.state = 'building')
         ORDER BY k.id, g.state DESC"
    );
    let rows = query(AssertSqlSafe(sql)).fetch_all(c).await?;
    gather::<DB>(&rows)
}

pub async fn rebuild_some<DB: Dialect>(
    c: &mut Tx<DB>,
    kb: &Kb,
    after: Option<u32>,
    limit: u32,
    now: DateTime<Utc>,
) -> Result<Rebuilt, Error> {
    let known = kbs::lock::<DB>(c, kb.tenant, kb.id).await?;
    let Some(building) = known.building.filter(|b| Some(b.id) == kb.building_id()) else {
        return Ok(Rebuilt {
            begun: 0,
            next: None,
        });
    };
    mirror_causes::<DB>(c, kb.tenant, (known.serving.id, building.id), now).await?;
    let room = i64::from(limit) - open_runs::<DB>(c, building.id).await?.cast_signed();
    if room <= 0 {
        return Ok(Rebuilt {
            begun: 0,
            next: after,
        });
    }
    let known_run = run_is("'queued', 'running', 'failed'");
    let rows = query(AssertSqlSafe(format!(
        "SELECT a.version_id, a.number {SERVING}
           AND a.number > $3 AND NOT {BUILT} AND NOT {known_run}
         ORDER BY a.number LIMIT $4"
    )))
    .bind(known.serving.id.as_uuid())
    .bind(building.id.as_uuid())
    .bind(after.map_or(-1, i64::from))
    .bind(room)
    .fetch_all(&mut *c)
    .await?;
    let mut found = Vec::with_capacity(rows.len());
    let mut last = None;
    for row in &rows {
        let row = Cells::<DB>(row);
        last = Some(row.small("number")?);
        let version = row.id("version_id", VersionId::from_uuid)?;
        found.push(versions::one::<DB>(c, kb.tenant, version).await?);
    }
    // As a listing's batch is locked.
    found.sort_by(|a, b| a.source_uri.cmp(&b.source_uri));
    let mut told = Vec::with_capacity(found.len());
    for version in &found {
        let admission = copy(version, &building);
        let admitted = admit::admit_quietly::<DB>(c, &admission, now).await?;
        alike::make::<DB>(c, version.id, admitted.version).await?;
        told.push(admit::news(&admission, &admitted));
    }
    for news in told {
        tell::<DB>(c, news, now).await?;
    }
    let next = last.filter(|_| found.len() as i64 == room);
    Ok(Rebuilt {
        begun: found.len() as u32,
        next,
    })
}

/// A document rolled back to bytes that are built already answers in both generations, and in
/// the one being built for another cause: its version is opened there again. Else the rollback
/// would end with the switch.
async fn mirror_causes<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    (serving, building): (GenerationId, GenerationId),
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let found = other_causes::<DB>(c, (serving, building)).await?;
    if found.is_empty() {
        return Ok(());
    }
    for (document, _) in found {
        lock_if_there::<DB>(c, tenant, document).await?;
    }
    // Another may have answered before it was locked.
    for (_, version) in other_causes::<DB>(c, (serving, building)).await? {
        let version = versions::one::<DB>(c, tenant, version).await?;
        take_up::<DB>(c, &version, now).await?;
    }
    Ok(())
}

/// Of the two causes one is a rollback, and those are few: asked in every round of a build, it must
/// not read all that is built.
pub const OTHER_CAUSES: &str = "SELECT r.document_id,
        CASE WHEN r.generation_id = $2 THEN r.version_id ELSE o.version_id END AS version_id
    FROM activations r
    JOIN activations o ON o.document_id = r.document_id AND o.closed_at IS NULL
      AND o.generation_id IN ($1, $2) AND o.generation_id <> r.generation_id
      AND o.cause <> 'rollback'
    JOIN document_versions v ON v.id = r.version_id
    JOIN document_versions w ON w.id = o.version_id AND w.content_hash = v.content_hash
    WHERE r.generation_id IN ($1, $2) AND r.closed_at IS NULL AND r.cause = 'rollback'
    ORDER BY r.document_id";

/// What the generation being built answers with as the serving one does, but for another cause.
async fn other_causes<DB: Dialect>(
    c: &mut Tx<DB>,
    (serving, building): (GenerationId, GenerationId),
) -> Result<Vec<(DocumentId, VersionId)>, Error> {
    let rows = query(OTHER_CAUSES)
        .bind(serving.as_uuid())
        .bind(building.as_uuid())
        .fetch_all(c)
        .await?;
    let read = |row| {
        let row = Cells::<DB>(row);
        let document = row.id("document_id", DocumentId::from_uuid)?;
        Ok((document, row.id("version_id", VersionId::from_uuid)?))
    };
    rows.iter().map(read).collect()
}

/// The same bytes, to be admitted to another generation.
pub fn copy(version: &crate::Version, generation: &Generation) -> Admission {
    Admission {
        tenant: version.tenant,
        kb: version.kb,
        generation: generation.id,
        source_uri: version.source_uri.clone(),
        promised: None,
        content_hash: version.content_hash,
        size: version.size,
        media_type: version.media_type.clone(),
        filename: version.filename.clone(),
        title: version.title.clone(),
        metadata: version.metadata.clone(),
        order: version.order.clone(),
        job: None,
        source: None,
        initiated_by: None,
        run_type: RunType::Reindex,
        config: config(generation),
        trace: None,
    }
}

fn config(generation: &Generation) -> serde_json::Value {
    serde_json::json!({
        "model": generation.spec.model,
        "policy": generation.spec.policy,
    })
}

pub async fn switch<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, kb): (TenantId, KbId),
    generation: GenerationId,
    leave_failed: bool,
    now: DateTime<Utc>,
) -> Result<Kb, Error> {
    let known = kbs::lock::<DB>(c, tenant, kb).await?;
    if known.serving.id == generation {
        return Ok(known);
    }
    let building = being_built(&known, generation)?;
    let old = known.serving.id;
    let open_runs = open_runs::<DB>(c, generation).await?;
    // Before it is asked whether everything is built: a run that is not taken along has
    // ended by now, and what it activated is seen.
    take_along::<DB>(c, tenant, old, building, now).await?;
    mirror_causes::<DB>(c, tenant, (old, generation), now).await?;
    alike::catch_up::<DB>(c, old, generation).await?;
    let built = Building {
        open_runs,
        ..progress::<DB>(c, old, building).await?
    };
    if let Some(why) = built.holds_back(leave_failed) {
        return Err(Error::conflict("generation", why));
    }
    // The old one first: at no moment may two serve.
    for (from, to) in [("serving", "retired"), ("building", "serving")] {
        query("UPDATE generations SET state = $3 WHERE kb_id = $1 AND state = $2")
            .bind(kb.as_uuid())
            .bind(from)
            .bind(to)
            .execute(&mut *c)
            .await?;
    }
    query("UPDATE generations SET serving_since = $2 WHERE id = $1")
        .bind(generation.as_uuid())
        .bind(now)
        .execute(&mut *c)
        .await?;
    noted_kbs::switch::<DB>(c, (tenant, kb), generation, now).await?;
    point_documents::<DB>(c, old, generation).await?;
    let number = i64::from(building.number);
    tell::<DB>(c, news(tenant, kb, "generation.switched", number), now).await?;
    one::<DB>(c, tenant, kb).await
}

fn being_built(kb: &Kb, generation: GenerationId) -> Result<&Generation, Error> {
    let building = kb.building.as_ref();
    building
        .filter(|building| building.id == generation)
        .ok_or_else(|| Error::not_found("generation being built", generation))
}

/// Runs under way in the old generation begin anew in the new one. Whoever holds their
/// work finds it gone.
async fn take_along<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
    old: GenerationId,
    new: &Generation,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    const LIVE: &str = "SELECT id, document_id, version_id FROM ingestion_runs
        WHERE generation_id = $1 AND status IN ('queued', 'running') ORDER BY document_id, id";
    let rows = query(LIVE).bind(old.as_uuid()).fetch_all(&mut *c).await?;
    for row in &rows {
        let document = Cells::<DB>(row).id("document_id", DocumentId::from_uuid)?;
        lock_document::<DB>(c, tenant, document).await?;
    }
    let still = format!("{LIVE} {}", DB::FOR_UPDATE);
    let rows = query(AssertSqlSafe(still))
        .bind(old.as_uuid())
        .fetch_all(&mut *c)
        .await?;
    for row in &rows {
        let row = Cells::<DB>(row);
        let run = row.id("id", RunId::from_uuid)?;
        let version = row.id("version_id", VersionId::from_uuid)?;
        move_run::<DB>(c, run, version, new).await?;
        work::enqueue::<DB>(c, &Step::Prep { version }, now).await?;
    }
    Ok(())
}

async fn move_run<DB: Dialect>(
    c: &mut Tx<DB>,
    run: RunId,
    version: VersionId,
    new: &Generation,
) -> Result<(), Error> {
    query("DELETE FROM work WHERE version_id = $1")
        .bind(version.as_uuid())
        .execute(&mut *c)
        .await?;
    query("UPDATE ingestion_runs SET generation_id = $2, config = $3 WHERE id = $1")
        .bind(run.as_uuid())
        .bind(new.id.as_uuid())
        .bind(json(&config(new)))
        .execute(&mut *c)
        .await?;
    query("UPDATE document_versions SET generation_id = $2, state = 'pending' WHERE id = $1")
        .bind(version.as_uuid())
        .bind(new.id.as_uuid())
        .execute(c)
        .await?;
    Ok(())
}

/// A document's latest version is the copy of what was its latest.
async fn point_documents<DB: Dialect>(
    c: &mut Tx<DB>,
    old: GenerationId,
    new: GenerationId,
) -> Result<(), Error> {
    query(
        "UPDATE documents SET latest_version =
             (SELECT a.version_id FROM activations a WHERE a.document_id = documents.id
                AND a.generation_id = $2 AND a.closed_at IS NULL)
         WHERE latest_version IN (SELECT v.id FROM document_versions v WHERE v.generation_id = $1)
           AND EXISTS (SELECT 1 FROM activations a WHERE a.document_id = documents.id
               AND a.generation_id = $2 AND a.closed_at IS NULL)",
    )
    .bind(old.as_uuid())
    .bind(new.as_uuid())
    .execute(c)
    .await?;
    Ok(())
}

pub async fn abandon<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, kb): (TenantId, KbId),
    generation: GenerationId,
    now: DateTime<Utc>,
) -> Result<Kb, Error> {
    let known = kbs::lock::<DB>(c, tenant, kb).await?;
    let number = i64::from(being_built(&known, generation)?.number);
    let rows = query(AssertSqlSafe(format!(
        "{REMOVING} WHERE v.generation_id = $1 ORDER BY v.document_id, v.id"
    )))
    .bind(generation.as_uuid())
    .fetch_all(&mut *c)
    .await?;
    let copies = rows.iter().map(read::<DB>).collect::<Result<Vec<_>, _>>()?;
    for version in &copies {
        lock_document::<DB>(c, tenant, version.document).await?;
    }
    lock_runs::<DB>(c, &copies).await?;
    for version in &copies {
        withdraw::<DB>(c, version).await?;
        ledger::append::<DB>(c, removed(version), now).await?;
    }
    for version in &copies {
        end_runs::<DB>(c, version, "the generation was given up", now).await?;
    }
    query("UPDATE generations SET state = 'retired' WHERE id = $1")
        .bind(generation.as_uuid())
        .execute(&mut *c)
        .await?;
    noted_kbs::retire::<DB>(c, (tenant, kb), generation).await?;
    tell::<DB>(c, news(tenant, kb, "generation.abandoned", number), now).await?;
    one::<DB>(c, tenant, kb).await
}

pub async fn retired<DB: Dialect>(c: &mut Tx<DB>) -> Result<Vec<Retired>, Error> {
    let rows = query(
        "SELECT g.id, g.kb_id, k.tenant_id FROM generations g
         JOIN knowledge_bases k ON k.id = g.kb_id WHERE g.state = 'retired' ORDER BY g.id",
    )
    .fetch_all(c)
    .await?;
    let read = |row| {
        let row = Cells::<DB>(row);
        Ok(Retired {
            tenant: row.id("tenant_id", TenantId::from_uuid)?,
            kb: row.id("kb_id", KbId::from_uuid)?,
            generation: row.id("id", GenerationId::from_uuid)?,
        })
    };
    rows.iter().map(read).collect()
}

pub async fn never_served<DB: Dialect>(
    c: &mut Tx<DB>,
    retired: Retired,
    limit: u32,
) -> Result<Vec<Removing>, Error> {
    let rows = query(AssertSqlSafe(format!(
        "{REMOVING} JOIN generations g ON g.id = v.generation_id AND g.state = 'retired'
         WHERE v.generation_id = $1 AND v.tenant_id = $2 AND v.state = 'canceled'
           AND NOT EXISTS (SELECT 1 FROM activations a WHERE a.version_id = v.id)
         ORDER BY v.id LIMIT $3"
    )))
    .bind(retired.generation.as_uuid())
    .bind(retired.tenant.as_uuid())
    .bind(i64::from(limit))
    .fetch_all(c)
    .await?;
    rows.iter().map(read::<DB>).collect()
}
