//! Reads files of a text index, where it may block. Whatever is wrong with what lies there, a panic
//! of its reader included, is told as that.

use durable::reading::guarded;

use crate::Error;
use crate::text::shelf::blocking;

pub async fn reading<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    blocking(move || read(work)).await
}

/// The same where it blocks already.
pub fn read<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let why = match guarded(work) {
        Ok(Err(error)) if error.is_of_spoilt_text() => error.cause(),
        Ok(read) => return read,
        Err(why) => why,
    };
    tracing::warn!(why, "a text index cannot be read");
    Err(Error::SpoiltText { why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Doing as _;

    #[tokio::test]
    async fn what_is_wrong_with_the_files_is_told_of_them() {
        let panics = || -> Result<(), Error> { panic!("an end that is none") };
        let error = reading(panics).await.expect_err("it panics");
        assert!(error.is_of_spoilt_text(), "{error}");
        assert!(error.to_string().contains("an end that is none"), "{error}");

        let made = || Err::<(), _>(std::io::Error::other("a column of no kind")).doing("open");
        let error = reading(made).await.expect_err("it cannot be read");
        assert!(
            error.is_of_spoilt_text() && !error.is_transient(),
            "{error}"
        );
        assert!(error.to_string().contains("a column of no kind"), "{error}");

        let machine = || Err::<(), _>(std::io::Error::from_raw_os_error(24)).doing("open");
        let error = reading(machine).await.expect_err("too many open files");
        assert!(
            !error.is_of_spoilt_text() && error.is_transient(),
            "{error}"
        );
    }
}
