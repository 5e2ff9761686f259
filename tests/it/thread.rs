//! The thread through the whole product: a folder goes in, passages come out.

use crate::mill::{Folder, Mill, outcomes, path, text};

/// Three sections long enough to be chunks of their own.
fn mills(turned_by: &str) -> String {
    let filler = |topic: &str| {
        let sentence =
            |n: u32| format!("Of {topic} the miller knows rule {n}, learnt in year {n}. ");
        (1..16).map(sentence).collect::<String>()
    };
    format!(
        "# Mills\n\nA mill turns grain into flour. {}\n\n## Water\n\nThe undershot wheel turns \
         where the stream is shallow. {}\n\n## Wind\n\nA post mill is turned to face the wind \
         {turned_by}. {}\n",
        filler("stones"),
        filler("streams"),
        filler("sails"),
    )
}

const BREAD: &str = "Sourdough needs patience: the dough rises for twelve hours.\n\n\
    Rye bread keeps longer than wheat bread.\n";

fn folder() -> Folder {
    Folder::of(&[
        ("mills.md", &mills("by hand")),
        ("kitchen/bread.txt", BREAD),
    ])
}

/// Every scenario of this file, so that each catalog runs the same ones.
fn the_whole_thread(mill: &Mill) -> String {
    let folder = folder();
    a_folder_becomes_passages_with_their_place(mill, &folder);
    its_figures_are_kept(mill);
    the_same_folder_again_is_skipped(mill, &folder);
    a_changed_file_is_one_new_version(mill, &folder);
    // The folder's own name differs from run to run, and it is part of every identity.
    let uri = format!("file://{}", path(&folder.path().canonicalize().unwrap()));
    let documents = mill.lines(&["documents", "--json"]);
    let mut known: Vec<String> = documents
        .iter()
        .map(|d| text(&d["source_uri"]).replace(&uri, ""))
        .collect();
    known.sort();
    known.join(" ")
}

fn a_folder_becomes_passages_with_their_place(mill: &Mill, folder: &Folder) {
    let ingested = mill.ingest(folder.path());
    assert_eq!(outcomes(&ingested), ["new", "new"]);

    let answer = &mill.lines(&["search", "undershot wheel shallow stream", "--json"])[0];
    let hit = &answer["hits"][0];
    assert!(text(&hit["source_uri"]).ends_with("/mills.md"), "{hit}");
    assert_eq!(hit["heading_path"], serde_json::json!(["Mills", "Water"]));
    assert!(text(&hit["text"]).contains("The undershot wheel turns"));

    let file = folder.file("mills.md");
    let whole = mill.ok(&["extract", path(&file), "--format", "text"]);
    let range = |name: &str, at: usize| hit[name][at].as_u64().unwrap() as usize;
    let by_bytes = &whole[range("byte_range", 0)..range("byte_range", 1)];
    let by_chars: String = whole
        .chars()
        .skip(range("char_range", 0))
        .take(range("char_range", 1) - range("char_range", 0))
        .collect();
    assert_eq!(
        (by_bytes, &*by_chars),
        (text(&hit["text"]), text(&hit["text"]))
    );

    let chunks = mill.lines(&["chunk", path(&file), "--json"]);
    let same = |chunk: &&serde_json::Value| chunk["byte_range"] == hit["byte_range"];
    let chunk = chunks
        .iter()
        .find(same)
        .expect("`chunk` cuts as `ingest` does");
    assert_eq!(chunk["text"], hit["text"]);
}

