//! The store through its own handle, on objects in memory.

#![expect(
    clippy::disallowed_methods,
    reason = "a test may write and damage what it likes"
)]

mod births;
mod crash;
mod late;
mod queries;

use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use object_store::memory::InMemory;
use slatedb::Db;

use crate::{Labels, Micros, Series, Settings, store};

pub const SECOND: Micros = 1_000_000;
pub const HOUR: Micros = 3600 * SECOND;
/// Some hour that begins a day, years after 1970.
pub const START: Micros = 20_000 * 24 * HOUR;

pub fn labels(figure: &str, kb: &str) -> Labels {
    Labels::new(figure, [("kb", kb)]).unwrap()
}

/// Nothing is flushed until a test asks for it.
pub fn settings() -> Settings {
    Settings {
        flush_interval: Duration::from_secs(3600),
        ..Settings::default()
    }
}

pub async fn open(objects: &Arc<dyn ObjectStore>) -> Series {
    Series::open(Arc::clone(objects), settings()).await.unwrap()
}

pub fn memory() -> Arc<dyn ObjectStore> {
    Arc::new(InMemory::new())
}

/// The store under the series, with no handle of theirs.
pub async fn inside(objects: &Arc<dyn ObjectStore>) -> Db {
    store::open(Arc::clone(objects), "series", &settings())
        .await
        .unwrap()
}
