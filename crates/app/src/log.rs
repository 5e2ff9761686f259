//! What is said on standard error while a command works.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;

/// `RUST_LOG` has the last word; `-v` and `-vv` raise the level of our own crates.
pub fn start(format: LogFormat, quiet: &str, verbose: u8) {
    let level = match verbose {
        0 => quiet,
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new(format!("warn,{}", ours(level))));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.with_target(false).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}

fn ours(level: &str) -> String {
    let crates = [
        "gristmill",
        "catalog",
        "engine",
        "index",
        "providers",
        "sandbox",
        "shell",
        "sources",
        "web",
    ];
    crates.map(|name| format!("{name}={level}")).join(",")
}
