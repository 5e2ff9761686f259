//! Compaction: what is deleted goes, what is not live is set aside.
//!
//! Searches look into cold postings only if something live lies there, so a
//! search among the live alone meets nothing else. A version that comes to life
//! again is found among the cold until the next compaction brings it back.

use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::Error;
use crate::place::CompactReport;
use crate::slate::key;
use crate::slate::record;
use crate::vector::bits::Bits;
use crate::vector::code::Codes;
use crate::vector::grow::{Grow, Member};
use crate::vector::posting::{Posting, Table};

/// Entries below which a posting is dissolved into its neighbours. Few, for a heap of vectors of
/// which some are left is found under its own centroid, and missed when scattered over others.
const SHORTEST: usize = 4;

/// A compaction on its way through the postings.
struct Sweep {
    live: Bits,
    table: Table,
    /// Postings that are replaced.
    gone: Vec<usize>,
    /// Members that need another posting, hot and cold.
    strays: [Vec<Member>; 2],
    cold: RoaringBitmap,
    report: CompactReport,
}

impl Grow<'_> {
    pub async fn compact(&mut self, live: &RoaringBitmap) -> Result<CompactReport, Error> {
        let Some(table) = self.view.table.take() else {
            return Ok(self.report_scanned(live));
        };
        let postings = table.postings.clone();
        let mut sweep = Sweep {
            live: Bits::from(live),
            table: Arc::unwrap_or_clone(table),
            gone: Vec::new(),
            strays: [Vec::new(), Vec::new()],
            cold: RoaringBitmap::new(),
            report: CompactReport::default(),
        };
        for (at, posting) in postings.into_iter().enumerate() {
            self.sweep_posting(&mut sweep, at, posting).await?;
        }
        sweep.table.remove(&sweep.gone);
        let [hot, cold] = sweep.strays;
        self.view.table = Some(Arc::new(sweep.table));
        self.settle(hot, false).await?;
        self.settle(cold, true).await?;
        let key = key::of_space(key::COLD, &self.view.space);
        self.batch.put(key, record::write_bitmap(&sweep.cold));
        self.view.cold = Arc::new(sweep.cold);
        self.view.table = self.view.table.take().filter(|t| !t.postings.is_empty());
        Ok(sweep.report)
    }

    async fn sweep_posting(
        &mut self,
        sweep: &mut Sweep,
        at: usize,
        posting: Posting,
    ) -> Result<(), Error> {
        let codes = self.codes(posting).await?;
        let valid = codes.valid(posting.count, &self.view.deleted_bits);
        let is_live = |at: &u32| sweep.live.contains(codes.numbers[*at as usize]);
        let (hot, cold): (Vec<u32>, Vec<u32>) = valid.iter().partition(|at| is_live(at));
        sweep.report.hot += hot.len() as u64;
        sweep.report.cold += cold.len() as u64;
        sweep.report.reclaimed += u64::from(posting.count) - valid.len() as u64;
        sweep
            .cold
            .extend(cold.iter().map(|at| codes.numbers[*at as usize]));
        let (stay, leave) = match posting.cold {
            false => (hot, cold),
            true => (cold, hot),
        };
        let whole = stay.len() == posting.count as usize;
        if whole && stay.len() >= SHORTEST {
            return Ok(());
        }
        sweep.gone.push(at);
        self.remove(posting);
        self.keep(sweep, at, &codes, stay, posting.cold).await?;
        // Under the same centroid, so that the codes can be kept as they are.
        self.keep(sweep, at, &codes, leave, !posting.cold).await
    }

    async fn keep(
        &mut self,
        sweep: &mut Sweep,
        at: usize,
        codes: &Codes,
        picked: Vec<u32>,
        cold: bool,
    ) -> Result<(), Error> {
        if picked.len() < SHORTEST {
            let members = self.members_of(&sweep.table, codes, &picked).await?;
            sweep.strays[usize::from(cold)].extend(members);
        } else {
            let centroid = sweep.table.centroids.row(at).to_vec();
            let kept = codes.pick(&picked);
            self.put(&mut sweep.table, &centroid, kept, cold);
        }
        Ok(())
    }

    /// A scanned space has no postings to clean; what is not live is only counted.
    fn report_scanned(&self, live: &RoaringBitmap) -> CompactReport {
        let mut report = CompactReport::default();
        for (number, totals) in self.view.totals.iter() {
            let is_live = live.contains(number);
            let side = if is_live {
                &mut report.hot
            } else {
                &mut report.cold
            };
            *side += u64::from(totals.chunks);
        }
        report
    }
}
