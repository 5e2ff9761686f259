//! Notes of versions, beside their rows.
//!
//! Written when a version is finished or has failed; from then on whoever changes what is noted
//! changes the note with it, and no more of it than that: what somebody has spoilt meanwhile stays
//! noted as it was. A note that was spoilt itself is left alone.

use std::collections::BTreeMap;

use model::{ContentHash, GenerationId, JobId, VersionId};
use serde_json::Value;
use sqlx::{AssertSqlSafe, QueryBuilder, query};
use uuid::Uuid;

use super::Tx;
use super::cells::{Cells, bytes};
use super::dialect::Dialect;
use crate::{ClaimSum, Error, Facts, Reached, VersionState, Witness};

/// What is noted anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// By whoever brings it: metadata, and that it was brought outside any job.
    Said,
    /// When its document came.
    Since,
}

/// A version's rows, in what is noted of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub facts: Facts,
    pub claims: ClaimSum,
}

/// Notes a version as it is. Nothing of one whose row is gone or cannot be read.
pub async fn write<DB: Dialect>(c: &mut Tx<DB>, version: VersionId) -> Result<(), Error> {
    match one::<DB>(c, version).await? {
        Some(found) => put::<DB>(c, version, &found.facts, found.claims).await,
        None => Ok(()),
    }
}

/// Notes a part of a version anew, if it was noted before.
pub async fn restate<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    part: Part,
) -> Result<(), Error> {
    let noted = standing::<DB>(c, version).await?;
    let found = one::<DB>(c, version).await?;
    let (Some((mut facts, claims)), Some(Found { facts: found, .. })) = (noted, found) else {
        return Ok(());
    };
    match part {
        Part::Said => {
            facts.claimed_directly = found.claimed_directly;
            facts.metadata = found.metadata;
            facts.said = found.said;
        }
        Part::Since => facts.document_since = found.document_since,
    }
    put::<DB>(c, version, &facts, claims).await
}

/// Notes that a job claims a version, or no longer does.
pub async fn turn_claim<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    job: JobId,
    outcome: &str,
) -> Result<(), Error> {
    let Some((facts, claims)) = standing::<DB>(c, version).await? else {
        return Ok(());
    };
    let claims = claims.turned(version, job, outcome);
    put::<DB>(c, version, &facts, claims).await
}

/// The version is under way again: what is noted of it is not yet.
pub async fn forget<DB: Dialect>(c: &mut Tx<DB>, version: VersionId) -> Result<(), Error> {
    query("DELETE FROM version_witnesses WHERE version_id = $1")
        .bind(version.as_uuid())
        .execute(c)
        .await?;
    Ok(())
}

/// Notes every version that has ended, when notes are new to a catalog.
pub async fn write_all<DB: Dialect>(c: &mut Tx<DB>) -> Result<(), Error> {
    const AT_ONCE: u32 = 200;
    let mut after = Uuid::nil();
    loop {
        let rows = query(
            "SELECT id FROM document_versions
             WHERE state IN ('ready', 'superseded', 'failed') AND id > $1 ORDER BY id LIMIT $2",
        )
        .bind(after)
        .bind(i64::from(AT_ONCE))
        .fetch_all(&mut *c)
        .await?;
        let ids: Vec<Uuid> = rows
            .iter()
            .map(|row| Cells::<DB>(row).get("id"))
            .collect::<Result<_, _>>()?;
        for (version, found) in gather::<DB>(c, "v.id", &ids).await? {
            put::<DB>(c, version, &found.facts, found.claims).await?;
        }
        match ids.last() {
            Some(last) if ids.len() == AT_ONCE as usize => after = *last,
            _ => return Ok(()),
        }
    }
}

/// What is noted of a version, if that is still what was noted.
pub async fn standing<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
) -> Result<Option<(Facts, ClaimSum)>, Error> {
    let sql = format!(
        "SELECT * FROM version_witnesses WHERE version_id = $1 {}",
        DB::FOR_UPDATE
    );
    let row = query(AssertSqlSafe(sql))
        .bind(version.as_uuid())
        .fetch_optional(c)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let Ok(witness) = read::<DB>(&row) else {
        return Ok(None);
    };
    let told = witness.told(version);
    Ok(told.map(|facts| (facts, witness.claims)))
}

pub fn read<DB: Dialect>(row: &DB::Row) -> Result<Witness, Error> {
    let row = Cells::<DB>(row);
    Ok(Witness {
        facts: row.text("facts")?,
        claims: ClaimSum::from_bytes(*row.hash("claims")?.as_bytes()),
        sum: row.hash("sum")?,
    })
}

