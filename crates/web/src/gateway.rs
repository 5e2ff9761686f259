//! What every handler is handed: the engine, the keys, the settings.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::StatusCode;
use catalog::{Catalog, FirstStarted, Role};
use chrono::{DateTime, TimeDelta, Utc};
use engine::Engine;
use engine::delegation::Taken;
use model::{RunId, Strategy, TenantId};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::auth::{Keys, Principal, Reach, Throttle};
use crate::problem::Problem;
use crate::streams::Streams;
use crate::traffic::Traffic;

/// What can be tuned.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `false` signs everyone in as the first admin; only ever on loopback.
    pub auth_enabled: bool,
    pub token_life: TimeDelta,
    /// Of one file.
    pub upload_limit: u64,
    /// Of a request that is not an upload or a stream.
    pub timeout: Duration,
    pub concurrency: usize,
    /// Event streams a tenant may have open at the same time.
    pub streams_per_tenant: usize,
    /// How long an upload may send nothing before it is given up.
    pub idle: Duration,
    /// How callers reach this server; empty for as each of them did.
    pub public_url: String,
    /// How a new knowledge base cuts text.
    pub strategy: Strategy,
    /// Ingest refuses to begin with less free space than this.
    pub disk_reserve: u64,
}

/// A setting as it is in force, secrets masked.
#[derive(Debug, Clone)]
pub struct Setting {
    /// `section.name`.
    pub key: &'static str,
    pub value: String,
    /// Where the value came from, in plain words.
    pub origin: String,
    pub about: &'static str,
}

/// Room left on the disk of the data folder; `None` where it cannot be told.
pub type FreeBytes = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

/// Offers a run to whoever works in this process.
pub type TakeRun = Arc<dyn Fn(RunId) -> Taken + Send + Sync>;

/// What does the work.
pub struct Parts {
    pub engine: Arc<Engine>,
    pub keys: Keys,
    /// What servers and workers show each other; without one nobody is delivered to.
    pub internal_token: Option<String>,
    /// The first tenant and its admin: who the command line speaks for.
    pub first: FirstStarted,
    pub free_bytes: FreeBytes,
    /// Every setting, for whoever looks after the house.
    pub in_force: Vec<Setting>,
    /// Ends streams when the server stops.
    pub stop: CancellationToken,
}

#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    settings: Settings,
    parts: Parts,
    throttle: Throttle,
    turns: Semaphore,
    streams: Arc<Streams>,
    traffic: Traffic,
    started: DateTime<Utc>,
    /// Set once there are workers.
    take_run: OnceLock<TakeRun>,
}

impl Gateway {
    pub fn new(settings: Settings, parts: Parts) -> Self {
        let turns = Semaphore::new(settings.concurrency);
        let streams = Streams::new(settings.streams_per_tenant);
        let started = parts.engine.parts().clock.now();
        Self(Arc::new(Inner {
            settings,
            parts,
            throttle: Throttle::default(),
            turns,
            streams,
            traffic: Traffic::default(),
            started,
            take_run: OnceLock::new(),
        }))
    }

    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub fn engine(&self) -> &Arc<Engine> {
        &self.0.parts.engine
    }

    pub fn catalog(&self) -> &dyn Catalog {
        &*self.0.parts.engine.parts().catalog
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.0.parts.engine.parts().clock.now()
    }

    /// Whether any worker is at anything.
    pub async fn busy(&self) -> Result<bool, Problem> {
        Ok(self.catalog().busy(self.now()).await?)
    }

    pub fn started(&self) -> DateTime<Utc> {
        self.0.started
    }

    pub fn keys(&self) -> &Keys {
        &self.0.parts.keys
    }

    pub(crate) fn internal_token(&self) -> Option<&str> {
        self.0.parts.internal_token.as_deref()
    }

    /// From here on deliveries are offered to somebody. Said again, it changes nothing.
    pub fn deliver_to(&self, workers: TakeRun) {
        let _ = self.0.take_run.set(workers);
    }

    pub(crate) fn take_run(&self, run: RunId) -> Taken {
        match self.0.take_run.get() {
            Some(take) => take(run),
            None => Taken::NoWorkers,
        }
    }

    pub fn throttle(&self) -> &Throttle {
        &self.0.throttle
    }

    /// As many as there may be requests under way.
    pub fn turns(&self) -> &Semaphore {
        &self.0.turns
    }

    pub(crate) fn streams(&self) -> &Arc<Streams> {
        &self.0.streams
    }

    pub fn traffic(&self) -> &Traffic {
        &self.0.traffic
    }

    pub fn stop(&self) -> &CancellationToken {
        &self.0.parts.stop
    }

    pub fn in_force(&self) -> &[Setting] {
        &self.0.parts.in_force
    }

    pub fn free_bytes(&self) -> Option<u64> {
        (self.0.parts.free_bytes)()
    }

    /// Room on the disk, where it can be told and is less than there should be.
    pub fn scarce_disk(&self) -> Option<u64> {
        self.free_bytes()
            .filter(|free| *free < self.0.settings.disk_reserve)
    }

    /// Refuses early when the disk is nearly full: half a document helps nobody.
    pub fn check_disk(&self) -> Result<(), Problem> {
        match self.scarce_disk() {
            None => Ok(()),
            Some(free) => Err(Problem::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "disk_full",
                format!("only {} MB are left on the disk", free >> 20),
            )
            .hint("free some space, or lower disk.reserve_mb")),
        }
    }

    /// Whether this is the tenant of whoever runs the server: the first one.
    pub fn is_operator_tenant(&self, tenant: TenantId) -> bool {
        tenant == self.0.parts.first.tenant
    }

    pub fn is_operator(&self, who: &Principal) -> bool {
        self.is_operator_tenant(who.tenant)
    }

    /// Tenants and folders of this machine are its operator's business.
    pub fn check_operator(&self, who: &Principal) -> Result<(), Problem> {
        if self.is_operator_tenant(who.tenant) {
            return Ok(());
        }
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            "not_operator",
            "only admins of the first tenant may do this",
        )
        .hint("ask whoever runs this server"))
    }

    /// Who everyone is when sign-in is off.
    pub fn first_admin(&self) -> Principal {
        Principal {
            tenant: self.0.parts.first.tenant,
            user: Some(self.0.parts.first.admin),
            role: Role::Admin,
            scopes: Vec::new(),
            reach: Reach::Tenant,
        }
    }
}
