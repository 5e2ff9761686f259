//! Rows put right, as the other stores and the ledger prove them.

use chrono::{DateTime, Utc};
use model::{
    DocumentId, GenerationId, JobId, KbId, SourceId, SourceOrder, Step, TenantId, UserId, VersionId,
};
use sqlx::{AssertSqlSafe, QueryBuilder, query};
use uuid::Uuid;

use super::activate::next_change;
use super::cells::{Cells, bytes, json, text};
use super::dialect::Dialect;
use super::ledger::{self, Fact};
use super::reunion::reunion;
use super::{
    Tx, admit, audit, audit_rows, metadata, noted_documents, noted_removals, noted_runs, recreate,
    renamed, stand_in, under_way, witness, witnessed, work,
};
use crate::{
    DocumentHead, Error, LedgerKind, Mend, Reworked, RunFile, VersionFacts, VersionState, replay,
};

pub type Owner = (TenantId, DocumentId);

pub async fn fence<DB: Dialect>(c: &mut Tx<DB>) -> Result<u64, Error> {
    if let Some(advance) = DB::ADVANCE_FENCE {
        query(advance).execute(&mut *c).await?;
    }
    let sql = format!("SELECT {} AS token", DB::NEXT_TOKEN);
    let row = query(AssertSqlSafe(sql)).fetch_one(c).await?;
    Cells::<DB>(&row).count("token")
}

pub async fn mend<DB: Dialect>(
    c: &mut Tx<DB>,
    of: Owner,
    mends: Vec<Mend>,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let orders = mends.iter().any(|mend| matches!(mend, Mend::Order(..)));
    for mend in mends {
        match mend {
            Mend::Renamed(one) => renamed::mend::<DB>(c, one).await?,
            Mend::Document(head, created) => {
                document::<DB>(c, of, &head, created).await?;
                noted_documents::mend::<DB>(c, of.1).await?;
            }
            Mend::Version(facts) => version::<DB>(c, of, &facts, now).await?,
            Mend::Reunion {
                head,
                created,
                with,
            } => reunion::<DB>(c, of, (&head, created), with).await?,
            Mend::LedgerOwner => ledger::give_back::<DB>(c, of).await?,
            Mend::Activations => activations::<DB>(c, of).await?,
            Mend::Filterable(version) => filterable::<DB>(c, of, version).await?,
            Mend::Order(version, place) => order::<DB>(c, version, &place).await?,
            Mend::Run(run_file) => run::<DB>(c, of, &run_file).await?,
            Mend::UnderWay(one) => under_way::mend::<DB>(c, &one, now).await?,
            Mend::NotedRun(run) => noted_runs::mend::<DB>(c, of, run).await?,
            Mend::Claim(job, version) => claim::<DB>(c, job, version).await?,
            Mend::Witness(version) => witness::write::<DB>(c, version).await?,
            Mend::Witnessed(version) => witnessed::row::<DB>(c, of, version).await?,
            Mend::Work(version) => recreate::give_back::<DB>(c, of, version, now).await?,
            Mend::Claims(version) => witnessed::claims::<DB>(c, of, version).await?,
            Mend::Removal(at) => removal::<DB>(c, of, at).await?,
            Mend::Noted => {
                noted_documents::mend::<DB>(c, of.1).await?;
                noted_removals::mend::<DB>(c, of.1).await?;
            }
            Mend::Reworked(reworked) => rework::<DB>(c, of, &reworked, now).await?,
        }
    }
    if orders {
        answer_in_order::<DB>(c, of, now).await?;
    }
    latest::<DB>(c, of).await
}

/// What came too late only by a place that was changed answers, now that it stands where it did.
async fn answer_in_order<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, document): Owner,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    stand_in::lock_runs::<DB>(c, document).await?;
    stand_in::serve::<DB>(c, tenant, document, now).await?;
    Ok(())
}

