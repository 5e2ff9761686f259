use clap::{Args, Subcommand};
use uuid::Uuid;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Runs {
    #[command(subcommand)]
    pub action: Option<RunAction>,
    #[command(flatten)]
    pub list: RunList,
}

#[derive(Debug, Clone, Default, Args)]
pub struct RunList {
    /// queued, running, succeeded, failed or canceled
    #[arg(long, value_name = "STATUS")]
    pub status: Option<String>,
    /// At most this many, newest first
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// One line of JSON per run
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum RunAction {
    /// Lists runs
    List(RunList),
    /// Shows one run
    Show { run: Uuid },
    /// Queues a failed or canceled run again, from its beginning
    Retry { run: Uuid },
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DeadLetters {
    #[command(subcommand)]
    pub action: Option<LetterAction>,
    /// One line of JSON per dead letter
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum LetterAction {
    /// Lists dead letters
    List {
        #[arg(long)]
        json: bool,
    },
    /// Shows one dead letter
    Show { letter: Uuid },
    /// Queues the failed run again, from its beginning
    Replay { letter: Uuid },
    /// Forgets the letter; its run stays failed
    Drop { letter: Uuid },
}

/// Which process a job can be controlled in.
const REACH: &str = "\
With a server on the data folder, every job is controlled through it, also one that `ingest` \
started. Without one, `ingest` works in its own process and holds the folder until it is done: no \
other command reaches its job meanwhile. Interrupt it, and the job can be paused or canceled here; \
otherwise it goes on with the next `ingest` or server. To control a job while it runs, start \
`gristmill serve` first.";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = REACH)]
pub struct Jobs {
    #[command(subcommand)]
    pub action: Option<JobAction>,
    /// One line of JSON per job
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum JobAction {
    /// Lists jobs
    List {
        #[arg(long)]
        json: bool,
    },
    /// Shows one job
    Show { job: Uuid },
    /// Starts a job that is not running
    Start { job: Uuid },
    /// Holds a job at its next gate
    Pause { job: Uuid },
    /// Goes on with a paused job
    Resume { job: Uuid },
    /// Removes everything a job wrote and nothing else
    Cancel { job: Uuid },
}
