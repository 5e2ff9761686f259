//! A catalog of its own for one promise, and the moves promises are told in.

use std::sync::Arc;
use std::time::Duration;

use catalog::{
    Activated, Activation, Admission, Admitted, Catalog, Claim, Completion, Error, LiveFilter,
    Prepared, RunStats, UnitDone, UnitOutcome,
};
use model::{ContentHash, DocumentId, Step, StepKind, UnitName, VersionId};
use sqlx::Connection;
use testkit::{Clock, Place};

pub const ALL: [StepKind; 3] = [StepKind::Prep, StepKind::Extract, StepKind::Finalize];
pub const LEASE: Duration = Duration::from_secs(60);

pub struct World {
    pub url: String,
    pub catalog: Arc<dyn Catalog>,
    pub clock: Clock,
    pub place: Place,
}

impl World {
    /// Does to the database what only an accident would.
    pub async fn vandalise(&self, sql: &'static str) {
        if self.url.starts_with("sqlite") {
            let mut connection = sqlx::SqliteConnection::connect(&self.url).await.unwrap();
            sqlx::query(sql).execute(&mut connection).await.unwrap();
        } else {
            let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
            sqlx::query(sql).execute(&mut connection).await.unwrap();
        }
    }

    /// The same, whatever refers to what is changed.
    pub async fn vandalise_beyond_references(&self, sql: &'static str) {
        if self.url.starts_with("sqlite") {
            let mut connection = sqlx::SqliteConnection::connect(&self.url).await.unwrap();
            let loosely = sqlx::query("PRAGMA foreign_keys = OFF");
            loosely.execute(&mut connection).await.unwrap();
            sqlx::query(sql).execute(&mut connection).await.unwrap();
        } else {
            let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
            let loosely = sqlx::query("SET session_replication_role = replica");
            loosely.execute(&mut connection).await.unwrap();
            sqlx::query(sql).execute(&mut connection).await.unwrap();
        }
    }

    pub async fn admit(&self, name: &str, content: &str) -> Admitted {
        let now = self.clock.pass(Duration::from_secs(1));
        self.take(self.place.file(name, content, now)).await
    }

    pub async fn take(&self, admission: Admission) -> Admitted {
        self.catalog
            .admit(admission, self.clock.now())
            .await
            .unwrap()
    }

    pub async fn claim(&self, max: usize) -> Vec<Claim> {
        self.catalog
            .claim(&ALL, "worker", max, LEASE, self.clock.now())
            .await
            .unwrap()
    }

    /// The one step that is due.
    pub async fn one(&self) -> Claim {
        let mut claims = self.claim(2).await;
        assert_eq!(claims.len(), 1, "one step is due");
        claims.remove(0)
    }

    pub async fn prepare(&self, claim: &Claim, units: u32) -> (u32, Vec<Step>) {
        let pass = self.next_pass(claim).await;
        let units = (0..units).map(|at| (unit(at), at)).collect();
        let prepared = Prepared {
            pass,
            units,
            ..Prepared::default()
        };
        let follow_ups = self.catalog.prepared(claim, prepared, self.clock.now());
        (pass, follow_ups.await.unwrap())
    }

    /// The one a Prep of this claim opens, or has opened.
    async fn next_pass(&self, claim: &Claim) -> u32 {
        let version = claim.step.version();
        let version = self.catalog.version(claim.tenant, version).await;
        // A version that is gone has no next one; asking for it is fenced all the same.
        version.map_or(1, |version| version.pass + 1)
    }

    pub async fn complete(&self, claim: &Claim) -> Result<Completion, Error> {
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

    pub async fn activate(&self, claim: &Claim) -> Result<Activated, Error> {
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

    /// Performs one claimed step.
    pub async fn perform(&self, claim: &Claim) -> Result<(), Error> {
        match claim.step {
            Step::Prep { .. } => {
                let units = vec![(unit(0), 0)];
                let prepared = Prepared {
                    pass: self.next_pass(claim).await,
                    units,
                    ..Prepared::default()
                };
                self.catalog
                    .prepared(claim, prepared, self.clock.now())
                    .await?;
            }
            Step::Extract { .. } => {
                self.complete(claim).await?;
            }
            Step::Finalize { .. } => {
                self.activate(claim).await?;
            }
        }
        Ok(())
    }

    /// Performs what is due until nothing is.
    pub async fn work_off(&self) {
        loop {
            let claims = self.claim(16).await;
            if claims.is_empty() {
                return;
            }
            for claim in &claims {
                self.perform(claim).await.unwrap();
            }
        }
    }

    /// Which versions answer, by number.
    pub async fn answering(&self) -> Vec<VersionId> {
        self.answering_in(LiveFilter::default()).await
    }

    pub async fn answering_in(&self, filter: LiveFilter) -> Vec<VersionId> {
        let Place { tenant, kb, .. } = self.place;
        let live = self.catalog.live(tenant, kb, filter).await.unwrap();
        let numbers: Vec<u32> = live.numbers.iter().collect();
        let mut rows = self
            .catalog
            .versions_by_number(tenant, kb, &numbers)
            .await
            .unwrap();
        rows.sort_by_key(|row| row.number);
        rows.into_iter().map(|row| row.version).collect()
    }

    /// Every activation is as the ledger alone tells it.
    pub async fn is_proven(&self, document: DocumentId) {
        let dossier = self.catalog.dossier(self.place.tenant, document);
        let dossier = dossier.await.unwrap();
        let told = catalog::replay(&dossier.ledger);
        let told = told.iter().map(|one| {
            let words = one.cause.as_str();
            (one.opened_at, one.version, one.closed_at, words)
        });
        let rows = dossier.activations.iter().map(|row| {
            let words = row.cause.as_str();
            (row.opened_at, row.version, row.closed_at, words)
        });
        let (mut told, mut rows): (Vec<_>, Vec<_>) = (told.collect(), rows.collect());
        told.sort_unstable();
        rows.sort_unstable();
        assert_eq!(told, rows);
        assert_eq!(dossier.noted, dossier.facts.map(catalog::Told::Was));
        assert!(
            dossier
                .noted_removals
                .iter()
                .all(catalog::NotedRemovals::stand)
        );
    }
}

pub fn unit(at: u32) -> UnitName {
    UnitName::new(format!("u{at}")).unwrap()
}
