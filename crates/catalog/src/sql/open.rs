//! Opening a catalog by its URL.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Row as _;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use super::migrate::migrate;
use super::writer::Writer;
use super::{Limits, Sql};
use crate::error::is_damage;
use crate::{Catalog, Error};

/// What may be tuned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `sqlite://path/to/catalog.db` or `postgres://user@host/database`.
    pub url: String,
    /// Connections that read (SQLite), or all of them (PostgreSQL).
    pub connections: u32,
    /// Failures after which a step becomes a dead letter.
    pub max_attempts: u32,
    /// Deliveries without an answer after which it does: its workers must be dying of it.
    pub max_deliveries: u32,
}

impl Settings {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            connections: 16,
            max_attempts: 3,
            max_deliveries: 100,
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            attempts: self.max_attempts,
            deliveries: self.max_deliveries,
        }
    }

    fn unopened(&self, error: sqlx::Error) -> Error {
        match is_damage(&error) {
            true => error.into(),
            false => self.refused(error),
        }
    }

    fn refused(&self, why: impl std::fmt::Display) -> Error {
        // A password may stand between `//` and `@`.
        let url = match (self.url.find("://"), self.url.rfind('@')) {
            (Some(start), Some(end)) if start < end => {
                format!("{}…{}", &self.url[..start + 3], &self.url[end..])
            }
            _ => self.url.clone(),
        };
        Error::Open {
            url,
            why: why.to_string(),
        }
    }
}

/// Opens the catalog and brings its schema up to date, under a lock.
pub async fn open(settings: &Settings) -> Result<Arc<dyn Catalog>, Error> {
    match settings.url.split_once("://") {
        Some(("sqlite", path)) => open_sqlite(settings, path).await,
        Some(("postgres" | "postgresql", _)) => open_postgres(settings).await,
        _ => Err(settings.refused("the URL must begin with sqlite:// or postgres://")),
    }
}

async fn open_sqlite(settings: &Settings, path: &str) -> Result<Arc<dyn Catalog>, Error> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(30))
        .statement_cache_capacity(512)
        // A group's pages stay in memory until its commit, and so does what takes one of its
        // writes back; pages written again and again are copied to the database more rarely.
        .pragma("cache_size", "-32768")
        .pragma("temp_store", "memory")
        .pragma("wal_autocheckpoint", "4000");
    let pool = |size: u32| {
        SqlitePoolOptions::new()
            .min_connections(1)
            .max_connections(size)
    };
    let one = pool(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_with(options.clone())
        .await
        .map_err(|error| settings.unopened(error))?;
    migrate(&one).await?;
    let readers = pool(settings.connections)
        .connect_with(
            options
                .pragma("query_only", "ON")
                // There are many, and the system keeps the file's pages in memory anyway.
                .pragma("cache_size", "-1024"),
        )
        .await
        .map_err(|error| settings.unopened(error))?;
    let writer = Writer::grouped(one);
    Ok(Arc::new(Sql {
        writer,
        readers,
        limits: settings.limits(),
        live: Arc::default(),
        gate: Arc::default(),
    }))
}

async fn open_postgres(settings: &Settings) -> Result<Arc<dyn Catalog>, Error> {
    let pool = open_pool(settings).await?;
    let writer = Writer::Each(pool.clone());
    Ok(Arc::new(Sql {
        writer,
        readers: pool,
        limits: settings.limits(),
        live: Arc::default(),
        gate: Arc::default(),
    }))
}

/// PostgreSQL with its schema up to date.
pub async fn open_pool(settings: &Settings) -> Result<sqlx::PgPool, Error> {
    let options: PgConnectOptions = settings
        .url
        .parse()
        .map_err(|error| settings.refused(error))?;
    let pool = PgPoolOptions::new()
        .max_connections(settings.connections)
        .after_release(|connection, _| Box::pin(outside_transactions(connection)))
        .connect_with(options.statement_cache_capacity(512))
        .await
        .map_err(|error| settings.refused(error))?;
    migrate(&pool).await?;
    Ok(pool)
}

/// Whether a connection that comes back is free of transactions. A reader that goes away while
/// its transaction begins leaves one open that nobody knows of; such a connection is closed.
async fn outside_transactions(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    // Outside, the statement is its own transaction and both began at the same moment.
    let row = sqlx::raw_sql("SELECT now() = statement_timestamp()")
        .fetch_one(connection)
        .await?;
    row.try_get(0)
}
