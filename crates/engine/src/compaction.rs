//! Sets aside in the index what no longer answers, so that searches need not pass it by, and
//! gives back the room of what is gone.

use catalog::LiveFilter;
use index::{Burden, Space};
use roaring::RoaringBitmap;

use crate::{Engine, Error};

impl Engine {
    /// Compacts every space in which searches come upon more that does not answer than does.
    pub(crate) async fn compact_idle(&self, compacted: &mut u64) -> Result<(), Error> {
        let snapshot = self.view(0).await?;
        for space in snapshot.posted_spaces().await? {
            let Some(live) = self.answering_in(space).await? else {
                continue;
            };
            if is_worth_it(snapshot.burden(space, &live).await?) {
                let _moving = self.still.read().await;
                self.parts.index.compact(space, &live).await?;
                *compacted += 1;
            }
        }
        Ok(())
    }

    /// Gives back the disk that what was forgotten takes in the index.
    pub(crate) async fn shed_forgotten(&self, merged: &mut u64) -> Result<(), Error> {
        let _moving = self.still.read().await;
        *merged += u64::from(self.parts.index.shed().await?);
        Ok(())
    }

    /// Numbers of the versions that answer in a space; `None` where it is on its way out.
    pub(crate) async fn answering_in(&self, space: Space) -> Result<Option<RoaringBitmap>, Error> {
        let filter = LiveFilter {
            generation: Some(space.generation),
            ..LiveFilter::default()
        };
        let live = self.parts.catalog.live(space.tenant, space.kb, filter);
        match live.await {
            Ok(live) => Ok(Some(live.numbers)),
            Err(catalog::Error::Retired { .. } | catalog::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// A compaction reads and writes all postings: it is done when it halves what a search meets.
fn is_worth_it(burden: Burden) -> bool {
    burden.idle > burden.live
}
