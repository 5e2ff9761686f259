//! The handle of the store.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use coordinator::{Coordinator, Epoch, Start};
use durable::reading::guarded_future;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;

use crate::delta::{Op, Samples};
use crate::flush::Slate;
use crate::label::Labels;
use crate::query::{Expr, Line, Matcher, Range, evaluate, parse};
use crate::read::Reader;
use crate::sample::{Micros, Sample};
use crate::store::{self, Meta};
use crate::{Error, Settings};

/// Where in its object store the series live.
const PATH: &str = "series";

const FLUSH_DEADLINE: Duration = Duration::from_secs(600);

/// A cheap handle. `close` it: what the last handle leaves is flushed, but nobody hears how.
#[derive(Clone)]
pub struct Series {
    coordinator: Coordinator<Slate>,
    dropped: Arc<AtomicU64>,
}

impl Series {
    pub async fn open(objects: Arc<dyn ObjectStore>, settings: Settings) -> Result<Self, Error> {
        let opened = guarded_future(Self::open_here(objects, settings)).await;
        opened.unwrap_or_else(|why| Err(Error::Damaged { why }))
    }

    async fn open_here(objects: Arc<dyn ObjectStore>, settings: Settings) -> Result<Self, Error> {
        let db = store::open(objects, PATH, &settings).await?;
        let meta = Meta::read(&db).await?;
        let start = Start {
            epoch: Epoch(meta.flush),
            snapshot: db.snapshot()?,
        };
        let slate = Slate::new(db, settings, meta).await?;
        let delta = Samples::new(Arc::clone(&slate.horizon));
        let flushing = coordinator::Settings {
            flush_interval: settings.flush_interval,
            // Figures can wait out an overloaded machine; only a dead store should end them.
            flush_deadline: FLUSH_DEADLINE,
            ..coordinator::Settings::with_budget(settings.budget_bytes)
        };
        Ok(Self {
            coordinator: Coordinator::start(flushing, start, delta, slate),
            dropped: Arc::default(),
        })
    }

    /// On a local folder, which is made if need be; what is written there is synced.
    pub async fn open_folder(folder: &Path, settings: Settings) -> Result<Self, Error> {
        let failed = |source| object_store::Error::Generic {
            store: "folder",
            source,
        };
        std::fs::create_dir_all(folder).map_err(|error| Error::Folder(failed(Box::new(error))))?;
        let objects = LocalFileSystem::new_with_prefix(folder).map_err(Error::Folder)?;
        Self::open(Arc::new(objects.with_fsync(true)), settings).await
    }

    /// Records a sample without waiting. What finds no room, or no place, is dropped and counted.
    pub fn record(&self, labels: &Labels, at: Micros, value: f64) {
        let op = Op::Sample {
            labels: labels.clone(),
            sample: Sample { at, value },
        };
        if self.coordinator.try_write(op).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records a sample, waiting for room; says if it is refused. For bulk loads and tests.
    pub async fn write(&self, labels: &Labels, at: Micros, value: f64) -> Result<(), Error> {
        let op = Op::Sample {
            labels: labels.clone(),
            sample: Sample { at, value },
        };
        self.coordinator.write(op).await?;
        Ok(())
    }

    /// How many samples [`record`](Self::record) had to drop, and those that became too old to be
    /// kept between being accepted and being flushed.
    pub fn dropped(&self) -> u64 {
        let overtaken = &self.coordinator.handler().overtaken;
        self.dropped.load(Ordering::Relaxed) + overtaken.load(Ordering::Relaxed)
    }

    /// Makes all that was recorded so far durable and readable.
    pub async fn sync(&self) -> Result<(), Error> {
        self.coordinator.sync().await?;
        Ok(())
    }

    /// Thins out what is too old at `now`. To be called now and then, once an hour or so.
    pub async fn expire(&self, now: Micros) -> Result<(), Error> {
        let receipt = self.coordinator.write(Op::Expire { now }).await?;
        receipt.flushed().await?;
        Ok(())
    }

    /// Answers a query, see [`query`](crate::query), from the newest flush.
    pub async fn query(&self, text: &str, range: Range) -> Result<Vec<Line>, Error> {
        self.evaluate(&parse(text)?, range).await
    }

    /// Answers a query from those series only that carry this value of a label, or lack the label.
    pub async fn query_within(
        &self,
        text: &str,
        range: Range,
        (label, value): (&str, &str),
    ) -> Result<Vec<Line>, Error> {
        let own = Matcher::IsOrLacks(label.to_owned(), value.to_owned());
        let mut expr = parse(text)?;
        expr.narrow(&own);
        self.evaluate(&expr, range).await
    }

    async fn evaluate(&self, expr: &Expr, range: Range) -> Result<Vec<Line>, Error> {
        let snapshot = self.coordinator.snapshot().view;
        let reader = Reader::new(&snapshot).await?;
        evaluate(&reader, expr, range).await
    }

    pub fn metrics(&self) -> coordinator::Metrics {
        self.coordinator.metrics()
    }

    /// Makes what was recorded durable, then closes the store. Other handles are refused from here on.
    pub async fn close(&self) -> Result<(), Error> {
        let drained = self.coordinator.shutdown().await;
        let closed = self.coordinator.handler().db.close().await;
        drained?;
        Ok(closed?)
    }
}
