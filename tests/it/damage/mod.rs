//! What is damaged on purpose is named by `verify`, all of it and nothing else, and what can
//! be mended is mended by `repair`.

mod figures;

mod harm;

mod index_files;

mod knowledge_bases;

mod ledger;

mod originals;

mod queue;

mod renamed;

mod retired;

mod rows;

mod stores;

mod tenants;

mod text_files;

mod unanswered;

mod under_way;

mod whole;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use engine::{Engine, Figures, Objects, Parts, Settings, SystemClock, Verified};

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use rand::seq::SliceRandom as _;
use rand::{SeedableRng as _, rngs::StdRng};
use sandbox::{Program, Sandbox};
use serde_json::json;

use crate::mill::{Folder, Mill, outcomes, path, text};
use harm::{Expected, HARMS, Harm, Target};
use stores::Stores;

const DOCUMENTS: usize = 26;
/// Ways per copy of the folder; each harms a document of its own.
const AT_ONCE: usize = 13;

/// Files long enough for several chunks.
fn library() -> Folder {
    let folder = Folder::of(&[]);
    for n in 0..DOCUMENTS {
        let part = |name: &str| {
            let rule =
                |m: usize| format!("Rule {m} of the {name} of mill {n} is kept in year {m}. ");
            format!(
                "## The {name}\n\n{}\n\n",
                (1..14).map(rule).collect::<String>()
            )
        };
        let text = format!(
            "# Mill {n}\n\n{}{}{}",
            part("wheel"),
            part("stone"),
            part("sluice")
        );
        folder.write(&format!("{n}.md"), &text);
    }
    folder
}

/// Takes in files nobody can read.
fn unread(mill: &Mill) -> Vec<Target> {
    let folder = Folder::of(&[
        ("lost.pdf", "%PDF-1.7 and nothing more"),
        ("changed.pdf", "%PDF-1.7 and nothing else"),
        ("gone.pdf", "%PDF-1.7 and nothing left"),
        ("untold.pdf", "%PDF-1.7 and nothing told"),
    ]);
    let failed = mill.run(&["ingest", path(folder.path()), "--json"]);
    assert!(!failed.status.success(), "none can be read");
    let documents = mill.lines(&["documents", "--all", "--json"]);
    let of = |name: &str| {
        let is_it = |row: &&serde_json::Value| text(&row["source_uri"]).ends_with(name);
        Target::read(documents.iter().find(is_it).expect("it is kept"))
    };
    ["lost.pdf", "changed.pdf", "gone.pdf", "untold.pdf"]
        .map(of)
        .to_vec()
}

/// Takes in files and removes them, as their folder shows them no more.
fn removed(mill: &Mill) -> Vec<Target> {
    let names = ["0.md", "1.md", "2.md", "3.md"];
    let folder = Folder::of(&[]);
    for name in names {
        folder.write(name, &format!("# {name}\n\nThis mill was closed.\n"));
    }
    mill.ok(&["ingest", path(folder.path())]);
    let documents = mill.lines(&["documents", "--json"]);
    for name in names {
        std::fs::remove_file(folder.file(name)).unwrap();
    }
    // Twice, so that two jobs have a part in it.
    for _ in 0..2 {
        mill.ok(&["ingest", path(folder.path()), "--remove-missing"]);
    }
    let place = format!("{}/", path(folder.path()));
    let is_it = |row: &&serde_json::Value| {
        let uri = text(&row["source_uri"]);
        uri.contains(&place) && uri.ends_with(".md")
    };
    let removed: Vec<Target> = documents.iter().filter(is_it).map(Target::read).collect();
    assert_eq!(removed.len(), names.len());
    removed
}

/// The engine alone, on a data folder nobody else holds.
struct House {
    engine: Engine,
    index: index::Index,
}

