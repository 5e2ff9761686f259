//! What is said on standard error while a command works.

use std::io::IsTerminal as _;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::config::{Config, LogFormat};
use crate::otel::{self, Exporter};

/// `RUST_LOG` has the last word; `-v` and `-vv` raise the level of our own crates.
///
/// Gives the exporter of traces, where there is one, to be run and ended with the command.
pub fn start(config: &Config, quiet: &str, verbose: u8) -> Option<Exporter> {
    let level = match verbose {
        0 => quiet,
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new(format!("{},{}", others(level), ours(level))));
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let layer = match config.log.format {
        LogFormat::Text => layer.with_target(false).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    };
    let (spans, exporter) = otel::layer(&config.otel).unzip();
    let spans = spans.map(|spans| spans.with_filter(LevelFilter::INFO));
    tracing_subscriber::registry()
        .with(layer.with_filter(filter))
        .with(spans)
        .init();
    exporter
}

/// Warnings of the libraries are for those who run a server or ask.
fn others(level: &str) -> &str {
    if level == "warn" { "error" } else { "warn" }
}

fn ours(level: &str) -> String {
    let crates = [
        "gristmill",
        "catalog",
        "coordinator",
        "engine",
        "index",
        "providers",
        "sandbox",
        "series",
        "shell",
        "sources",
        "web",
    ];
    crates.map(|name| format!("{name}={level}")).join(",")
}
