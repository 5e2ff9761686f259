//! Files of the figures over time damaged, one by one: named, set aside and begun anew, while
//! documents are taken in and found as ever.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{copy, text_files::files};
use crate::mill::{Folder, Mill, text};

fn library() -> Mill {
    let folder = Folder::of(&[("a.md", "# A\n\nThe quern is old.\n")]);
    let mill = Mill::sqlite();
    mill.ingest(folder.path());
    mill
}

fn newest(mill: &Mill, of: &str) -> PathBuf {
    let folder = mill.data().join("series").join(of);
    files(&folder).pop().expect("there is one")
}

fn cut(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

fn figures(mill: &Mill) -> Value {
    let output = mill.run(&["doctor", "--json"]);
    let said = String::from_utf8(output.stdout).unwrap();
    let mut checks = said.lines().map(|line| serde_json::from_str(line).unwrap());
    let found = checks.find(|check: &Value| check["check"] == "figures");
    found.expect("doctor looks at the figures")
}

#[test]
fn damaged_figures_are_named_and_set_aside_and_documents_go_on_meanwhile() {
    let whole = library();
    assert_eq!(figures(&whole)["ok"], true);
    for of in ["compacted", "manifest"] {
        let mill = Mill::sqlite();
        copy(&whole.data(), &mill.data());
        cut(&newest(&mill, of));
        let output = mill.run(&["metrics", "stage_seconds"]);
        assert!(!output.status.success(), "{of}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("series store are damaged"), "{of}: {said}");
        assert!(said.contains("`gristmill repair`"), "{of}: {said}");
        assert!(said.contains("folder `series`"), "{of}: {said}");
        let check = figures(&mill);
        assert_eq!(check["ok"], false, "{of}: {check}");
        assert!(text(&check["hint"]).contains("`gristmill repair`"), "{of}");

        let more = Folder::of(&[("b.md", "# B\n\nThe sluice is shut.\n")]);
        mill.ingest(more.path());
        mill.ok(&["search", "sluice"]);

        let told = mill.lines(&["repair", "--json"]).remove(0);
        let finding = &told["findings"][0];
        assert_eq!(finding["folder"], "series", "{of}: {told}");
        assert_eq!(finding["mended"], true, "{of}: {told}");
        let names = std::fs::read_dir(mill.data()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name());
        let aside = names.filter(|name| name.to_string_lossy().starts_with("series.damaged-"));
        assert_eq!(aside.count(), 1, "{of}");
        mill.ok(&["metrics", "stage_seconds"]);
        assert_eq!(figures(&mill)["ok"], true, "{of}");
        let again = mill.lines(&["repair", "--json"]).remove(0);
        assert_eq!(again["findings"], Value::Array(Vec::new()), "{of}");
    }
}
