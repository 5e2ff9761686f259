//! Notes of the parts jobs have in the removals of documents, beside their rows.

use std::collections::BTreeMap;

use model::{DocumentId, JobId, SourceOrder};
use sqlx::{QueryBuilder, query};
use uuid::Uuid;

use super::Tx;
use super::cells::Cells;
use super::dialect::Dialect;
use super::notes::{self, Noted, Of, Written};
use crate::{Error, NotedRemovals, RemovalPart, Told};

/// All of one job, of one document.
type Parts = Vec<RemovalPart>;

impl Noted for Parts {
    const KIND: &'static str = "removal";
}

/// Notes that a job has a part in a removal.
pub async fn add<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    job: JobId,
    part: RemovalPart,
) -> Result<(), Error> {
    let of = (document.as_uuid(), job.as_uuid());
    let mut parts = match notes::one::<DB, Parts>(c, of).await? {
        Some(Told::Was(parts)) => parts,
        Some(Told::Changed) => return Ok(()),
        None => Vec::new(),
    };
    parts.push(part);
    put::<DB>(c, of, parts).await
}

/// Changes what is noted of a document, where it still stands.
pub async fn change<DB: Dialect>(
    c: &mut Tx<DB>,
    document: DocumentId,
    change: impl Fn(JobId, &mut Parts),
) -> Result<(), Error> {
    for Written { of, told, .. } in notes::of_owners::<DB, Parts>(c, &[document.as_uuid()]).await? {
        if let Told::Was(was) = told {
            let mut parts = was.clone();
            change(JobId::from_uuid(of.1), &mut parts);
            if parts != was {
                put::<DB>(c, of, parts).await?;
            }
        }
    }
    Ok(())
}

/// A job that has no part any more is not noted.
async fn put<DB: Dialect>(c: &mut Tx<DB>, of: Of, mut parts: Parts) -> Result<(), Error> {
    parts.sort();
    parts.dedup();
    match parts.is_empty() {
        true => notes::forget::<DB, Parts>(c, of).await,
        false => notes::put::<DB, _>(c, of, &parts).await,
    }
}

/// What was noted of one document's removals is noted of another's.
pub async fn hand_over<DB: Dialect>(
    c: &mut Tx<DB>,
    from: DocumentId,
    to: DocumentId,
) -> Result<(), Error> {
    for Written { of, told, .. } in notes::of_owners::<DB, Parts>(c, &[from.as_uuid()]).await? {
        if let Told::Was(parts) = told {
            for part in parts {
                add::<DB>(c, to, JobId::from_uuid(of.1), part).await?;
            }
        }
        notes::forget::<DB, Parts>(c, of).await?;
    }
    Ok(())
}

/// Notes every part there is, when notes are new to a catalog.
pub async fn write_all<DB: Dialect>(c: &mut Tx<DB>) -> Result<(), Error> {
    let rows = query("SELECT * FROM job_removals")
        .fetch_all(&mut *c)
        .await?;
    for (of, parts) in by_job::<DB>(&rows) {
        put::<DB>(c, of, parts).await?;
    }
    Ok(())
}

/// The rows of a document as they were noted, or, where no note stands, the notes as the rows have
/// it. Of a job that is gone nothing comes back.
pub async fn mend<DB: Dialect>(c: &mut Tx<DB>, document: DocumentId) -> Result<(), Error> {
    for (_, wrong) in gather::<DB>(c, &[document.as_uuid()]).await? {
        if wrong.stand() {
            continue;
        }
        let of = (document.as_uuid(), wrong.job.as_uuid());
        match notes::standing::<DB, Parts>(c, of).await? {
            Some(parts) => set::<DB>(c, of, parts).await?,
            None if is_there::<DB>(c, wrong.job).await? => {
                put::<DB>(c, of, wrong.now).await?;
            }
            // Jobs that were lost are back by now: whoever is not among them has no part in anything.
            None => {
                set::<DB>(c, of, Vec::new()).await?;
                put::<DB>(c, of, Vec::new()).await?;
            }
        }
    }
    Ok(())
}

async fn is_there<DB: Dialect>(c: &mut Tx<DB>, job: JobId) -> Result<bool, Error> {
    let row = query("SELECT id FROM jobs WHERE id = $1")
        .bind(job.as_uuid())
        .fetch_optional(c)
        .await?;
    Ok(row.is_some())
}

async fn set<DB: Dialect>(c: &mut Tx<DB>, of: Of, parts: Parts) -> Result<(), Error> {
    query("DELETE FROM job_removals WHERE document_id = $1 AND job_id = $2")
        .bind(of.0)
        .bind(of.1)
        .execute(&mut *c)
        .await?;
    for part in parts {
        query(
            "INSERT INTO job_removals (job_id, document_id, at, before_at, before_order)
             SELECT j.id, d.id, $3, $4, $5 FROM jobs j, documents d WHERE j.id = $2 AND d.id = $1",
        )
        .bind(of.0)
        .bind(of.1)
        .bind(part.at)
        .bind(part.before_at)
        .bind(part.before_order.map(|order| order.as_str().to_owned()))
        .execute(&mut *c)
        .await?;
    }
    Ok(())
}

/// The parts of some documents' removals, and what was noted of them.
pub async fn gather<DB: Dialect>(
    c: &mut Tx<DB>,
    documents: &[Uuid],
) -> Result<Vec<(Uuid, NotedRemovals)>, Error> {
    let mut sql: QueryBuilder<DB> =
        QueryBuilder::new("SELECT * FROM job_removals WHERE document_id IN (");
    let mut list = sql.separated(", ");
    for id in documents {
        list.push_bind(*id);
    }
    let rows = sql.push(")").build().fetch_all(&mut *c).await?;
    let noted = |of: Of, now| NotedRemovals {
        job: JobId::from_uuid(of.1),
        now,
        noted: None,
    };
    let found = by_job::<DB>(&rows).into_iter();
    let mut found: BTreeMap<Of, NotedRemovals> =
        found.map(|(of, now)| (of, noted(of, now))).collect();
    for Written { of, told, .. } in notes::of_owners::<DB, Parts>(c, documents).await? {
        let one = found.entry(of).or_insert_with(|| noted(of, Vec::new()));
        one.noted = Some(told);
    }
    let found = found
        .into_iter()
        .map(|((document, _), one)| (document, one));
    Ok(found.collect())
}

/// One that names nobody is named for that.
fn by_job<DB: Dialect>(rows: &[DB::Row]) -> BTreeMap<Of, Parts> {
    let mut found: BTreeMap<Of, Parts> = BTreeMap::new();
    for row in rows {
        let cells = Cells::<DB>(row);
        let (Ok(document), Ok(job)) = (cells.get("document_id"), cells.get("job_id")) else {
            continue;
        };
        let of = (document, job);
        // One that cannot be read is not as it was noted.
        found.entry(of).or_default().extend(read::<DB>(row).ok());
    }
    found.values_mut().for_each(|parts| parts.sort());
    found
}

pub fn read<DB: Dialect>(row: &DB::Row) -> Result<RemovalPart, Error> {
    let row = Cells::<DB>(row);
    let order = row.maybe_text("before_order")?;
    Ok(RemovalPart {
        at: row.at("at")?,
        before_at: row.maybe_at("before_at")?,
        before_order: order.map(SourceOrder::from_stored),
    })
}
