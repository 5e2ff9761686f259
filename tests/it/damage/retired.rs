//! What was made of documents before a switch of generations is mended too, though the index has
//! forgotten it: citations given then are proved by it.

use std::path::PathBuf;

use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use uuid::Uuid;

use crate::mill::{Folder, Mill, text};

struct Library {
    mill: Mill,
    digest: String,
    /// Of the generation that was retired.
    version: Uuid,
    /// What the binary is told beside.
    told: Told,
    _folder: Folder,
}

type Told = &'static [(&'static str, &'static str)];

/// A document that was ingested before generations were switched; then the model is the one told.
async fn library(told: Told) -> Library {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[("a.md", "# A\n\nThe quern is new.\n")]);
    mill.ingest(folder.path());
    let version = text(&mill.lines(&["documents", "--json"])[0]["version_id"])
        .parse()
        .unwrap();
    let mut build = mill.command(&["generations", "build", "--target", "60"]);
    let built = build
        .envs(told.iter().copied())
        .env("GRISTMILL_ALSO_PROVIDER", "hash");
    assert!(built.output().unwrap().status.success());
    let mut library = Library {
        digest: String::new(),
        mill,
        version,
        told,
        _folder: folder,
    };
    library.until_the_index_has_forgotten().await;
    library.digest = text(&library.json("verify")["digest"]).to_owned();
    library
}

impl Library {
    /// As the rounds of a server bring about.
    async fn until_the_index_has_forgotten(&self) {
        let house = super::House::open(&self.mill.data()).await;
        let mut tending = engine::generations::Tending::default();
        house.engine.tend_generations(&mut tending).await.unwrap();
        house.close().await;
    }

    async fn execute(&self, sql: &str) {
        let catalog = SqliteConnectOptions::new().filename(self.mill.data().join("catalog.db"));
        let mut catalog = catalog.foreign_keys(false).connect().await.unwrap();
        let query = sqlx::query(AssertSqlSafe(sql.to_owned())).bind(self.version);
        let done = query.execute(&mut catalog).await.unwrap();
        assert!(done.rows_affected() > 0, "the damage is done: {sql}");
        catalog.close().await.unwrap();
    }

    fn objects(&self) -> PathBuf {
        let mut folder = self.mill.data().join("objects/versions");
        let tenant = std::fs::read_dir(&folder).unwrap().next().unwrap();
        folder.push(tenant.unwrap().file_name());
        folder.join(self.version.to_string())
    }

    /// Whatever pass it was made in.
    fn lose(&self, end: &str) {
        let objects = std::fs::read_dir(self.objects()).unwrap();
        let mut objects = objects.map(|object| object.unwrap().path());
        let is_it = |object: &PathBuf| object.to_string_lossy().ends_with(end);
        std::fs::remove_file(objects.find(is_it).expect("it was made")).unwrap();
    }

    fn run(&self, args: &[&str]) -> std::process::Output {
        let mut command = self.mill.command(args);
        command.envs(self.told.iter().copied()).output().unwrap()
    }

    fn json(&self, command: &str) -> Value {
        let output = self.run(&[command, "--json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }

    /// All that `repair` found, it mended, and says so.
    fn is_mended(&self) {
        assert!(!self.run(&["verify"]).status.success());
        let told = self.json("repair");
        assert_eq!(told["disagreements"], json!([]), "{told}");
        assert_eq!(told["digest"], *self.digest, "{told}");
        let findings = told["findings"].as_array().unwrap();
        for one in findings {
            assert_eq!(one["mended"], true, "{one}");
            assert!(!text(&one["done"]).starts_with("cannot"), "{one}");
        }
        assert!(self.run(&["verify"]).status.success());
    }
}

#[tokio::test]
async fn what_a_retired_generation_has_lost_is_made_again() {
    let library = library(&[]).await;
    for object in [".text", ".parsed"] {
        library.lose(object);
        library.is_mended();
    }
    for sql in [
        "DELETE FROM document_units WHERE version_id = $1",
        "UPDATE document_versions SET text_hash = NULL, parsed_hash = NULL WHERE id = $1",
        "DELETE FROM document_versions WHERE id = $1",
    ] {
        library.execute(sql).await;
        library.is_mended();
    }
}

#[tokio::test]
async fn the_text_of_a_retired_generation_comes_back_without_its_model() {
    let library = library(&[("GRISTMILL_EMBEDDING_DIMENSION", "64")]).await;
    for object in [".text", ".parsed"] {
        library.lose(object);
        library.is_mended();
    }
}

#[tokio::test]
async fn what_came_back_is_not_said_to_be_beyond_mending() {
    let library = library(&[("GRISTMILL_EMBEDDING_DIMENSION", "64")]).await;
    library.lose(".text");
    library
        .execute("DELETE FROM document_units WHERE version_id = $1")
        .await;
    let told = library.json("repair");
    let findings = told["findings"].as_array().unwrap();
    let beyond = |one: &Value| text(&one["done"]).starts_with("cannot be mended");
    let (mended, left): (Vec<_>, Vec<_>) = findings.iter().partition(|one| one["mended"] == true);
    assert!(mended.iter().any(|one| one["what"] == "the text is gone"));
    assert!(!mended.into_iter().any(beyond), "{told}");
    assert!(
        left.into_iter().any(beyond),
        "its units need its model: {told}"
    );
}