pub async fn document<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, document): Owner,
    head: &DocumentHead,
    created: DateTime<Utc>,
) -> Result<(), Error> {
    query(
        "INSERT INTO documents
             (id, tenant_id, kb_id, source_uri, source_id, latest_version, created_at, updated_at,
              removed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7,
             (SELECT l.at FROM ledger l WHERE l.document_id = $1 AND l.kind = 'deactivated'
                AND NOT EXISTS (SELECT 1 FROM ledger r WHERE r.document_id = $1
                    AND r.kind IN ('reinstated', 'rolled_back') AND r.seq > l.seq)
              ORDER BY l.seq DESC LIMIT 1))
         ON CONFLICT (id) DO UPDATE SET tenant_id = $2, kb_id = $3, source_uri = $4",
    )
    .bind(document.as_uuid())
    .bind(tenant.as_uuid())
    .bind(head.kb.as_uuid())
    .bind(head.source_uri.as_str())
    .bind(head.source.map(SourceId::as_uuid))
    .bind(head.latest.map(VersionId::as_uuid))
    .bind(created)
    .execute(&mut *c)
    .await?;
    ledger::restate_end::<DB>(c, document).await
}

/// The newest version is the one with the highest number in the generation that serves, unless the
/// row knows one that nothing newer has come after: copies for another generation are not newer.
async fn latest<DB: Dialect>(c: &mut Tx<DB>, (_, document): Owner) -> Result<(), Error> {
    query(
        "UPDATE documents SET latest_version =
             (SELECT v.id FROM document_versions v
              LEFT JOIN generations g ON g.id = v.generation_id AND g.state = 'serving'
              WHERE v.document_id = documents.id
              ORDER BY CASE WHEN g.id IS NULL THEN 1 ELSE 0 END, v.number DESC LIMIT 1)
         WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM document_versions n
             WHERE n.id = documents.latest_version AND n.document_id = documents.id
               AND NOT EXISTS (SELECT 1 FROM document_versions v
                   JOIN ingestion_runs r ON r.id = v.run_id AND r.run_type <> 'reindex'
                   WHERE v.document_id = n.document_id AND v.generation_id = n.generation_id
                     AND v.number > n.number))",
    )
    .bind(document.as_uuid())
    .execute(c)
    .await?;
    Ok(())
}

async fn version<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, document): Owner,
    facts: &VersionFacts,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let metadata = metadata_left::<DB>(c, facts.id).await?;
    let there = query("SELECT * FROM document_versions WHERE id = $1")
        .bind(facts.id.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
    let is_there = there.is_some();
    let whole = there.is_some_and(|row| audit_rows::version::<DB>(&row).is_ok());
    let number = number_of::<DB>(c, facts).await?;
    free_number::<DB>(c, (facts.kb, facts.id), number).await?;
    // What never answered is begun again after the passes it has had; the jobs that claim it may
    // still take it back.
    query(
        "INSERT INTO document_versions (id, document_id, tenant_id, kb_id, generation_id, run_id,
             number, content_hash, size, filename, metadata, source_order, claimed_directly,
             state, pass, root_hash, gaps, warnings, created_at, order_sum)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
             $13 IN ('ready', 'superseded')
                 OR NOT EXISTS (SELECT 1 FROM job_versions WHERE version_id = $1),
             $13,
             CASE WHEN $13 IN ('ready', 'superseded') THEN 1 ELSE
                 coalesce((SELECT max(u.pass) FROM document_units u WHERE u.version_id = $1), 0) END,
             $14, $15, $15, $16, $17)
         ON CONFLICT (id) DO UPDATE SET document_id = $2, tenant_id = $3, kb_id = $4,
             generation_id = $5,
             run_id = $6, number = $7, content_hash = $8, size = $9, state = $13, root_hash = $14,
             units_open = CASE WHEN $13 IN ('ready', 'superseded') THEN 0
                 ELSE document_versions.units_open END",
    )
    .bind(facts.id.as_uuid())
    .bind(document.as_uuid())
    .bind(tenant.as_uuid())
    .bind(facts.kb.as_uuid())
    .bind(facts.generation.as_uuid())
    .bind(facts.run.as_uuid())
    .bind(number)
    .bind(bytes(&facts.content_hash))
    .bind(facts.size.cast_signed())
    .bind(text(&facts.filename))
    .bind(json(&metadata))
    .bind(facts.order.as_str())
    .bind(facts.state.as_str())
    .bind(facts.root_hash.as_ref().map(bytes))
    .bind(json(&serde_json::Value::Array(Vec::new())))
    .bind(facts.created_at)
    .bind(bytes(&facts.order.sum_for(facts.id)))
    .execute(&mut *c)
    .await?;
    if !is_there {
        as_uploaded::<DB>(c, facts).await?;
    }
    if !is_there && facts.state == VersionState::Pending {
        prepare_again::<DB>(c, facts.id, now).await?;
    }
    match whole {
        true => Ok(()),
        false => witnessed::row::<DB>(c, (tenant, document), facts.id).await,
    }
}

