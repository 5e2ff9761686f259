//! What a dead process left in the catalog is taken over by the living.
//!
//! Waiting is never failed here: the guard gives work back, it ends none.

use crate::{Engine, Error};

impl Engine {
    /// Ends every lease, so that what a process held when it died goes on at once rather
    /// than when its lease runs out. Only for whoever holds the data folder alone; were an
    /// old holder alive after all, the fence would keep its writes out.
    pub async fn take_over(&self) -> Result<u64, Error> {
        let now = self.parts.clock.now();
        let ended = self.parts.catalog.expire_leases(now).await?;
        if ended > 0 {
            tracing::info!(leases = ended, "took over what a process before held");
        }
        Ok(ended)
    }
}
