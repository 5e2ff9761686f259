//! What can be tuned, and which program the children are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
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
    /// CPU time that drawing a page may take, in whole seconds; wall time three times as much.
    pub drawing: Duration,
    /// Address space of a child.
    pub memory_bytes: u64,
    /// What a child may answer with.
    pub output_bytes: u64,
    /// A child is replaced after this many documents, or once it has grown beyond
    /// `recycle_bytes`.
    pub documents_per_child: u32,
    pub recycle_bytes: u64,
    /// How far children stand back for other processes, up to 19.
    pub niceness: i32,
    /// How many pages of a document may be left out before it is given up.
    pub poison_pages: usize,
    /// Who recognises words on pages that are pictures; without one such pages are gaps.
    pub ocr: Option<Ocr>,
    /// Who prints documents that have no pages of their own.
    pub office: Option<Office>,
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
    /// Wall time after which no further page of a document is begun.
    pub wall: Duration,
}

impl Ocr {
    pub fn new(program: impl Into<PathBuf>, languages: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            languages: languages.into(),
            cpu: Duration::from_secs(60),
            pages: 500,
            wall: Duration::from_secs(3600),
        }
    }
}

/// LibreOffice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Office {
    pub program: PathBuf,
    /// Where a folder is made for each document, and taken away after it. Whoever died over
    /// one has left it there: nobody else keeps anything in this place.
    pub scratch: PathBuf,
    /// CPU time for one document.
    pub cpu: Duration,
    /// Wall time for one document.
    pub wall: Duration,
    /// Address space: far more than it uses, as it maps all of its libraries.
    pub memory_bytes: u64,
    /// Of all it writes for one document.
    pub scratch_bytes: u64,
}

impl Office {
    pub fn new(program: impl Into<PathBuf>, scratch: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            scratch: scratch.into(),
            cpu: Duration::from_secs(60),
            wall: Duration::from_secs(120),
            memory_bytes: 2 << 30,
            scratch_bytes: 512 << 20,
        }
    }

    /// By the command people start it with. That is a launcher, which insists on the system's
    /// own folder for temporary files; the program itself stands beside it.
    pub fn behind(launcher: &Path, scratch: impl Into<PathBuf>) -> Option<Self> {
        let program = launcher.canonicalize().ok()?.with_file_name("soffice.bin");
        program.is_file().then(|| Self::new(program, scratch))
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
            drawing: Duration::from_secs(20),
            memory_bytes: 1 << 30,
            output_bytes: 512 << 20,
            documents_per_child: 200,
            recycle_bytes: 256 << 20,
            niceness: 0,
            poison_pages: 16,
            ocr: None,
            office: None,
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
