use clap::{Args, Subcommand};
use uuid::Uuid;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Documents {
    #[command(subcommand)]
    pub action: Option<DocumentAction>,
    #[command(flatten)]
    pub list: DocumentList,
}

#[derive(Debug, Clone, Default, Args)]
pub struct DocumentList {
    /// Only this knowledge base
    #[arg(long, value_name = "NAME")]
    pub kb: Option<String>,
    /// Also documents that no longer answer
    #[arg(long)]
    pub all: bool,
    /// Part of a path, title or file name
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
    /// One line of JSON per document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum DocumentAction {
    /// Lists documents
    List(DocumentList),
    /// Shows one document with its versions
    Show(One),
    /// Shows which version answered when, and the ledger that proves it
    History(One),
    /// Lets an earlier version answer again
    Rollback {
        #[command(flatten)]
        one: One,
        /// The version that shall answer
        #[arg(long, value_name = "VERSION")]
        to: Uuid,
    },
    /// Takes a document out of search and keeps its history
    Deactivate(One),
    /// Deletes a document for real
    Purge {
        #[command(flatten)]
        one: One,
        /// Needed: what is purged cannot be brought back
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub struct One {
    /// A document's id, its source URI or its path
    pub document: String,
    /// The knowledge base, where a path is given
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub kb: String,
    #[arg(long)]
    pub json: bool,
}
