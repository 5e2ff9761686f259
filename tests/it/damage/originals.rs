//! An original changed where it is stored: nothing is ever made of it.

use std::path::PathBuf;

use crate::mill::{Folder, Mill, path};

const TEXT: &str = "# Mallards\n\nThe mallard nests below the weir.\n";

fn originals(mill: &Mill) -> Vec<PathBuf> {
    let tenants = std::fs::read_dir(mill.data().join("objects/originals")).unwrap();
    let of = |tenant: std::io::Result<std::fs::DirEntry>| {
        let files = std::fs::read_dir(tenant.unwrap().path()).unwrap();
        files.map(|file| file.unwrap().path()).collect::<Vec<_>>()
    };
    tenants.flat_map(of).collect()
}

/// Whoever brings the same bytes again, under whatever name, has them stored as they are.
#[test]
fn bringing_a_file_again_puts_its_original_right_and_answers_with_what_was_brought() {
    let mill = Mill::sqlite();
    mill.ingest(Folder::of(&[("a.md", TEXT)]).path());
    let files = originals(&mill);
    assert_eq!(files.len(), 1);
    std::fs::write(&files[0], "junk about an avadavat").unwrap();
    assert!(!mill.run(&["verify"]).status.success());
    mill.ingest(Folder::of(&[("copy.md", TEXT)]).path());
    assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), TEXT);
    mill.ok(&["verify"]);
    let hits = |words: &str| {
        let found = mill.lines(&["search", words, "--mode", "text", "--json"]);
        found[0]["hits"].as_array().unwrap().len()
    };
    assert_eq!((hits("avadavat"), hits("mallard")), (0, 2));
}

/// `repair` has nothing to make it of, and says to bring the file again: that helps.
#[test]
fn what_repair_cannot_make_again_is_right_once_the_file_is_brought_again() {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[("a.md", TEXT)]);
    mill.ingest(folder.path());
    std::fs::write(&originals(&mill)[0], "junk about an avadavat").unwrap();
    let repaired = mill.run(&["repair"]);
    assert!(!repaired.status.success(), "it cannot be made again");
    let again = mill.ok(&["ingest", path(folder.path())]);
    assert!(again.contains("skipped"), "{again}");
    mill.ok(&["verify"]);
}
