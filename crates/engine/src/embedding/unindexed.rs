//! Vectors answered for, of units that are not in the index yet.
//!
//! A unit that fails halfway through, or whose index does not take it, comes again: what it was
//! answered by then may have been paid for. Once it is indexed the reuse table knows them.
//! Bounded in bytes: beyond them the oldest go, and are merely asked for once more.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use model::{ContentHash, TenantId};

/// Every slot of the workers with a unit of its own: 192 of 64 KiB, cut by the default policy of
/// any model known here. Small chunks with wide vectors need more, and are then paid for again.
const MOST_BYTES: usize = 64 << 20;

#[derive(Default)]
pub(super) struct Unindexed {
    vectors: HashMap<Input, (u64, Arc<[f32]>)>,
    /// By when they came, oldest first.
    order: BTreeMap<u64, Input>,
    came: u64,
    bytes: usize,
}

/// Of one tenant: what one has embedded answers no other.
type Input = (TenantId, ContentHash);

impl Unindexed {
    pub(super) fn get(&self, tenant: TenantId, hash: ContentHash) -> Option<Arc<[f32]>> {
        let (_, vector) = self.vectors.get(&(tenant, hash))?;
        Some(vector.clone())
    }

    pub(super) fn put(&mut self, tenant: TenantId, hash: ContentHash, vector: Arc<[f32]>) {
        self.forget(tenant, hash);
        self.came += 1;
        self.bytes += size_of_val(&*vector);
        self.vectors.insert((tenant, hash), (self.came, vector));
        self.order.insert(self.came, (tenant, hash));
        while self.bytes > MOST_BYTES {
            let Some((tenant, hash)) = self.order.values().next().copied() else {
                return;
            };
            self.forget(tenant, hash);
        }
    }

    /// It is in the index, or nobody comes for it again.
    pub(super) fn forget(&mut self, tenant: TenantId, hash: ContentHash) {
        if let Some((came, vector)) = self.vectors.remove(&(tenant, hash)) {
            self.order.remove(&came);
            self.bytes -= size_of_val(&*vector);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_oldest_go_when_there_are_too_many_bytes_and_what_is_indexed_goes_at_once() {
        let tenant = TenantId::from_uuid(Uuid::nil());
        let hash = |n: usize| ContentHash::of(n.to_string().as_bytes());
        let vector: Arc<[f32]> = vec![1.0; 1 << 20].into();
        let fit = MOST_BYTES / size_of_val(&*vector);
        let mut unindexed = Unindexed::default();
        (0..fit).for_each(|n| unindexed.put(tenant, hash(n), vector.clone()));
        unindexed.forget(tenant, hash(1));
        unindexed.put(tenant, hash(fit), vector.clone());
        assert!(unindexed.get(tenant, hash(0)).is_some(), "there was room");
        unindexed.put(tenant, hash(fit + 1), vector.clone());
        let kept = |n| unindexed.get(tenant, hash(n)).is_some();
        assert!(!kept(0) && !kept(1), "the oldest made room");
        assert!((2..=fit + 1).all(kept));
        let other = TenantId::from_uuid(Uuid::from_u128(1));
        assert!(unindexed.get(other, hash(2)).is_none());
    }
}
