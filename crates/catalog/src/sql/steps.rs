//! The transactions of Prep and Extract: passes, markers, and the one unit that is last.

use chrono::{DateTime, Utc};
use model::{FollowUps, PageSize, Step, UnitName, VersionId};
use sqlx::{QueryBuilder, query};

use super::cells::{Cells, bytes, json, text};
use super::claim::holds;
use super::dialect::Dialect;
use super::events::{News, tell};
use super::{Tx, versions, work};
use crate::{Claim, Completion, Error, Prepared, UnitDone, UnitOutcome};

pub async fn prepared<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    prepared: &Prepared,
    now: DateTime<Utc>,
) -> Result<FollowUps, Error> {
    let version = claim.step.version();
    if !holds::<DB>(c, claim).await? {
        return answered_before::<DB>(c, claim, version).await;
    }
    let pass = prepared.pass;
    open_pass::<DB>(c, claim, prepared).await?;
    // Steps of an earlier pass go with its units, and Prep itself with them.
    for old in [
        "DELETE FROM document_units WHERE version_id = $1",
        "DELETE FROM pages WHERE version_id = $1",
        "DELETE FROM work WHERE version_id = $1",
    ] {
        query(old).bind(version.as_uuid()).execute(&mut *c).await?;
    }
    insert_units::<DB>(c, version, pass, prepared).await?;
    insert_pages::<DB>(c, version, &prepared.pages).await?;
    let follow_ups = follow_ups(version, pass, prepared.units.iter().map(|(unit, _)| unit));
    match prepared.units.as_slice() {
        [] => work::enqueue::<DB>(c, &Step::Finalize { version, pass }, now).await?,
        units => work::enqueue_units::<DB>(c, claim, pass, units, now).await?,
    }
    tell::<DB>(c, progress(claim, 0, prepared.units.len()), now).await?;
    Ok(follow_ups)
}

fn follow_ups<'a>(
    version: VersionId,
    pass: u32,
    units: impl ExactSizeIterator<Item = &'a UnitName>,
) -> FollowUps {
    if units.len() == 0 {
        return vec![Step::Finalize { version, pass }];
    }
    units
        .map(|unit| Step::Extract {
            version,
            pass,
            unit: unit.clone(),
        })
        .collect()
}

/// The answer this claim's Prep was given, when only the answer was lost.
async fn answered_before<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    version: VersionId,
) -> Result<FollowUps, Error> {
    let row = query("SELECT pass FROM document_versions WHERE id = $1 AND prep_token = $2")
        .bind(version.as_uuid())
        .bind(claim.token.cast_signed())
        .fetch_optional(&mut *c)
        .await?
        .ok_or(Error::Fenced { work: claim.work })?;
    let pass = Cells::<DB>(&row).small("pass")?;
    let units = versions::units::<DB>(c, version).await?;
    let units = units.iter().map(|unit| &unit.name);
    Ok(follow_ups(version, pass, units))
}

async fn open_pass<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    prepared: &Prepared,
) -> Result<(), Error> {
    let version = claim.step.version();
    let opened = query(
        "UPDATE document_versions SET pass = $11, units_total = $2, units_open = $2,
             last_unit = NULL, state = 'processing', prep_token = $3,
             title = coalesce(title, $4), language = $5, media_type = coalesce($6, media_type),
             gaps = $7, warnings = $8, text_hash = $9, parsed_hash = $10
         WHERE id = $1 AND state <> 'ready' AND pass = $11 - 1 RETURNING id",
    )
    .bind(version.as_uuid())
    .bind(i64::try_from(prepared.units.len()).unwrap_or(i64::MAX))
    .bind(claim.token.cast_signed())
    .bind(prepared.title.as_deref().map(text))
    .bind(prepared.language.as_deref())
    .bind(prepared.media_type.as_deref())
    .bind(json(&prepared.gaps))
    .bind(json(&prepared.warnings))
    .bind(prepared.artifacts.text.as_ref().map(bytes))
    .bind(prepared.artifacts.parsed.as_ref().map(bytes))
    .bind(i64::from(prepared.pass))
    .fetch_optional(&mut *c)
    .await?;
    match opened {
        Some(_) => Ok(()),
        None => Err(not_opened::<DB>(c, claim, version).await?),
    }
}

async fn not_opened<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    version: VersionId,
) -> Result<Error, Error> {
    let ready = query("SELECT id FROM document_versions WHERE id = $1 AND state = 'ready'")
        .bind(version.as_uuid())
        .fetch_optional(c)
        .await?;
    Ok(match ready {
        Some(_) => Error::conflict("version", "it has been activated and cannot be replaced"),
        None => Error::Fenced { work: claim.work },
    })
}

