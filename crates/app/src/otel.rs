//! Traces for OpenTelemetry, as OTLP over HTTP in JSON.
//!
//! Spans that carry a `trace_id` and a `span_id` (a request, a step) are exported with
//! their other fields as attributes; spans inside them join their trace. Sending is done
//! beside the work and never holds it up: what does not fit in the queue is dropped and
//! counted. Fields never hold text of documents, so neither do traces.

mod span;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::config::Otel;
pub use span::Spans;
use wire::Ended;

const QUEUE: usize = 4096;
const BATCH: usize = 512;
const EVERY: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(10);
/// At the end, for what is still to be sent.
const GRACE: Duration = Duration::from_secs(5);

/// Sends what the layer gathers.
pub struct Exporter {
    url: String,
    service: String,
    ended: mpsc::Receiver<Ended>,
    dropped: Arc<AtomicU64>,
}

/// An exporter at work.
pub struct Exporting {
    task: JoinHandle<()>,
    stop: tokio_util::sync::CancellationToken,
}

/// The layer that gathers and the exporter that sends; `None` without an endpoint.
pub fn layer(settings: &Otel) -> Option<(Spans, Exporter)> {
    if settings.endpoint.is_empty() {
        return None;
    }
    let (sender, ended) = mpsc::channel(QUEUE);
    let dropped = Arc::new(AtomicU64::new(0));
    let exporter = Exporter {
        url: format!("{}/v1/traces", settings.endpoint.trim_end_matches('/')),
        service: settings.service_name.clone(),
        ended,
        dropped: dropped.clone(),
    };
    Some((Spans::new(sender, dropped), exporter))
}

impl Exporter {
    pub fn start(self) -> Exporting {
        let stop = tokio_util::sync::CancellationToken::new();
        let task = tokio::spawn(self.run(stop.clone()));
        Exporting { task, stop }
    }

    async fn run(mut self, stop: tokio_util::sync::CancellationToken) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().timeout(TIMEOUT).build();
        let client = match client {
            Ok(client) => client,
            Err(error) => {
                tracing::warn!(%error, "no traces are sent: no client can be made");
                return;
            }
        };
        let mut ticks = tokio::time::interval(EVERY);
        loop {
            let last = tokio::select! {
                _ = ticks.tick() => false,
                () = stop.cancelled() => true,
            };
            while self.send_some(&client).await {}
            if last {
                return;
            }
        }
    }

    /// Sends what has gathered, a batch at most; whether there may be more.
    async fn send_some(&mut self, client: &reqwest::Client) -> bool {
        let mut batch = Vec::new();
        while batch.len() < BATCH
            && let Ok(ended) = self.ended.try_recv()
        {
            batch.push(ended);
        }
        let lost = self.dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            tracing::warn!(spans = lost, "more spans ended than could be sent");
        }
        if batch.is_empty() {
            return false;
        }
        let body = wire::request(&self.service, &batch);
        match client.post(&self.url).json(&body).send().await {
            Ok(answer) if answer.status().is_success() => {}
            Ok(answer) => {
                let status = answer.status().as_u16();
                tracing::warn!(status, spans = batch.len(), "traces were refused");
            }
            Err(error) => tracing::warn!(%error, spans = batch.len(), "traces could not be sent"),
        }
        batch.len() == BATCH
    }
}

impl Exporting {
    pub async fn finish(self) {
        self.stop.cancel();
        let _ = tokio::time::timeout(GRACE, self.task).await;
    }
}
