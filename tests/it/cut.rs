//! `gristmill chunk`: a file cut by whichever strategy is named, and its tokens told as what they are.

use std::collections::HashSet;

use testkit::double::Double;

use crate::mill::{Folder, Mill, embeds_at, path, text};
use crate::server::Server;

/// Sections, paragraphs, and sentences longer than what a chunk is aimed at.
fn mills() -> Folder {
    let section = |n: u32| {
        let sentence = format!("The wheel of mill {n} turns when the stream is high. ");
        format!("# Mill {n}\n\n{}\n\nA short end.\n\n", sentence.repeat(40))
    };
    let text: String = (0..4).map(section).collect();
    Folder::of(&[("mills.md", &text)])
}

#[test]
fn a_file_is_cut_by_the_strategy_that_is_named_and_by_the_configured_one_unless() {
    let (mill, folder) = (Mill::sqlite(), mills());
    let file = folder.file("mills.md");
    let cut = |more: &[&str]| mill.ok(&[&["chunk", path(&file), "--json"], more].concat());
    let names = ["structural", "fixed", "sentence", "markdown", "streaming"];
    let cuts: Vec<String> = names.map(|name| cut(&["--strategy", name])).into();
    assert_eq!(cuts[0], cut(&[]));
    let different: HashSet<&String> = cuts.iter().collect();
    assert!(different.len() >= 4, "{} ways to cut", different.len());

    let configured = mill
        .command(&["chunk", path(&file), "--json"])
        .env("GRISTMILL_CHUNKS_STRATEGY", "fixed")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(configured.stdout).unwrap(), cuts[1]);

    let refused = mill.run(&["chunk", path(&file), "--strategy", "by-taste"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        !refused.status.success() && said.contains("sentence"),
        "{said}"
    );
}

/// More than is held at once, and told while it is read: every chunk is what stands at its range
/// in the text that `extract` tells.
#[test]
fn a_large_text_is_cut_as_it_is_read_and_nothing_of_it_is_left_out() {
    let line = |n: u32| {
        format!(
            "Sack {n} was weighed and found to hold {} grains.\n\n",
            n * 7
        )
    };
    let sacks: String = (0..60_000).map(line).collect();
    let folder = Folder::of(&[("sacks.txt", &sacks)]);
    let (mill, file) = (Mill::sqlite(), folder.file("sacks.txt"));
    let whole = mill.ok(&["extract", path(&file), "--format", "text"]);
    let mut covered = 0;
    for chunk in mill.lines(&["chunk", path(&file), "--strategy", "streaming", "--json"]) {
        let at = |end: usize| chunk["byte_range"][end].as_u64().unwrap() as usize;
        assert_eq!(text(&chunk["text"]), &whole[at(0)..at(1)]);
        assert!(whole[covered.min(at(0))..at(0)].trim().is_empty());
        covered = at(1);
    }
    assert!(whole[covered..].trim().is_empty(), "{covered} bytes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_that_are_estimated_are_told_as_that() {
    let (mill, folder) = (Mill::sqlite(), mills());
    let file = folder.file("mills.md");
    let exact = mill.ok(&["chunk", path(&file)]);
    assert!(!exact.contains("about"), "{exact}");
    for chunk in mill.lines(&["chunk", path(&file), "--json"]) {
        assert_eq!(chunk["tokens_estimated"], false);
    }

    let double = Double::start(vec![]).await;
    let url = double.url();
    let server = Server::start(&mill, &embeds_at(&url));
    let shown = mill.ok(&["chunk", path(&file)]);
    let heads = shown.lines().filter(|line| line.starts_with("── "));
    assert!(heads.clone().count() > 3, "{shown}");
    for head in heads {
        assert!(head.contains(", about "), "{head}");
    }
    let ingested = mill.ingest(folder.path()).remove(0);
    let document = format!("/v1/documents/{}", text(&ingested["document_id"]));
    let document = server.get(&document).await;
    let version = format!("/v1/versions/{}", text(&document["version_id"]));
    let chunks = server.get(&format!("{version}/chunks")).await;
    assert_eq!(chunks["items"][0]["tokens_estimated"], true, "{chunks}");
    let version = server.get(&version).await;
    assert_eq!(version["tokens_estimated"], true, "{version}");
}
