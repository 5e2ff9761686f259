//! The command line as clap knows it: what can be asked, nothing of how it is done.

mod documents;
mod generations;
mod work;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

pub use documents::{DocumentAction, DocumentList, Documents, One};
pub use generations::{Build, GenerationAction, Generations, InKb, Switch};
pub use work::{DeadLetters, JobAction, Jobs, LetterAction, RunAction, RunList, Runs};

/// Turns files into a searchable knowledge base whose every answer can be traced to the page it came from.
#[derive(Debug, Parser)]
#[command(name = "gristmill", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub globals: Globals,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Clone, Args)]
pub struct Globals {
    /// The data folder [default: ./gristmill-data]
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The configuration file [default: ./gristmill.toml, if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Says more about what happens; twice says everything (RUST_LOG is heeded too)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Starts the server with its pages and workers
    Serve(Serve),
    /// Takes in files and folders and waits until they can be searched
    Ingest(Ingest),
    /// Finds passages
    Search(Search),
    /// Shows what the parser sees of a file
    Extract(Extract),
    /// Shows the chunks a file would become
    Chunk(Chunk),
    /// Lists runs, newest first, or shows one
    Runs(Runs),
    /// Lists documents, or shows, rolls back, deactivates or purges one
    Documents(Documents),
    /// Lists jobs, or controls one
    Jobs(Jobs),
    /// Builds a knowledge base anew with another model or other chunks while it answers
    Generations(Generations),
    /// Lists what failed for good, or shows, replays or drops one
    DeadLetters(DeadLetters),
    /// Says how things stand
    Status(Status),
    /// Shows figures over time
    Metrics(Metrics),
    /// Checks the installation and says what to do
    Doctor(Doctor),
    /// Computes the digest of the data folder and names every disagreement
    Verify(Verify),
    /// Mends what `verify` finds, and says what it did and what cannot be mended
    Repair(Repair),
    /// Copies one moment of everything into a folder, while serving
    Backup(Backup),
    /// Makes a data folder of a backup, and verifies it
    Restore(Restore),
    /// Kills an ingest of these files at every durable effect and checks that nothing is lost
    CrashTest(CrashTest),
    /// Shows the configuration
    Config(ConfigCommand),
    /// Prints a completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Prints the man page
    Man,
}

#[derive(Debug, Args)]
pub struct Serve {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Serves without workers: everything but processing works
    #[arg(long)]
    pub no_workers: bool,
}

#[derive(Debug, Args)]
pub struct Ingest {
    /// Files and folders; folders are read recursively, `.gitignore` and `.gristmillignore` honoured
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The knowledge base; made when it does not exist
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub kb: String,
    /// Kept with each document and filterable in search; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub metadata: Vec<(String, String)>,
    /// Documents under these paths whose file is gone stop answering
    #[arg(long)]
    pub remove_missing: bool,
    /// One line of JSON per document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Search {
    /// What to look for
    #[arg(required_unless_present = "queries")]
    pub query: Option<String>,
    /// The knowledge base
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub kb: String,
    /// Which indexes to ask
    #[arg(long, value_enum, default_value_t = Mode::Hybrid)]
    pub mode: Mode,
    /// How many passages
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub top: usize,
    /// What meaning and words count for, such as 2,1; 0 leaves one out [default: 1,1]
    #[arg(long, value_name = "VECTOR,TEXT", value_parser = weights)]
    pub weights: Option<(f64, f64)>,
    /// Only documents with this metadata; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub metadata: Vec<(String, String)>,
    /// What answered at that time (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub as_of: Option<chrono::DateTime<chrono::Utc>>,
    /// Leave the reranker out, where one is configured
    #[arg(long)]
    pub no_rerank: bool,
    /// A file with one `{"id","query"}` per line; all are asked in one process
    #[arg(long, value_name = "FILE", conflicts_with = "query")]
    pub queries: Option<PathBuf>,
    /// One line of JSON per query
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Mode {
    Hybrid,
    Vector,
    Text,
}

impl Mode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Vector => "vector",
            Self::Text => "text",
        }
    }
}

