//! Forward-only migrations, embedded in the binary and run at start under a lock.

use model::ContentHash;
use sqlx::{Pool, Row, query, raw_sql};

use super::dialect::Dialect;
use super::{ledger, noted_documents, noted_jobs, noted_kbs, noted_removals, noted_runs, witness};
use crate::Error;

/// The migrations after which what was there is noted.
const VERSION_WITNESSES: &str = "0025_version_witnesses";
const RUN_AND_JOB_WITNESSES: &str = "0026_run_and_job_witnesses";
const WITNESSES: &str = "0027_witnesses";
/// The migration after which the ends of ledgers are summed up.
const LEDGER_SUMS: &str = "0036_sums_of_ledger_ends";

/// Brings the schema up to what this binary knows. A schema from the future is refused.
pub async fn migrate<DB: Dialect>(pool: &Pool<DB>) -> Result<(), Error> {
    durable::effect("catalog.migrate", run(pool)).await
}

#[expect(clippy::disallowed_methods, reason = "`migrate` makes it an effect")]
async fn run<DB: Dialect>(pool: &Pool<DB>) -> Result<(), Error> {
    let mut tx = pool.begin_with(DB::BEGIN).await?;
    if let Some(lock) = DB::LOCK_MIGRATIONS {
        query(lock).execute(&mut *tx).await?;
    }
    query(
        "CREATE TABLE IF NOT EXISTS schema_migrations (name TEXT PRIMARY KEY, sum TEXT NOT NULL)",
    )
    .execute(&mut *tx)
    .await?;
    let applied = query("SELECT name, sum FROM schema_migrations ORDER BY name")
        .fetch_all(&mut *tx)
        .await?;
    for (at, row) in applied.iter().enumerate() {
        check::<DB>(
            at,
            &row.try_get::<String, _>(0)?,
            &row.try_get::<String, _>(1)?,
        )?;
    }
    let new = &DB::MIGRATIONS[applied.len()..];
    for (name, sql) in new {
        raw_sql(*sql).execute(&mut *tx).await?;
        query("INSERT INTO schema_migrations (name, sum) VALUES ($1, $2)")
            .bind(*name)
            .bind(ContentHash::of(sql.as_bytes()).to_string())
            .execute(&mut *tx)
            .await?;
    }
    // A sum is more than SQL can make of a row.
    let is_new = |migration| new.iter().any(|(name, _)| *name == migration);
    if is_new(VERSION_WITNESSES) {
        witness::write_all::<DB>(&mut *tx).await?;
    }
    if is_new(RUN_AND_JOB_WITNESSES) {
        noted_runs::write_all::<DB>(&mut *tx).await?;
        noted_jobs::write_all::<DB>(&mut *tx).await?;
    }
    if is_new(WITNESSES) {
        noted_documents::write_all::<DB>(&mut *tx).await?;
        noted_removals::write_all::<DB>(&mut *tx).await?;
        noted_kbs::write_all::<DB>(&mut *tx).await?;
    }
    if is_new(LEDGER_SUMS) {
        ledger::sum_all::<DB>(&mut *tx).await?;
    }
    if let Some(restore) = DB::RESTORE_FENCE {
        query(restore).execute(&mut *tx).await?;
    }
    Ok(tx.commit().await?)
}

fn check<DB: Dialect>(at: usize, name: &str, sum: &str) -> Result<(), Error> {
    let Some((known, sql)) = DB::MIGRATIONS.get(at) else {
        let why =
            format!("its schema has `{name}`, which this release does not know: use a newer one");
        return Err(Error::conflict("the catalog", why));
    };
    if *known != name || ContentHash::of(sql.as_bytes()).to_string() != sum {
        return Err(Error::corrupt(format_args!(
            "migration `{name}` is not the one this release has"
        )));
    }
    Ok(())
}
