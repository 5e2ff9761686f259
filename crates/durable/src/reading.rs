//! Reads what lies on a disk, which anybody may have changed.
//!
//! Files sum themselves up, but not all of them, and nothing says that they belong together.
//! Libraries that trust what they read go wrong then; a panic of theirs is caught here and told
//! of the files.

use std::any::Any;
use std::cell::Cell;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

thread_local! {
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread reads files just now: a panic is of what lies there, and is told so.
pub fn is_under_way() -> bool {
    READING.get()
}

/// What was read, or what a panic said.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    READING.set(true);
    // Nothing of what it was at is used again.
    let done = catch_unwind(AssertUnwindSafe(work));
    READING.set(false);
    done.map_err(|panic| said(&*panic))
}

/// The same for what waits in between.
pub async fn guarded_future<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let mut work = pin!(work);
    let poll = poll_fn(|context| match guarded(|| work.as_mut().poll(context)) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
        Err(why) => Poll::Ready(Err(why)),
    });
    poll.await
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
        let read = guarded(|| assert!(!is_under_way(), "an end that is none"));
        assert!(read.is_err_and(|why| why.contains("an end that is none")));
        let read = guarded_future(async {
            tokio::task::yield_now().await;
            assert!(!is_under_way(), "an end that is none");
        });
        let why = read.await.expect_err("it panics");
        assert!(why.contains("an end that is none"), "{why}");
        assert!(!is_under_way());
    }
}
