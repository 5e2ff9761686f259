//! A catalog written to files, and read back.
//!
//! SQLite copies itself into a file that can be opened as it is. PostgreSQL gives one file
//! per table; they are loaded into an empty database of the same schema.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use futures::{TryStreamExt as _, future::BoxFuture};
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Pool, Postgres, Row, Sqlite, query};

use super::cells::micros;
use super::dialect::Dialect;
use super::open::{Settings, open_pool};
use super::{Sql, folder};
use crate::{Backup, Bound, DataFolder, Error, Frozen};

/// The file a copy of an SQLite catalog lies in.
const DATABASE: &str = "catalog.db";
/// Holds the last fence given out.
const FENCE: &str = "fence";

/// Every table that is copied, those others refer to first.
const TABLES: [&str; 36] = [
    "schema_migrations",
    "tenants",
    "users",
    "api_keys",
    "knowledge_bases",
    "generations",
    "ingestion_sources",
    "source_secrets",
    "webhooks",
    "webhook_deliveries",
    "documents",
    "source_objects",
    "uploads",
    "document_versions",
    "version_metadata",
    "metadata_given",
    "version_witnesses",
    "activations",
    "document_units",
    "pages",
    "jobs",
    "job_versions",
    "job_removals",
    "job_problems",
    "job_batches",
    "job_witnesses",
    "ingestion_runs",
    "run_witnesses",
    "witnesses",
    "work",
    "dead_letters",
    "replayed_letters",
    "freed_originals",
    "ledger",
    "idempotency_keys",
    "events",
];

/// Filled by the others' triggers, when they are loaded too.
const DERIVED: &str = "tallies";
/// Of a folder that is not copied: who opens a copy first has it.
const OWNER: &str = "data_folder";

pub trait Portable: Dialect {
    const KIND: &'static str;
    fn copy<'a>(pool: &'a Pool<Self>, folder: &'a Path) -> BoxFuture<'a, Result<(), Error>>;
}

#[async_trait]
impl<DB: Portable> Backup for Sql<DB> {
    fn kind(&self) -> &'static str {
        DB::KIND
    }

    async fn bind(&self, folder: DataFolder, now: DateTime<Utc>) -> Result<Bound, Error> {
        let owner = self.look_up("catalog.bind", |c| Box::pin(folder::owner::<DB>(c)));
        if owner.await?.as_ref() == Some(&folder) {
            return Ok(Bound::Here);
        }
        self.write("catalog.bind", move |c| {
            Box::pin(async move { folder::bind::<DB>(c, &folder, micros(now)).await })
        })
        .await
    }

    async fn freeze(&self) -> Frozen {
        Frozen {
            _gate: self.gate.clone().write_owned().await,
        }
    }

    async fn copy_into(&self, folder: &Path, _frozen: &Frozen) -> Result<(), Error> {
        durable::effect("catalog.copy", DB::copy(&self.readers, folder)).await
    }
}

impl Portable for Sqlite {
    const KIND: &'static str = "sqlite";

    fn copy<'a>(pool: &'a Pool<Self>, folder: &'a Path) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let path = folder.join(DATABASE);
            let mut connection = pool.acquire().await?;
            query("PRAGMA query_only = OFF")
                .execute(&mut *connection)
                .await?;
            let copied = copy_database(&mut connection, &path).await;
            query("PRAGMA query_only = ON")
                .execute(&mut *connection)
                .await?;
            copied?;
            let written = std::fs::File::open(&path).and_then(|file| file.sync_all());
            written.map_err(|source| unwritten(&path, source))
        })
    }
}

async fn copy_database(c: &mut SqliteConnection, path: &Path) -> Result<(), Error> {
    let name = path.to_string_lossy().into_owned();
    query("VACUUM INTO $1")
        .bind(name.clone())
        .execute(&mut *c)
        .await?;
    query("ATTACH $1 AS copied")
        .bind(name)
        .execute(&mut *c)
        .await?;
    let disowned = query(AssertSqlSafe(format!("DELETE FROM copied.{OWNER}")))
        .execute(&mut *c)
        .await;
    query("DETACH copied").execute(&mut *c).await?;
    disowned?;
    Ok(())
}

impl Portable for Postgres {
    const KIND: &'static str = "postgres";

    fn copy<'a>(pool: &'a Pool<Self>, folder: &'a Path) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let mut tx = pool.begin_with(Self::BEGIN_SNAPSHOT).await?;
            check_tables(&mut tx).await?;
            for table in TABLES {
                copy_out(&mut tx, table, &folder.join(table)).await?;
            }
            let row = query("SELECT last_value FROM fence")
                .fetch_one(&mut *tx)
                .await?;
            let last: i64 = row.try_get(0)?;
            let mut file = create(&folder.join(FENCE))?;
            let path = folder.join(FENCE);
            let written = write!(file, "{last}").and_then(|()| file.sync_all());
            written.map_err(|source| unwritten(&path, source))?;
            tx.rollback().await?;
            Ok(())
        })
    }
}

