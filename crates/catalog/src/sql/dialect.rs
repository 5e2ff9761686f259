//! What the catalog asks of a database, and the few words in which the two differ.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::database::HasStatementCache;
use sqlx::types::Json;
use sqlx::{
    ColumnIndex, Database, Decode, Encode, Executor, IntoArguments, Postgres, Sqlite, Type,
};
use uuid::Uuid;

/// `Has<T, Is: Bound>` makes `T: Bound` follow from `DB: Dialect`, with no `where` elsewhere.
pub trait Dialect:
    Database<Arguments: IntoArguments<Self>>
    + HasStatementCache
    + Has<Uuid, Is: Column<Self>>
    + Has<Option<Uuid>, Is: Column<Self>>
    + Has<String, Is: Column<Self>>
    + Has<Option<String>, Is: Column<Self>>
    + Has<i64, Is: Column<Self>>
    + Has<Option<i64>, Is: Column<Self>>
    + Has<f64, Is: Column<Self>>
    + Has<bool, Is: Column<Self>>
    + Has<Vec<u8>, Is: Column<Self>>
    + Has<Option<Vec<u8>>, Is: Column<Self>>
    + Has<DateTime<Utc>, Is: Column<Self>>
    + Has<Option<DateTime<Utc>>, Is: Column<Self>>
    + Has<Json<Value>, Is: Column<Self>>
    + Has<Option<Json<Value>>, Is: Column<Self>>
    + for<'s> Has<&'s str, Is: Encode<'s, Self> + Type<Self> + ColumnIndex<<Self as Database>::Row>>
    + for<'s> Has<Option<&'s str>, Is: Encode<'s, Self> + Type<Self>>
    + Has<usize, Is: ColumnIndex<<Self as Database>::Row>>
    + for<'c> Has<&'c mut <Self as Database>::Connection, Is: Executor<'c, Database = Self>>
{
    /// Whether nothing but an id can stand in the place of one.
    const KEEPS_IDS: bool;
    /// Opens a transaction that will write.
    const BEGIN: &'static str;
    /// Opens a transaction that reads one state from first to last.
    const BEGIN_SNAPSHOT: &'static str;
    /// Ends a `SELECT`: the rows are ours until the end of the transaction.
    const FOR_UPDATE: &'static str;
    /// Whether that changes anything: where one transaction writes at a time, all rows are ours.
    const LOCKS_ROWS: bool = !Self::FOR_UPDATE.is_empty();
    /// As [`Dialect::FOR_UPDATE`], and rows another worker holds are left out.
    const SKIP_LOCKED: &'static str;
    /// Run before a claim where the next token is not a sequence's own business.
    const ADVANCE_FENCE: Option<&'static str>;
    /// Run at start where it is not either: a count that was lost or set back goes on well beyond
    /// every token there is a trace of, or nothing would be claimed any more.
    const RESTORE_FENCE: Option<&'static str>;
    /// A token no earlier claim has. Evaluated once the row is locked, so that on one
    /// row tokens grow in the order of the claims.
    const NEXT_TOKEN: &'static str;
    /// The migrations, oldest first, each with its name.
    const MIGRATIONS: &'static [(&'static str, &'static str)];
    /// Keeps other processes from migrating at the same time, to the transaction's end.
    const LOCK_MIGRATIONS: Option<&'static str>;
    /// Keeps others from putting tallies right at the same time: each would add what is missing.
    const LOCK_TALLIES: Option<&'static str>;
    /// Marks the files as holding what is about to be deleted of a document, if it is purged.
    const MARK_PURGED: Option<&'static str>;
    /// Marks them as holding what a job has forgotten.
    const MARK_UNSCRUBBED: Option<&'static str>;
    /// Where writers count in shards of their own: brings together those of writers that are
    /// gone, so that there are never more shards than there were writers at a time.
    const FOLD_TALLIES: Option<&'static str>;
}

