use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct Generations {
    #[command(subcommand)]
    pub action: GenerationAction,
}

#[derive(Debug, Subcommand)]
pub enum GenerationAction {
    /// Shows what serves, and how far the next one has come
    Show(InKb),
    /// Builds the next generation beside the one that serves, then switches to it
    Build(Build),
    /// Switches to the generation that was built
    Switch(Switch),
    /// Gives up the generation being built; what serves is not touched
    Abandon(InKb),
}

#[derive(Debug, Args)]
pub struct InKb {
    /// The knowledge base
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub kb: String,
    /// One line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Switch {
    #[command(flatten)]
    pub within: InKb,
    /// Switches although some documents could not be built: they answer no more
    #[arg(long)]
    pub leave_failed: bool,
}

#[derive(Debug, Args)]
pub struct Build {
    #[command(flatten)]
    pub switch: Switch,
    /// `provider:model`, one that is configured; all-MiniLM-L6-v2 is made for English [default: the
    /// one of embedding.*]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// structural, fixed, sentence, markdown or streaming [default: as it serves]
    #[arg(long, value_name = "NAME")]
    pub strategy: Option<model::Strategy>,
    /// Tokens a chunk aims at [default: what suits the model]
    #[arg(long, value_name = "TOKENS")]
    pub target: Option<u32>,
    /// Tokens a chunk never exceeds
    #[arg(long, value_name = "TOKENS")]
    pub max: Option<u32>,
    /// Tokens neighbours share
    #[arg(long, value_name = "TOKENS")]
    pub overlap: Option<u32>,
    /// Leaves the switch to `generations switch`
    #[arg(long)]
    pub no_switch: bool,
}
