//! What is damaged on purpose is named by `verify`, all of it and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use rand::seq::SliceRandom as _;
use rand::{SeedableRng as _, rngs::StdRng};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection as _};

use crate::mill::{Folder, Mill, text};

/// One way to do harm to a document's stored things.
#[derive(Debug, Clone, Copy)]
enum Harm {
    LoseOriginal,
    ChangeOriginal,
    LoseText,
    ChangeText,
    ChangeLedger,
    CutLedger,
    RewriteRootHash,
}

const HARMS: [Harm; 7] = [
    Harm::LoseOriginal,
    Harm::ChangeOriginal,
    Harm::LoseText,
    Harm::ChangeText,
    Harm::ChangeLedger,
    Harm::CutLedger,
    Harm::RewriteRootHash,
];

fn library() -> Folder {
    let folder = Folder::of(&[]);
    for n in 0..2 * HARMS.len() {
        let text = format!("# Mill {n}\n\nThe mill numbered {n} stands by stream {n}.\n");
        folder.write(&format!("{n}.md"), &text);
    }
    folder
}

impl Harm {
    async fn to(self, mill: &Mill, document: &Value) {
        let field = |name: &str| text(&document[name]).to_owned();
        let original = || found(mill, "originals", &field("content_hash"));
        let parsed = || found(mill, "versions", &field("version_id")).join("1.text");
        let id = field("document_id").replace('-', "");
        match self {
            Self::LoseOriginal => fs::remove_file(original()).unwrap(),
            Self::ChangeOriginal => fs::write(original(), "something else").unwrap(),
            Self::LoseText => fs::remove_file(parsed()).unwrap(),
            Self::ChangeText => fs::write(parsed(), "something else").unwrap(),
            Self::ChangeLedger => {
                let set = "UPDATE ledger SET kind = 'rolled_back'";
                change(
                    mill,
                    &format!("{set} WHERE hex(document_id) = upper('{id}')"),
                )
                .await;
            }
            Self::CutLedger => {
                let delete = "DELETE FROM ledger";
                change(
                    mill,
                    &format!("{delete} WHERE hex(document_id) = upper('{id}')"),
                )
                .await;
            }
            Self::RewriteRootHash => {
                let set = "UPDATE ledger SET root_hash = zeroblob(32)";
                change(
                    mill,
                    &format!("{set} WHERE hex(document_id) = upper('{id}')"),
                )
                .await;
            }
        }
    }
}

/// `objects/KIND/<tenant>/NAME`
fn found(mill: &Mill, kind: &str, name: &str) -> PathBuf {
    let tenants = fs::read_dir(mill.data().join("objects").join(kind)).unwrap();
    let paths = tenants.map(|tenant| tenant.unwrap().path().join(name));
    paths.into_iter().find(|path| path.exists()).unwrap()
}

async fn change(mill: &Mill, sql: &str) {
    let url = format!("sqlite://{}", mill.data().join("catalog.db").display());
    let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let sql = AssertSqlSafe(sql.to_owned());
    let done = sqlx::query(sql).execute(&mut connection).await.unwrap();
    assert!(done.rows_affected() > 0, "the damage is done");
}

#[tokio::test]
async fn every_damage_is_named_and_nothing_else() {
    let seed = rand::random::<u64>();
    println!("seed {seed}");
    let folder = library();
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    let clean = &mill.lines(&["verify", "--json"])[0];
    assert_eq!(clean["disagreements"], serde_json::json!([]));

    let mut documents = mill.lines(&["documents", "--json"]);
    documents.shuffle(&mut StdRng::seed_from_u64(seed));
    let (harmed, _whole) = documents.split_at(HARMS.len());
    for (harm, document) in HARMS.iter().zip(harmed) {
        harm.to(&mill, document).await;
    }

    let output = mill.run(&["verify", "--json"]);
    assert!(!output.status.success(), "seed {seed}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let named = told["disagreements"].as_array().unwrap();
    let named: BTreeSet<_> = named.iter().map(|one| text(&one["source_uri"])).collect();
    let expected: BTreeSet<_> = harmed.iter().map(|d| text(&d["source_uri"])).collect();
    assert_eq!(named, expected, "seed {seed}: {told:#}");
}
