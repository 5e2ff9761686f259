//! The default model, for real: what is meant is found where no word is shared.

use std::path::Path;

use crate::mill::{Folder, Mill, path, text};

fn weights() -> &'static Path {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../.tools/models/all-MiniLM-L6-v2"
    );
    let folder = Path::new(folder);
    assert!(
        folder.exists(),
        "no weights: run scripts/fetch-model (make test does)"
    );
    folder
}

#[test]
fn what_is_meant_is_found_without_a_shared_word() {
    let folder = Folder::of(&[
        (
            "dough.md",
            "# Baking\n\nLet the loaf prove overnight before it goes into the oven.\n",
        ),
        (
            "wheel.md",
            "# Power\n\nThe river drives the machine from below.\n",
        ),
        (
            "money.md",
            "# Accounts\n\nInvoices are settled within thirty days.\n",
        ),
    ]);
    let mill = Mill::sqlite();
    let run = |args: &[&str]| {
        let output = mill
            .command(args)
            .env("GRISTMILL_EMBEDDING_PROVIDER", "local")
            .env("GRISTMILL_EMBEDDING_PATH", weights())
            .output()
            .expect("the binary starts");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("output is UTF-8")
    };
    run(&["ingest", path(folder.path()), "--json"]);
    let asked = [
        ("when do customers have to pay their bills", "money.md"),
        ("how long should bread rise", "dough.md"),
        ("water turning an engine", "wheel.md"),
    ];
    for (question, expected) in asked {
        let answer = run(&["search", question, "--mode", "vector", "--json"]);
        let answer: serde_json::Value = serde_json::from_str(&answer).expect("one JSON line");
        let found = text(&answer["hits"][0]["source_uri"]);
        assert!(found.ends_with(expected), "`{question}` found {found}");
    }
}
