use std::path::Path;

use async_trait::async_trait;
use tokio::sync::OwnedRwLockWriteGuard;

use crate::Error;

/// Nothing is written to the catalog while this is held.
pub struct Frozen {
    pub(crate) _gate: OwnedRwLockWriteGuard<()>,
}

/// One moment of the catalog, kept.
#[async_trait]
pub trait Backup {
    /// Which database this is: a backup of one is not loaded into the other.
    fn kind(&self) -> &'static str;

    /// Waits for writes under way and holds off all others. Reads go on.
    async fn freeze(&self) -> Frozen;

    /// Writes everything into files in a folder that is there and empty, durably.
    async fn copy_into(&self, folder: &Path, frozen: &Frozen) -> Result<(), Error>;
}
