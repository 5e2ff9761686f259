//! A catalog whose connection breaks: before the commit, or after it with the answer lost.
//!
//! Steps it hands out come in any order, and it remembers them, so that a test can deliver
//! one again, or late.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
// Whole: the seam below names nearly all of both.
use catalog::*;
use chrono::{DateTime, Utc};
use model::*;
use serde_json::Value;
use uuid::Uuid;

use super::{Dice, Lot};

pub struct FaultyCatalog {
    inner: Arc<dyn Catalog>,
    dice: Arc<Dice>,
    claimed: Mutex<Vec<Claim>>,
}

impl FaultyCatalog {
    pub fn new(inner: Arc<dyn Catalog>, dice: Arc<Dice>) -> Self {
        let claimed = Mutex::default();
        Self {
            inner,
            dice,
            claimed,
        }
    }

    /// A claim handed out earlier, whether or not it is still held.
    pub fn any_claim(&self) -> Option<Claim> {
        let claimed = self.claimed.lock().expect("no test panics with the claims");
        if claimed.is_empty() {
            return None;
        }
        Some(claimed[self.dice.below(claimed.len())].clone())
    }

    async fn around<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        match self.dice.throw().await {
            Lot::Well => work.await,
            Lot::LostBefore => Err(lost("ask")),
            Lot::LostAfter => {
                work.await?;
                Err(lost("hear the answer"))
            }
        }
    }
}

fn lost(operation: &'static str) -> Error {
    let broken = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    let source = Box::new(broken);
    Error::Unavailable { operation, source }
}

/// Every method of a seam, each as it is behind the fault; what is given in full comes first.
macro_rules! through {
    ($seam:ident { $({ $($own:tt)* })? $($name:ident($($arg:ident: $type:ty),*) -> $answer:ty;)* }) => {
        #[async_trait]
        impl $seam for FaultyCatalog {
            $($($own)*)?
            $(async fn $name(&self, $($arg: $type),*) -> Result<$answer, Error> {
                self.around(self.inner.$name($($arg),*)).await
            })*
        }
    };
}

through! { Accounts {
    ensure_first_start(first: FirstStart, now: DateTime<Utc>) -> FirstStarted;
    create_tenant(name: &str, now: DateTime<Utc>) -> Tenant;
    found_tenant(first: FirstStart, now: DateTime<Utc>) -> FirstStarted;
    tenant(tenant: TenantId) -> Tenant;
    update_tenant(tenant: TenantId, change: TenantChange) -> Tenant;
    tenants(page: Page) -> Listed<Tenant>;
    create_user(tenant: TenantId, user: NewUser, now: DateTime<Utc>) -> User;
    users(tenant: TenantId, page: Page) -> Listed<User>;
    user(tenant: TenantId, user: UserId) -> User;
    user_by_login(login: &str) -> Option<User>;
    update_user(tenant: TenantId, user: UserId, change: UserChange) -> User;
    create_api_key(tenant: TenantId, key: NewApiKey, now: DateTime<Utc>) -> ApiKey;
    api_keys(tenant: TenantId, page: Page) -> Listed<ApiKey>;
    revoke_api_key(tenant: TenantId, key: ApiKeyId, now: DateTime<Utc>) -> ();
    api_key_by_hash(hash: ContentHash) -> Option<ApiKey>;
    touch_api_key(key: ApiKeyId, now: DateTime<Utc>) -> ();
} }

through! { Library {
    create_kb(tenant: TenantId, name: &str, spec: GenerationSpec, now: DateTime<Utc>) -> Kb;
    kbs(tenant: TenantId, page: Page) -> Listed<Kb>;
    kb(tenant: TenantId, kb: KbId) -> Kb;
    newest_flush() -> u64;
    kb_by_name(tenant: TenantId, name: &str) -> Kb;
    admit(admission: Admission, now: DateTime<Utc>) -> Admitted;
    version(tenant: TenantId, version: VersionId) -> Version;
    versions(tenant: TenantId, document: DocumentId, page: Page) -> Listed<Version>;
    documents(tenant: TenantId, filter: DocumentFilter, page: Page) -> Listed<DocumentRow>;
    document(tenant: TenantId, document: DocumentId) -> DocumentRow;
    document_by_uri(tenant: TenantId, kb: KbId, uri: &SourceUri) -> Option<DocumentRow>;
    activations(tenant: TenantId, document: DocumentId, page: Page) -> Listed<ActivationRow>;
    ledger(tenant: TenantId, document: DocumentId, page: Page) -> Listed<LedgerEntry>;
    units(tenant: TenantId, version: VersionId) -> Vec<UnitRow>;
    pages(tenant: TenantId, version: VersionId) -> Vec<PageSize>;
    live(tenant: TenantId, kb: KbId, filter: LiveFilter) -> Live;
    versions_by_number(tenant: TenantId, kb: KbId, numbers: &[u32]) -> Vec<VersionRow>;
    all_active(tenant: Option<TenantId>, page: Page) -> Listed<ActiveVersion>;
    activate(claim: &Claim, activation: Activation, now: DateTime<Utc>) -> Activated;
    rollback(tenant: TenantId, document: DocumentId, version: VersionId, by: Option<UserId>, now: DateTime<Utc>) -> ();
} }

