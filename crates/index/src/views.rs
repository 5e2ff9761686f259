//! The structures of spaces that a snapshot holds.

use std::collections::HashMap;
use std::sync::Arc;

use crate::place::Space;
use crate::vector::SpaceView;

/// So many at most; beyond that those go that were used longest ago.
const MOST: usize = 64;

#[derive(Clone, Default)]
pub struct Views {
    held: HashMap<Space, (Arc<SpaceView>, u64)>,
    /// Counts uses, to know which was used last.
    uses: u64,
}

impl Views {
    pub fn get(&mut self, space: &Space) -> Option<Arc<SpaceView>> {
        self.uses += 1;
        let (view, used) = self.held.get_mut(space)?;
        *used = self.uses;
        Some(Arc::clone(view))
    }

    pub fn add(&mut self, view: Arc<SpaceView>) {
        self.uses += 1;
        self.held.insert(view.space, (view, self.uses));
        if self.held.len() > MOST {
            let oldest = self.held.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(space) = oldest.map(|(space, _)| *space) {
                self.held.remove(&space);
            }
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use model::{GenerationId, KbId, TenantId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_is_used_stays_whatever_else_comes_and_changes() {
        let space = |n: u128| Space {
            tenant: TenantId::from_uuid(Uuid::nil()),
            kb: KbId::from_uuid(Uuid::from_u128(n)),
            generation: GenerationId::from_uuid(Uuid::nil()),
        };
        let view = |n| Arc::new(SpaceView::forgotten(space(n), 0, 0));
        let mut views = Views::default();
        for n in 0..3 * MOST as u128 {
            views.add(view(n));
            assert!(views.get(&space(0)).is_some(), "{n}");
        }
        assert_eq!(views.len(), MOST);
        // A change of one that is there takes nobody's place.
        let newest = 3 * MOST as u128 - 1;
        views.add(view(newest));
        let held = (newest - MOST as u128 + 2..=newest).all(|n| views.get(&space(n)).is_some());
        assert!(held && views.get(&space(0)).is_some());
    }
}
