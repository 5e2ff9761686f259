//! The configuration in force, as a file that would give it, secrets masked.

use std::fmt::Write as _;

use toml::{Table, Value};

use super::Loaded;
use super::keys::{KEYS, Key};
use super::layers::{Origin, get, split};

pub fn show(loaded: &Loaded) -> String {
    let table = Table::try_from(&loaded.config).expect("a configuration is a table");
    let mut out = String::new();
    let mut section = None;
    for key in KEYS {
        let (its, name) = split(key.path);
        if its != section {
            section = its;
            let _ = writeln!(out, "\n[{}]", its.unwrap_or_default());
        }
        let value = masked(key, get(&table, key.path));
        let origin = origin(loaded.origins.get(key.path));
        let _ = writeln!(out, "{name} = {value}  # {origin}; {}", key.about);
    }
    out
}

fn masked(key: &Key, value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) if key.secret && !text.is_empty() => "\"********\"".to_owned(),
        Some(value) => value.to_string(),
        None => "\"\"".to_owned(),
    }
}

fn origin(origin: Option<&Origin>) -> String {
    match origin {
        None => "default".to_owned(),
        Some(Origin::File(path)) => format!("from {}", path.display()),
        Some(Origin::Environment(name)) => format!("from {name}"),
        Some(Origin::Flag) => "from the command line".to_owned(),
    }
}
