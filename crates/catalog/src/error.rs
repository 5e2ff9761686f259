//! What can go wrong at this seam, and whether trying again may help.

use std::fmt;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Also the answer to another tenant's id: whoever asks learns nothing.
    #[error("there is no {what} `{id}`")]
    NotFound { what: &'static str, id: String },
    #[error("{what}: {why}")]
    Conflict { what: &'static str, why: String },
    /// It was read before another took its place: read it again.
    #[error("generation {generation} serves no more")]
    Retired { generation: model::GenerationId },
    /// The lease was lost to a later claim, or the work is gone: write nothing, forget it.
    #[error("the claim on work {work} is no longer held")]
    Fenced { work: i64 },
    #[error("the catalog is not available ({operation})")]
    Unavailable {
        operation: &'static str,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the catalog holds something it cannot hold: {what}")]
    Corrupt { what: String },
    /// Its file is not what the database wrote; nothing that is asked of it can mend that.
    #[error("the catalog's file is damaged")]
    Damaged {
        #[source]
        source: sqlx::Error,
    },
    #[error("the catalog cannot be opened at `{url}`: {why}")]
    Open { url: String, why: String },
    /// A statement of ours the database refused: a bug here, not the caller's.
    #[error("the database refused to {operation}")]
    Refused {
        operation: &'static str,
        #[source]
        source: sqlx::Error,
    },
}

impl Error {
    /// Whether the same call may succeed later with nothing changed by the caller.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Retired { .. } => true,
            Self::NotFound { .. }
            | Self::Conflict { .. }
            | Self::Fenced { .. }
            | Self::Corrupt { .. }
            | Self::Damaged { .. }
            | Self::Open { .. }
            | Self::Refused { .. } => false,
        }
    }

    pub(crate) fn not_found(what: &'static str, id: impl fmt::Display) -> Self {
        let id = id.to_string();
        Self::NotFound { what, id }
    }

    pub(crate) fn conflict(what: &'static str, why: impl Into<String>) -> Self {
        let why = why.into();
        Self::Conflict { what, why }
    }

    pub(crate) fn corrupt(what: impl fmt::Display) -> Self {
        let what = what.to_string();
        Self::Corrupt { what }
    }

    /// Names the operation an error of the database interrupted.
    pub(crate) fn during(self, operation: &'static str) -> Self {
        match self {
            Self::Unavailable { source, .. } => Self::Unavailable { operation, source },
            Self::Refused { source, .. } => Self::Refused { operation, source },
            other => other,
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(source: sqlx::Error) -> Self {
        let operation = "answer";
        if let sqlx::Error::Database(error) = &source
            && error.is_unique_violation()
        {
            return Self::conflict("it exists already", error.message());
        }
        if is_damage(&source) {
            return Self::Damaged { source };
        }
        if passes(&source) {
            let source = Box::new(source);
            Self::Unavailable { operation, source }
        } else {
            Self::Refused { operation, source }
        }
    }
}

/// SQLite: a malformed image (11), or no database at all (26), and their extended codes.
pub(crate) fn is_damage(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else {
        return false;
    };
    // PostgreSQL's codes have five characters.
    let code = error.code().filter(|code| code.len() < 5);
    code.and_then(|code| code.parse::<u32>().ok())
        .is_some_and(|n| matches!(n & 0xff, 11 | 26))
}

/// Connections break and transactions collide; both pass.
fn passes(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::BeginFailed => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| {
            // PostgreSQL: connection (08), collision (40), resources (53), shutdown (57).
            // SQLite: busy (5), locked (6), I/O (10), full (13), and their extended codes.
            let postgres = code.len() == 5 && ["08", "40", "53", "57"].contains(&&code[..2]);
            let sqlite = code
                .parse::<u32>()
                .is_ok_and(|n| matches!(n & 0xff, 5 | 6 | 10 | 13));
            postgres || (code.len() < 5 && sqlite)
        }),
        _ => false,
    }
}
