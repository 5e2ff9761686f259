use async_trait::async_trait;

use crate::Error;

/// What is deleted leaves the files, too.
#[async_trait]
pub trait Scrub {
    /// Jobs that have ended, and all of whose documents were purged or removed, forget what they
    /// were configured with. Then returns when no file of the catalog holds anything of what
    /// purges have deleted. Does nothing where they deleted nothing since the last time. What a
    /// database server keeps in its own files is its operator's business.
    async fn scrub(&self) -> Result<(), Error>;
}
