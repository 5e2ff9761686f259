//! All tenants, one after the other, for whoever runs the house.

use super::{Outcome, Repaired};
use crate::{Engine, Error};

impl Engine {
    pub async fn repair_all(&self) -> Result<Repaired, Error> {
        let tenants = self.all_tenants().await?;
        let several = tenants.len() > 1;
        let (mut findings, mut leftovers_deleted) = (Vec::new(), 0);
        let mut parts = Vec::with_capacity(tenants.len());
        for tenant in tenants {
            let done = self.repair(tenant.id).await?;
            leftovers_deleted += done.leftovers_deleted;
            findings.extend(done.findings.into_iter().map(|one| match several {
                false => one,
                true => Outcome {
                    finding: one.finding.of_tenant(&tenant.name),
                    ..one
                },
            }));
            parts.push((tenant, done.after));
        }
        Ok(Repaired {
            findings,
            leftovers_deleted,
            after: self.all_together(parts).await?,
        })
    }
}
