//! How many event streams each tenant has open: no more than it may, however many ask.
//!
//! A stream costs a look at the database every so often for as long as it is open, so that
//! forgotten ones of one tenant would slow down all others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::TenantId;

#[derive(Debug)]
pub struct Streams {
    most: usize,
    open: Mutex<HashMap<TenantId, usize>>,
}

/// One of a tenant's streams; whoever drops it makes room for another.
#[derive(Debug)]
pub struct Place {
    of: Arc<Streams>,
    tenant: TenantId,
}

impl Streams {
    pub fn new(most: usize) -> Arc<Self> {
        let open = Mutex::default();
        Arc::new(Self { most, open })
    }

    pub const fn most(&self) -> usize {
        self.most
    }

    /// A place for one more, unless the tenant has as many as it may.
    pub fn place(self: &Arc<Self>, tenant: TenantId) -> Option<Place> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let there = open.entry(tenant).or_default();
        if *there >= self.most {
            return None;
        }
        *there += 1;
        let of = Arc::clone(self);
        Some(Place { of, tenant })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.of.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(there) = open.get_mut(&self.tenant) {
            *there -= 1;
            if *there == 0 {
                open.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_place_is_given_back_and_no_tenant_takes_anothers() {
        let streams = Streams::new(2);
        let [one, other] = [1, 2].map(|n| TenantId::from_uuid(Uuid::from_u128(n)));
        let places = [streams.place(one), streams.place(one)];
        assert!(places.iter().all(Option::is_some));
        assert!(streams.place(one).is_none());
        assert!(streams.place(other).is_some());
        drop(places);
        assert!(streams.place(one).is_some());
        assert!(streams.open.lock().unwrap().is_empty(), "all are gone");
    }
}