through! { Generations {
    begin_generation(tenant: TenantId, kb: KbId, spec: GenerationSpec, now: DateTime<Utc>) -> Kb;
    building(tenant: TenantId, kb: KbId) -> Option<Building>;
    all_building() -> Vec<Kb>;
    rebuild_some(kb: &Kb, after: Option<u32>, limit: u32, now: DateTime<Utc>) -> Rebuilt;
    switch_generation(
        tenant: TenantId,
        kb: KbId,
        generation: GenerationId,
        leave_failed: bool,
        now: DateTime<Utc>
    ) -> Kb;
    abandon_generation(tenant: TenantId, kb: KbId, generation: GenerationId, now: DateTime<Utc>) -> Kb;
    retired_generations() -> Vec<Retired>;
    never_served(retired: &Retired, limit: u32) -> Vec<Removing>;
} }

through! { Queue {
    {
        async fn claim(
            &self,
            kinds: &[StepKind],
            worker: &str,
            max: usize,
            lease: Duration,
            now: DateTime<Utc>,
        ) -> Result<Vec<Claim>, Error> {
            let asked = self.inner.claim(kinds, worker, max, lease, now);
            let mut claims = self.around(asked).await?;
            for at in (1..claims.len()).rev() {
                claims.swap(at, self.dice.below(at + 1));
            }
            let mut claimed = self.claimed.lock().expect("no test panics with the claims");
            claimed.extend(claims.iter().cloned());
            Ok(claims)
        }
    }
    claim_run(run: RunId, worker: &str, max: usize, lease: Duration, now: DateTime<Utc>) -> Vec<Claim>;
    unattended(limit: u32, now: DateTime<Utc>) -> Vec<Unattended>;
    bury_unattended(run: RunId, error: RunError, now: DateTime<Utc>) -> bool;
    await_worker(wait: Wait, now: DateTime<Utc>) -> ();
    heartbeat(claims: &[Claim], lease: Duration, now: DateTime<Utc>) -> Vec<bool>;
    job_gate(claim: &Claim) -> Option<JobStatus>;
    prepared(claim: &Claim, prepared: Prepared, now: DateTime<Utc>) -> FollowUps;
    complete_unit(claim: &Claim, done: UnitDone, now: DateTime<Utc>) -> Completion;
    release(claim: &Claim, wait: Wait, now: DateTime<Utc>) -> ();
    retry_later(claim: &Claim, error: RunError, not_before: DateTime<Utc>, now: DateTime<Utc>) -> Retried;
    set_aside(claim: &Claim, error: RunError, now: DateTime<Utc>) -> ();
    fail_run(claim: &Claim, error: RunError, now: DateTime<Utc>) -> ();
    stop_run(claim: &Claim, why: &str, now: DateTime<Utc>) -> ();
    expire_leases(now: DateTime<Utc>) -> u64;
    bound_leases(longest: Duration, now: DateTime<Utc>) -> u64;
    hasten(now: DateTime<Utc>) -> u64;
    busy(now: DateTime<Utc>) -> bool;
    next_due() -> Option<DateTime<Utc>>;
} }

through! { Runs {
    run(tenant: TenantId, run: RunId) -> Run;
    runs(tenant: TenantId, filter: RunFilter, page: Page) -> Listed<Run>;
} }

