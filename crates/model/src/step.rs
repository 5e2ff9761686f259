//! What a worker is asked to do, and in which order: the workflow as data.

use serde::{Deserialize, Serialize};

use crate::{UnitName, VersionId};

/// One piece of work on a version. Small and self-contained: what a queue carries.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    Prep {
        version: VersionId,
    },
    Extract {
        version: VersionId,
        /// Which pass of Prep made the unit; an older pass's step changes nothing.
        pass: u32,
        unit: UnitName,
    },
    Finalize {
        version: VersionId,
        pass: u32,
    },
}

/// What is to be done next, decided by the engine and carried by a shell.
pub type FollowUps = Vec<Step>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    Prep,
    Extract,
    Finalize,
}

impl StepKind {
    pub const FIRST: Self = Self::Prep;

    /// The order of the workflow, as data.
    pub const fn next(self) -> Option<Self> {
        match self {
            Self::Prep => Some(Self::Extract),
            Self::Extract => Some(Self::Finalize),
            Self::Finalize => None,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prep => "prep",
            Self::Extract => "extract",
            Self::Finalize => "finalize",
        }
    }
}

impl Step {
    pub fn version(&self) -> VersionId {
        match self {
            Self::Prep { version }
            | Self::Extract { version, .. }
            | Self::Finalize { version, .. } => *version,
        }
    }

    pub fn kind(&self) -> StepKind {
        match self {
            Self::Prep { .. } => StepKind::Prep,
            Self::Extract { .. } => StepKind::Extract,
            Self::Finalize { .. } => StepKind::Finalize,
        }
    }

    /// Equal for equal work: the queue holds each key once.
    pub fn key(&self) -> String {
        match self {
            Self::Prep { version } => format!("prep/{version}"),
            Self::Extract {
                version,
                pass,
                unit,
            } => format!("extract/{version}/{pass}/{unit}"),
            Self::Finalize { version, pass } => format!("finalize/{version}/{pass}"),
        }
    }
}
