//! A knowledge base is built anew with another model while it answers, whatever is killed.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::double::{self, Double};

use crate::api::served::{Answer, Served, send};
use crate::mill::{Folder, Mill, embeds_at, outcomes, path, text};

const FILES: usize = 40;
/// The model of the next generation; the mills start with another.
const NEW: [(&str, &str); 1] = [("GRISTMILL_EMBEDDING_DIMENSION", "64")];
const BOTH: [(&str, &str); 2] = [NEW[0], ("GRISTMILL_ALSO_PROVIDER", "hash")];
const BUILDING: &str = "/v1/kbs/default/building";

fn folder() -> Folder {
    let folder = Folder::of(&[]);
    for n in 0..FILES {
        let text = format!(
            "# Stone {n}\n\nThe stone numbered {n} is dressed every spring.\n\n\
             ## Care\n\nKeep the furrows of stone {n} sharp and the bed level.\n"
        );
        folder.write(&format!("{n}.md"), &text);
    }
    folder
}

async fn building(served: &Served) -> Value {
    served.get(BUILDING).await.expect(200)
}

/// Searches until told to stop; how often it was answered. Every answer has hits.
async fn keep_searching(served: &Served, stop: Arc<AtomicBool>) -> usize {
    let (http, token) = (served.http.clone(), served.token.clone());
    let url = format!("{}/v1/kbs/default/search", served.base);
    let searching = tokio::spawn(async move {
        let mut answered = 0;
        while !stop.load(Ordering::Relaxed) {
            let body = json!({ "query": "when is the stone dressed" });
            let asked = http.post(&url).bearer_auth(&token).json(&body);
            let answer = Answer::of(send(asked).await).await.expect(200);
            let hits = answer["hits"].as_array().map_or(0, Vec::len);
            assert_eq!(hits, 10, "a gap in search: {answer}");
            answered += 1;
        }
        answered
    });
    searching.await.expect("every search is answered")
}

