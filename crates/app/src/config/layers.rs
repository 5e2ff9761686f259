//! One layer over another, remembering which one each value came from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use toml::{Table, Value};

use super::keys::{KEYS, Key, Kind, OTHER_VARIABLES};
use super::{Config, Runtime};
use crate::explain::hinted;

/// Where a value came from, in the words `config show` uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    File(PathBuf),
    Environment(String),
    Flag,
}

/// Of every value that is not a default.
pub type Origins = BTreeMap<&'static str, Origin>;

#[derive(Default)]
struct Layers {
    table: Table,
    origins: Origins,
}

/// Composes the configuration. `flags` are `(path, value)`; `file` must exist when named.
pub fn load(
    file: Option<&Path>,
    environment: impl Iterator<Item = (String, String)>,
    flags: Vec<(&'static str, String)>,
) -> anyhow::Result<Config> {
    let environment: BTreeMap<_, _> = environment.collect();
    let mut layers = Layers::default();
    let named = file.map(Path::to_owned).or_else(|| {
        let named = environment.get("GRISTMILL_CONFIG");
        named.map(PathBuf::from)
    });
    layers.add_file(named)?;
    layers.add_environment(&environment)?;
    for (path, value) in flags {
        let key = KEYS.iter().find(|key| key.path == path);
        let key = key.expect("every flag sets a listed key");
        layers.set(key, parse(key, &value)?, Origin::Flag);
    }
    layers.finish()
}

impl Layers {
    fn add_file(&mut self, named: Option<PathBuf>) -> anyhow::Result<()> {
        let path = named.clone().unwrap_or_else(|| "gristmill.toml".into());
        if named.is_none() && !path.exists() {
            return Ok(());
        }
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read the configuration file `{}`", path.display()))?;
        // Read alone first, so that a complaint points at the file's own line.
        let complain = |error| complaint(&path, &text, &error);
        toml::from_str::<Config>(&text).map_err(complain)?;
        self.table = text.parse().map_err(complain)?;
        for key in KEYS {
            if get(&self.table, key.path).is_some() {
                self.origins.insert(key.path, Origin::File(path.clone()));
            }
        }
        Ok(())
    }

    fn add_environment(&mut self, environment: &BTreeMap<String, String>) -> anyhow::Result<()> {
        for key in KEYS {
            let ours = key.env();
            // Our own name wins over an alias.
            let names = [key.alias.unwrap_or_default(), ours.as_str()];
            for name in names.into_iter().filter(|name| !name.is_empty()) {
                if let Some(value) = environment.get(name) {
                    let value = parse(key, value).with_context(|| format!("in {name}"))?;
                    self.set(key, value, Origin::Environment(name.to_owned()));
                }
            }
        }
        refuse_unknown(environment)
    }

    fn set(&mut self, key: &Key, value: Value, origin: Origin) {
        let (section, name) = split(key.path);
        let table = match section {
            None => &mut self.table,
            Some(section) => self
                .table
                .entry(section)
                .or_insert_with(|| Value::Table(Table::new()))
                .as_table_mut()
                .expect("sections of a checked file are tables"),
        };
        table.insert(name.to_owned(), value);
        self.origins.insert(key.path, origin);
    }

    fn finish(self) -> anyhow::Result<Config> {
        refuse_excess(&self.table)?;
        let config: Config =
            Value::Table(self.table)
                .try_into()
                .map_err(|error: toml::de::Error| {
                    let error = error.to_string().trim().replace('\n', ", ");
                    hinted(
                        format!("the configuration does not hold together: {error}"),
                        "correct that variable or flag, or leave it out for the default",
                    )
                })?;
        refuse_zero(&config)?;
        Ok(Config {
            origins: self.origins,
            ..config
        })
    }
}

/// What is wrong with the file, and on which line. The line itself is not shown: the value of
/// a misspelt secret may stand in it.
fn complaint(path: &Path, text: &str, error: &toml::de::Error) -> anyhow::Error {
    let before = error.span().and_then(|span| text.get(..span.start));
    let before = before.unwrap_or_default();
    let number = before.matches('\n').count();
    let name = text.lines().nth(number).unwrap_or_default();
    let name = name.split('=').next().unwrap_or_default().trim();
    let secret = |key: &&Key| key.secret && split(key.path).1 == name;
    let why = match KEYS.iter().find(secret) {
        Some(_) => format!("`{name}` must be text in quotes"),
        None => error.message().to_owned(),
    };
    hinted(
        format!("`{}`, line {}: {why}", path.display(), number + 1),
        "correct that line; `gristmill config show` elsewhere lists every setting",
    )
}

/// A larger number is a slip of the hand; as seconds, megabytes or connections it would
/// overflow somewhere far from here.
const MOST: i64 = 1_000_000;

fn refuse_excess(table: &Table) -> anyhow::Result<()> {
    let number = |key: &Key| get(table, key.path).and_then(Value::as_integer);
    match KEYS.iter().find(|key| number(key) > Some(MOST)) {
        None => Ok(()),
        Some(key) => Err(hinted(
            format!("`{}` is more than {MOST}", key.path),
            "set it lower, or leave it out for the default",
        )),
    }
}

/// A pool of none and a limit of nothing would wait for ever or refuse everything.
fn refuse_zero(config: &Config) -> anyhow::Result<()> {
    let counts = [
        ("workers.parse_slots", config.workers.parse_slots as u64),
        ("workers.run_slots", config.workers.run_slots as u64),
        ("catalog.connections", config.catalog.connections.into()),
        ("http.concurrency", config.http.concurrency as u64),
        (
            "http.streams_per_tenant",
            config.http.streams_per_tenant as u64,
        ),
        ("http.timeout_seconds", config.http.timeout_seconds),
        ("http.idle_seconds", config.http.idle_seconds),
        ("upload.max_mb", config.upload.max_mb),
        ("parse.timeout_seconds", config.parse.timeout_seconds),
        ("parse.memory_mb", config.parse.memory_mb),
        ("auth.token_hours", config.auth.token_hours.into()),
        (
            "embedding.max_batch_items",
            config.embedding.max_batch_items as u64,
        ),
        (
            "embedding.timeout_seconds",
            config.embedding.timeout_seconds,
        ),
        ("also.max_batch_items", config.also.max_batch_items as u64),
        ("also.timeout_seconds", config.also.timeout_seconds),
        ("rerank.candidates", config.rerank.candidates as u64),
        ("rerank.deadline_ms", config.rerank.deadline_ms),
        ("guard.every_seconds", config.guard.every_seconds),
        ("janitor.every_minutes", config.janitor.every_minutes),
    ];
    // Where runs wait for another's worker, one failed delivery would end them.
    let waits = match config.runtime {
        Runtime::Http => config.guard.queued_hours,
        Runtime::Inline => 1,
    };
    let waits = ("guard.queued_hours", waits);
    match counts
        .into_iter()
        .chain([waits])
        .find(|(_, value)| *value == 0)
    {
        None => Ok(()),
        Some((key, _)) => Err(hinted(
            format!("`{key}` is 0"),
            "set it to 1 or more, or leave it out for the default",
        )),
    }
}

fn refuse_unknown(environment: &BTreeMap<String, String>) -> anyhow::Result<()> {
    let known =
        |name: &str| OTHER_VARIABLES.contains(&name) || KEYS.iter().any(|key| key.env() == name);
    let mut ours = environment.keys().filter(|n| n.starts_with("GRISTMILL_"));
    match ours.find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => Err(hinted(
            format!("the environment variable {name} is not a setting of gristmill"),
            "`gristmill config show` lists the settings; unset the variable or correct its name",
        )),
    }
}

fn parse(key: &Key, text: &str) -> anyhow::Result<Value> {
    let expected = |what| hinted(format!("`{text}` is not {what}"), key.about);
    Ok(match key.kind {
        Kind::Text => Value::String(text.to_owned()),
        Kind::Flag => match text {
            "true" | "1" | "yes" | "on" => Value::Boolean(true),
            "false" | "0" | "no" | "off" => Value::Boolean(false),
            _ => return Err(expected("true or false")),
        },
        Kind::Number => Value::Integer(text.parse().map_err(|_| expected("a whole number"))?),
    })
}

pub(super) fn get<'t>(table: &'t Table, path: &str) -> Option<&'t Value> {
    match split(path) {
        (None, name) => table.get(name),
        (Some(section), name) => table.get(section)?.get(name),
    }
}

pub(super) fn split(path: &str) -> (Option<&str>, &str) {
    match path.split_once('.') {
        Some((section, name)) => (Some(section), name),
        None => (None, path),
    }
}
