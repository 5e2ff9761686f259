//! All tenants, one after the other, for whoever runs the house.

use super::{Log, Outcome, Repaired};
use crate::{Engine, Error};

impl Engine {
    pub async fn repair_all(&self) -> Result<Repaired, Error> {
        let tenants = self.all_tenants().await?;
        let several = tenants.len() > 1;
        let (mut findings, mut leftovers_deleted) = (Vec::<Outcome>::new(), 0);
        let mut leftovers_kept = Vec::new();
        let mut parts = Vec::with_capacity(tenants.len());
        for tenant in tenants {
            let done = self.repair(tenant.id).await?;
            leftovers_deleted += done.leftovers_deleted;
            leftovers_kept.extend(done.leftovers_kept);
            findings.extend(done.findings.into_iter().map(|one| match several {
                false => one,
                true => Outcome {
                    finding: one.finding.of_tenant(&tenant.name),
                    ..one
                },
            }));
            parts.push((tenant, done.after));
        }
        let after = self.all_together(parts).await?;
        // What belongs to no tenant was nobody's to mend.
        for finding in &after.disagreements {
            if !findings.iter().any(|one| one.finding == *finding) {
                let told = Log::default().told(finding);
                findings.push(Outcome::of(false, told, finding.clone()));
            }
        }
        Ok(Repaired {
            findings,
            leftovers_deleted,
            leftovers_kept,
            after,
        })
    }
}
