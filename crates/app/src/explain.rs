//! An error as a person reads it: one plain sentence and a hint, never a backtrace.

use std::fmt;

/// An error that knows what to do about it.
#[derive(Debug)]
pub struct Hinted {
    message: String,
    hint: String,
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
    // As a context it is found by anyhow's own downcast, as a cause along the chain.
    let in_chain = || error.chain().find_map(|e| e.downcast_ref::<Hinted>());
    let hint = error.downcast_ref::<Hinted>().or_else(in_chain);
    if let Some(hint) = hint.filter(|hint| !hint.hint.is_empty()) {
        text.push_str(&format!("\nhint: {}", hint.hint));
    }
    if verbose {
        for cause in error.chain().skip(1) {
            text.push_str(&format!("\n  because: {cause}"));
        }
    }
    text
}

fn sentence(error: &anyhow::Error) -> String {
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
}