/// What whoever uploaded it called it and said it was: of one that was never read nothing else tells.
async fn as_uploaded<DB: Dialect>(c: &mut Tx<DB>, facts: &VersionFacts) -> Result<(), Error> {
    let row = query(
        "SELECT filename, media_type FROM uploads
         WHERE run_id = $1 AND state = 'admitted' AND kb_id = $2 LIMIT 1",
    )
    .bind(facts.run.as_uuid())
    .bind(facts.kb.as_uuid())
    .fetch_optional(&mut *c)
    .await?;
    let Some(row) = row else { return Ok(()) };
    let row = Cells::<DB>(&row);
    query("UPDATE document_versions SET filename = $2, media_type = $3 WHERE id = $1")
        .bind(facts.id.as_uuid())
        .bind(row.text("filename")?)
        .bind(row.maybe_text("media_type")?)
        .execute(c)
        .await?;
    Ok(())
}

/// Of the pass it was in nothing is left to go on with.
async fn prepare_again<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    query("DELETE FROM work WHERE version_id = $1 AND kind <> 'prep'")
        .bind(version.as_uuid())
        .execute(&mut *c)
        .await?;
    work::enqueue::<DB>(c, &Step::Prep { version }, now).await
}

async fn number_of<DB: Dialect>(c: &mut Tx<DB>, facts: &VersionFacts) -> Result<i64, Error> {
    if let Some(number) = facts.number {
        return Ok(number.into());
    }
    let row = query("SELECT number FROM work WHERE version_id = $1 LIMIT 1")
        .bind(facts.id.as_uuid())
        .fetch_optional(&mut *c)
        .await?;
    match row {
        Some(row) => Cells::<DB>(&row).get("number"),
        None => admit::next_number::<DB>(c, facts.kb).await,
    }
}

/// A number is given once. Another row that has it was given a different one, as what is held
/// against it will tell; until then it has a new one.
pub async fn free_number<DB: Dialect>(
    c: &mut Tx<DB>,
    (kb, version): (KbId, VersionId),
    number: i64,
) -> Result<(), Error> {
    let taken =
        query("SELECT id FROM document_versions WHERE kb_id = $1 AND number = $2 AND id <> $3")
            .bind(kb.as_uuid())
            .bind(number)
            .bind(version.as_uuid())
            .fetch_optional(&mut *c)
            .await?;
    let Some(row) = taken else { return Ok(()) };
    let other: Uuid = Cells::<DB>(&row).get("id")?;
    let free = admit::next_number::<DB>(c, kb).await?;
    query("UPDATE document_versions SET number = $2 WHERE id = $1")
        .bind(other)
        .bind(free)
        .execute(c)
        .await?;
    Ok(())
}

