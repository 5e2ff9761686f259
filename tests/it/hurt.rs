//! Documents that hurt, and documents too large to hold, through the whole product.

use std::process::Command;

use samples::pdf::{Page, pdf};
use serde_json::Value;

use crate::mill::{Folder, Mill, outcomes, path, text};

/// Little enough that the poison shows soon.
fn little_memory(mut command: Command) -> String {
    let output = command.env("GRISTMILL_PARSE_MEMORY_MB", "512").output();
    let output = output.expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// No two pages alike: what stands on every page at one place is taken for a running head.
fn words_of(page: u64) -> String {
    const WORDS: [&str; 12] = [
        "stone", "water", "sack", "flour", "wheel", "barley", "mule", "dam", "grain", "sluice",
        "toll", "bread",
    ];
    let mut dice = samples::Dice::new(page);
    let mut words: Vec<&str> = (0..6).map(|_| WORDS[dice.roll(WORDS.len())]).collect();
    let quern = format!("quern{page}x");
    words.insert(dice.roll(6), &quern);
    words.join(" ")
}

#[test]
fn one_poison_page_of_five_hundred_leaves_the_others_searchable() {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[]);
    let words: Vec<String> = (1..=500).map(words_of).collect();
    let mut pages: Vec<Page<'_>> = words.iter().map(|words| Page::Text(words)).collect();
    pages[249] = Page::Poison;
    let file = folder.file("querns.pdf");
    std::fs::write(&file, pdf(&pages)).unwrap();

    let ingested = little_memory(mill.command(&["ingest", path(folder.path()), "--json"]));
    let ingested: Value = serde_json::from_str(ingested.trim()).unwrap();
    assert_eq!(text(&ingested["outcome"]), "new");
    let gap = &ingested["gaps"][0];
    assert_eq!(gap["pages"], serde_json::json!([250, 250]), "{ingested}");
    let again = mill.ok(&["ingest", path(folder.path())]);
    let told = |line: &str| line.contains("could not be read") && line.contains("page 250");
    assert!(again.lines().any(told), "{again}");

    let read = little_memory(mill.command(&["extract", path(&file), "--format", "json"]));
    let read: Value = serde_json::from_str(&read).unwrap();
    let gaps: Vec<&Value> = read["gaps"].as_array().unwrap().iter().collect();
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!(gaps[0]["pages"], serde_json::json!([250, 250]));

    // Whoever looks at the document is told, however they look.
    let shown = ["list", "show"].map(|how| {
        let document = (how == "show").then(|| path(&file));
        let asked = ["documents", how].into_iter().chain(document);
        mill.lines(&asked.chain(["--json"]).collect::<Vec<_>>())[0]["gaps"].clone()
    });
    for gaps in &shown {
        assert_eq!(gaps[0]["pages"], serde_json::json!([250, 250]), "{shown:?}");
    }
    let table = mill.ok(&["documents"]);
    assert!(table.lines().next().unwrap().contains("GAPS"), "{table}");
    let row: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[4], "1", "{table}");
    let markdown = little_memory(mill.command(&["extract", path(&file), "--format", "md"]));
    let note = markdown.lines().last().unwrap_or_default();
    assert!(note.starts_with("<!-- not read: page 250: "), "{note}");

    let chunks = little_memory(mill.command(&["chunk", path(&file), "--json"]));
    let lost: Vec<u32> = (1..=500)
        .filter(|n| !chunks.contains(&format!("quern{n}x")))
        .collect();
    assert_eq!(lost, [250]);
    for page in [1, 249, 251, 500] {
        let answer = &mill.lines(&["search", &format!("quern{page}x"), "--json"])[0];
        let best = text(&answer["hits"][0]["text"]);
        assert!(best.contains(&format!("quern{page}x")), "{best}");
        assert_eq!(answer["hits"][0]["gaps"], 1);
    }
}