#[derive(Debug, Args)]
pub struct Extract {
    pub file: PathBuf,
    #[arg(long, value_enum, default_value_t = Format::Md)]
    pub format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Markdown made of what was found
    Md,
    /// The normalised text that ranges refer to
    Text,
    /// Everything, with places
    Json,
}

impl Format {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Md => "md",
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

#[derive(Debug, Args)]
pub struct Chunk {
    pub file: PathBuf,
    /// structural, fixed, sentence, markdown or streaming [default: as chunks.strategy]
    #[arg(long, value_name = "NAME")]
    pub strategy: Option<model::Strategy>,
    /// One line of JSON per chunk
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Status {
    /// One line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Metrics {
    /// Such as `queue_depth`, `rate(chunks_total[5m])`, `quantile(0.99, stage_seconds{stage="embed"})`
    pub query: String,
    /// From this long ago until now: 90s, 15m, 6h, 7d
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = seconds)]
    pub since: u64,
    /// A point this often [default: sixty of them]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub step: Option<u64>,
    /// One line of JSON per series
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Doctor {
    #[command(subcommand)]
    pub what: Option<DoctorWhat>,
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum DoctorWhat {
    /// Tries every route as another tenant and reports what it shows
    Isolation,
}

#[derive(Debug, Args)]
pub struct Verify {
    /// One line with the digest and counts
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Repair {
    /// One line with every finding, what was done about it, and how things stand
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Backup {
    /// A folder that is not there yet, or empty
    #[arg(value_name = "DIR")]
    pub to: PathBuf,
    /// One line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Restore {
    /// What `gristmill backup` wrote; restored into the data folder, which must not be there
    #[arg(value_name = "DIR")]
    pub from: PathBuf,
    /// One line with the digest and counts
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CrashTest {
    /// Files and folders to ingest, into scratch places that are gone afterwards
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Only at this durable effect; may be repeated
    #[arg(long = "point", value_name = "NAME")]
    pub points: Vec<String>,
    /// Tries it on this PostgreSQL database, in schemas that are gone afterwards
    #[arg(long, value_name = "URL")]
    pub catalog_url: Option<String>,
    /// One line of JSON per outcome
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ConfigCommand {
    #[command(subcommand)]
    pub action: ConfigAction,
}

#[derive(Debug, Subcommand)]
pub enum ConfigAction {
    /// Prints every setting, its value, and where it came from; secrets are masked
    Show,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// Two numbers; which of them will do is for the search to say.
fn weights(text: &str) -> Result<(f64, f64), String> {
    let number = |text: &str| text.trim().parse().ok().filter(|n: &f64| n.is_finite());
    let pair = text.split_once(',');
    pair.and_then(|(vector, text)| Some((number(vector)?, number(text)?)))
        .ok_or_else(|| "expected two numbers, such as 2,1".to_owned())
}

/// `90s`, `15m`, `6h`, `7d` in seconds.
fn time(text: &str) -> Result<chrono::DateTime<chrono::Utc>, String> {
    text.parse()
        .map_err(|_| "write the time as 2026-11-19T08:30:00Z".to_owned())
}

fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number and s, m, h or d, such as 15m".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let each = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    number
        .checked_mul(each)
        .filter(|all| *all > 0)
        .ok_or_else(wrong)
}

impl Globals {
    /// The flags that are settings.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let data = self.data.as_ref();
        let data = data.map(|path| ("data", path.to_string_lossy().into_owned()));
        data.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_tree_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn lists_need_no_verb_and_take_flags() {
        for line in [
            "gristmill documents --json",
            "gristmill runs --json",
            "gristmill jobs --json",
            "gristmill jobs --json",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_ok(), "{line}");
        }
        assert!(Cli::try_parse_from(["gristmill", "documents", "history", "x"]).is_ok());
        assert!(Cli::try_parse_from(["gristmill", "search"]).is_err());
    }

    #[test]
    fn weights_are_two_numbers() {
        assert_eq!(weights("2, 0.5"), Ok((2.0, 0.5)));
        for wrong in ["", "2", "2,", "1,2,3", "NaN,1", "1,inf"] {
            assert!(weights(wrong).is_err(), "{wrong}");
        }
    }
}