/// A row that is gone took its metadata with it; what filters look up is still there.
async fn metadata_left<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
) -> Result<serde_json::Map<String, serde_json::Value>, Error> {
    let rows = query("SELECT key, value FROM version_metadata WHERE version_id = $1")
        .bind(version.as_uuid())
        .fetch_all(c)
        .await?;
    let mut metadata = serde_json::Map::new();
    for row in &rows {
        let row = Cells::<DB>(row);
        let (key, value) = (
            row.text("key")?,
            serde_json::Value::String(row.text("value")?),
        );
        match metadata.get_mut(&key) {
            None => drop(metadata.insert(key, serde_json::Value::Array(vec![value]))),
            Some(serde_json::Value::Array(values)) => values.push(value),
            Some(_) => {}
        }
    }
    let alone = |value: &mut serde_json::Value| match value.as_array_mut() {
        Some(values) if values.len() == 1 => *value = values.remove(0),
        _ => {}
    };
    metadata.values_mut().for_each(alone);
    Ok(metadata)
}

async fn activations<DB: Dialect>(c: &mut Tx<DB>, (tenant, document): Owner) -> Result<(), Error> {
    let served = replay(&audit::one::<DB>(c, tenant, document).await?.ledger);
    // What a version has lost of this, its rows here still tell.
    query(
        "UPDATE document_versions SET needs_flush =
             (SELECT max(a.needs_flush) FROM activations a
              WHERE a.version_id = document_versions.id)
         WHERE document_id = $1 AND needs_flush IS NULL AND state IN ('ready', 'superseded')",
    )
    .bind(document.as_uuid())
    .execute(&mut *c)
    .await?;
    query("DELETE FROM activations WHERE document_id = $1")
        .bind(document.as_uuid())
        .execute(&mut *c)
        .await?;
    let ids: Vec<Uuid> = served.iter().map(|_| Uuid::now_v7()).collect();
    for (id, one) in ids.iter().zip(&served) {
        let change = changed::<DB>(c, one.generation).await?;
        query(
            "INSERT INTO activations (id, tenant_id, kb_id, generation_id, document_id, version_id,
                 number, needs_flush, chunks, cause, opened_by, replaced, change, opened_at,
                 closed_at)
             SELECT $1, $2, v.kb_id, $3, $4, v.id, v.number, coalesce(v.needs_flush, 0), v.chunks,
                 $6, $7, $8, $9, $10, $11
             FROM document_versions v WHERE v.id = $5",
        )
        .bind(*id)
        .bind(tenant.as_uuid())
        .bind(one.generation.as_uuid())
        .bind(document.as_uuid())
        .bind(one.version.as_uuid())
        .bind(one.cause.as_str())
        .bind(one.by.map(UserId::as_uuid))
        .bind(one.replaced.map(|at| ids[at]))
        .bind(change)
        .bind(one.opened_at)
        .bind(one.closed_at)
        .execute(&mut *c)
        .await?;
    }
    Ok(())
}

/// What answers changes in a way that cannot be caught up with: it is read anew.
async fn changed<DB: Dialect>(c: &mut Tx<DB>, generation: GenerationId) -> Result<i64, Error> {
    let change = next_change::<DB>(c, generation).await?;
    query("UPDATE generations SET rebuilt = changes WHERE id = $1")
        .bind(generation.as_uuid())
        .execute(c)
        .await?;
    Ok(change)
}

async fn filterable<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, document): Owner,
    version: VersionId,
) -> Result<(), Error> {
    let dossier = audit::one::<DB>(c, tenant, document).await?;
    let Some(known) = dossier.version(version) else {
        return Ok(());
    };
    query("DELETE FROM version_metadata WHERE version_id = $1")
        .bind(version.as_uuid())
        .execute(&mut *c)
        .await?;
    metadata::insert::<DB>(c, known.kb, version, &known.metadata).await
}