#[test]
fn a_text_too_large_to_hold_is_read_in_pieces_and_found() {
    let mill = Mill::sqlite();
    let line =
        |n: u32| format!("Row {n} of the ledger names the sack numbered {n} and its owner.\n\n");
    let ledger: String = (0..36_000).map(line).collect();
    let folder = Folder::of(&[("ledger.txt", &ledger)]);
    assert_eq!(outcomes(&mill.ingest(folder.path())), ["new"]);
    let answer = &mill.lines(&["search", "35999", "--json"])[0];
    // The first of one leg or of the other: equals stand in the order of their places.
    let mut best = answer["hits"].as_array().unwrap().iter().take(2);
    let hit = best.find(|hit| text(&hit["text"]).contains("numbered 35999"));
    let hit = hit.unwrap_or_else(|| panic!("{answer}"));
    // Its range is one of the whole text, though that was never in one place.
    let whole = mill.ok(&[
        "extract",
        path(&folder.file("ledger.txt")),
        "--format",
        "text",
    ]);
    let range = |at: usize| hit["byte_range"][at].as_u64().unwrap() as usize;
    assert_eq!(&whole[range(0)..range(1)], text(&hit["text"]));
    mill.digest();
}

#[test]
fn a_text_beyond_the_limit_of_uploads_is_extracted_in_every_form_on_ones_own_machine() {
    let mill = Mill::sqlite();
    let row = |n: u32| format!("# Row {n}\n\nThe sack numbered {n} and its \"owner\".\n\n");
    let ledger: String = (0..50_000).map(row).collect();
    let folder = Folder::of(&[("ledger.md", &ledger)]);
    let file = folder.file("ledger.md");
    let told = |format: &str| {
        let mut command = mill.command(&["extract", path(&file), "--format", format]);
        let output = command.env("GRISTMILL_UPLOAD_MAX_MB", "1").output();
        let output = output.expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).expect("output is UTF-8")
    };
    assert!(told("md") == format!("{}\n", ledger.trim_end()));
    let whole: Value = serde_json::from_str(&told("json")).expect("one object");
    assert!(text(&whole["text"]) == told("text"));
    assert_eq!(text(&whole["media_type"]), "text/markdown");
    assert_eq!(text(&whole["title"]), "Row 0");
    let atoms = whole["atoms"].as_array().unwrap();
    assert_eq!(atoms.len(), 100_000);
    let cut = |range: &Value, from: &str, (start, end): (&str, &str)| {
        let at = |name: &str| range[name].as_u64().unwrap() as usize;
        from[at(start)..at(end)].to_owned()
    };
    let last = &atoms[99_999];
    let words = "The sack numbered 49999 and its \"owner\".";
    let span = ("byte_start", "byte_end");
    assert_eq!(cut(&last["span"], text(&whole["text"]), span), words);
    assert_eq!(cut(&last["source"], &ledger, ("start", "end")), words);
}

/// Escaped, its address is longer than a database indexes; on disk it is an ordinary path.
fn a_file_called_at_too_great_length_keeps_no_other_out(mill: &Mill) {
    let folder = Folder::of(&[
        ("a.md", "# A\n\nThe hopper.\n"),
        ("z.md", "# Z\n\nThe sack.\n"),
    ]);
    let deep = vec!["é".repeat(120); 4].join("/");
    folder.write(&format!("{deep}/b.md"), "# B\n\nThe damsel.\n");
    for expected in ["new", "skipped"] {
        let output = mill.run(&["ingest", path(folder.path()), "--json"]);
        assert!(!output.status.success(), "one of them is refused");
        let told = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<Value> = told
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let mut became = outcomes(&lines);
        became.sort_unstable();
        assert_eq!(became, ["failed", expected, expected]);
        let failed = lines.iter().find(|line| line["outcome"] == "failed");
        let why = text(&failed.unwrap()["error"]);
        assert!(why.starts_with("the address is too long"), "{why}");
    }
    assert_eq!(mill.lines(&["documents", "--json"]).len(), 2);
    assert!(mill.run(&["verify"]).status.success());
}

#[test]
fn every_file_that_is_refused_is_named_however_many_there_are() {
    let (mill, folder) = (Mill::sqlite(), Folder::of(&[]));
    let deep = vec!["é".repeat(120); 4].join("/");
    for n in 0..60 {
        folder.write(&format!("{deep}/{n}.md"), "# B\n\nThe damsel.\n");
    }
    let output = mill.run(&["ingest", path(folder.path()), "--json"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(told.matches("the address is too long").count(), 60);
}

#[test]
fn a_file_called_at_too_great_length_keeps_no_other_out_on_sqlite() {
    a_file_called_at_too_great_length_keeps_no_other_out(&Mill::sqlite());
}

#[tokio::test]
async fn a_file_called_at_too_great_length_keeps_no_other_out_on_postgres() {
    a_file_called_at_too_great_length_keeps_no_other_out(&Mill::postgres().await);
}
