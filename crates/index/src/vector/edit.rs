//! One flush's changes to a space, and the records they make.

use std::sync::Arc;

use roaring::RoaringBitmap;
use slatedb::WriteBatch;

use crate::Error;
use crate::slate::key;
use crate::slate::record::{self, VersionRecord};
use crate::vector::SpaceView;
use crate::vector::bits::Bits;
use crate::vector::view::note_totals;

pub struct SpaceEdit {
    pub view: SpaceView,
    deleted: RoaringBitmap,
}

impl SpaceEdit {
    pub fn new(view: &SpaceView) -> Self {
        Self {
            view: view.clone(),
            deleted: RoaringBitmap::new(),
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

    pub fn add(&mut self, _id: u32, _number: u32, vector: &[f32]) {
        self.view.record.dimensions = vector.len() as u32;
    }

    pub fn delete(&mut self, id: u32) {
        self.deleted.insert(id);
    }

    pub fn note_version(&mut self, version: &VersionRecord) {
        note_totals(Arc::make_mut(&mut self.view.totals), version);
    }

    pub fn note_language(&mut self, rules: &str) {
        let languages = &mut self.view.record.languages;
        if let Err(at) = languages.binary_search_by(|known| known.as_str().cmp(rules)) {
            languages.insert(at, rules.to_owned());
        }
    }

    /// Writes the space down and gives its next view.
    pub fn finish(mut self, flush: u64, batch: &mut WriteBatch) -> SpaceView {
        let space = self.view.space;
        if !self.deleted.is_empty() {
            let all = &*self.view.deleted | &self.deleted;
            batch.put(
                key::of_space(key::DELETED, &space),
                record::write_bitmap(&all),
            );
            self.view.deleted_bits = Arc::new(Bits::from(&all));
            self.view.deleted = Arc::new(all);
        }
        let record = self.view.record.write();
        batch.put(key::of_space(key::SPACE, &space), record);
        self.view.flush = flush;
        self.view
    }
}
