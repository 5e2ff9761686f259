//! Moves the durable watermark as the store moves its own.
//!
//! Nobody needs to ask: a flush by timer becomes durable at the store's pace and
//! the watermark follows. Only the newest flush is waited for, so nothing queues up.

use std::sync::Arc;

use tokio::sync::watch;

use crate::progress::Level;
use crate::shared::Shared;
use crate::{Epoch, Failure, FlushHandler};

/// The newest flush, and the store's number for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Latest {
    pub epoch: Epoch,
    pub sequence: u64,
}

/// Runs until the flusher ends or the store stops.
pub(crate) async fn follow<H: FlushHandler>(
    shared: Arc<Shared<H>>,
    mut latest: watch::Receiver<Option<Latest>>,
) {
    let following = async {
        while latest.changed().await.is_ok() {
            let newest = *latest.borrow_and_update();
            if let Some(newest) = newest {
                shared.handler.durable_past(newest.sequence).await?;
                shared.progress.raise(Level::Durable, newest.epoch);
            }
        }
        Ok(())
    };
    let stopped = tokio::select! {
        followed = following => followed.err(),
        closed = shared.handler.closed() => Some(closed),
        _ = shared.progress.ended() => None,
    };
    // Whoever has shut this down closes the store next: that is no failure.
    if let Some(cause) = stopped.filter(|_| !shared.progress.has_ended()) {
        tracing::error!(%cause, "the store stopped");
        shared.fail(Failure::Closed(cause));
    }
}