impl House {
    async fn open(data: &Path) -> Self {
        let url = format!("sqlite://{}", data.join("catalog.db").display());
        let catalog = catalog::open(&catalog::Settings::new(url)).await.unwrap();
        let store =
            |name: &str| Arc::new(LocalFileSystem::new_with_prefix(data.join(name)).unwrap());
        let index = index::Index::open(
            index::Settings::default(),
            store("index"),
            data.join("text"),
        );
        let index = index.await.unwrap();
        let hash = providers::Settings::Hash(providers::HashSettings::default());
        let program = Program::new(env!("CARGO_BIN_EXE_gristmill"), &["parse-child"]);
        let parts = Parts {
            catalog,
            index: index.clone(),
            objects: Objects::new(store("objects")),
            embedder: providers::open(&hash).unwrap(),
            sandbox: Arc::new(Sandbox::new(sandbox::Settings::default(), program)),
            clock: Arc::new(SystemClock),
            figures: Figures::new(Arc::new(InMemory::new())),
        };
        Self {
            engine: Engine::new(Settings::default(), parts),
            index,
        }
    }

    async fn close(self) {
        drop(self.engine);
        self.index.close().await.unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// What a verification points at.
fn named(found: &Verified) -> BTreeSet<Expected> {
    let of = |one: &engine::Disagreement| match (one.document_id, one.version_id, &one.tally) {
        (Some(document), ..) => Expected::Document(document.as_uuid()),
        (None, Some(version), _) => Expected::Version(version.as_uuid()),
        (None, None, Some(tally)) => Expected::Tally(tally.kind.clone()),
        (None, None, None) => match (&one.kb, one.job) {
            (Some(kb), _) => Expected::Kb(kb.clone()),
            (None, Some(one)) => Expected::Job(one.job.as_uuid()),
            (None, None) => Expected::Nobody,
        },
    };
    let objects = found.leftovers.iter().cloned().map(Expected::Object);
    found.disagreements.iter().map(of).chain(objects).collect()
}

struct Round {
    seed: u64,
    harms: Vec<Harm>,
    targets: Vec<Target>,
    silent: Vec<Target>,
}

impl Round {
    /// Damages a copy, and holds `verify` and `repair` to what they promise.
    async fn run(self, pristine: &Path, digest: &str, random: &mut StdRng) {
        let scratch = tempfile::tempdir().unwrap();
        let data = scratch.path().join("data");
        copy(pristine, &data);
        // Old enough for whatever takes away what is nobody's.
        stores::age_originals(&data);
        let mut stores = Stores::open(&data).await;
        let mut expected = BTreeSet::new();
        let mut lasting = BTreeSet::new();
        let mut chunks = Vec::new();
        let mut counted = Vec::new();
        for (harm, target) in self.harms.iter().zip(&self.targets) {
            let target = harm.silent().map_or(target, |at| &self.silent[at]);
            let done = harm.to(&mut stores, target, random).await;
            expected.extend(done.expected.clone());
            chunks.extend(done.chunk.map(|chunk| (*harm, chunk)));
            counted.extend(harm.findings().map(|many| (*harm, target.document, many)));
            if !harm.can_be_mended() {
                lasting.extend(done.expected);
            }
        }
        stores.close().await;
        let house = House::open(&data).await;
        let told = format!("seed {}: {:?}", self.seed, self.harms);
        let found = house.engine.verify_all().await.unwrap();
        assert_eq!(named(&found), expected, "{told}: {found:#?}");
        for (harm, chunk) in chunks {
            let at = |one: &engine::Disagreement| one.chunk.as_ref() == Some(&chunk);
            assert!(
                found.disagreements.iter().any(at),
                "{told}: {harm:?} at {chunk}: {found:#?}"
            );
        }
        let repaired = house.engine.repair_all().await.unwrap();
        // Nothing else is said of them, and nothing is made of what they tell.
        for (harm, document, many) in counted {
            let document = Some(model::DocumentId::from_uuid(document));
            for found in [&found, &repaired.after] {
                let of_it = found.disagreements.iter();
                let of_it = of_it.filter(|one| one.document_id == document);
                assert_eq!(of_it.count(), many, "{told}: {harm:?}: {found:#?}");
            }
        }
        assert_eq!(named(&repaired.after), lasting, "{told}: {repaired:#?}");
        assert_eq!(
            repaired.after.digest.to_string(),
            digest,
            "{told}: {repaired:#?}"
        );
        house.close().await;
    }
}

/// All 200 ways with `make damage`; fewer with every other test.
fn ways() -> usize {
    let asked = std::env::var("GRISTMILL_DAMAGES").ok();
    asked
        .and_then(|ways| ways.parse().ok())
        .unwrap_or(HARMS.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_damage_is_named_and_nothing_else_and_repair_brings_the_digest_back() {
    let seed = std::env::var("GRISTMILL_SEED").ok();
    let seed = seed
        .and_then(|s| s.parse().ok())
        .unwrap_or_else(rand::random::<u64>);
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let folder = library();
    let mill = Mill::sqlite();
    // Twice, so that each is claimed by who brought it and by who found it there.
    for _ in 0..2 {
        mill.lines(&[
            "ingest",
            path(folder.path()),
            "--metadata",
            "kind=mill",
            "--json",
        ]);
    }
    let mut silent = unread(&mill);
    silent.extend(removed(&mill));
    let clean = &mill.lines(&["verify", "--json"])[0];
    assert_eq!(clean["disagreements"], json!([]));
    let digest = text(&clean["digest"]).to_owned();
    let documents = mill.lines(&["documents", "--json"]);
    let mut targets: Vec<Target> = documents.iter().map(Target::read).collect();
    assert_eq!(targets.len(), DOCUMENTS);

    let mut harms: Vec<Harm> = HARMS.iter().copied().cycle().take(ways()).collect();
    harms.shuffle(&mut random);
    for harms in harms.chunks(AT_ONCE) {
        targets.shuffle(&mut random);
        let round = Round {
            seed,
            harms: harms.to_vec(),
            targets: targets.clone(),
            silent: silent.clone(),
        };
        round.run(&mill.data(), &digest, &mut random).await;
    }
}

/// What a version's row says that nothing else does comes back with it.
#[tokio::test]
async fn a_version_that_lost_its_row_gets_back_what_was_noted_of_it() {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[("a.md", "# The mill\n\nSomething to read.\n")]);
    let ingest = [
        "ingest",
        path(folder.path()),
        "--metadata",
        "deep={\"a\":[1]}",
    ];
    mill.ok(&ingest);
    let clean = mill.lines(&["verify", "--json"]).remove(0);
    let before = mill.lines(&["documents", "--json"]).remove(0);
    let shown = |row: &serde_json::Value| {
        let id = text(&row["document_id"]);
        let shown = mill.ok(&["documents", "history", id, "--json"]);
        shown.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let history = shown(&before);
    let version = text(&before["version_id"]).parse().unwrap();
    for lost in [
        "document_versions WHERE id",
        "version_metadata WHERE version_id",
    ] {
        let mut stores = Stores::open(&mill.data()).await;
        stores
            .execute(&format!("DELETE FROM {lost} = $1"), version)
            .await;
        stores.close().await;
        assert!(!mill.run(&["verify"]).status.success(), "{lost}");
        let told = mill.lines(&["repair", "--json"]).remove(0);
        assert_eq!(told["digest"], clean["digest"], "{lost}: {told}");
        assert_eq!(told["disagreements"], json!([]), "{lost}: {told}");
        let after = mill.lines(&["documents", "--json"]).remove(0);
        assert_eq!(after, before, "{lost}");
        assert_eq!(shown(&after), history, "{lost}");
    }
}

#[tokio::test]
async fn a_removed_document_that_lost_its_row_is_removed_still() {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[("a.md", "# A\n\nSomething to read.\n")]);
    mill.ingest(folder.path());
    mill.ok(&["documents", "deactivate", path(&folder.file("a.md"))]);
    let document = &mill.lines(&["documents", "--all", "--json"])[0];
    let id = text(&document["document_id"]).parse().unwrap();
    let mut stores = Stores::open(&mill.data()).await;
    stores
        .execute("DELETE FROM documents WHERE id = $1", id)
        .await;
    stores.close().await;
    mill.ok(&["repair"]);
    let mut stores = Stores::open(&mill.data()).await;
    assert!(stores.is_removed(id).await);
    stores.close().await;
}

/// The document called so, whatever else there is.
fn called(mill: &Mill, name: &str) -> Vec<serde_json::Value> {
    let mut documents = mill.lines(&["documents", "--json"]);
    documents.retain(|row| text(&row["source_uri"]).ends_with(name));
    documents
}

#[tokio::test]
async fn a_document_that_lost_its_row_and_came_in_again_is_one_document() {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[
        ("a.md", "# A\n\nThe quern is old.\n"),
        ("b.md", "# B\n\nThe sluice is shut.\n"),
    ]);
    mill.ingest(folder.path());
    let before = mill.digest();
    let first = called(&mill, "a.md").remove(0);
    let lose = async || {
        let mut stores = Stores::open(&mill.data()).await;
        let row = "DELETE FROM documents WHERE id = $1";
        let id = text(&first["document_id"]).parse().unwrap();
        stores.execute(row, id).await;
        stores.close().await;
    };
    let repaired = || {
        assert!(!mill.run(&["verify"]).status.success());
        let told = mill.lines(&["repair", "--json"]).remove(0);
        let findings = told["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{told}");
        assert_eq!(findings[0]["document_id"], first["document_id"], "{told}");
        assert_eq!(findings[0]["mended"], true, "{told}");
        let now = called(&mill, "a.md");
        assert_eq!(now.len(), 1, "{now:?}");
        assert_eq!(now[0]["document_id"], first["document_id"]);
        let found = mill.lines(&["search", "quern", "--mode", "text", "--json"]);
        assert_eq!(found[0]["hits"].as_array().unwrap().len(), 1, "{found:?}");
        told
    };
    // With the bytes it had.
    lose().await;
    let again = mill.ingest(folder.path());
    assert!(outcomes(&again).contains(&"new"), "{again:?}");
    assert_eq!(repaired()["digest"], before);
    assert_eq!(outcomes(&mill.ingest(folder.path())), ["skipped"; 2]);

    // With others: they answer, and what answered before is its history.
    lose().await;
    folder.write("a.md", "# A\n\nThe quern is new.\n");
    mill.ingest(folder.path());
    let told = repaired();
    assert_eq!(called(&mill, "a.md")[0]["versions"], 3);
    let fresh = Mill::sqlite();
    fresh.ingest(folder.path());
    assert_eq!(told["digest"], fresh.digest());
}

#[test]
fn the_command_line_mends_and_says_what_it_did() {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[("a.md", "# A\n\nSomething to read.\n")]);
    mill.ingest(folder.path());
    let before = mill.digest();
    let document = &mill.lines(&["documents", "--json"])[0];
    let made = mill.data().join("objects/versions");
    let tenant = std::fs::read_dir(made)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let made = tenant.join(text(&document["version_id"]));
    std::fs::write(made.join("1.text"), "something else").unwrap();

    assert!(!mill.run(&["verify"]).status.success());
    let told = &mill.lines(&["repair", "--json"])[0];
    let finding = &told["findings"][0];
    assert_eq!(finding["source_uri"], document["source_uri"], "{told}");
    assert_eq!(finding["what"], "the text was changed");
    assert_eq!(
        (&finding["mended"], &told["digest"]),
        (&json!(true), &json!(before))
    );
    assert_eq!(finding["done"], "made it again from its original");

    let original = std::fs::read_dir(mill.data().join("objects/originals")).unwrap();
    let original = original.map(|t| t.unwrap().path().join(text(&document["content_hash"])));
    std::fs::remove_file(original.into_iter().next().unwrap()).unwrap();
    assert!(!made.join("1.text").exists(), "the pass before it is gone");
    std::fs::remove_file(made.join("2.text")).unwrap();
    let output = mill.run(&["repair", "--json"]);
    assert!(!output.status.success());
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let done: Vec<_> = told["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| text(&f["done"]))
        .collect();
    assert_eq!(done.len(), 2, "{told}");
    assert!(
        done.iter()
            .all(|done| done.starts_with("cannot be mended: ")),
        "{told}"
    );
}
