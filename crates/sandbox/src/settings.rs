//! What can be tuned, and which program the children are.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Budgets of one document, and of the pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How many documents are read at the same time.
    pub children: usize,
    /// CPU time one attempt at a document may take, in whole seconds.
    pub cpu: Duration,
    /// Wall time one attempt may take, waiting for the child included.
    pub wall: Duration,
    /// Wall time between two signs of life, one page for instance.
    pub silence: Duration,
    /// Address space of a child.
    pub memory_bytes: u64,
    /// What a child may answer with.
    pub output_bytes: u64,
    /// A child is replaced after this many documents, or once it has grown beyond
    /// `recycle_bytes`.
    pub documents_per_child: u32,
    pub recycle_bytes: u64,
    /// How many pages of a document may be left out before it is given up.
    pub poison_pages: usize,
    /// Who recognises words on pages that are pictures; without one such pages are gaps.
    pub ocr: Option<Ocr>,
    pub limits: Limits,
}

/// A program that is called as tesseract is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ocr {
    pub program: PathBuf,
    /// As it names them, such as `eng+deu`.
    pub languages: String,
    /// CPU time for one page.
    pub cpu: Duration,
    /// How many pages of a document; those beyond stay gaps.
    pub pages: usize,
}

impl Ocr {
    pub fn new(program: impl Into<PathBuf>, languages: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            languages: languages.into(),
            cpu: Duration::from_secs(60),
            pages: 500,
        }
    }
}

/// Budgets the parsers themselves keep.
pub type Limits = parse::Limits;

impl Default for Settings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism();
        Self {
            children: cores.map_or(2, usize::from),
            cpu: Duration::from_secs(120),
            wall: Duration::from_secs(300),
            silence: Duration::from_secs(60),
            memory_bytes: 1 << 30,
            output_bytes: 512 << 20,
            documents_per_child: 200,
            recycle_bytes: 256 << 20,
            poison_pages: 16,
            ocr: None,
            limits: parse::Limits::default(),
        }
    }
}

/// How a child is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub path: PathBuf,
    pub args: Vec<OsString>,
}

impl Program {
    pub fn new(path: impl Into<PathBuf>, args: &[&str]) -> Self {
        Self {
            path: path.into(),
            args: args.iter().map(OsString::from).collect(),
        }
    }
}