async fn insert_units<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    pass: u32,
    prepared: &Prepared,
) -> Result<(), Error> {
    for units in prepared.units.chunks(1000) {
        let mut insert: QueryBuilder<DB> = QueryBuilder::new(
            "INSERT INTO document_units
                 (version_id, unit, pass, position, artifact_hash, state) ",
        );
        insert.push_values(units, |mut row, (unit, position)| {
            row.push_bind(version.as_uuid())
                .push_bind(unit.to_string())
                .push_bind(i64::from(pass))
                .push_bind(i64::from(*position))
                .push_bind(prepared.artifacts.units.get(unit).map(bytes))
                .push("'open'");
        });
        insert.build().execute(&mut *c).await?;
    }
    Ok(())
}

pub async fn insert_pages<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    pages: &[PageSize],
) -> Result<(), Error> {
    let numbered: Vec<(i64, &PageSize)> = (1..).zip(pages).collect();
    for pages in numbered.chunks(1000) {
        let mut insert: QueryBuilder<DB> =
            QueryBuilder::new("INSERT INTO pages (version_id, page, width, height) ");
        insert.push_values(pages, |mut row, (page, size)| {
            row.push_bind(version.as_uuid())
                .push_bind(*page)
                .push_bind(f64::from(size.width))
                .push_bind(f64::from(size.height));
        });
        insert.build().execute(&mut *c).await?;
    }
    Ok(())
}

fn progress(claim: &Claim, done: usize, total: usize) -> News {
    News {
        tenant: claim.tenant,
        kind: "run.progress",
        run: Some(claim.run),
        document: Some(claim.document),
        job: claim.job,
        data: serde_json::json!({ "units_done": done, "units_total": total }),
    }
}

pub async fn complete_unit<DB: Dialect>(
    c: &mut Tx<DB>,
    claim: &Claim,
    done: &UnitDone,
    now: DateTime<Utc>,
) -> Result<Completion, Error> {
    let version = claim.step.version();
    let held = holds::<DB>(c, claim).await?;
    let marker =
        query("SELECT state, pass FROM document_units WHERE version_id = $1 AND unit = $2")
            .bind(version.as_uuid())
            .bind(done.unit.as_str())
            .fetch_optional(&mut *c)
            .await?;
    let (open, pass) = match &marker {
        Some(row) => (
            Cells::<DB>(row).text("state")? == "open",
            Cells::<DB>(row).small("pass")?,
        ),
        None => (false, 0),
    };
    if pass != done.pass {
        work::remove::<DB>(c, claim).await?;
        return Ok(Completion::StalePass);
    }
    if open && !held {
        return Err(Error::Fenced { work: claim.work });
    }
    if open {
        mark::<DB>(c, version, done, now).await?;
    }
    let counted = count_down::<DB>(c, version, &done.unit, open).await?;
    work::remove::<DB>(c, claim).await?;
    if open {
        if counted.last {
            let pass = done.pass;
            work::enqueue::<DB>(c, &Step::Finalize { version, pass }, now).await?;
        }
        tell::<DB>(c, progress(claim, counted.done, counted.total), now).await?;
    }
    Ok(if counted.last {
        Completion::Last
    } else {
        Completion::OthersOpen
    })
}

async fn mark<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    done: &UnitDone,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let (state, numbers, reason) = match &done.outcome {
        UnitOutcome::Done {
            chunks,
            tokens,
            reused,
            flush,
        } => ("done", [*chunks, *tokens, *reused, *flush], None),
        UnitOutcome::Gap { reason } => ("gap", [0; 4], Some(text(reason))),
    };
    let [chunks, tokens, reused, flush] = numbers.map(u64::cast_signed);
    query(
        "UPDATE document_units SET state = $3, chunks = $4, tokens = $5, reused = $6, flush = $7,
             reason = $8, completed_at = $9
         WHERE version_id = $1 AND unit = $2",
    )
    .bind(version.as_uuid())
    .bind(done.unit.as_str())
    .bind(state)
    .bind(chunks)
    .bind(tokens)
    .bind(reused)
    .bind(flush)
    .bind(reason)
    .bind(now)
    .execute(c)
    .await?;
    Ok(())
}

struct Counted {
    last: bool,
    done: usize,
    total: usize,
}

/// A counter, not `count(*)`: the row's lock puts units that finish together in order.
async fn count_down<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    unit: &UnitName,
    fresh: bool,
) -> Result<Counted, Error> {
    let row = query(
        "UPDATE document_versions SET units_open = units_open - $2, last_unit =
             CASE WHEN units_open = $2 THEN coalesce(last_unit, $3) ELSE last_unit END
         WHERE id = $1 RETURNING last_unit, units_total, units_open",
    )
    .bind(version.as_uuid())
    .bind(i64::from(fresh))
    .bind(unit.as_str())
    .fetch_one(c)
    .await?;
    let row = Cells::<DB>(&row);
    let total = row.small("units_total")? as usize;
    Ok(Counted {
        last: row.maybe_text("last_unit")?.as_deref() == Some(unit.as_str()),
        done: total - row.small("units_open")? as usize,
        total,
    })
}
