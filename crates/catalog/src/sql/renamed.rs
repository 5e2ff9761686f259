//! Rows given back the id by which everything else knows them.

use sqlx::{AssertSqlSafe, query};
use uuid::Uuid;

use super::Tx;
use super::dialect::Dialect;
use crate::{Error, Renamed};

pub async fn mend<DB: Dialect>(c: &mut Tx<DB>, renamed: Renamed) -> Result<(), Error> {
    match renamed {
        Renamed::Version { is, was } => {
            let ids = (is.as_uuid(), was.as_uuid());
            give_back::<DB>(c, "document_versions", ids).await
        }
        Renamed::Run { is, was } => {
            give_back::<DB>(c, "ingestion_runs", (is.as_uuid(), was.as_uuid())).await
        }
    }
}

/// Nothing refers to a row by an id it was not given, so nothing need follow it.
pub async fn give_back<DB: Dialect>(
    c: &mut Tx<DB>,
    table: &'static str,
    (is, was): (Uuid, Uuid),
) -> Result<(), Error> {
    let sql = format!("UPDATE {table} SET id = $2 WHERE id = $1");
    query(AssertSqlSafe(sql))
        .bind(is)
        .bind(was)
        .execute(c)
        .await?;
    Ok(())
}