impl Dialect for Sqlite {
    const KEEPS_IDS: bool = false;
    // A read that upgrades to a write later is refused at once, whatever the busy timeout.
    const BEGIN: &'static str = "BEGIN IMMEDIATE";
    const BEGIN_SNAPSHOT: &'static str = "BEGIN";
    const FOR_UPDATE: &'static str = "";
    const SKIP_LOCKED: &'static str = "";
    const ADVANCE_FENCE: Option<&'static str> =
        Some("UPDATE counters SET last = last + 1 WHERE name = 'fence'");
    const RESTORE_FENCE: Option<&'static str> = Some(
        "INSERT INTO counters (name, last)
         SELECT 'fence', 1000000 + coalesce(max(final_token), 0) FROM document_versions WHERE TRUE
         ON CONFLICT (name) DO UPDATE SET last = excluded.last WHERE last < excluded.last - 1000000",
    );
    const NEXT_TOKEN: &'static str = "(SELECT last FROM counters WHERE name = 'fence')";
    const MIGRATIONS: &'static [(&'static str, &'static str)] = &[
        (
            "0001_catalog",
            include_str!("../../migrations/sqlite/0001_catalog.sql"),
        ),
        (
            "0002_artifacts",
            include_str!("../../migrations/sqlite/0002_artifacts.sql"),
        ),
        (
            "0003_hooks",
            include_str!("../../migrations/sqlite/0003_hooks.sql"),
        ),
        (
            "0004_live_runs_of_a_job",
            include_str!("../../migrations/sqlite/0004_live_runs_of_a_job.sql"),
        ),
        (
            "0006_work_due_by_kind",
            include_str!("../../migrations/sqlite/0006_work_due_by_kind.sql"),
        ),
        (
            "0007_bytes_the_ledger_tells_of",
            include_str!("../../migrations/sqlite/0007_bytes_the_ledger_tells_of.sql"),
        ),
        (
            "0008_replayed_letters",
            include_str!("../../migrations/sqlite/0008_replayed_letters.sql"),
        ),
        (
            "0009_activations_of_a_document",
            include_str!("../../migrations/sqlite/0009_activations_of_a_document.sql"),
        ),
        (
            "0011_counts_of_status",
            include_str!("../../migrations/sqlite/0011_counts_of_status.sql"),
        ),
        (
            "0012_disabled_tenants",
            include_str!("../../migrations/sqlite/0012_disabled_tenants.sql"),
        ),
        (
            "0013_tallies",
            include_str!("../../migrations/sqlite/0013_tallies.sql"),
        ),
        (
            "0014_freed_originals",
            include_str!("../../migrations/sqlite/0014_freed_originals.sql"),
        ),
        (
            "0015_runs_awaited",
            include_str!("../../migrations/sqlite/0015_runs_awaited.sql"),
        ),
        (
            "0016_job_removals",
            include_str!("../../migrations/sqlite/0016_job_removals.sql"),
        ),
        (
            "0017_data_folder",
            include_str!("../../migrations/sqlite/0017_data_folder.sql"),
        ),
        (
            "0018_unscrubbed",
            include_str!("../../migrations/sqlite/0018_unscrubbed.sql"),
        ),
        (
            "0019_ledger_heads",
            include_str!("../../migrations/sqlite/0019_ledger_heads.sql"),
        ),
        (
            "0020_purged_jobs",
            include_str!("../../migrations/sqlite/0020_purged_jobs.sql"),
        ),
        (
            "0021_witnesses",
            include_str!("../../migrations/sqlite/0021_witnesses.sql"),
        ),
        (
            "0022_metadata_given",
            include_str!("../../migrations/sqlite/0022_metadata_given.sql"),
        ),
        (
            "0023_job_batches",
            include_str!("../../migrations/sqlite/0023_job_batches.sql"),
        ),
        (
            "0024_serving_since",
            include_str!("../../migrations/sqlite/0024_serving_since.sql"),
        ),
        (
            "0025_version_witnesses",
            include_str!("../../migrations/sqlite/0025_version_witnesses.sql"),
        ),
        (
            "0026_run_and_job_witnesses",
            include_str!("../../migrations/sqlite/0026_run_and_job_witnesses.sql"),
        ),
        (
            "0027_witnesses",
            include_str!("../../migrations/sqlite/0027_witnesses.sql"),
        ),
        (
            "0028_work_of_a_paused_job",
            include_str!("../../migrations/sqlite/0028_work_of_a_paused_job.sql"),
        ),
        (
            "0029_paused_time",
            include_str!("../../migrations/sqlite/0029_paused_time.sql"),
        ),
        (
            "0030_runs_by_content",
            include_str!("../../migrations/sqlite/0030_runs_by_content.sql"),
        ),
        (
            "0031_failed_runs_of_a_job",
            include_str!("../../migrations/sqlite/0031_failed_runs_of_a_job.sql"),
        ),
        (
            "0032_interrupted_listings",
            include_str!("../../migrations/sqlite/0032_interrupted_listings.sql"),
        ),
        (
            "0033_notes_of_a_run",
            include_str!("../../migrations/sqlite/0033_notes_of_a_run.sql"),
        ),
        (
            "0034_runs_by_hash",
            include_str!("../../migrations/sqlite/0034_runs_by_hash.sql"),
        ),
        (
            "0035_a_full_house",
            include_str!("../../migrations/sqlite/0035_a_full_house.sql"),
        ),
        (
            "0036_sums_of_ledger_ends",
            include_str!("../../migrations/sqlite/0036_sums_of_ledger_ends.sql"),
        ),
        (
            "0037_what_was_rolled_back",
            include_str!("../../migrations/sqlite/0037_what_was_rolled_back.sql"),
        ),
    ];
    // BEGIN IMMEDIATE is the lock.
    const LOCK_MIGRATIONS: Option<&'static str> = None;
    const LOCK_TALLIES: Option<&'static str> = None;
    const MARK_PURGED: Option<&'static str> = Some(
        "UPDATE counters SET last = 1 WHERE name = 'unscrubbed' AND EXISTS
             (SELECT 1 FROM ledger WHERE document_id = $1 AND kind = 'purged')",
    );
    const MARK_UNSCRUBBED: Option<&'static str> =
        Some("UPDATE counters SET last = 1 WHERE name = 'unscrubbed'");
    const FOLD_TALLIES: Option<&'static str> = None;
}

