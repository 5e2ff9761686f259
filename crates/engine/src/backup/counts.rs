//! How much a backup is, so that what is made of it can be held against that.

use std::fmt;

use catalog::{Catalog, Status, every};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::Error;

/// What a catalog holds, of all tenants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub documents: u64,
    pub versions: u64,
    /// Documents that answer.
    pub answering: u64,
    /// Chunks that answer.
    pub chunks: u64,
}

impl Counts {
    pub async fn of(catalog: &dyn Catalog, now: DateTime<Utc>) -> Result<Self, Error> {
        let mut counts = Self::default();
        for tenant in every(|page| catalog.tenants(page)).await? {
            let versions = catalog.held(tenant.id).await?.len() as u64;
            counts.add(&catalog.status(tenant.id, now).await?, versions);
        }
        Ok(counts)
    }

    /// What one more tenant holds.
    pub(super) fn add(&mut self, status: &Status, versions: u64) {
        self.documents += status.documents;
        self.versions += versions;
        self.answering += status.documents_active;
        self.chunks += status.chunks_active;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} documents in {} versions, {} of them answering with {} chunks",
            self.documents, self.versions, self.answering, self.chunks
        )
    }
}
