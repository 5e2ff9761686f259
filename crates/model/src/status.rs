//! The states a run and a job may be in.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a status")]
pub struct UnknownStatus(String);

macro_rules! statuses {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant),* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownStatus;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    other => Err(UnknownStatus(other.to_owned())),
                }
            }
        }
    };
}

statuses! {
    /// The processing of one version.
    RunStatus {
        Queued = "queued",
        Running = "running",
        /// Also of a version an activated newer one overtook; the run then says `superseded`.
        Succeeded = "succeeded",
        Failed = "failed",
        Canceled = "canceled",
    }
}

impl RunStatus {
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Queued | Self::Running)
    }
}

statuses! {
    /// A controllable ingestion of a source.
    JobStatus {
        NotStarted = "not_started",
        Running = "running",
        Paused = "paused",
        Completed = "completed",
        Failed = "failed",
        Canceled = "canceled",
    }
}