async fn order<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    place: &SourceOrder,
) -> Result<(), Error> {
    query("UPDATE document_versions SET source_order = $2, order_sum = $3 WHERE id = $1")
        .bind(version.as_uuid())
        .bind(place.as_str())
        .bind(bytes(&place.sum_for(version)))
        .execute(&mut *c)
        .await?;
    query(
        "UPDATE ingestion_runs SET source_order = $2
         WHERE id = (SELECT v.run_id FROM document_versions v WHERE v.id = $1)",
    )
    .bind(version.as_uuid())
    .bind(place.as_str())
    .execute(c)
    .await?;
    Ok(())
}

async fn run<DB: Dialect>(
    c: &mut Tx<DB>,
    (tenant, document): Owner,
    run: &RunFile,
) -> Result<(), Error> {
    // It stays whose it was noted to be, and so does the version it brought.
    if let Some((owner, facts)) = noted_runs::elsewhere::<DB>(c, document, run.id).await? {
        return match facts.version == run.version {
            true => give_back::<DB>(c, owner, run.version).await,
            false => Ok(()),
        };
    }
    query(
        "INSERT INTO ingestion_runs (id, tenant_id, kb_id, generation_id, document_id, version_id,
             source_uri, content_hash, source_id, status, superseded, run_type, config,
             created_at, started_at, updated_at, finished_at, source_order, chunks_created)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $13, $10, 'repair', $11, $12, $12, $12, $12,
             $14, $15)
         ON CONFLICT (id) DO UPDATE SET tenant_id = $2, kb_id = $3, generation_id = $4,
             document_id = $5, version_id = $6, source_uri = $7, content_hash = $8, status = $13,
             superseded = $10, chunks_created = $15",
    )
    .bind(run.id.as_uuid())
    .bind(tenant.as_uuid())
    .bind(run.kb.as_uuid())
    .bind(run.generation.as_uuid())
    .bind(document.as_uuid())
    .bind(run.version.as_uuid())
    .bind(run.source_uri.as_str())
    .bind(bytes(&run.content_hash))
    .bind(run.source.map(SourceId::as_uuid))
    .bind(run.superseded)
    .bind(json(&serde_json::Map::new()))
    .bind(run.created_at)
    .bind(run.status.as_str())
    .bind(run.order.as_ref().map(SourceOrder::as_str))
    .bind(run.chunks_created.cast_signed())
    .execute(&mut *c)
    .await?;
    // Where a note of it stands, that knows better than anything else it could be made of.
    noted_runs::mend::<DB>(c, (tenant, document), run.id).await
}

async fn give_back<DB: Dialect>(
    c: &mut Tx<DB>,
    owner: DocumentId,
    version: VersionId,
) -> Result<(), Error> {
    query("UPDATE document_versions SET document_id = $2 WHERE id = $1")
        .bind(version.as_uuid())
        .bind(owner.as_uuid())
        .execute(c)
        .await?;
    Ok(())
}

/// The first version of a document is what made it new.
async fn claim<DB: Dialect>(c: &mut Tx<DB>, job: JobId, version: VersionId) -> Result<(), Error> {
    query(
        "INSERT INTO job_versions (job_id, version_id, outcome)
         SELECT $1, v.id, CASE WHEN EXISTS (SELECT 1 FROM document_versions o
                 WHERE o.document_id = v.document_id AND o.number < v.number)
             THEN 'new_version' ELSE 'new' END
         FROM document_versions v WHERE v.id = $2
         ON CONFLICT DO NOTHING",
    )
    .bind(job.as_uuid())
    .bind(version.as_uuid())
    .execute(c)
    .await?;
    Ok(())
}

async fn removal<DB: Dialect>(
    c: &mut Tx<DB>,
    (_, document): Owner,
    at: Option<DateTime<Utc>>,
) -> Result<(), Error> {
    let row = query("UPDATE documents SET removed_at = $2 WHERE id = $1 RETURNING removed_order")
        .bind(document.as_uuid())
        .bind(at)
        .fetch_optional(&mut *c)
        .await?;
    let Some(row) = row else { return Ok(()) };
    let order = Cells::<DB>(&row).maybe_text("removed_order")?;
    noted_documents::restate_removal::<DB>(c, document, at, order.as_deref()).await
}

