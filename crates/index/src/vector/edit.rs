//! One flush's changes to a space, and the records they make.

use std::sync::Arc;

use roaring::RoaringBitmap;
use slatedb::{DbSnapshot, WriteBatch};

use crate::Error;
use crate::delta::Compaction;
use crate::flush::Store;
use crate::slate::key;
use crate::slate::record::{self, VersionRecord};
use crate::vector::SpaceView;
use crate::vector::bits::Bits;
use crate::vector::grow::{Grow, Member};

pub struct SpaceEdit {
    pub view: SpaceView,
    deleted: RoaringBitmap,
    added: Vec<Member>,
}

impl SpaceEdit {
    pub fn new(view: &SpaceView) -> Self {
        Self {
            view: view.successor(),
            deleted: RoaringBitmap::new(),
            added: Vec::new(),
        }
    }

    /// Gives out `count` ids in a row.
    pub fn allocate(&mut self, count: u32) -> Result<u32, Error> {
        let first = self.view.record.next_id;
        let next = first.checked_add(count);
        self.view.record.next_id =
            next.ok_or_else(|| Error::corrupt("space", "it has used up its ids"))?;
        Ok(first)
    }

    pub fn add(&mut self, id: u32, number: u32, vector: &[f32]) {
        self.view.record.dimensions = vector.len() as u32;
        let vector = vector.to_vec();
        self.added.push(Member { id, number, vector });
    }

    pub fn delete(&mut self, id: u32) {
        self.deleted.insert(id);
    }

    pub fn note_version(&mut self, version: &VersionRecord) {
        Arc::make_mut(&mut self.view.totals).note(version);
    }

    pub fn note_language(&mut self, rules: &str) {
        let languages = &mut self.view.record.languages;
        if let Err(at) = languages.binary_search_by(|known| known.as_str().cmp(rules)) {
            languages.insert(at, rules.to_owned());
        }
    }

    /// Writes the space down and gives its next view.
    pub async fn finish(
        mut self,
        flush: u64,
        (db, store): (&DbSnapshot, &Store),
        compaction: Option<&Compaction>,
        batch: &mut WriteBatch,
    ) -> Result<SpaceView, Error> {
        self.mark_deleted(batch);
        self.view.flush = flush;
        let added = std::mem::take(&mut self.added);
        let mut grow = Grow::new(db, store, &mut self.view, batch);
        if let Some(compaction) = compaction {
            let report = grow.compact(&compaction.live).await?;
            // A repeated attempt finds it set; its report is the same.
            for asked in &compaction.reports {
                let _set_before = asked.set(report);
            }
        }
        grow.take_in(added).await?;
        let record = self.view.record.write();
        batch.put(key::of_space(key::SPACE, &self.view.space), record);
        Ok(self.view)
    }

    fn mark_deleted(&mut self, batch: &mut WriteBatch) {
        if self.deleted.is_empty() {
            return;
        }
        let all = &*self.view.deleted | &self.deleted;
        let key = key::of_space(key::DELETED, &self.view.space);
        batch.put(key, record::write_bitmap(&all));
        self.view.deleted_bits = Arc::new(Bits::from(&all));
        self.view.deleted = Arc::new(all);
    }
}