through! { Jobs {
    {
        /// Nothing that fails may make a job count wrongly, put right later or not.
        async fn recount_jobs(&self, now: DateTime<Utc>) -> Result<Vec<Recounted>, Error> {
            let recounted = self.around(self.inner.recount_jobs(now)).await?;
            assert!(recounted.is_empty(), "jobs had counted wrongly: {recounted:?}");
            Ok(recounted)
        }
    }
    create_source(tenant: TenantId, source: NewSource, now: DateTime<Utc>) -> Source;
    sources(tenant: TenantId, page: Page) -> Listed<Source>;
    source(tenant: TenantId, source: SourceId) -> Source;
    update_source(tenant: TenantId, source: SourceId, change: SourceChange, now: DateTime<Utc>) -> Source;
    create_job(tenant: TenantId, job: NewJob, now: DateTime<Utc>) -> Job;
    begin_job(tenant: TenantId, job: NewJob, now: DateTime<Utc>) -> Job;
    job(tenant: TenantId, job: JobId) -> Job;
    job_of_source(tenant: TenantId, source: SourceId) -> Option<Job>;
    jobs(tenant: TenantId, filter: JobFilter, page: Page) -> Listed<Job>;
    job_documents(tenant: TenantId, job: JobId, page: Page) -> Listed<JobDocument>;
    job_progress(tenant: TenantId, job: JobId) -> JobProgress;
    job_changes(tenant: TenantId, job: JobId) -> JobChanges;
    job_removals(tenant: TenantId, job: JobId, page: Page) -> Listed<JobRemoval>;
    job_problems(tenant: TenantId, job: JobId, page: Page) -> Listed<Problem>;
    start_job(tenant: TenantId, job: JobId, now: DateTime<Utc>) -> Job;
    pause_job(tenant: TenantId, job: JobId, now: DateTime<Utc>) -> Job;
    resume_job(tenant: TenantId, job: JobId, now: DateTime<Utc>) -> Job;
    claim_job(worker: &str, lease: Duration, now: DateTime<Utc>) -> Option<JobClaim>;
    heartbeat_job(claim: &JobClaim, lease: Duration, now: DateTime<Utc>) -> bool;
    release_job(claim: &JobClaim) -> ();
    put_off_job(claim: &JobClaim, why: &str) -> ();
    admit_batch(claim: &JobClaim, batch: Batch, now: DateTime<Utc>) -> Vec<Admitted>;
    unseen(claim: &JobClaim, after: Option<DocumentId>, limit: u32) -> Vec<Unseen>;
    remove_missing(claim: &JobClaim, missing: Vec<Unseen>, now: DateTime<Utc>) -> u64;
    fail_job(claim: &JobClaim, error: &str, now: DateTime<Utc>) -> ();
    finish_job_if_done(tenant: TenantId, job: JobId, now: DateTime<Utc>) -> bool;
    begin_cancel(tenant: TenantId, job: JobId, now: DateTime<Utc>) -> Job;
    cancel_some(tenant: TenantId, job: JobId, limit: u32, now: DateTime<Utc>) -> Vec<Removing>;
    reinstate_some(tenant: TenantId, job: JobId, limit: u32, now: DateTime<Utc>) -> u64;
    forget_versions(tenant: TenantId, versions: &[VersionId]) -> Vec<ContentHash>;
    note_originals(tenant: TenantId, hashes: &[ContentHash]) -> ();
    freed_originals(limit: u32) -> Vec<(TenantId, ContentHash)>;
    originals_gone(tenant: TenantId, hashes: &[ContentHash]) -> ();
    heartbeat_cancel(tenant: TenantId, job: JobId, lease: Duration, now: DateTime<Utc>) -> ();
    finish_cancel(tenant: TenantId, job: JobId, now: DateTime<Utc>) -> Job;
    canceling() -> Vec<(TenantId, JobId)>;
} }

