//! Where the stages run: on a thread that may block, or right here when there is little to do.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Error;

/// Of so much text a stage is done before another thread has woken.
const LITTLE: usize = 16 << 10;

/// Runs a stage over so many bytes of text. A panic in it is an error of its document alone.
pub(crate) async fn aside<T: Send + 'static>(
    bytes: usize,
    stage: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    if bytes <= LITTLE {
        return catch_unwind(AssertUnwindSafe(stage)).map_err(|_| Error::StageStopped);
    }
    let done = tokio::task::spawn_blocking(stage).await;
    done.map_err(|_| Error::StageStopped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_wherever_the_stage_runs() {
        for bytes in [LITTLE, LITTLE + 1] {
            let done = aside(bytes, || -> u32 { panic!("a stage's own fault") }).await;
            assert!(matches!(done, Err(Error::StageStopped)));
        }
    }
}
