//! Documents still on their way in: of them no ledger and no note tells yet, only their own row, their
//! run and their work, of which two outweigh one.

use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use super::copy;
use crate::mill::{Mill, text};
use crate::server::Server;

pub const OPEN: [(&str, &str); 1] = [("GRISTMILL_AUTH_ENABLED", "false")];

/// Three files that were uploaded while nobody worked.
async fn library() -> Mill {
    let mill = Mill::sqlite();
    let server = Server::spawn(&mill, &["--no-workers"], &OPEN);
    for name in ["a.md", "b.md", "c.md"] {
        let body = format!("# {name}\n\nThe quern of {name} is new.\n");
        let file = reqwest::multipart::Part::text(body).file_name(name);
        let form = reqwest::multipart::Form::new().part("file", file);
        server.upload(form).await;
    }
    mill
}

pub async fn harm(mill: &Mill, sql: &str) {
    let file = mill.data().join("catalog.db");
    let options = SqliteConnectOptions::new().filename(file);
    let mut sqlite = options.foreign_keys(false).connect().await.unwrap();
    let done = sqlx::query(AssertSqlSafe(sql.to_owned()));
    let done = done.execute(&mut sqlite).await.unwrap();
    assert!(done.rows_affected() > 0, "the damage is done: {sql}");
    sqlite.close().await.unwrap();
}

/// What has become of everything once it was worked off.
async fn worked_off(mill: &Mill) -> (String, Vec<Value>, Vec<Value>) {
    let server = Server::start(mill, &[]);
    let idle = |status: &Value| status["work"] == 0;
    let status = server.until("/v1/status", idle).await;
    assert_eq!(status["documents_active"], 3, "{status}");
    drop(server);
    let of = |rows: Vec<Value>, names: &[&str]| {
        let pick = |row: &Value| names.iter().map(|name| row[*name].clone()).collect();
        let mut rows: Vec<Value> = rows.iter().map(pick).collect();
        rows.sort_by_key(Value::to_string);
        rows
    };
    let runs = mill.lines(&["runs", "--json"]);
    let documents = mill.lines(&["documents", "--all", "--json"]);
    (
        mill.digest(),
        of(
            runs,
            &["source_uri", "status", "run_type", "stats", "config"],
        ),
        of(documents, &["source_uri", "state", "title", "filename"]),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_under_way_goes_on_though_one_of_its_rows_says_otherwise() {
    let pristine = library().await;
    let again = || {
        let mill = Mill::sqlite();
        copy(&pristine.data(), &mill.data());
        mill
    };
    let expected = worked_off(&again()).await;
    let first = "(SELECT id FROM document_versions WHERE filename = 'a.md')";
    let state =
        |to: &str| format!("UPDATE document_versions SET state = '{to}' WHERE id = {first}");
    let run = |to: &str| format!("UPDATE ingestion_runs SET {to} WHERE version_id = {first}");
    for sql in [
        state("ready"),
        state("superseded"),
        state("failed"),
        state("canceled"),
        run("status = 'succeeded'"),
        run("status = 'failed'"),
        run("status = 'canceled'"),
        run("status = 'succeeded', superseded = TRUE"),
        run("id = randomblob(16)"),
        format!("DELETE FROM ingestion_runs WHERE version_id = {first}"),
        run("run_type = 'zz'"),
        run("config = 'zz'"),
        run("started_at = 'no time', updated_at = 'no time', waiting_until = 'no time'"),
        format!("UPDATE document_versions SET warnings = 'zz' WHERE id = {first}"),
    ] {
        let mill = again();
        harm(&mill, &sql).await;
        assert!(!mill.run(&["verify"]).status.success(), "{sql}");
        let told = mill.lines(&["repair", "--json"]).remove(0);
        assert_eq!(told["disagreements"], json!([]), "{sql}: {told}");
        for one in told["findings"].as_array().unwrap() {
            assert_eq!(one["mended"], true, "{sql}: {one}");
            assert!(text(&one["what"]).contains("under way"), "{sql}: {one}");
        }
        assert_eq!(worked_off(&mill).await, expected, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_under_way_goes_on_though_a_row_says_it_is_anothers() {
    let pristine = library().await;
    let again = || {
        let mill = Mill::sqlite();
        copy(&pristine.data(), &mill.data());
        mill
    };
    let expected = worked_off(&again()).await;
    let of = |name: &str, what: &str| {
        format!("(SELECT {what} FROM document_versions WHERE filename = '{name}')")
    };
    // The other is looked at before it, or after it.
    for (its_own, other) in [("a.md", "b.md"), ("b.md", "a.md")] {
        let other = format!("document_id = {}", of(other, "document_id"));
        let nobodys = "tenant_id = randomblob(16)".to_owned();
        for (table, column, says) in [
            ("document_versions", "id", &other),
            ("ingestion_runs", "version_id", &other),
            ("ingestion_runs", "version_id", &nobodys),
            ("work", "version_id", &nobodys),
        ] {
            let version = of(its_own, "id");
            let sql = format!("UPDATE {table} SET {says} WHERE {column} = {version}");
            let mill = again();
            harm(&mill, &sql).await;
            assert!(!mill.run(&["verify"]).status.success(), "{sql}");
            let told = mill.lines(&["repair", "--json"]).remove(0);
            assert_eq!(told["disagreements"], json!([]), "{sql}: {told}");
            assert_eq!(worked_off(&mill).await, expected, "{sql}");
        }
    }
}
