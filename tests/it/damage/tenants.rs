//! Whoever has the data folder is told of every tenant in it; whoever asks the server, of their
//! own.

use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use super::under_way::{OPEN, harm};
use crate::api::served::Served;
use crate::mill::{Catalog, Folder, Mill, path, text};
use crate::server::Server;

/// Two tenants with a document each; a token of the second's admin, and its version.
async fn two_tenants() -> (Served, String, String) {
    let served = Served::sqlite();
    served.ingest("a.md", "# A\n\nThe wheel turns.\n").await;
    let acme = served.tenant("acme").await;
    let queued = served.upload_as(&acme, "b.md", "# B\n\nThe stone turns.\n");
    let queued = queued.await.expect(202);
    served.follow(&acme, text(&queued["run_id"])).await;
    let version = text(&queued["version_id"]).to_owned();
    (served, acme, version)
}

fn lose_text(mill: &Mill, version: &str) {
    let tenants = std::fs::read_dir(mill.data().join("objects/versions")).unwrap();
    let texts = tenants.map(|tenant| tenant.unwrap().path().join(version).join("1.text"));
    let lost: Vec<_> = texts.filter(|path| path.exists()).collect();
    assert_eq!(lost.len(), 1);
    std::fs::remove_file(&lost[0]).unwrap();
}

fn tenants_of(told: &Value) -> Vec<String> {
    let name = |one: &Value| format!("{}:{}", text(&one["name"]), one["documents"]);
    told["tenants"]
        .as_array()
        .unwrap()
        .iter()
        .map(name)
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_verifies_and_repairs_every_tenant_and_the_api_only_the_asking_one() {
    let (served, acme, version) = two_tenants().await;
    let own = served.post("/v1/verify", &json!({})).await.expect(200);
    let before = served.mill.lines(&["verify", "--json"]).remove(0);
    assert_eq!(tenants_of(&before), ["acme:1", "default:1"]);
    assert_eq!(before["documents"], 2);
    assert_ne!(before["digest"], own["digest"], "it covers more");
    assert_eq!(before["tenants"][1]["digest"], own["digest"]);

    lose_text(&served.mill, &version);
    for (token, found) in [(&served.token, 0), (&acme, 1)] {
        let told = served.post_as(token, "/v1/verify", &json!({})).await;
        let told = told.expect(200);
        assert_eq!(told["documents"], 1, "{told}");
        assert_eq!(told["tenants"], json!([]), "{told}");
        assert_eq!(told["disagreements"].as_array().unwrap().len(), found);
    }
    let repaired = served.post("/v1/repair", &json!({})).await.expect(200);
    assert_eq!(repaired["findings"], json!([]), "it is another's");

    // Asked of the server that holds the folder, and of the folder itself.
    let asked = served.mill.run(&["verify"]);
    let mill = served.stop();
    for output in [asked, mill.run(&["verify"])] {
        assert!(!output.status.success());
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("tenant default: 1 documents"), "{said}");
        let named =
            |line: &str| line.starts_with("tenant acme: upload://") && line.contains("text");
        assert!(said.lines().any(named), "{said}");
    }
    let told = mill.lines(&["repair", "--json"]).remove(0);
    assert_eq!(told["findings"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told["findings"][0]["tenant"], "acme");
    assert_eq!(told["findings"][0]["mended"], true);
    assert_eq!(told["digest"], before["digest"]);
}

const OTHER: &str = "(SELECT id FROM tenants WHERE name <> 'default')";

/// The tables that say whose a row is, and which of their rows are made the other's.
const ROWS: [&str; 8] = [
    "knowledge_bases WHERE name = 'second'",
    "jobs WHERE TRUE",
    // Of a document that answers, of one that failed and of one under way.
    "documents WHERE kb_id = (SELECT id FROM knowledge_bases WHERE name = 'second')",
    "document_versions WHERE kb_id = (SELECT id FROM knowledge_bases WHERE name = 'second')",
    "ingestion_runs WHERE kb_id = (SELECT id FROM knowledge_bases WHERE name = 'second')",
    "activations WHERE kb_id = (SELECT id FROM knowledge_bases WHERE name = 'second')",
    "ledger WHERE version_id IN (SELECT v.id FROM document_versions v
         JOIN knowledge_bases k ON k.id = v.kb_id WHERE k.name = 'second')",
    "work WHERE TRUE",
];

