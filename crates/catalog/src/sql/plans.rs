//! How SQLite goes about statements that must not read more than they come to.

use sqlx::{AssertSqlSafe, Connection as _, Row as _, Sqlite, SqliteConnection, query, raw_sql};

use super::dialect::Dialect as _;
use super::{generations, noted_runs, status, waits};

async fn migrated() -> SqliteConnection {
    let mut c = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    for (_, migration) in Sqlite::MIGRATIONS {
        raw_sql(*migration).execute(&mut c).await.unwrap();
    }
    c
}

async fn plan(sql: &str) -> Vec<String> {
    let mut c = migrated().await;
    let sql = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
    let steps = query(sql).fetch_all(&mut c).await.unwrap();
    steps.iter().map(|step| step.get("detail")).collect()
}

#[tokio::test]
async fn steps_of_paused_jobs_are_put_off_as_they_fell_due() {
    let plan = plan(&waits::put_off::<Sqlite>()).await;
    let due = |step: &String| step.contains("w USING INDEX work_due ");
    assert!(plan.iter().any(due), "{plan:?}");
    let sorted = |step: &String| step.contains("ORDER BY");
    assert!(!plan.iter().any(sorted), "{plan:?}");
}

#[tokio::test]
async fn for_whom_a_run_was_noted_is_looked_up() {
    let plan = plan(noted_runs::ELSEWHERE).await;
    let scanned = |step: &String| step.starts_with("SCAN");
    assert!(!plan.iter().any(scanned), "{plan:?}");
}

#[tokio::test]
async fn status_reads_no_runs_but_those_that_wait() {
    let plan = plan(status::AT_HAND).await;
    let of_runs = plan.iter().find(|step| step.contains("ingestion_runs"));
    let step = of_runs.expect("runs are asked for");
    assert!(step.contains("waiting_runs"), "{plan:?}");
}

/// As `0035_a_full_house` does: what is not told of is taken for small.
#[tokio::test]
async fn every_index_is_told_of() {
    let untold = query(
        "SELECT i.name FROM sqlite_schema t JOIN pragma_index_list(t.name) i
         WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND NOT EXISTS (
             SELECT 1 FROM sqlite_stat1 s WHERE s.tbl = t.name
               AND (s.idx = i.name OR i.origin = 'pk' AND s.idx = t.name))",
    );
    let untold = untold.fetch_all(&mut migrated().await).await.unwrap();
    let untold: Vec<String> = untold.iter().map(|row| row.get(0)).collect();
    assert!(untold.is_empty(), "{untold:?}");
}

#[tokio::test]
async fn what_names_documents_or_numbers_reads_no_more_than_those() {
    for (sql, through) in [
        (
            "SELECT * FROM document_versions WHERE kb_id = $1 AND tenant_id = $2 AND number IN ($3, $4)",
            "number=?",
        ),
        (
            "SELECT * FROM document_versions WHERE tenant_id = $1 AND document_id IN ($2, $3)",
            "document_id=?",
        ),
        (
            "SELECT * FROM ledger WHERE tenant_id = $1 AND document_id IN ($2, $3)",
            "document_id=?",
        ),
        (
            "SELECT * FROM ingestion_runs WHERE tenant_id = $1 AND document_id IN ($2, $3)",
            "document_id=?",
        ),
    ] {
        let plan = plan(sql).await;
        assert!(plan[0].contains(through), "{plan:?}");
    }
}

#[tokio::test]
async fn a_round_of_a_build_reads_what_was_rolled_back_and_not_all_that_is_built() {
    let plan = plan(generations::OTHER_CAUSES).await;
    assert!(plan[0].contains("INDEX rolled_back"), "{plan:?}");
}