impl Dialect for Postgres {
    const KEEPS_IDS: bool = true;
    const BEGIN: &'static str = "BEGIN";
    const BEGIN_SNAPSHOT: &'static str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    // Not `FOR UPDATE`: rows that refer to this one need not wait for it.
    const FOR_UPDATE: &'static str = "FOR NO KEY UPDATE";
    const SKIP_LOCKED: &'static str = "FOR NO KEY UPDATE SKIP LOCKED";
    const ADVANCE_FENCE: Option<&'static str> = None;
    const RESTORE_FENCE: Option<&'static str> = None;
    const NEXT_TOKEN: &'static str = "nextval('fence')";
    const MIGRATIONS: &'static [(&'static str, &'static str)] = &[
        (
            "0001_catalog",
            include_str!("../../migrations/postgres/0001_catalog.sql"),
        ),
        (
            "0002_artifacts",
            include_str!("../../migrations/postgres/0002_artifacts.sql"),
        ),
        (
            "0003_hooks",
            include_str!("../../migrations/postgres/0003_hooks.sql"),
        ),
        (
            "0004_live_runs_of_a_job",
            include_str!("../../migrations/postgres/0004_live_runs_of_a_job.sql"),
        ),
        (
            "0006_work_due_by_kind",
            include_str!("../../migrations/postgres/0006_work_due_by_kind.sql"),
        ),
        (
            "0007_bytes_the_ledger_tells_of",
            include_str!("../../migrations/postgres/0007_bytes_the_ledger_tells_of.sql"),
        ),
        (
            "0008_replayed_letters",
            include_str!("../../migrations/postgres/0008_replayed_letters.sql"),
        ),
        (
            "0009_activations_of_a_document",
            include_str!("../../migrations/postgres/0009_activations_of_a_document.sql"),
        ),
        (
            "0011_counts_of_status",
            include_str!("../../migrations/postgres/0011_counts_of_status.sql"),
        ),
        (
            "0012_disabled_tenants",
            include_str!("../../migrations/postgres/0012_disabled_tenants.sql"),
        ),
        (
            "0013_tallies",
            include_str!("../../migrations/postgres/0013_tallies.sql"),
        ),
        (
            "0014_freed_originals",
            include_str!("../../migrations/postgres/0014_freed_originals.sql"),
        ),
        (
            "0015_runs_awaited",
            include_str!("../../migrations/postgres/0015_runs_awaited.sql"),
        ),
        (
            "0016_job_removals",
            include_str!("../../migrations/postgres/0016_job_removals.sql"),
        ),
        (
            "0017_data_folder",
            include_str!("../../migrations/postgres/0017_data_folder.sql"),
        ),
        (
            "0019_ledger_heads",
            include_str!("../../migrations/postgres/0019_ledger_heads.sql"),
        ),
        (
            "0020_purged_jobs",
            include_str!("../../migrations/postgres/0020_purged_jobs.sql"),
        ),
        (
            "0021_witnesses",
            include_str!("../../migrations/postgres/0021_witnesses.sql"),
        ),
        (
            "0022_metadata_given",
            include_str!("../../migrations/postgres/0022_metadata_given.sql"),
        ),
        (
            "0023_job_batches",
            include_str!("../../migrations/postgres/0023_job_batches.sql"),
        ),
        (
            "0024_serving_since",
            include_str!("../../migrations/postgres/0024_serving_since.sql"),
        ),
        (
            "0025_version_witnesses",
            include_str!("../../migrations/postgres/0025_version_witnesses.sql"),
        ),
        (
            "0026_run_and_job_witnesses",
            include_str!("../../migrations/postgres/0026_run_and_job_witnesses.sql"),
        ),
        (
            "0027_witnesses",
            include_str!("../../migrations/postgres/0027_witnesses.sql"),
        ),
        (
            "0028_work_of_a_paused_job",
            include_str!("../../migrations/postgres/0028_work_of_a_paused_job.sql"),
        ),
        (
            "0029_paused_time",
            include_str!("../../migrations/postgres/0029_paused_time.sql"),
        ),
        (
            "0030_runs_by_content",
            include_str!("../../migrations/postgres/0030_runs_by_content.sql"),
        ),
        (
            "0031_failed_runs_of_a_job",
            include_str!("../../migrations/postgres/0031_failed_runs_of_a_job.sql"),
        ),
        (
            "0032_interrupted_listings",
            include_str!("../../migrations/postgres/0032_interrupted_listings.sql"),
        ),
        (
            "0033_notes_of_a_run",
            include_str!("../../migrations/postgres/0033_notes_of_a_run.sql"),
        ),
        (
            "0034_runs_by_hash",
            include_str!("../../migrations/postgres/0034_runs_by_hash.sql"),
        ),
        (
            "0036_sums_of_ledger_ends",
            include_str!("../../migrations/postgres/0036_sums_of_ledger_ends.sql"),
        ),
        (
            "0037_what_was_rolled_back",
            include_str!("../../migrations/postgres/0037_what_was_rolled_back.sql"),
        ),
    ];
    const LOCK_MIGRATIONS: Option<&'static str> =
        Some("SELECT pg_advisory_xact_lock(hashtext('gristmill catalog migrations'))");
    const LOCK_TALLIES: Option<&'static str> =
        Some("SELECT pg_advisory_xact_lock(hashtext('gristmill catalog tallies'))");
    const MARK_PURGED: Option<&'static str> = None;
    const MARK_UNSCRUBBED: Option<&'static str> = None;
    // A new connection of the same number may count meanwhile: whoever comes second to the row
    // waits, and finds it as the first left it.
    const FOLD_TALLIES: Option<&'static str> = Some(
        "WITH gone AS (
             DELETE FROM tallies
             WHERE shard <> 0 AND shard NOT IN (SELECT pid FROM pg_stat_activity)
             RETURNING scope, kind, n)
         INSERT INTO tallies AS t (scope, kind, shard, n)
         SELECT scope, kind, 0, sum(n)::bigint FROM gone
         GROUP BY scope, kind ORDER BY scope, kind
         ON CONFLICT (scope, kind, shard) DO UPDATE SET n = t.n + excluded.n",
    );
}

/// A type both written and read.
pub trait Column<DB: Database>:
    for<'a> Encode<'a, DB> + for<'a> Decode<'a, DB> + Type<DB> + Send
{
}

impl<T, DB: Database> Column<DB> for T where
    T: for<'a> Encode<'a, DB> + for<'a> Decode<'a, DB> + Type<DB> + Send
{
}

pub trait Has<T>: Same<T, Is = T> {}
impl<T, S> Has<T> for S {}

pub trait Same<T> {
    type Is;
}
impl<T, S> Same<T> for S {
    type Is = T;
}