async fn put<DB: Dialect>(
    c: &mut Tx<DB>,
    version: VersionId,
    facts: &Facts,
    claims: ClaimSum,
) -> Result<(), Error> {
    let facts = serde_json::to_string(facts).expect("our records have string keys");
    let witness = Witness::new(version, facts, claims);
    query(
        "INSERT INTO version_witnesses (version_id, facts, claims, sum) VALUES ($1, $2, $3, $4)
         ON CONFLICT (version_id) DO UPDATE SET facts = $2, claims = $3, sum = $4",
    )
    .bind(version.as_uuid())
    .bind(witness.facts)
    .bind(claims.as_bytes().to_vec())
    .bind(bytes(&witness.sum))
    .execute(c)
    .await?;
    Ok(())
}

pub async fn one<DB: Dialect>(c: &mut Tx<DB>, version: VersionId) -> Result<Option<Found>, Error> {
    let mut found = gather::<DB>(c, "v.id", &[version.as_uuid()]).await?;
    Ok(found.remove(&version))
}

/// Everything that is noted of some versions, by the column that names them. One whose row cannot
/// be read is left out.
pub async fn gather<DB: Dialect>(
    c: &mut Tx<DB>,
    column: &'static str,
    ids: &[Uuid],
) -> Result<BTreeMap<VersionId, Found>, Error> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = of::<DB>(
        c,
        "v.*, d.created_at AS document_since",
        "LEFT JOIN documents d ON d.id = v.document_id",
        (column, ids),
    )
    .await?;
    let mut found: BTreeMap<VersionId, Found> =
        rows.iter().filter_map(|row| own::<DB>(row).ok()).collect();
    let said = of::<DB>(
        c,
        "v.id, x.position, x.job_id, x.metadata",
        "JOIN metadata_given x ON x.version_id = v.id",
        (column, ids),
    )
    .await?;
    sum_up::<DB>(&said, said_fields::<DB>, &mut found, |facts| {
        &mut facts.said
    })?;
    let columns = "v.id, x.unit, x.position, x.reused, x.flush, x.reason, x.completed_at,
        x.artifact_hash";
    let join = "JOIN document_units x ON x.version_id = v.id";
    let units = of::<DB>(c, columns, join, (column, ids)).await?;
    sum_up::<DB>(&units, unit_fields::<DB>, &mut found, |facts| {
        &mut facts.units
    })?;
    for (version, cut) in sums::<DB>(&units, cut_fields::<DB>)? {
        if let Some(one) = found.get_mut(&version) {
            one.facts.cut = Some(cut);
        }
    }
    for row in &units {
        let row = Cells::<DB>(row);
        let reason = row.maybe_text("reason");
        let one = id::<DB>(&row).ok().and_then(|id| found.get_mut(&id));
        if let (Ok(Some(reason)), Some(one)) = (reason, one) {
            one.facts.reasons.insert(row.text("unit")?, reason);
        }
    }
    let join = "JOIN job_versions x ON x.version_id = v.id";
    for row in of::<DB>(c, "v.id, x.job_id, x.outcome", join, (column, ids)).await? {
        let row = Cells::<DB>(&row);
        // One that names nobody is no claim, and named for that.
        let (Ok(version), Ok(job)) = (id::<DB>(&row), row.id("job_id", JobId::from_uuid)) else {
            continue;
        };
        if let Some(one) = found.get_mut(&version) {
            one.claims = one.claims.turned(version, job, &row.text("outcome")?);
        }
    }
    Ok(found)
}

async fn of<DB: Dialect>(
    c: &mut Tx<DB>,
    columns: &str,
    join: &str,
    (column, ids): (&str, &[Uuid]),
) -> Result<Vec<DB::Row>, Error> {
    let mut sql: QueryBuilder<DB> = QueryBuilder::new("SELECT ");
    sql.push(format_args!(
        "{columns} FROM document_versions v {join} WHERE {column} IN ("
    ));
    let mut list = sql.separated(", ");
    for id in ids {
        list.push_bind(*id);
    }
    Ok(sql.push(")").build().fetch_all(c).await?)
}

fn id<DB: Dialect>(row: &Cells<'_, DB>) -> Result<VersionId, Error> {
    row.id("id", VersionId::from_uuid)
}

