//! A catalog whose files hold its rows and nothing else.
//!
//! SQLite leaves what was deleted where it stood, and a row that moves leaves a copy behind;
//! even its `secure_delete` clears only the former. So the database is written anew from its
//! rows, and its log is cut off. A mark set with the deletion says that this is still to be
//! done; it goes when it was.

use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use sqlx::{ConnectOptions as _, Connection as _, Pool, Postgres, Row as _, Sqlite, query};

use super::dialect::Dialect;
use super::{Sql, unsay};
use crate::{Error, Scrub};

/// How often the log is tried to be cut off, and how long those who read it are waited for in
/// between.
const TRIES: usize = 600;
const PAUSE: Duration = Duration::from_millis(100);

pub trait Scrubbing: Dialect {
    fn is_marked(pool: &Pool<Self>) -> BoxFuture<'_, Result<bool, Error>>;
    fn scrub(pool: &Pool<Self>) -> BoxFuture<'_, Result<(), Error>>;
}

#[async_trait]
impl<DB: Scrubbing> Scrub for Sql<DB> {
    async fn scrub(&self) -> Result<(), Error> {
        let due = self.look_up("catalog.jobs_purged", |c| Box::pin(unsay::is_due::<DB>(c)));
        if due.await? {
            self.write("catalog.forget_configured", |c| {
                Box::pin(unsay::forget_configured::<DB>(c))
            })
            .await?;
        }
        if !DB::is_marked(&self.readers).await? {
            return Ok(());
        }
        // Nobody writes meanwhile: they would wait for the database, and not for as long.
        let _shut = self.gate.write().await;
        if !DB::is_marked(&self.readers).await? {
            return Ok(());
        }
        durable::effect("catalog.scrub", DB::scrub(&self.readers)).await
    }
}

impl Scrubbing for Sqlite {
    fn is_marked(pool: &Pool<Self>) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(async move {
            let marked = query("SELECT last FROM counters WHERE name = 'unscrubbed' AND last > 0");
            Ok(marked.fetch_optional(pool).await?.is_some())
        })
    }

    fn scrub(pool: &Pool<Self>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let options = (*pool.connect_options()).clone();
            let mut connection = options.pragma("query_only", "OFF").connect().await?;
            query("VACUUM").execute(&mut connection).await?;
            for tried in 1.. {
                let cut = query("PRAGMA wal_checkpoint(TRUNCATE)");
                let row = cut.fetch_one(&mut connection).await?;
                if row.try_get::<i64, _>(0)? == 0 {
                    break;
                }
                if tried == TRIES {
                    return Err(still_read());
                }
                tokio::time::sleep(PAUSE).await;
            }
            query("UPDATE counters SET last = 0 WHERE name = 'unscrubbed'")
                .execute(&mut connection)
                .await?;
            connection.close().await?;
            Ok(())
        })
    }
}

fn still_read() -> Error {
    let source = "somebody reads an older state of the catalog".into();
    Error::Unavailable {
        operation: "cut off the log",
        source,
    }
}

impl Scrubbing for Postgres {
    fn is_marked(_: &Pool<Self>) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(async { Ok(false) })
    }

    fn scrub(_: &Pool<Self>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }
}
