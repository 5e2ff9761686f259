//! Rounds in which generations are built and retired.

use std::sync::Arc;

use engine::Engine;
use engine::generations::Tending;
use tokio_util::sync::CancellationToken;

use crate::Settings;

/// A round that fails is logged and made again.
pub(crate) async fn run(engine: Arc<Engine>, settings: Settings, stop: CancellationToken) {
    let mut tending = Tending::default();
    loop {
        if let Err(error) = engine.tend_generations(&mut tending).await {
            tracing::warn!(error = error.explain(), "generations could not be tended");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(settings.poll) => {}
        }
    }
}
