//! The way of one document.

use std::time::Duration;

use catalog::{
    Activated, Activation, Claim, Completion, LiveFilter, Outcome, Prepared, RunStats, UnitDone,
    UnitOutcome,
};
use model::{ContentHash, RunStatus, Step, StepKind, UnitName};

use crate::World;

pub const ALL: [StepKind; 3] = [StepKind::Prep, StepKind::Extract, StepKind::Finalize];
pub const LEASE: Duration = Duration::from_secs(60);

impl World {
    pub async fn claim(&self, max: usize) -> Vec<Claim> {
        self.catalog
            .claim(&ALL, "worker", max, LEASE, self.clock.now())
            .await
            .unwrap()
    }

    pub async fn one(&self) -> Claim {
        let mut claims = self.claim(1).await;
        claims.pop().expect("a step is due")
    }

    pub async fn prepare(&self, claim: &Claim, units: u32) -> (u32, Vec<Step>) {
        let units = (0..units).map(|at| (unit(at), at)).collect();
        let prepared = Prepared {
            units,
            ..Prepared::default()
        };
        self.catalog
            .prepared(claim, prepared, self.clock.now())
            .await
            .unwrap()
    }

    pub async fn complete(&self, claim: &Claim) -> Result<Completion, catalog::Error> {
        let Step::Extract { pass, unit, .. } = claim.step.clone() else {
            panic!("{:?} is no Extract", claim.step)
        };
        let outcome = UnitOutcome::Done {
            chunks: 2,
            tokens: 20,
            reused: 1,
            flush: 5,
        };
        let done = UnitDone {
            unit,
            pass,
            outcome,
        };
        self.catalog
            .complete_unit(claim, done, self.clock.now())
            .await
    }

    pub async fn activate(&self, claim: &Claim) -> Result<Activated, catalog::Error> {
        let Step::Finalize { version, pass } = claim.step else {
            panic!("{:?} is no Finalize", claim.step)
        };
        let stats = RunStats {
            chunks_created: 2,
            tokens_total: 20,
            chunks_processed: 1,
            chunks_skipped: 1,
            chunks_error: 0,
        };
        let root_hash = ContentHash::of(b"root");
        let activation = Activation {
            version,
            pass,
            root_hash,
            flush: 7,
            stats,
        };
        self.catalog
            .activate(claim, activation, self.clock.now())
            .await
    }
}

pub fn unit(at: u32) -> UnitName {
    UnitName::new(format!("u{at}")).unwrap()
}

pub async fn a_document_goes_from_admission_to_answering(world: &World) {
    let World {
        catalog,
        clock,
        place,
    } = world;
    let admitted = catalog
        .admit(place.file("a.txt", "one", clock.now()), clock.now())
        .await
        .unwrap();
    assert_eq!(admitted.outcome, Outcome::New);

    let prep = world.one().await;
    assert_eq!(
        prep.step,
        Step::Prep {
            version: admitted.version
        }
    );
    let (pass, follow_ups) = world.prepare(&prep, 2).await;
    assert_eq!((pass, follow_ups.len()), (1, 2));

    let extracts = world.claim(10).await;
    assert_eq!(extracts.len(), 2);
    assert_eq!(
        world.complete(&extracts[0]).await.unwrap(),
        Completion::OthersOpen
    );
    assert_eq!(
        world.complete(&extracts[1]).await.unwrap(),
        Completion::Last
    );

    let live = catalog
        .live(place.tenant, place.kb, LiveFilter::default())
        .await
        .unwrap();
    assert!(live.numbers.is_empty(), "nothing answers before Finalize");
    assert_eq!(
        world.activate(&world.one().await).await.unwrap(),
        Activated::Active
    );

    let live = catalog
        .live(place.tenant, place.kb, LiveFilter::default())
        .await
        .unwrap();
    assert_eq!(live.at_least, 7);
    let numbers: Vec<u32> = live.numbers.iter().collect();
    let rows = catalog
        .versions_by_number(place.tenant, place.kb, &numbers)
        .await
        .unwrap();
    assert_eq!(rows[0].version, admitted.version);
    let run = catalog
        .run(place.tenant, admitted.run.unwrap())
        .await
        .unwrap();
    assert_eq!(
        (run.status, run.stats.chunks_created),
        (RunStatus::Succeeded, 2)
    );
    assert!(world.claim(10).await.is_empty(), "no work is left");
}
