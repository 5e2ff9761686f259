//! Reads files that anybody may have changed.
//!
//! Each file of a text index sums itself up, but nothing says that they belong together: one
//! that was put in another's place looks whole and sends the reader anywhere. What it does
//! then, a panic included, is told of the files.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Error;
use crate::text::shelf::blocking;

thread_local! {
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread reads a text index just now: a panic is of what lies there, and is told so.
pub fn is_reading_text() -> bool {
    READING.get()
}

/// Where it may block.
pub async fn reading<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    blocking(move || guarded(work)).await
}

fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    READING.set(true);
    // Nothing of what it was at is used again.
    let done = catch_unwind(AssertUnwindSafe(work));
    READING.set(false);
    done.unwrap_or_else(|panic| {
        let why = said(&*panic);
        tracing::warn!(why, "a text index cannot be read");
        Err(Error::SpoiltText { why })
    })
}

fn said(panic: &(dyn Any + Send)) -> String {
    let fixed = panic.downcast_ref::<&str>().copied();
    let made = || panic.downcast_ref::<String>().map(String::as_str);
    fixed.or_else(made).unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_while_files_are_read_is_told_of_them() {
        let read = reading(|| -> Result<(), Error> {
            assert!(!is_reading_text(), "an end that is none");
            Ok(())
        });
        let error = read.await.expect_err("it panics");
        assert!(error.is_of_spoilt_text(), "{error}");
        assert!(error.to_string().contains("an end that is none"), "{error}");
        assert!(!is_reading_text());
    }
}