async fn rework<DB: Dialect>(
    c: &mut Tx<DB>,
    of: Owner,
    made: &Reworked,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let id = made.version.as_uuid();
    for sql in [
        "DELETE FROM document_units WHERE version_id = $1",
        "DELETE FROM pages WHERE version_id = $1",
    ] {
        query(sql).bind(id).execute(&mut *c).await?;
    }
    let sum = |of: fn(&crate::ReworkedUnit) -> u64| made.units.iter().map(of).sum::<u64>();
    let row = query(
        "UPDATE document_versions SET units_total = $2, units_open = 0, chunks = $3, tokens = $4,
             root_hash = $5, needs_flush = $6, text_hash = $7, parsed_hash = $8, language = $9,
             media_type = $10, title = coalesce(title, $11), pass = $12, gaps = $13,
             warnings = $14
         WHERE id = $1 RETURNING generation_id, content_hash",
    )
    .bind(id)
    .bind(i64::try_from(made.units.len()).unwrap_or(i64::MAX))
    .bind(sum(|unit| unit.chunks).cast_signed())
    .bind(sum(|unit| unit.tokens).cast_signed())
    .bind(bytes(&made.root_hash))
    .bind(made.flush.cast_signed())
    .bind(made.artifacts.text.as_ref().map(bytes))
    .bind(made.artifacts.parsed.as_ref().map(bytes))
    .bind(made.language.as_deref())
    .bind(&*made.media_type)
    .bind(made.title.as_deref().map(text))
    .bind(i64::from(made.pass))
    .bind(json(&made.gaps))
    .bind(json(&made.warnings))
    .fetch_optional(&mut *c)
    .await?
    .ok_or_else(|| Error::not_found("version", made.version))?;
    let row = Cells::<DB>(&row);
    let generation = row.id("generation_id", GenerationId::from_uuid)?;
    units::<DB>(c, made, now).await?;
    super::steps::insert_pages::<DB>(c, made.version, &made.pages).await?;
    let change = changed::<DB>(c, generation).await?;
    query(
        "UPDATE activations SET change = $2, needs_flush = $3, chunks = $4 WHERE version_id = $1",
    )
    .bind(id)
    .bind(change)
    .bind(made.flush.cast_signed())
    .bind(sum(|unit| unit.chunks).cast_signed())
    .execute(&mut *c)
    .await?;
    if made.differs {
        let fact = Fact {
            tenant: of.0,
            document: of.1,
            kind: LedgerKind::Repaired,
            version: Some(made.version),
            generation: Some(generation),
            content_hash: Some(row.hash("content_hash")?),
            root_hash: Some(made.root_hash),
            by: None,
        };
        ledger::append::<DB>(c, fact, now).await?;
    }
    // Rows that were changed have been put right before: this is how it is now.
    witness::write::<DB>(c, made.version).await
}

async fn units<DB: Dialect>(
    c: &mut Tx<DB>,
    made: &Reworked,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    for units in made.units.chunks(1000) {
        let mut insert: QueryBuilder<DB> = QueryBuilder::new(
            "INSERT INTO document_units (version_id, unit, pass, position, state, chunks, tokens,
                 flush, artifact_hash, completed_at) ",
        );
        insert.push_values(units, |mut row, unit| {
            row.push_bind(made.version.as_uuid())
                .push_bind(unit.name.to_string())
                .push_bind(i64::from(made.pass))
                .push_bind(i64::from(unit.position))
                .push("'done'")
                .push_bind(unit.chunks.cast_signed())
                .push_bind(unit.tokens.cast_signed())
                .push_bind(made.flush.cast_signed())
                .push_bind(made.artifacts.units.get(&unit.name).map(bytes))
                .push_bind(now);
        });
        insert.build().execute(&mut *c).await?;
    }
    Ok(())
}
