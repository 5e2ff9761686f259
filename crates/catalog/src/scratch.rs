//! A catalog of its own inside a PostgreSQL database, for trials that leave nothing behind.

use sqlx::{AssertSqlSafe, Connection, PgConnection, query};
use uuid::Uuid;

use crate::Error;

/// A fresh schema. Everything the catalog makes is made in it, its fence included.
#[derive(Debug)]
pub struct Scratch {
    database: String,
    schema: String,
}

impl Scratch {
    /// Needs the right to make schemas in the database.
    pub async fn create(database: &str) -> Result<Self, Error> {
        let schema = format!("gristmill_scratch_{}", Uuid::now_v7().simple());
        let scratch = Self {
            database: database.to_owned(),
            schema,
        };
        scratch.execute("CREATE SCHEMA", "").await?;
        Ok(scratch)
    }

    /// The URL to open a catalog in the schema by.
    pub fn url(&self) -> String {
        let mark = if self.database.contains('?') {
            '&'
        } else {
            '?'
        };
        format!(
            "{}{mark}options[search_path]={}",
            self.database, self.schema
        )
    }

    /// The schema and everything in it is gone.
    pub async fn remove(self) -> Result<(), Error> {
        self.execute("DROP SCHEMA", " CASCADE").await
    }

    async fn execute(&self, verb: &str, rest: &str) -> Result<(), Error> {
        let mut connection = PgConnection::connect(&self.database).await?;
        let sql = format!("{verb} {}{rest}", self.schema);
        query(AssertSqlSafe(sql)).execute(&mut connection).await?;
        connection.close().await?;
        Ok(())
    }
}
