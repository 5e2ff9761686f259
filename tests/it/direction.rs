//! Imports point one way, and the manifests prove it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Who may import whom. A crate is listed after everything it may import.
const ALLOWED: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("durable", &[]),
    ("parse", &["model"]),
    ("pipeline", &["model"]),
    ("sandbox", &["model", "parse"]),
    ("sources", &["model"]),
    ("providers", &["model"]),
    ("catalog", &["model", "durable"]),
    ("coordinator", &["durable"]),
    ("index", &["model", "durable", "coordinator"]),
    ("series", &["model", "durable", "coordinator"]),
    (
        "engine",
        &[
            "model",
            "durable",
            "parse",
            "pipeline",
            "sandbox",
            "sources",
            "providers",
            "catalog",
            "coordinator",
            "index",
            "series",
        ],
    ),
    (
        "shell",
        &[
            "model", "durable", "sandbox", "sources", "catalog", "engine",
        ],
    ),
    (
        "web",
        &[
            "model",
            "durable",
            "parse",
            "pipeline",
            "sandbox",
            "sources",
            "providers",
            "catalog",
            "index",
            "series",
            "engine",
        ],
    ),
];

/// The binary and what only tests use may import everything.
const FREE: &[&str] = &["app", "samples", "testkit"];

#[test]
fn imports_point_one_way() {
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    for (name, manifest) in manifests() {
        if FREE.contains(&name.as_str()) {
            continue;
        }
        let may = allowed
            .get(name.as_str())
            .unwrap_or_else(|| panic!("{name}: say in direction.rs what this crate may import"));
        let imports = ours(&manifest, &allowed);
        let strays: Vec<_> = imports
            .iter()
            .filter(|i| !may.contains(&i.as_str()))
            .collect();
        assert!(strays.is_empty(), "{name} may not import {strays:?}");
    }
}

#[test]
fn no_crate_is_imported_by_one_listed_before_it() {
    let mut seen = BTreeSet::new();
    for (name, imports) in ALLOWED {
        let ahead: Vec<_> = imports.iter().filter(|i| !seen.contains(*i)).collect();
        assert!(
            ahead.is_empty(),
            "{name} would import {ahead:?} against the flow"
        );
        seen.insert(name);
    }
}

/// The coordinator is generic: storage belongs to those who use it.
#[test]
fn the_coordinator_has_no_storage_in_its_manifest() {
    let manifests = manifests();
    let coordinator = &manifests["coordinator"];
    let storage = ["slatedb", "object_store", "tantivy", "sqlx"];
    let named = coordinator["dependencies"].as_table().unwrap();
    assert!(storage.iter().all(|crate_| !named.contains_key(*crate_)));
}

fn manifests() -> BTreeMap<String, toml::Table> {
    let crates: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = std::fs::read_dir(crates)
        .unwrap()
        .map(|f| f.unwrap().path());
    folders
        .filter(|folder| folder.join("Cargo.toml").is_file())
        .map(|folder| {
            let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            (name, text.parse().unwrap())
        })
        .collect()
}

/// What a crate imports to be built, on any machine; tests may reach further.
fn ours(manifest: &toml::Table, known: &BTreeMap<&str, &[&str]>) -> BTreeSet<String> {
    let table = |value: &toml::Value| value.as_table().cloned();
    let targets = manifest.get("target").and_then(table).unwrap_or_default();
    let places = [manifest.clone()];
    let places = places.into_iter().chain(targets.values().filter_map(table));
    let sections = places.flat_map(|place| {
        ["dependencies", "build-dependencies"].map(|name| place.get(name).and_then(table))
    });
    let names = sections.flatten().flatten();
    names
        .map(|(name, _)| name)
        .filter(|name| known.contains_key(name.as_str()) || FREE.contains(&name.as_str()))
        .collect()
}
