//! The data folder a catalog belongs to.

use chrono::{DateTime, Utc};
use sqlx::query;
use uuid::Uuid;

use super::Tx;
use super::cells::{Cells, text};
use super::dialect::Dialect;
use crate::{Bound, DataFolder, Error};

/// Whose it is, if anybody has opened it.
pub async fn owner<DB: Dialect>(c: &mut Tx<DB>) -> Result<Option<DataFolder>, Error> {
    let row = query("SELECT id, place FROM data_folder")
        .fetch_optional(c)
        .await?;
    row.as_ref().map(read::<DB>).transpose()
}

fn read<DB: Dialect>(row: &DB::Row) -> Result<DataFolder, Error> {
    let row = Cells::<DB>(row);
    let id: Uuid = row.get("id")?;
    let place = row.text("place")?;
    Ok(DataFolder { id, place })
}

/// The first binds it; the same folder may lie somewhere else by now.
pub async fn bind<DB: Dialect>(
    c: &mut Tx<DB>,
    folder: &DataFolder,
    now: DateTime<Utc>,
) -> Result<Bound, Error> {
    let row = query(
        "INSERT INTO data_folder (only_row, id, place, bound_at) VALUES (1, $1, $2, $3)
         ON CONFLICT (only_row) DO UPDATE SET place =
             CASE WHEN data_folder.id = excluded.id THEN excluded.place ELSE data_folder.place END
         RETURNING id, place",
    )
    .bind(folder.id)
    .bind(text(&folder.place))
    .bind(now)
    .fetch_one(c)
    .await?;
    let owner = read::<DB>(&row)?;
    Ok(if owner.id == folder.id {
        Bound::Here
    } else {
        Bound::Elsewhere(owner)
    })
}
