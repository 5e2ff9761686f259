//! Jobs from before a switch of generations, and what later ones meet.

use catalog::{JobChanges, JobClaim, JobOutcome, Page};

use crate::World;
use crate::generations::{begin, fill, switch};

impl World {
    /// Another generation serves, with all that was answered.
    async fn switches(&self) {
        let kb = begin(self).await;
        fill(self, &kb).await;
        self.work_off().await;
        switch(self, &kb, false).await.unwrap();
    }

    /// A job that shows these files while the generation serves that was switched to last.
    async fn shows(&self, name: &str, files: &[(&str, &str)]) -> JobClaim {
        let (tenant, kb) = (self.place.tenant, self.place.kb);
        let claim = self.job(name).await;
        let serving = self.catalog.kb(tenant, kb).await.unwrap().serving.id;
        let mut batch = self.batch(&claim, files, true);
        for admission in &mut batch.admissions {
            admission.generation = serving;
        }
        let admitted = self.catalog.admit_batch(&claim, batch, self.clock.now());
        admitted.await.unwrap();
        self.work_off().await;
        claim
    }

    async fn changes(&self, job: &JobClaim) -> JobChanges {
        let changes = self.catalog.job_changes(self.place.tenant, job.job);
        changes.await.unwrap()
    }

    async fn outcomes(&self, job: &JobClaim) -> Vec<JobOutcome> {
        let (tenant, page) = (self.place.tenant, Page::first(9));
        let met = self.catalog.job_documents(tenant, job.job, page);
        let met = met.await.unwrap().items;
        met.iter().map(|one| one.outcome).collect()
    }
}

pub async fn a_job_tells_what_it_met_once_whatever_was_copied(world: &World) {
    use JobOutcome::{New, Skipped};
    let files = [("a", "1"), ("b", "2")];
    let first = world.shows("first", &files).await;
    world.switches().await;
    let second = world.shows("second", &files).await;
    world.switches().await;
    let third = world.shows("third", &files).await;
    let new = JobChanges {
        new: 2,
        ..JobChanges::default()
    };
    let unchanged = JobChanges {
        unchanged: 2,
        ..JobChanges::default()
    };
    for (job, changes, outcome) in [
        (&first, new, New),
        (&second, unchanged, Skipped),
        (&third, unchanged, Skipped),
    ] {
        assert_eq!(world.changes(job).await, changes);
        assert_eq!(world.outcomes(job).await, [outcome; 2]);
    }
}
