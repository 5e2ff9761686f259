use std::path::Path;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use tokio::sync::OwnedRwLockWriteGuard;

use crate::{Bound, DataFolder, Error};

/// Nothing is written to the catalog while this is held.
pub struct Frozen {
    pub(crate) _gate: OwnedRwLockWriteGuard<()>,
}

/// One moment of the catalog, kept; and the folder it belongs to.
#[async_trait]
pub trait Backup {
    /// Binds the catalog to the data folder its rows tell of, or says to which it is bound.
    /// Any other folder's index and objects are not those the rows mean. A copy is bound to
    /// none.
    async fn bind(&self, folder: DataFolder, now: DateTime<Utc>) -> Result<Bound, Error>;

    /// Which database this is: a backup of one is not loaded into the other.
    fn kind(&self) -> &'static str;

    /// Waits for writes under way and holds off all others. Reads go on.
    async fn freeze(&self) -> Frozen;

    /// Writes everything into files in a folder that is there and empty, durably.
    async fn copy_into(&self, folder: &Path, frozen: &Frozen) -> Result<(), Error>;
}
