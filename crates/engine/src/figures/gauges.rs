//! What is looked at from time to time rather than counted as it happens.

use std::time::Duration;

use catalog::{QueueDepth, Status, every};
use coordinator::Metrics;
use model::TenantId;
use series::Micros;

use super::{Figures, TENANT, micros, named};
use crate::{Engine, Error};

/// What a coordinator had flushed when it was last looked at.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flushes {
    count: u64,
    sum: Duration,
}

impl Engine {
    /// Records the queue and the flushes: two counts, to be looked at every few seconds.
    pub async fn record_load(&self) -> Result<(), Error> {
        let now = self.parts.clock.now();
        let store = self.figures().open().await?;
        let queue = self.parts.catalog.queue_depth(now).await?;
        let figures = self.figures();
        let late = queue.oldest_due.map_or(0.0, |due| {
            ((now - due).num_milliseconds() as f64 / 1e3).max(0.0)
        });
        let at = micros(now);
        figures.queue(&queue, late, at);
        figures.coordinator("index", &self.parts.index.metrics(), at);
        figures.coordinator("series", &store.metrics(), at);
        let dropped = named("samples_dropped_total", &[]);
        figures.record(&dropped, at, store.dropped() as f64);
        Ok(())
    }

    /// Records what each tenant has: counts over its rows, to be looked at every minute or so.
    pub async fn record_holdings(&self) -> Result<(), Error> {
        self.figures().open().await?;
        let catalog = &self.parts.catalog;
        for tenant in every(|page| catalog.tenants(page)).await? {
            let now = self.parts.clock.now();
            let status = catalog.status(tenant.id, now).await?;
            self.figures().holdings(tenant.id, &status, micros(now));
        }
        Ok(())
    }
}

impl Figures {
    fn queue(&self, queue: &QueueDepth, late: f64, at: Micros) {
        let depths = [
            ("ready", queue.ready),
            ("leased", queue.leased),
            ("waiting", queue.waiting),
        ];
        for (state, depth) in depths {
            let labels = named("queue_depth", &[("state", state)]);
            self.record(&labels, at, depth as f64);
        }
        self.record(&named("queue_oldest_seconds", &[]), at, late);
    }

    fn coordinator(&self, store: &'static str, seen: &Metrics, at: Micros) {
        let record = |figure, value| self.record(&named(figure, &[("store", store)]), at, value);
        record("flushes_total", seen.flushes.count() as f64);
        record("flush_seconds_total", seen.flushes.sum().as_secs_f64());
        record("writes_total", seen.writes.count() as f64);
        record(
            "pending_bytes",
            (seen.pending_bytes + seen.in_flight_bytes) as f64,
        );
        record("waiters", (seen.waiters + seen.waiting_writers) as f64);
        let now = Flushes {
            count: seen.flushes.count(),
            sum: seen.flushes.sum(),
        };
        if let Some(mean) = self.mean_flush(store, now) {
            record("flush_seconds", mean.as_secs_f64());
        }
    }

    /// The mean flush since the last look, if there was one.
    fn mean_flush(&self, store: &'static str, now: Flushes) -> Option<Duration> {
        let mut flushes = self
            .flushes
            .lock()
            .expect("nothing panics while it holds the counts");
        let before = flushes.insert(store, now).unwrap_or_default();
        let count = u32::try_from(now.count - before.count).ok()?;
        (now.sum - before.sum).checked_div(count)
    }

    fn holdings(&self, tenant: TenantId, status: &Status, at: Micros) {
        let tenant = tenant.to_string();
        let counts = [
            ("documents", status.documents),
            ("documents_active", status.documents_active),
            ("chunks_active", status.chunks_active),
            ("dead_letters", status.dead_letters),
        ];
        for (figure, count) in counts {
            let labels = named(figure, &[(TENANT, &tenant)]);
            self.record(&labels, at, count as f64);
        }
        let runs = [
            ("queued", status.runs_queued),
            ("running", status.runs_running),
            ("waiting", status.runs_waiting),
            ("succeeded", status.runs_succeeded),
            ("failed", status.runs_failed),
            ("canceled", status.runs_canceled),
        ];
        for (state, count) in runs {
            let labels = named("runs", &[(TENANT, &tenant), ("state", state)]);
            self.record(&labels, at, count as f64);
        }
    }
}