async fn until_ready(served: &Served) -> Value {
    loop {
        let now = building(served).await;
        if now["ready"] == true {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Folders of text indexes: one for each generation the index holds.
fn held(mill: &Mill) -> usize {
    let below = |path: std::path::PathBuf| {
        let entries = std::fs::read_dir(path).expect("the text index is there");
        entries.map(|entry| entry.expect("an entry").path())
    };
    let tenants = below(mill.data().join("text"));
    tenants.flat_map(below).flat_map(below).count()
}

async fn another_model_takes_over_without_a_gap(mill: Mill) {
    let folder = folder();
    let served = Served::with(mill, &[]);
    served.mill.ingest(folder.path());

    let served = Served::with(served.stop(), &BOTH);
    let begun = served.post(BUILDING, &json!({})).await.expect(202);
    assert_eq!(begun["generation"]["model"], "hash:words-64");
    while building(&served).await["built"].as_u64() < Some(FILES as u64 / 4) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Killed on the way, it goes on where it was.
    let served = Served::with(served.stop(), &BOTH);
    let early = served.search("when is the stone dressed").await;
    assert_eq!(early["hits"].as_array().map(Vec::len), Some(10));
    served.post(BUILDING, &json!({})).await.expect(202);

    let stop = Arc::new(AtomicBool::new(false));
    let switching = async {
        // What comes in meanwhile is searchable at once, and built as well.
        folder.write("late.md", "# Late\n\nThe quern came late.\n");
        served.mill.ingest(folder.path());
        let ready = until_ready(&served).await;
        assert_eq!(ready["documents"], FILES as u64 + 1);
        let switched = served
            .post(&format!("{BUILDING}/switch"), &json!({}))
            .await
            .expect(200);
        assert_eq!(switched["serving"]["number"], 2);
        while held(&served.mill) > 1 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        stop.store(true, Ordering::Relaxed);
    };
    let (answered, ()) = tokio::join!(keep_searching(&served, stop.clone()), switching);
    assert!(answered > 0);
    let late = served.search("quern").await;
    assert!(text(&late["hits"][0]["source_uri"]).ends_with("late.md"));
    served.get(BUILDING).await.problem(404);

    // What it holds is what a mill holds that had the new model from the beginning.
    let mill = served.stop();
    let fresh = Mill::sqlite();
    let with = |mill: &Mill, args: &[&str]| {
        let output = mill.command(args).envs(NEW).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?} failed: {said}");
        let first = output.stdout.split(|byte| *byte == b'\n').next();
        serde_json::from_slice::<Value>(first.expect("a line")).expect("JSON")
    };
    with(&fresh, &["ingest", path(folder.path()), "--json"]);
    let digests = [&mill, &fresh].map(|mill| with(mill, &["verify", "--json"])["digest"].clone());
    assert_eq!(digests[0], digests[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_model_takes_over_without_a_gap_on_sqlite() {
    another_model_takes_over_without_a_gap(Mill::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_model_takes_over_without_a_gap_on_postgres() {
    another_model_takes_over_without_a_gap(Mill::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_that_does_not_get_on_says_what_it_waits_for() {
    let mill = Mill::sqlite();
    mill.ingest(Folder::of(&[("a.md", "# A\n\nThe hopper is full.\n")]).path());
    let double = Double::start(vec![]).await;
    double.answer_after(0, double::Answer::status(401));
    let url = double.url();
    let mut build = mill
        .command(&["generations", "build"])
        .envs(embeds_at(&url))
        .env("GRISTMILL_ALSO_PROVIDER", "hash")
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let says = BufReader::new(build.stderr.take().expect("it is piped"));
    let mut lines = says.lines().map_while(Result::ok);
    let told = lines.find(|line| line.starts_with("waiting: ") && line.contains("401"));
    build.kill().expect("it is still at it");
    build.wait().expect("it ends");
    assert!(told.is_some());
}

#[test]
fn a_mismatch_says_so_and_how_to_go_on() {
    let folder = Folder::of(&[("a.md", "# A\n\nThe hopper is full.\n")]);
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    let run = |args: &[&str]| {
        let output = mill.command(args).envs(NEW).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), said)
    };
    folder.write("b.md", "# B\n\nThe sluice is shut.\n");
    for refused in [
        run(&["search", "hopper"]),
        run(&["ingest", path(folder.path())]),
    ] {
        assert!(!refused.0);
        assert!(refused.1.contains("hash:words-256"), "{}", refused.1);
        assert!(refused.1.contains("generations build"), "{}", refused.1);
    }
    assert!(run(&["search", "hopper", "--mode", "text"]).0);
    assert!(run(&["generations", "build"]).0);
    assert!(run(&["ingest", path(folder.path())]).0);
    assert!(run(&["search", "sluice"]).0);
}

#[test]
fn chunks_larger_than_the_model_reads_are_told_of_with_the_way_out() {
    let text = "Of grain the miller knows a rule or two. ".repeat(20);
    let folder = Folder::of(&[("a.md", &text)]);
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    let run = |args: &[&str]| {
        let mut less = mill.command(args);
        let output = less.env("GRISTMILL_EMBEDDING_MAX_TOKENS", "100").output();
        let output = output.expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), said)
    };
    folder.write("b.md", &text.replace("grain", "flour"));
    let (taken, said) = run(&["ingest", path(folder.path())]);
    assert!(!taken);
    for told in ["254 tokens", "reads 100", "generations build"] {
        assert!(said.contains(told), "{said}");
    }
    assert!(run(&["search", "grain"]).0, "what is there answers");
    for done in [
        run(&["generations", "build"]),
        run(&["ingest", path(folder.path())]),
        run(&["search", "flour"]),
    ] {
        assert!(done.0, "{}", done.1);
    }
}

#[test]
fn other_chunks_are_another_generation() {
    let words = |n: usize| format!("Of grain the miller knows rule {n}, learnt in year {n}. ");
    let text: String = (0..40).map(words).collect();
    let folder = Folder::of(&[("a.md", &text)]);
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    let chunks = |mill: &Mill| mill.lines(&["documents", "--json"])[0]["chunks"].clone();
    let before = chunks(&mill);
    let small = ["--target", "40", "--max", "60", "--overlap", "10"];
    mill.ok(&[&["generations", "build", "--no-switch"], &small[..]].concat());
    assert_eq!(chunks(&mill), before, "the old one serves");
    mill.ok(&["generations", "abandon"]);
    mill.ok(&[&["generations", "build"], &small[..]].concat());
    assert!(chunks(&mill).as_u64() > before.as_u64());
    let shown = &mill.lines(&["generations", "show", "--json"])[0];
    assert_eq!(shown["serving"]["policy"]["target"], 40);
    assert_eq!(shown["serving"]["number"], 3);
    let again = mill.run(&[&["generations", "build"], &small[..]].concat());
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("nothing would change"), "{said}");
    let beyond = mill.run(&["generations", "build", "--max", "100000"]);
    assert!(!beyond.status.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_as_of_before_the_switch_says_what_it_lacks() {
    let folder = Folder::of(&[
        ("a.md", "# A\n\nThe quern is old.\n"),
        ("b.md", "# B\n\nThe quern of B.\n"),
    ]);
    let served = Served::with(Mill::sqlite(), &[]);
    served.mill.ingest(folder.path());
    let then = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Micros, true);
    folder.write("a.md", "# A\n\nThe quern is new.\n");
    served.mill.ingest(folder.path());
    let served = Served::with(served.stop(), &BOTH);
    let asked = async |at: &str| {
        let body = json!({ "query": "quern", "mode": "text", "as_of": at });
        let path = "/v1/kbs/default/search";
        served.post(path, &body).await.expect(200)
    };
    let before = asked(&then).await;
    assert_eq!(before["forgotten"], Value::Null);
    assert_eq!(before["hits"].as_array().map(Vec::len), Some(2));
    served.post(BUILDING, &json!({})).await.expect(202);
    until_ready(&served).await;
    let switch = format!("{BUILDING}/switch");
    served.post(&switch, &json!({})).await.expect(200);

    let after = asked(&then).await;
    assert_eq!(after["hits"].as_array().map(Vec::len), Some(1), "{after}");
    assert_eq!(after["forgotten"]["documents"], 1, "{after}");
    let since = text(&after["forgotten"]["since"]).to_owned();
    let whole = asked(&since).await;
    assert_eq!(whole["forgotten"], Value::Null, "{whole}");
    assert_eq!(whole["hits"].as_array().map(Vec::len), Some(2));
    let ask = json!({ "question": "what is the quern", "as_of": then });
    let answer = served.post("/v1/kbs/default/ask", &ask).await.expect(200);
    assert_eq!(answer["forgotten"], after["forgotten"]);
    let shown = served.mill.ok(&["search", "quern", "--as-of", &then]);
    assert!(
        shown.contains("what they were then: 1 documents"),
        "{shown}"
    );
    assert!(shown.contains(&since[..19]), "{shown}");
}

#[test]
fn an_ingest_after_the_switch_tells_of_what_it_skipped() {
    let folder = Folder::of(&[
        ("a.md", "# A\n\nThe quern is old.\n"),
        ("b.md", "# B\n\nThe quern of B.\n"),
    ]);
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    for target in ["60", "70"] {
        mill.ok(&["generations", "build", "--target", target]);
        assert_eq!(outcomes(&mill.ingest(folder.path())), ["skipped"; 2]);
    }
}

#[test]
fn a_rollback_to_what_was_built_before_outlives_the_switch() {
    let folder = Folder::of(&[("a.md", "# A\n\nThe quern is old.\n")]);
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    let file = folder.file("a.md");
    let history = &mill.lines(&["documents", "history", path(&file), "--json"])[0];
    let old = text(&history["activations"][0]["version_id"]);
    let build = ["generations", "build", "--target", "60"];
    mill.ok(&[&build[..], &["--no-switch"]].concat());
    folder.write("a.md", "# A\n\nThe quern is new.\n");
    mill.ingest(folder.path());
    mill.ok(&["documents", "rollback", path(&file), "--to", old]);
    mill.ok(&build);
    assert_eq!(outcomes(&mill.ingest(folder.path())), ["skipped"]);
    let told = &mill.lines(&["verify", "--json"])[0];
    assert_eq!(told["disagreements"], json!([]), "{told}");
}

/// What it replaced before the switch was never built, and is when it is to answer again.
async fn a_cancel_after_the_switch_takes_nothing_of_another_job(mill: Mill) {
    let folder = Folder::of(&[
        ("a.md", "# A\n\nThe quern is old.\n"),
        ("b.md", "# B\n\nThe sluice of B.\n"),
    ]);
    let served = Served::with(mill, &[]);
    let mill = &served.mill;
    mill.ingest(folder.path());
    folder.write("a.md", "# A\n\nThe quern is new.\n");
    mill.ingest(folder.path());
    let jobs = mill.lines(&["jobs", "list", "--json"]);
    mill.ok(&["generations", "build", "--target", "60"]);
    mill.ok(&["jobs", "cancel", text(&jobs[0]["job_id"])]);
    loop {
        let documents = mill.lines(&["documents", "--all", "--json"]);
        let is_it = |row: &&Value| text(&row["source_uri"]).ends_with("a.md");
        let row = documents.iter().find(is_it).expect("another job's still");
        if row["state"] == "ready" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let body = json!({ "query": "quern", "mode": "text" });
    let found = served.post("/v1/kbs/default/search", &body);
    let found = found.await.expect(200);
    let [hit] = &found["hits"].as_array().unwrap()[..] else {
        panic!("what reads ready answers: {found}")
    };
    assert!(text(&hit["text"]).contains("old"), "{hit}");
    let told = &mill.lines(&["verify", "--json"])[0];
    assert_eq!(told["disagreements"], json!([]), "{told}");
    served.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_after_the_switch_takes_nothing_of_another_job_on_sqlite() {
    a_cancel_after_the_switch_takes_nothing_of_another_job(Mill::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_after_the_switch_takes_nothing_of_another_job_on_postgres() {
    a_cancel_after_the_switch_takes_nothing_of_another_job(Mill::postgres().await).await;
}
