//! How SQLite goes about statements that must not read more than they come to.

use sqlx::{AssertSqlSafe, Connection as _, Row as _, Sqlite, SqliteConnection, query, raw_sql};

use super::dialect::Dialect as _;
use super::{noted_runs, waits};

async fn plan(sql: &str) -> Vec<String> {
    let mut c = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    for (_, migration) in Sqlite::MIGRATIONS {
        raw_sql(*migration).execute(&mut c).await.unwrap();
    }
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
