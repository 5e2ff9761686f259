//! Opening a catalog by its URL.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection as _, Row as _};
use tokio::time::{Instant, sleep, timeout_at};

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
        // A password may stand between `//` and `@`, and behind a `?`.
        let (place, _) = self.url.split_once('?').unwrap_or((&self.url, ""));
        let url = match (place.find("://"), place.rfind('@')) {
            (Some(start), Some(end)) if start < end => {
                format!("{}…{}", &place[..start + 3], &place[end..])
            }
            _ => place.to_owned(),
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
    knock(&options).await.map_err(|why| {
        let place = match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        };
        settings.refused(format_args!("PostgreSQL at {place} {why}"))
    })?;
    let pool = PgPoolOptions::new()
        .max_connections(settings.connections)
        .after_release(|connection, _| Box::pin(outside_transactions(connection)))
        .connect_with(options.statement_cache_capacity(512))
        .await
        .map_err(|error| settings.refused(error))?;
    migrate(&pool).await?;
    Ok(pool)
}

/// How long a server may take to let us in: one that is just starting does within it, and whoever
/// runs a command does not wonder for long what it is doing.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether the server lets us in. The pool would try for half a minute, and then say of its own
/// trouble alone.
async fn knock(options: &PgConnectOptions) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    let unfit = |error: sqlx::Error| format!("does not let us in: {error}");
    let mut refused = None;
    loop {
        match timeout_at(deadline, PgConnection::connect_with(options)).await {
            Ok(Ok(connection)) => {
                // It has answered; how it takes the leave changes nothing.
                drop(connection.close().await);
                return Ok(());
            }
            Ok(Err(error)) if may_be_starting(&error) => {
                refused = Some(error);
                sleep(Duration::from_millis(100)).await;
            }
            Ok(Err(error)) => return Err(unfit(error)),
            Err(_) => {
                let seconds = PATIENCE.as_secs();
                let silent = || format!("has not answered within {seconds} seconds");
                return Err(refused.map_or_else(silent, unfit));
            }
        }
    }
}

fn may_be_starting(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        // It has as many connections as it takes, or is starting up.
        sqlx::Error::Database(error) => {
            let code = error.code();
            code.is_some_and(|code| ["53300", "57P03"].contains(&&*code))
        }
        _ => false,
    }
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