/// A table this list does not know would be lost in silence.
async fn check_tables(c: &mut PgConnection) -> Result<(), Error> {
    let rows = query(
        "SELECT table_name::text FROM information_schema.tables
         WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'",
    )
    .fetch_all(c)
    .await?;
    for row in &rows {
        let name: String = row.try_get(0)?;
        if ![DERIVED, OWNER].contains(&name.as_str()) && !TABLES.contains(&name.as_str()) {
            let why = format!("it has a table `{name}` that is not ours: give it a database");
            return Err(Error::conflict("the catalog", why));
        }
    }
    Ok(())
}

async fn copy_out(c: &mut PgConnection, table: &str, path: &Path) -> Result<(), Error> {
    let mut file = create(path)?;
    let mut rows = c.copy_out_raw(&format!("COPY {table} TO STDOUT")).await?;
    while let Some(piece) = rows.try_next().await? {
        file.write_all(&piece)
            .map_err(|source| unwritten(path, source))?;
    }
    file.sync_all().map_err(|source| unwritten(path, source))
}

#[expect(clippy::disallowed_methods, reason = "`copy_into` makes it an effect")]
fn create(path: &Path) -> Result<std::fs::File, Error> {
    let mut options = std::fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(path);
    opened.map_err(|source| unwritten(path, source))
}

fn unwritten(path: &Path, source: std::io::Error) -> Error {
    let source = format!("cannot write `{}`: {source}", path.display()).into();
    Error::Unavailable {
        operation: "copy",
        source,
    }
}

/// Loads a PostgreSQL catalog from its files, in one transaction. The database must have
/// no tenant yet.
pub async fn load(settings: &Settings, folder: &Path) -> Result<(), Error> {
    let pool = open_pool(settings).await?;
    durable::effect("catalog.load", load_all(&pool, folder)).await
}

/// Whether [`load`] would find room there, asked before anything is copied.
pub async fn check_unused(settings: &Settings) -> Result<(), Error> {
    let pool = open_pool(settings).await?;
    refuse_used(&mut *pool.acquire().await?).await
}

async fn refuse_used(c: &mut PgConnection) -> Result<(), Error> {
    let row = query("SELECT count(*) FROM tenants").fetch_one(c).await?;
    if row.try_get::<i64, _>(0)? > 0 {
        let why = "it is in use: restore into an empty database";
        return Err(Error::conflict("the database", why));
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "`load` makes it an effect")]
async fn load_all(pool: &Pool<Postgres>, folder: &Path) -> Result<(), Error> {
    let mut tx = pool.begin().await?;
    refuse_used(&mut tx).await?;
    check_schema(&mut tx, &read(&folder.join("schema_migrations"))?).await?;
    for table in &TABLES[1..] {
        let mut rows = tx.copy_in_raw(&format!("COPY {table} FROM STDIN")).await?;
        rows.send(read(&folder.join(table))?).await?;
        rows.finish().await?;
    }
    let fence = String::from_utf8_lossy(&read(&folder.join(FENCE))?).parse::<i64>();
    let fence = fence.map_err(|_| Error::corrupt("the fence of the backup"))?;
    query("SELECT setval('fence', $1)")
        .bind(fence)
        .execute(&mut *tx)
        .await?;
    query(AssertSqlSafe(
        "SELECT setval(pg_get_serial_sequence('work', 'id'), coalesce(max(id), 0) + 1) FROM work",
    ))
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path)
        .map_err(|source| Error::corrupt(format_args!("`{}`: {source}", path.display())))
}

/// The rows fit the tables only if the same migrations made both.
async fn check_schema(c: &mut PgConnection, copied: &[u8]) -> Result<(), Error> {
    let rows = query("SELECT name, sum FROM schema_migrations ORDER BY name")
        .fetch_all(c)
        .await?;
    let ours = rows.iter().map(|row| {
        let (name, sum): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        Ok(format!("{name}\t{sum}"))
    });
    let mut ours = ours.collect::<Result<Vec<String>, sqlx::Error>>()?;
    let mut theirs: Vec<String> = String::from_utf8_lossy(copied)
        .lines()
        .map(str::to_owned)
        .collect();
    ours.sort();
    theirs.sort();
    if ours == theirs {
        return Ok(());
    }
    let why = "it was made by another release: restore it with that one, then upgrade";
    Err(Error::conflict("the backup", why))
}
