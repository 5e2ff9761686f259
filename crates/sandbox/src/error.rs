//! Why a document was not read, and whose fault that is.

use std::fmt;
use std::io;

/// How a child ended while it worked on a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Death {
    /// It used up its CPU time.
    Cpu,
    /// It gave no sign of life.
    Silence,
    /// It took too long altogether.
    Wall,
    Memory,
    /// It tried to do something it may not.
    Forbidden,
    Crashed(String),
}

impl Death {
    /// Whether it was used up bit by bit: then the page at hand need not be the cause.
    pub fn adds_up(&self) -> bool {
        self.is_of_time() || matches!(self, Self::Memory)
    }

    /// Whether more time would have helped, for all that is known.
    pub(crate) fn is_of_time(&self) -> bool {
        matches!(self, Self::Cpu | Self::Wall)
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("reading it took more computing time than allowed"),
            Self::Silence => f.write_str("reading it did not come to an end"),
            Self::Wall => f.write_str("reading it took longer than allowed"),
            Self::Memory => f.write_str("reading it took more memory than allowed"),
            Self::Forbidden => f.write_str("reading it tried to leave the sandbox"),
            Self::Crashed(how) => write!(f, "reading it crashed: {how}"),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Document(#[from] parse::Error),
    #[error("the document could not be read: {death}")]
    Deadly { death: Death },
    #[error("the document's text is larger than the budget of {limit} bytes")]
    Output { limit: u64 },
    #[error("cannot start the reading process `{program}`")]
    Start {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("`{program}` failed: {how}")]
    Tool { program: String, how: String },
    #[error("the reading process broke its protocol: {0}")]
    Protocol(String),
}

/// Whose fault a failure is: it decides between telling the owner and trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing will change by trying again; the message is for the owner.
    Document,
    /// The same, but a larger budget would help.
    Budget,
    /// The document was not even looked at.
    Ours,
}

impl Error {
    pub fn fault(&self) -> Fault {
        match self {
            Self::Document(parse::Error::OverBudget { .. }) | Self::Output { .. } => Fault::Budget,
            Self::Deadly { death } if death.adds_up() => Fault::Budget,
            Self::Document(_) | Self::Deadly { .. } | Self::Tool { .. } => Fault::Document,
            Self::Start { .. } | Self::Protocol(_) => Fault::Ours,
        }
    }
}
