//! Notes of rows in the one table that holds most of them, by what they are of.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::{AssertSqlSafe, QueryBuilder, query};
use uuid::Uuid;

use super::Tx;
use super::cells::{Cells, bytes};
use super::dialect::Dialect;
use crate::{Error, Note, Told};

/// What can be noted here.
pub trait Noted: Serialize + DeserializeOwned {
    const KIND: &'static str;
}

/// Whose note it is, and what it is of.
pub type Of = (Uuid, Uuid);

pub async fn put<DB: Dialect, T: Noted>(c: &mut Tx<DB>, of: Of, facts: &T) -> Result<(), Error> {
    let note = Note::new(of, facts);
    query(
        "INSERT INTO witnesses (owner, kind, subject, facts, sum) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (owner, kind, subject) DO UPDATE SET facts = $4, sum = $5",
    )
    .bind(of.0)
    .bind(T::KIND)
    .bind(of.1)
    .bind(note.facts)
    .bind(bytes(&note.sum))
    .execute(c)
    .await?;
    Ok(())
}

/// What is noted, if that is still what was noted.
pub async fn standing<DB: Dialect, T: Noted>(c: &mut Tx<DB>, of: Of) -> Result<Option<T>, Error> {
    Ok(match one::<DB, T>(c, of).await? {
        Some(Told::Was(facts)) => Some(facts),
        Some(Told::Changed) | None => None,
    })
}

pub async fn one<DB: Dialect, T: Noted>(c: &mut Tx<DB>, of: Of) -> Result<Option<Told<T>>, Error> {
    let sql = format!(
        "SELECT facts, sum FROM witnesses WHERE owner = $1 AND kind = $2 AND subject = $3 {}",
        DB::FOR_UPDATE
    );
    let row = query(AssertSqlSafe(sql))
        .bind(of.0)
        .bind(T::KIND)
        .bind(of.1)
        .fetch_optional(c)
        .await?;
    Ok(row.map(|row| told::<DB, T>(&row, of).map_or(Told::Changed, Told::Was)))
}

/// A note, as it is found.
pub struct Written<T> {
    pub of: Of,
    pub told: Told<T>,
    note: Option<Note>,
}

impl<T: Noted> Written<T> {
    pub fn stands(&self) -> bool {
        matches!(self.told, Told::Was(_))
    }

    /// Whether it was written for another than it names.
    pub fn was_of(&self, of: Of) -> bool {
        let told = self.note.as_ref().and_then(|note| note.told::<T>(of));
        told.is_some()
    }
}

/// Everything of a kind that is noted of some.
pub async fn of_owners<DB: Dialect, T: Noted>(
    c: &mut Tx<DB>,
    owners: &[Uuid],
) -> Result<Vec<Written<T>>, Error> {
    if owners.is_empty() {
        return Ok(Vec::new());
    }
    let mut sql: QueryBuilder<DB> = QueryBuilder::new("SELECT * FROM witnesses WHERE kind = ");
    sql.push_bind(T::KIND).push(" AND owner IN (");
    let mut list = sql.separated(", ");
    for id in owners {
        list.push_bind(*id);
    }
    let rows = sql.push(")").build().fetch_all(c).await?;
    // One that names nobody is named for that.
    Ok(rows.iter().filter_map(found::<DB, T>).collect())
}

fn found<DB: Dialect, T: Noted>(row: &DB::Row) -> Option<Written<T>> {
    let cells = Cells::<DB>(row);
    let of = (cells.get("owner").ok()?, cells.get("subject").ok()?);
    Some(Written {
        of,
        told: told::<DB, T>(row, of).map_or(Told::Changed, Told::Was),
        note: cells.note().ok(),
    })
}

/// Whether a note of this stands as another tenant's, whose it is then. Asked of each that may be:
/// notes are found by their owners.
pub async fn is_anothers<DB: Dialect, T: Noted>(c: &mut Tx<DB>, of: Of) -> Result<bool, Error> {
    let rows = query(
        "SELECT * FROM witnesses WHERE kind = $1 AND subject = $2
           AND owner IN (SELECT id FROM tenants WHERE id <> $3)",
    )
    .bind(T::KIND)
    .bind(of.1)
    .bind(of.0)
    .fetch_all(c)
    .await?;
    let mut all = rows.iter().filter_map(found::<DB, T>);
    Ok(all.any(|one| one.stands()))
}

/// Where a note is missing and one of the same owner was written for this, it names this again.
pub async fn bring_back<DB: Dialect, T: Noted>(c: &mut Tx<DB>, of: Of) -> Result<(), Error> {
    let all = of_owners::<DB, T>(c, &[of.0]).await?;
    if all.iter().any(|one| one.of == of) {
        return Ok(());
    }
    let Some(mine) = all.iter().find(|one| one.was_of(of)) else {
        return Ok(());
    };
    query("UPDATE witnesses SET subject = $4 WHERE owner = $1 AND kind = $2 AND subject = $3")
        .bind(mine.of.0)
        .bind(T::KIND)
        .bind(mine.of.1)
        .bind(of.1)
        .execute(c)
        .await?;
    Ok(())
}

/// One that cannot be read tells nothing, as one that was changed.
fn told<DB: Dialect, T: Noted>(row: &DB::Row, of: Of) -> Option<T> {
    Cells::<DB>(row).note().ok()?.told(of)
}

pub async fn forget<DB: Dialect, T: Noted>(c: &mut Tx<DB>, of: Of) -> Result<(), Error> {
    query("DELETE FROM witnesses WHERE owner = $1 AND kind = $2 AND subject = $3")
        .bind(of.0)
        .bind(T::KIND)
        .bind(of.1)
        .execute(c)
        .await?;
    Ok(())
}

pub async fn forget_all<DB: Dialect>(c: &mut Tx<DB>, owner: Uuid) -> Result<(), Error> {
    query("DELETE FROM witnesses WHERE owner = $1")
        .bind(owner)
        .execute(c)
        .await?;
    Ok(())
}