/// By a name the other tenant has not.
async fn second_knowledge_base(mill: &Mill) {
    let folder = Folder::of(&[
        ("c.md", "# C\n\nThe race is dry.\n"),
        ("d.pdf", "%PDF-1.7 and nothing more"),
    ]);
    let told = mill.run(&["ingest", path(folder.path()), "--kb", "second"]);
    assert!(!told.status.success(), "one cannot be read");
    let server = Server::spawn(mill, &["--no-workers"], &OPEN);
    let file = Part::text("# E\n\nThe sluice is shut.\n").file_name("e.md");
    let form = Form::new().text("kb", "second").part("file", file);
    server.upload(form).await;
}

/// How many rows of each table are the other's.
async fn others(mill: &Mill) -> Vec<i64> {
    let options = SqliteConnectOptions::new().filename(mill.data().join("catalog.db"));
    let mut sqlite = options.connect().await.unwrap();
    let mut counts = Vec::new();
    for row in ROWS {
        let (table, _) = row.split_once(' ').unwrap();
        let sql = format!("SELECT count(*) FROM {table} WHERE tenant_id = {OTHER}");
        let count = sqlx::query_scalar(AssertSqlSafe(sql));
        counts.push(count.fetch_one(&mut sqlite).await.unwrap());
    }
    sqlite.close().await.unwrap();
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_says_it_is_another_tenants_goes_back_to_its_own() {
    let (served, ..) = two_tenants().await;
    let mill = served.stop();
    second_knowledge_base(&mill).await;
    let (digest, before) = (mill.digest(), others(&mill).await);
    for row in ROWS {
        let (table, which) = row.split_once(' ').unwrap();
        // Looked at before the tenant it was taken from, and after it.
        for name in ["acme", "zinc"] {
            let sqls = [
                format!("UPDATE tenants SET name = '{name}' WHERE id = {OTHER}"),
                format!("UPDATE {table} SET tenant_id = {OTHER} {which}"),
            ];
            for sql in &sqls {
                harm(&mill, sql).await;
            }
            let told = mill.run(&["verify", "--json"]);
            let told: Value = serde_json::from_slice(&told.stdout).unwrap();
            let found = told["disagreements"].as_array().unwrap();
            assert!(!found.is_empty(), "{row}");
            for one in found {
                assert_eq!(one["tenant"], "default", "{row}: {one}");
            }
            let told = mill.lines(&["repair", "--json"]).remove(0);
            assert_eq!(told["disagreements"], json!([]), "{row}: {told}");
            assert_eq!(others(&mill).await, before, "{row}");
            // Nothing was noted that would be believed another time.
            mill.ok(&["repair"]);
            mill.ok(&["verify"]);
        }
        harm(
            &mill,
            "UPDATE tenants SET name = 'acme' WHERE name = 'zinc'",
        )
        .await;
        assert_eq!(mill.digest(), digest, "{row}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_folder_has_the_digest_of_all_tenants() {
    let (served, _, version) = two_tenants().await;
    let mill = served.stop();
    let places = tempfile::tempdir().unwrap();
    let to = places.path().join("backup");
    mill.ok(&["backup", path(&to)]);
    let again = Mill::new(Catalog::Sqlite);
    let told = again.lines(&["restore", path(&to), "--json"]).remove(0);
    assert_eq!(text(&told["digest"]), mill.digest());
    assert_eq!(tenants_of(&told), ["acme:1", "default:1"]);

    // What was damaged before the backup is told when it is restored, whosever it is.
    lose_text(&mill, &version);
    let to = places.path().join("damaged");
    mill.ok(&["backup", path(&to)]);
    let again = Mill::new(Catalog::Sqlite);
    assert!(!again.run(&["restore", path(&to)]).status.success());
}
