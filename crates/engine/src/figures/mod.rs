//! The engine's own figures, kept over time.
//!
//! In: what happens, recorded without waiting for anything. Out: lines, for the
//! dashboard and `gristmill metrics`. The store is opened by whoever processes
//! documents or asks for history; until then nothing is recorded, so that a
//! command which only searches opens one store less.
//!
//! | figure | labels | what it says |
//! |---|---|---|
//! | `documents_total`, `chunks_total`, `bytes_total` | tenant_id, kb_id | taken in since the start, counters |
//! | `documents`, `documents_active`, `chunks_active`, `dead_letters` | tenant_id | how many there are |
//! | `runs` | tenant_id, state | how many there are |
//! | `stage_seconds` | stage | one sample per stage of a step, per search, or per reranking |
//! | `queue_depth` | state | steps in the queue |
//! | `queue_oldest_seconds` | | how late the oldest due step is |
//! | `flushes_total`, `flush_seconds_total`, `writes_total` | store | counters of a write coordinator |
//! | `flush_seconds` | store | the mean flush since the last look |
//! | `pending_bytes`, `waiters` | store | what a coordinator holds |
//! | `samples_dropped_total` | | figures that found no room |
//!
//! A series that carries `tenant_id` is shown to that tenant only; the others are
//! about the machine and name nobody.

mod gauges;
mod timed;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use model::{KbId, TenantId};
use object_store::ObjectStore;
use series::{Labels, Line, Micros, Range, Series};
use tokio::sync::OnceCell;

use gauges::Flushes;
pub(crate) use timed::Timed;
use timed::TimedLabels;

use crate::{Engine, Error};

/// The label that keeps a series to one tenant.
const TENANT: &str = "tenant_id";

pub struct Figures {
    objects: Arc<dyn ObjectStore>,
    store: OnceCell<Series>,
    stages: TimedLabels,
    taken_in: Mutex<HashMap<(TenantId, KbId), Tally>>,
    flushes: Mutex<HashMap<&'static str, Flushes>>,
}

/// What one knowledge base took in since the start, with the names it is recorded under.
struct Tally {
    labels: [Labels; 3],
    values: [u64; 3],
    /// When it was last recorded: documents that end at once must not be told backwards.
    at: Micros,
}

const TAKEN_IN: [&str; 3] = ["documents_total", "chunks_total", "bytes_total"];

impl Figures {
    /// History kept in an object store, under `series/`.
    pub fn new(objects: Arc<dyn ObjectStore>) -> Self {
        Self {
            objects,
            store: OnceCell::new(),
            stages: TimedLabels::new(),
            taken_in: Mutex::default(),
            flushes: Mutex::default(),
        }
    }

    /// From here on what happens is recorded.
    pub async fn open(&self) -> Result<&Series, Error> {
        let objects = Arc::clone(&self.objects);
        let open = || Series::open(objects, series::Settings::default());
        Ok(self.store.get_or_try_init(open).await?)
    }

    /// Lines of what a tenant may see.
    pub async fn query(
        &self,
        tenant: TenantId,
        text: &str,
        range: Range,
    ) -> Result<Vec<Line>, Error> {
        let tenant = tenant.to_string();
        let store = self.open().await?;
        Ok(store.query_within(text, range, (TENANT, &tenant)).await?)
    }

    /// Moves what is too old to coarser summaries, and the oldest out.
    pub(crate) async fn expire(&self, now: DateTime<Utc>) -> Result<(), Error> {
        match self.store.get() {
            Some(store) => Ok(store.expire(micros(now)).await?),
            None => Ok(()),
        }
    }

    /// Makes what was recorded durable and closes the store.
    pub async fn close(&self) -> Result<(), Error> {
        match self.store.get() {
            Some(store) => Ok(store.close().await?),
            None => Ok(()),
        }
    }

    pub(crate) fn stage(&self, stage: Timed, at: DateTime<Utc>, took: Duration) {
        let labels = self.stages.of(stage);
        self.record(labels, micros(at), took.as_secs_f64());
    }

    /// A document answers; what it brought is added up.
    pub(crate) fn taken_in(
        &self,
        (tenant, kb): (TenantId, KbId),
        (chunks, bytes): (u64, u64),
        at: DateTime<Utc>,
    ) {
        let at = micros(at);
        let mut all = self
            .taken_in
            .lock()
            .expect("nothing panics while it holds the tallies");
        let tally = all.entry((tenant, kb)).or_insert_with(|| {
            let tally = Tally::new(tenant, kb, at - 1);
            // A counter is seen to rise only from a value it had before.
            tally.record(self);
            tally
        });
        for (value, more) in tally.values.iter_mut().zip([1, chunks, bytes]) {
            *value += more;
        }
        tally.at = at.max(tally.at + 1);
        tally.record(self);
    }

    fn record(&self, labels: &Labels, at: Micros, value: f64) {
        if let Some(store) = self.store.get() {
            store.record(labels, at, value);
        }
    }
}

impl Tally {
    fn new(tenant: TenantId, kb: KbId, at: Micros) -> Self {
        let (tenant, kb) = (tenant.to_string(), kb.to_string());
        let named = |figure| named(figure, &[(TENANT, &tenant), ("kb_id", &kb)]);
        Self {
            labels: TAKEN_IN.map(named),
            values: [0; 3],
            at,
        }
    }

    fn record(&self, figures: &Figures) {
        for (labels, value) in self.labels.iter().zip(self.values) {
            figures.record(labels, self.at, value as f64);
        }
    }
}

fn named(figure: &str, labels: &[(&str, &str)]) -> Labels {
    Labels::new(figure, labels.iter().copied()).expect("our own names are names, and short")
}

fn micros(time: DateTime<Utc>) -> Micros {
    time.timestamp_micros()
}

impl Engine {
    pub fn figures(&self) -> &Figures {
        &self.parts.figures
    }

    /// Runs a stage and records how long it took, whatever came of it.
    pub(crate) async fn timed<T>(&self, stage: Timed, work: impl Future<Output = T>) -> T {
        let began = tokio::time::Instant::now();
        let done = work.await;
        let took = began.elapsed();
        self.figures().stage(stage, self.parts.clock.now(), took);
        done
    }
}