fn own<DB: Dialect>(row: &DB::Row) -> Result<(VersionId, Found), Error> {
    let row = Cells::<DB>(row);
    let nothing = ContentHash::of_fields([]);
    let facts = Facts {
        filename: row.text("filename")?,
        title: row.maybe_text("title")?,
        created_at: row.at("created_at")?,
        warnings: row.json("warnings")?,
        gaps: row.json("gaps")?,
        claimed_directly: row.get("claimed_directly")?,
        metadata: row.json("metadata")?,
        said: nothing,
        reasons: BTreeMap::new(),
        units: nothing,
        made: Some(made::<DB>(&row)?),
        cut: Some(nothing),
        document_since: row.maybe_at("document_since")?,
        reached: match row.word::<VersionState>("state")? {
            VersionState::Failed => Some(reached::<DB>(&row)?),
            _ => None,
        },
    };
    let claims = ClaimSum::default();
    Ok((id::<DB>(&row)?, Found { facts, claims }))
}

fn reached<DB: Dialect>(row: &Cells<'_, DB>) -> Result<Reached, Error> {
    Ok(Reached {
        generation: row.id("generation_id", GenerationId::from_uuid)?,
        number: row.small("number")?,
        media_type: row.maybe_text("media_type")?,
        language: row.maybe_text("language")?,
        pass: row.small("pass")?,
        units_total: row.small("units_total")?,
        units_open: row.small("units_open")?,
        needs_flush: row.maybe_count("needs_flush")?,
        chunks: row.count("chunks")?,
        tokens: row.count("tokens")?,
        root_hash: row.maybe_hash("root_hash")?,
        text_hash: row.maybe_hash("text_hash")?,
        parsed_hash: row.maybe_hash("parsed_hash")?,
    })
}

type Fields = Vec<Vec<u8>>;

/// Sums the rows of each version up, in an order that is theirs.
fn sum_up<DB: Dialect>(
    rows: &[DB::Row],
    fields: fn(&Cells<'_, DB>) -> Result<Fields, Error>,
    found: &mut BTreeMap<VersionId, Found>,
    sum: fn(&mut Facts) -> &mut ContentHash,
) -> Result<(), Error> {
    for (version, summed) in sums::<DB>(rows, fields)? {
        if let Some(one) = found.get_mut(&version) {
            *sum(&mut one.facts) = summed;
        }
    }
    Ok(())
}

fn sums<DB: Dialect>(
    rows: &[DB::Row],
    fields: fn(&Cells<'_, DB>) -> Result<Fields, Error>,
) -> Result<Vec<(VersionId, ContentHash)>, Error> {
    let mut of: BTreeMap<VersionId, Vec<Fields>> = BTreeMap::new();
    for row in rows {
        let row = Cells::<DB>(row);
        // One that cannot be read is not as it was noted, whatever it says.
        let fields = fields(&row).unwrap_or_default();
        if let Ok(version) = id::<DB>(&row) {
            of.entry(version).or_default().push(fields);
        }
    }
    let summed = of.into_iter().map(|(version, mut rows)| {
        rows.sort();
        let fields = rows.iter().flatten().map(Vec::as_slice);
        (version, ContentHash::of_fields(fields))
    });
    Ok(summed.collect())
}

/// Of what there is: versions made long ago have none.
fn made<DB: Dialect>(row: &Cells<'_, DB>) -> Result<ContentHash, Error> {
    let text: Option<Vec<u8>> = row.get("text_hash")?;
    let parsed: Option<Vec<u8>> = row.get("parsed_hash")?;
    let hashes = [text.unwrap_or_default(), parsed.unwrap_or_default()];
    Ok(ContentHash::of_fields(hashes.iter().map(Vec::as_slice)))
}

fn cut_fields<DB: Dialect>(row: &Cells<'_, DB>) -> Result<Fields, Error> {
    let hash: Option<Vec<u8>> = row.get("artifact_hash")?;
    Ok(vec![
        row.text("unit")?.into_bytes(),
        hash.unwrap_or_default(),
    ])
}

fn said_fields<DB: Dialect>(row: &Cells<'_, DB>) -> Result<Fields, Error> {
    let job: Option<Uuid> = row.get("job_id")?;
    let metadata: Value = row.json("metadata")?;
    Ok(vec![
        row.get::<i64>("position")?.to_be_bytes().to_vec(),
        job.map(|job| job.as_bytes().to_vec()).unwrap_or_default(),
        metadata.to_string().into_bytes(),
    ])
}

fn unit_fields<DB: Dialect>(row: &Cells<'_, DB>) -> Result<Fields, Error> {
    let completed = row.maybe_at("completed_at")?;
    let completed = completed.map(|at| at.timestamp_micros().to_be_bytes().to_vec());
    Ok(vec![
        row.text("unit")?.into_bytes(),
        row.get::<i64>("position")?.to_be_bytes().to_vec(),
        row.get::<i64>("reused")?.to_be_bytes().to_vec(),
        row.get::<i64>("flush")?.to_be_bytes().to_vec(),
        completed.unwrap_or_default(),
    ])
}