/// What one process recorded, another is told.
fn its_figures_are_kept(mill: &Mill) {
    let latest = |query: &str| {
        let lines = mill.lines(&["metrics", query, "--since", "10m", "--json"]);
        let [line] = &lines[..] else {
            panic!("{query} gives one line, not {lines:?}");
        };
        line["points"].as_array().unwrap().last().unwrap()[1]
            .as_f64()
            .unwrap()
    };
    assert_eq!(latest("documents_total"), 2.0);
    assert!(latest("sum(increase(chunks_total[1h]))") >= 4.0);
    assert!(latest(r#"quantile(1, stage_seconds{stage="parse"}[1h])"#) > 0.0);
    assert!(latest(r#"flushes_total{store="index"}"#) >= 1.0);
    let refused = mill.run(&["metrics", "documents_total{"]);
    assert!(!refused.status.success());
}

fn the_same_folder_again_is_skipped(mill: &Mill, folder: &Folder) {
    let before = mill.digest();
    assert_eq!(
        outcomes(&mill.ingest(folder.path())),
        ["skipped", "skipped"]
    );
    assert_eq!(mill.digest(), before);
}

fn a_changed_file_is_one_new_version(mill: &Mill, folder: &Folder) {
    folder.write("mills.md", &mills("by a tail pole"));
    let again = mill.ingest(folder.path());
    let mut outcome = outcomes(&again);
    outcome.sort_unstable();
    assert_eq!(outcome, ["new_version", "skipped"]);

    let runs = mill.lines(&["runs", "--json"]);
    let stats = &runs[0]["stats"];
    assert_eq!(
        stats["chunks_processed"], 1,
        "only what changed is embedded: {stats}"
    );
    assert!(stats["chunks_skipped"].as_u64() > Some(0), "{stats}");

    let answer = &mill.lines(&["search", "tail pole", "--mode", "text", "--json"])[0];
    assert!(text(&answer["hits"][0]["text"]).contains("tail pole"));
    let gone = &mill.lines(&["search", "hand", "--mode", "text", "--json"])[0];
    assert_eq!(
        gone["hits"],
        serde_json::json!([]),
        "the old version answers no more"
    );
}

#[test]
fn the_thread_runs_on_sqlite() {
    assert_eq!(
        the_whole_thread(&Mill::sqlite()),
        "/kitchen/bread.txt /mills.md"
    );
}

#[tokio::test]
async fn the_thread_runs_on_postgres() {
    assert_eq!(
        the_whole_thread(&Mill::postgres().await),
        "/kitchen/bread.txt /mills.md"
    );
}

#[tokio::test]
async fn both_catalogs_end_in_the_same_digest() {
    let folder = folder();
    let mills = [Mill::sqlite(), Mill::postgres().await];
    let digests = mills.map(|mill| {
        mill.ingest(folder.path());
        mill.digest()
    });
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn the_data_folder_is_never_taken_in() {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[("a.md", "# A\n\nSomething to read.\n")]);
    let here = folder.path().join("gristmill-data");
    let ingest = || {
        let args = ["ingest", path(folder.path()), "--json"];
        let output = mill
            .command(&args)
            .env("GRISTMILL_DATA", &here)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().lines().count()
    };
    assert_eq!(
        [ingest(), ingest()],
        [1, 1],
        "the second time its own files are there"
    );
}

#[test]
fn metadata_reaches_files_that_have_not_changed() {
    let mill = Mill::sqlite();
    let folder = folder();
    mill.ingest(folder.path());
    let found = |team: &str| {
        let asked = ["search", "bread", "--json", "--metadata", team];
        mill.lines(&asked)[0]["hits"].as_array().unwrap().len()
    };
    assert_eq!(found("team=bakery"), 0);
    let kitchen = folder.file("kitchen");
    let args = ["ingest", path(&kitchen), "--json", "--metadata"];
    let again = mill.lines(&[&args[..], &["team=bakery"]].concat());
    assert_eq!(outcomes(&again), ["skipped"]);
    mill.lines(&[&args[..], &["season=winter"]].concat());
    assert!(found("team=bakery") > 0, "other keys leave it alone");
    assert!(found("season=winter") > 0);
}

#[test]
fn a_file_that_is_gone_answers_until_its_removal_is_asked_for() {
    let mill = Mill::sqlite();
    let folder = folder();
    mill.ingest(folder.path());
    std::fs::remove_file(folder.file("kitchen/bread.txt")).unwrap();
    let answers = || {
        let asked = ["search", "sourdough patience", "--mode", "text", "--json"];
        !mill.lines(&asked)[0]["hits"].as_array().unwrap().is_empty()
    };
    mill.ingest(folder.path());
    assert!(answers());
    let elsewhere = Folder::of(&[("a.md", "# A\n\nSomething to read.\n")]);
    let without_missing = |of: &Folder| mill.ok(&["ingest", path(of.path()), "--remove-missing"]);
    without_missing(&elsewhere);
    assert!(answers(), "it is not below that folder");
    let told = without_missing(&folder);
    assert!(!answers());
    assert!(told.contains("kitchen/bread.txt"), "{told}");
    let again = mill.lines(&["ingest", path(folder.path()), "--remove-missing", "--json"]);
    let removed = again.iter().filter(|line| line["outcome"] == "removed");
    assert_eq!(removed.count(), 0, "it was gone before");
}

#[test]
fn a_name_that_is_not_text_is_taken_in_like_any_other() {
    use std::os::unix::ffi::OsStrExt as _;
    let (mill, folder) = (Mill::sqlite(), Folder::of(&[]));
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    std::fs::create_dir(folder.path().join(name)).unwrap();
    let file = folder.path().join(name).join("menu.md");
    std::fs::write(&file, "Bread and soup.\n").unwrap();
    for given in [&*file, file.parent().unwrap()] {
        let mut command = mill.command(&["ingest", "--json"]);
        let output = command.arg(given).output().expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(
            text(&line["source_uri"]).ends_with("/caf%E9/menu.md"),
            "{line}"
        );
    }
}

#[test]
fn one_bad_query_costs_only_itself() {
    let mill = Mill::sqlite();
    let folder = folder();
    mill.ingest(folder.path());
    folder.write(
        "queries.jsonl",
        "{\"id\":1,\"query\":\"sourdough\"}\nnot a query\n{\"id\":3,\"query\":\"wheel\"}\n",
    );
    let queries = folder.file("queries.jsonl");
    let output = mill.run(&["search", "--queries", path(&queries), "--json"]);
    assert!(!output.status.success());
    let lines: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((&lines[0]["id"], &lines[2]["id"]), (&1.into(), &3.into()));
    assert!(
        text(&lines[1]["error"]).starts_with("line 2"),
        "{}",
        lines[1]
    );
}

#[test]
fn a_mistyped_data_folder_is_named_and_not_made() {
    let mill = Mill::sqlite();
    let output = mill.run(&["documents", "--data", "no-such-folder"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("no-such-folder"),
        "{said}"
    );
    assert!(!mill.data().with_file_name("no-such-folder").exists());
}
