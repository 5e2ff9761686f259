//! All tenants as one, for whoever runs the house.
//!
//! Each is verified by itself, as its own admins would have it. Where there is but one, what is
//! told is what is told of it; where there are several, what is wrong says whose it is, and the
//! digest covers their names and digests.

use std::collections::BTreeSet;

use catalog::{Tenant, every};
use model::{ContentHash, TenantId};

use super::{Disagreement, Remedy, Verified};
use crate::{Engine, Error};

/// One of several tenants.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct OfTenant {
    pub name: String,
    pub digest: ContentHash,
    pub documents: u64,
    pub chunks: u64,
}

impl Engine {
    pub async fn verify_all(&self) -> Result<Verified, Error> {
        let tenants = self.all_tenants().await?;
        let mut parts = Vec::with_capacity(tenants.len());
        for tenant in tenants {
            let found = self.verify(tenant.id).await?;
            parts.push((tenant, found));
        }
        self.all_together(parts).await
    }

    /// By name. Disabled ones too: what they have stays.
    pub(crate) async fn all_tenants(&self) -> Result<Vec<Tenant>, Error> {
        let mut tenants = every(|page| self.parts.catalog.tenants(page)).await?;
        tenants.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(tenants)
    }

    pub(crate) async fn all_together(
        &self,
        parts: Vec<(Tenant, Verified)>,
    ) -> Result<Verified, Error> {
        let known = parts.iter().map(|(tenant, _)| tenant.id).collect();
        let nobodys = self.of_no_tenant(&known).await?;
        let mut all = together(parts);
        all.disagreements.extend(nobodys);
        Ok(all)
    }

    /// What the index holds of tenants the catalog does not know: asked tenant by tenant,
    /// nobody would come upon it.
    async fn of_no_tenant(&self, known: &BTreeSet<TenantId>) -> Result<Vec<Disagreement>, Error> {
        let spaces = self.view(0).await?.spaces().await?;
        let tenants: BTreeSet<TenantId> = spaces.iter().map(|space| space.tenant).collect();
        let what = "the index holds a tenant the catalog does not know";
        let remedy = Remedy::Nothing("nothing says whose it is: restore a backup");
        let name = |tenant: &TenantId| Disagreement {
            tenant: Some(tenant.to_string()),
            ..Disagreement::new(what, remedy)
        };
        Ok(tenants.difference(known).map(name).collect())
    }
}

fn together(mut parts: Vec<(Tenant, Verified)>) -> Verified {
    if parts.len() == 1 {
        return parts.remove(0).1;
    }
    let digests: Vec<(String, String)> = parts
        .iter()
        .map(|(tenant, found)| (tenant.name.clone(), found.digest.to_string()))
        .collect();
    let fields = digests.iter().flat_map(|(name, digest)| [name, digest]);
    let mut all = Verified {
        digest: ContentHash::of_fields(fields.map(String::as_bytes)),
        documents: 0,
        chunks: 0,
        work: 0,
        disagreements: Vec::new(),
        leftovers: Vec::new(),
        tenants: Vec::with_capacity(parts.len()),
        unowned: Vec::new(),
    };
    for (Tenant { name, .. }, found) in parts {
        all.documents += found.documents;
        all.chunks += found.chunks;
        all.work += found.work;
        all.leftovers.extend(found.leftovers);
        all.unowned.extend(found.unowned);
        let named = |one: Disagreement| one.of_tenant(&name);
        all.disagreements
            .extend(found.disagreements.into_iter().map(named));
        all.tenants.push(OfTenant {
            name,
            digest: found.digest,
            documents: found.documents,
            chunks: found.chunks,
        });
    }
    all
}

impl Disagreement {
    pub(crate) fn of_tenant(self, name: &str) -> Self {
        Self {
            tenant: Some(name.to_owned()),
            ..self
        }
    }
}
