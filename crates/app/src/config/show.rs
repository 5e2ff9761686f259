//! The configuration in force, secrets masked: as a file that would give it, and as lines.

use std::fmt::Write as _;

use toml::{Table, Value};
use web::Setting;

use super::Config;
use super::keys::{KEYS, Key};
use super::layers::{Origin, get, split};

pub fn show(config: &Config) -> String {
    let mut out = String::new();
    let mut section = None;
    for setting in in_force(config) {
        let (its, name) = split(setting.key);
        if its != section {
            section = its;
            let _ = writeln!(out, "\n[{}]", its.unwrap_or_default());
        }
        let Setting {
            value,
            origin,
            about,
            ..
        } = setting;
        let _ = writeln!(out, "{name} = {value}  # {origin}; {about}");
    }
    out
}

/// Every setting with its value and where that came from.
pub fn in_force(config: &Config) -> Vec<Setting> {
    let table = Table::try_from(config).expect("a configuration is a table");
    let setting = |key: &Key| Setting {
        key: key.path,
        value: masked(key, get(&table, key.path)),
        origin: origin(config.origins.get(key.path)),
        about: key.about,
    };
    KEYS.iter().map(setting).collect()
}

fn masked(key: &Key, value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) if key.secret && !text.is_empty() => "\"********\"".to_owned(),
        Some(Value::String(text)) => Value::String(without_password(text)).to_string(),
        Some(value) => value.to_string(),
        None => "\"\"".to_owned(),
    }
}

/// Whoever may call a URL may stand in it, before the host.
fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let host = rest.split('/').next().unwrap_or_default();
    match host.rfind('@') {
        Some(at) => format!("{scheme}://********{}", &rest[at..]),
        None => text.to_owned(),
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