through! { Operations {
    {
        /// Nor may anything be tallied wrongly.
        async fn recount_tallies(&self) -> Result<Vec<Miscounted>, Error> {
            let miscounted = self.around(self.inner.recount_tallies()).await?;
            assert!(miscounted.is_empty(), "tallies were wrong: {miscounted:?}");
            Ok(miscounted)
        }
    }
    events_after(tenant: TenantId, after: i64, limit: u32) -> Vec<Event>;
    last_event(tenant: TenantId) -> i64;
    deactivate(tenant: TenantId, document: DocumentId, removal: Removal, now: DateTime<Utc>) -> Deactivated;
    begin_purge(tenant: TenantId, document: DocumentId, by: Option<UserId>, now: DateTime<Utc>) -> Vec<Removing>;
    purging(limit: u32) -> Vec<Removing>;
    dead_letters(tenant: TenantId, page: Page) -> Listed<DeadLetter>;
    dead_letter(tenant: TenantId, letter: Uuid) -> DeadLetter;
    replay_dead_letter(tenant: TenantId, letter: Uuid, now: DateTime<Utc>) -> Replayed;
    drop_dead_letter(tenant: TenantId, letter: Uuid) -> ();
    retry_run(tenant: TenantId, run: RunId, now: DateTime<Utc>) -> RunId;
    recreate_missing_work(untouched: Untouched, now: DateTime<Utc>) -> Vec<RunId>;
    queue_depth(now: DateTime<Utc>) -> QueueDepth;
    status(tenant: TenantId, now: DateTime<Utc>) -> Status;
    begin_request(tenant: TenantId, key: &str, request: ContentHash, keep: Duration, now: DateTime<Utc>) -> Begun;
    finish_request(tenant: TenantId, key: &str, response: Value) -> ();
    abandon_request(tenant: TenantId, key: &str) -> ();
    create_upload(tenant: TenantId, upload: NewUpload, now: DateTime<Utc>) -> Upload;
    upload(tenant: TenantId, upload: UploadId) -> Upload;
    upload_by_key(object_key: &str) -> Option<Upload>;
    finish_upload(tenant: TenantId, upload: UploadId, end: UploadEnd, now: DateTime<Utc>) -> Upload;
    overdue_uploads(now: DateTime<Utc>, limit: u32) -> Vec<Upload>;
    unreferenced(tenant: TenantId, hashes: &[ContentHash]) -> Vec<ContentHash>;
    unknown_versions(tenant: TenantId, versions: &[VersionId]) -> Vec<VersionId>;
    prune(before: DateTime<Utc>, now: DateTime<Utc>) -> ();
} }

through! { Audit {
    dossiers(tenant: TenantId, page: Page) -> Listed<Dossier>;
    dossier(tenant: TenantId, document: DocumentId) -> Dossier;
    rows_left(versions: &[VersionId]) -> u64;
    former(tenant: TenantId, document: DocumentId) -> Vec<Former>;
    told_of(tenant: TenantId, document: DocumentId, of: Option<(KbId, SourceUri)>) -> ToldOf;
    held(tenant: TenantId) -> Vec<Held>;
    nameless(tenant: TenantId) -> Vec<&'static str>;
    miscounted(tenant: TenantId) -> Vec<Miscounted>;
    miscounted_jobs(tenant: TenantId) -> Vec<MiscountedJob>;
    recount_met(tenant: TenantId) -> ();
    noted_kbs(tenant: TenantId) -> Vec<NotedKb>;
    mend_kbs(tenant: TenantId) -> ();
    fence() -> u64;
    mend(tenant: TenantId, document: DocumentId, mends: Vec<Mend>, now: DateTime<Utc>) -> ();
} }

through! { Scrub {
    scrub() -> ();
} }

through! { Hooks {
    set_source_secret(tenant: TenantId, source: SourceId, secret: &str, now: DateTime<Utc>) -> ();
    signed_source(source: SourceId) -> Option<SignedSource>;
    create_webhook(tenant: TenantId, webhook: NewWebhook, now: DateTime<Utc>) -> Webhook;
    webhooks(tenant: TenantId, page: Page) -> Listed<Webhook>;
    delete_webhook(tenant: TenantId, webhook: WebhookId) -> ();
    deliveries(tenant: TenantId, webhook: WebhookId, page: Page) -> Listed<Delivery>;
    due_deliveries(limit: u32, lease: Duration, now: DateTime<Utc>) -> Vec<DueDelivery>;
    attempted(delivery: Uuid, attempt: Attempt, now: DateTime<Utc>) -> ();
    redeliver(tenant: TenantId, delivery: Uuid, now: DateTime<Utc>) -> Delivery;
} }

/// A copy is taken of what is there, and of nothing that fails.
#[async_trait]
impl Backup for FaultyCatalog {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    async fn bind(&self, folder: DataFolder, now: DateTime<Utc>) -> Result<Bound, Error> {
        self.around(self.inner.bind(folder, now)).await
    }

    async fn freeze(&self) -> Frozen {
        self.inner.freeze().await
    }

    async fn copy_into(&self, folder: &Path, frozen: &Frozen) -> Result<(), Error> {
        self.around(self.inner.copy_into(folder, frozen)).await
    }
}
