//! The `gristmill` binary: reads the command line, composes the parts, runs one command.

mod cli;
mod client;
mod commands;
mod config;
mod embedding;
mod explain;
mod folder;
mod house;
mod identity;
mod log;
mod otel;
mod reranking;
mod secrets;
mod session;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use cli::{Cli, Command, ConfigAction};
use config::Config;
use otel::Exporter;

fn main() -> ExitCode {
    sandbox::keep_few_arenas();
    // Not a command for people: known to no help, completion or hint.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == house::PARSE_CHILD)
    {
        return sandbox::child_main();
    }
    let cli = Cli::parse();
    let verbose = cli.globals.verbose > 0;
    if !verbose {
        std::panic::set_hook(Box::new(apologise));
    }
    match run(cli) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{}", explain::explain(&error, verbose));
            ExitCode::FAILURE
        }
    }
}

/// A panic is our bug. Its place is enough to report it by; `-v` shows the rest.
fn apologise(panic: &std::panic::PanicHookInfo<'_>) {
    // Caught, and told as what is wrong with the files that are read.
    if durable::reading::is_under_way() {
        return;
    }
    let place = panic.location().map(ToString::to_string);
    let place = place.unwrap_or_else(|| "an unknown place".to_owned());
    eprintln!("error: gristmill made a mistake at {place}");
    eprintln!("hint: this is a bug; run the command again with -v to see more, and report it");
}

/// What needs no configuration is answered at once; the rest runs on a runtime.
fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Completions { shell } => {
            let mut command = Cli::command();
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command, "gristmill", &mut script);
            commands::print_text(&String::from_utf8(script)?)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Man => {
            let mut page = Vec::new();
            render_man(Cli::command(), &mut page)?;
            commands::print_text(&String::from_utf8(page)?)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Config(config) => {
            let ConfigAction::Show = config.action;
            commands::print_text(&config::show(&load(&cli.globals, &[])?))?;
            Ok(ExitCode::SUCCESS)
        }
        command => {
            let config = load(&cli.globals, &flags(&command))?;
            let quiet = if matches!(command, Command::Serve(_)) {
                "info"
            } else {
                "warn"
            };
            let exporter = log::start(&config, quiet, cli.globals.verbose);
            watch_crash_points()?;
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()?;
            let code = runtime.block_on(async {
                let exporting = exporter.map(Exporter::start);
                let code = perform(&config, command).await;
                if let Some(exporting) = exporting {
                    exporting.finish().await;
                }
                code
            })?;
            tell_points()?;
            Ok(code)
        }
    }
}

/// The page of the program, then one of each command and of what it can be told to do.
fn render_man(command: clap::Command, page: &mut Vec<u8>) -> anyhow::Result<()> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    pages(&command, page)
}

fn pages(command: &clap::Command, page: &mut Vec<u8>) -> anyhow::Result<()> {
    clap_mangen::Man::new(command.clone()).render(page)?;
    let mut shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    shown.try_for_each(|sub| pages(sub, page))
}

async fn perform(config: &Config, command: Command) -> anyhow::Result<ExitCode> {
    let done = ExitCode::SUCCESS;
    match command {
        Command::Serve(args) => commands::serve::run(config, &args).await.map(|()| done),
        Command::Ingest(args) => commands::ingest::run(config, &args).await,
        Command::Search(args) => commands::search::run(config, &args).await.map(|()| done),
        Command::Extract(args) => commands::inspect::extract(config, &args)
            .await
            .map(|()| done),
        Command::Chunk(args) => commands::inspect::chunk(config, &args).await.map(|()| done),
        Command::Runs(args) => commands::runs::run(config, &args).await.map(|()| done),
        Command::Documents(args) => commands::documents::run(config, &args).await.map(|()| done),
        Command::Jobs(args) => commands::jobs::run(config, &args).await.map(|()| done),
        Command::Generations(args) => commands::generations::run(config, &args)
            .await
            .map(|()| done),
        Command::DeadLetters(args) => commands::dead_letters::run(config, &args)
            .await
            .map(|()| done),
        Command::Status(args) => commands::status::run(config, &args).await.map(|()| done),
        Command::Metrics(args) => commands::metrics::run(config, &args).await.map(|()| done),
        Command::Doctor(args) => commands::doctor::run(config, &args).await,
        Command::Verify(args) => commands::verify::run(config, &args).await,
        Command::Backup(args) => commands::backup::run(config, &args).await.map(|()| done),
        Command::Restore(args) => commands::backup::restore(config, &args).await,
        Command::Repair(args) => commands::verify::repair(config, &args).await,
        Command::CrashTest(args) => commands::crash_test::run(config, &args).await,
        Command::Completions { .. } | Command::Man | Command::Config(_) => {
            unreachable!("answered before the configuration is read")
        }
    }
}

fn load(globals: &cli::Globals, more: &[(&'static str, String)]) -> anyhow::Result<Config> {
    let mut flags = globals.settings();
    flags.extend_from_slice(more);
    // What is not UTF-8 cannot be one of ours.
    let readable = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    config::load(globals.config.as_deref(), readable, flags)
}

/// Flags of one command that are settings.
fn flags(command: &Command) -> Vec<(&'static str, String)> {
    match command {
        Command::Serve(serve) => {
            let listen = serve.listen.clone();
            listen
                .map(|listen| ("listen", listen))
                .into_iter()
                .collect()
        }
        Command::CrashTest(test) => {
            let url = test.catalog_url.clone();
            url.map(|url| ("catalog.url", url)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// `GRISTMILL_CRASH_AT=point:before|after:hit` makes this process die there, and
/// `GRISTMILL_COUNT_POINTS=FILE` has it count them, for proofs.
fn watch_crash_points() -> anyhow::Result<()> {
    if let Ok(at) = std::env::var("GRISTMILL_CRASH_AT") {
        let at = at.parse().map_err(anyhow::Error::msg)?;
        // It is going to die as told; there is nothing to learn from its memory.
        let none = rustix::process::Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        rustix::process::setrlimit(rustix::process::Resource::Core, none)?;
        durable::watch(Some(at));
    } else if std::env::var_os(COUNT_POINTS).is_some() {
        durable::watch(None);
    }
    Ok(())
}

const COUNT_POINTS: &str = "GRISTMILL_COUNT_POINTS";

#[expect(
    clippy::disallowed_methods,
    reason = "what was counted is for whoever asked, and no part of the data"
)]
fn tell_points() -> anyhow::Result<()> {
    if let Some(file) = std::env::var_os(COUNT_POINTS) {
        std::fs::write(file, serde_json::to_vec(&durable::passed())?)?;
    }
    Ok(())
}
