//! An error as a person reads it: one plain sentence and a hint, never a backtrace.

use std::fmt;

/// An error that knows what to do about it.
#[derive(Debug)]
pub struct Hinted {
    message: String,
    hint: String,
    /// Of a problem the API answered with.
    code: Option<String>,
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Hinted {}

impl Hinted {
    /// For `.context(…)`: what is said above the cause.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            code: None,
        }
    }

    pub fn coded(self, code: String) -> Self {
        Self {
            code: Some(code),
            ..self
        }
    }
}

pub fn hinted(message: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    Hinted::new(message, hint).into()
}

/// What goes to standard error. The causes are part of the sentence only when they say
/// more than what contains them; `verbose` lists them all.
pub fn explain(error: &anyhow::Error, verbose: bool) -> String {
    let mut text = format!("error: {}", sentence(error));
    text.push_str(&format!("\nhint: {}", hint(error)));
    if verbose {
        for cause in error.chain().skip(1) {
            text.push_str(&format!("\n  because: {cause}"));
        }
    }
    text
}

/// What to do about it.
pub fn hint(error: &anyhow::Error) -> &str {
    said_hint(error).unwrap_or_else(|| usual_hint(error))
}

/// The same, where somebody knew this very case.
pub fn said_hint(error: &anyhow::Error) -> Option<&str> {
    // As a context it is found by anyhow's own downcast, as a cause along the chain.
    let in_chain = || error.chain().find_map(|e| e.downcast_ref::<Hinted>());
    let hint = error.downcast_ref::<Hinted>().or_else(in_chain);
    hint.map(|hint| hint.hint.as_str())
        .filter(|hint| !hint.is_empty())
}

/// What kind of problem the API answered with.
pub fn code(error: &anyhow::Error) -> Option<&str> {
    let answered = error.downcast_ref::<Hinted>()?;
    answered.code.as_deref()
}

/// What usually helps, where nobody above the cause knew better.
fn usual_hint(error: &anyhow::Error) -> &'static str {
    use std::io::ErrorKind;
    let io = error
        .chain()
        .find_map(|e| e.downcast_ref::<std::io::Error>());
    let catalog = error
        .chain()
        .find_map(|e| e.downcast_ref::<catalog::Error>());
    match (io.map(std::io::Error::kind), catalog) {
        (Some(ErrorKind::NotFound), _) => "check that the path is right",
        (Some(ErrorKind::PermissionDenied), _) => "check who may read and write there",
        (Some(ErrorKind::StorageFull), _) => "free some space on the disk",
        (Some(ErrorKind::ReadOnlyFilesystem), _) => "choose a folder you may write to with --data",
        (Some(ErrorKind::AlreadyExists | ErrorKind::NotADirectory), _) => {
            "name a folder, not a file"
        }
        (_, Some(catalog::Error::Corrupt { .. } | catalog::Error::Refused { .. })) => {
            "put the data folder back from a backup, or choose another with --data"
        }
        (_, Some(catalog::Error::Damaged { .. })) => {
            "restore a backup into another folder (`gristmill restore`), or put catalog.db back"
        }
        (Some(ErrorKind::IsADirectory), _) => "name a file; `gristmill ingest` takes folders",
        (_, Some(catalog::Error::Open { url, .. })) if url.starts_with("sqlite://") => {
            "check that there is room on the disk, and who may read and write the data folder"
        }
        (_, Some(catalog::Error::Open { .. })) => "check catalog.url and that the server runs",
        _ => "`--help` says what a command takes; -v says more of what happened",
    }
}

/// The error and its causes as one sentence.
pub fn sentence(error: &anyhow::Error) -> String {
    let mut sentence = String::new();
    for cause in error.chain().map(ToString::to_string) {
        let cause = cause.trim().to_owned();
        if !sentence.contains(&cause) {
            if !sentence.is_empty() {
                sentence.push_str(": ");
            }
            sentence.push_str(&cause);
        }
    }
    sentence
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_hint_is_found_below_its_context() {
        let error = Err::<(), _>(hinted("the disk is full", "free some space"))
            .context("cannot ingest")
            .unwrap_err();
        let text = explain(&error, false);
        assert_eq!(
            text,
            "error: cannot ingest: the disk is full\nhint: free some space"
        );
    }

    #[test]
    fn of_a_catalog_in_a_file_no_server_is_asked_for() {
        let unopened = |url: &str| {
            let url = url.to_owned();
            let why = "disk I/O error".to_owned();
            anyhow::Error::new(catalog::Error::Open { url, why })
        };
        let (file, server) = (
            unopened("sqlite://data/catalog.db"),
            unopened("postgres://…"),
        );
        assert!(hint(&file).contains("room on the disk"));
        assert!(hint(&server).contains("that the server runs"));
    }
}
