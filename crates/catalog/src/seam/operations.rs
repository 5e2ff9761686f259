use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{ContentHash, DocumentId, RunId, TenantId, UploadId, UserId, VersionId};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    Begun, Deactivated, DeadLetter, Error, Event, Listed, Miscounted, NewUpload, Page, QueueDepth,
    Removal, Removing, Replayed, Status, Untouched, Upload, UploadEnd,
};

/// What keeps the house in order.
#[async_trait]
pub trait Operations {
    /// Events of a tenant after the one with this id, oldest first.
    async fn events_after(
        &self,
        tenant: TenantId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Event>, Error>;

    /// The id of the tenant's newest event; 0 before the first.
    async fn last_event(&self, tenant: TenantId) -> Result<i64, Error>;

    /// The document answers no more; its history stays. Versions admitted before, or
    /// standing before the removal in the source's order, will not answer either.
    async fn deactivate(
        &self,
        tenant: TenantId,
        document: DocumentId,
        removal: Removal,
        now: DateTime<Utc>,
    ) -> Result<Deactivated, Error>;

    /// Ends everything of a document for good. When the index has forgotten its versions,
    /// `forget_versions` deletes the rest.
    async fn begin_purge(
        &self,
        tenant: TenantId,
        document: DocumentId,
        by: Option<UserId>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Removing>, Error>;

    /// Versions whose purge was begun and not finished, of all tenants.
    async fn purging(&self, limit: u32) -> Result<Vec<Removing>, Error>;

    async fn dead_letters(&self, tenant: TenantId, page: Page)
    -> Result<Listed<DeadLetter>, Error>;

    async fn dead_letter(&self, tenant: TenantId, letter: Uuid) -> Result<DeadLetter, Error>;

    /// The failed run is queued again, from the beginning; the letter is listed no more.
    /// Asked again, it answers as it did, for as long as events are kept.
    async fn replay_dead_letter(
        &self,
        tenant: TenantId,
        letter: Uuid,
        now: DateTime<Utc>,
    ) -> Result<Replayed, Error>;

    async fn drop_dead_letter(&self, tenant: TenantId, letter: Uuid) -> Result<(), Error>;

    /// A failed run is queued again, from the beginning. A live one is left as it is; one
    /// that succeeded, or whose version is being removed, is a conflict.
    async fn retry_run(
        &self,
        tenant: TenantId,
        run: RunId,
        now: DateTime<Utc>,
    ) -> Result<RunId, Error>;

    /// Live runs without any work in the queue, untouched for this long, get theirs back.
    async fn recreate_missing_work(
        &self,
        untouched: Untouched,
        now: DateTime<Utc>,
    ) -> Result<Vec<RunId>, Error>;

    async fn queue_depth(&self, now: DateTime<Utc>) -> Result<QueueDepth, Error>;

    async fn status(&self, tenant: TenantId, now: DateTime<Utc>) -> Result<Status, Error>;

    /// Counts, of all tenants, what status tells from tallies. What they had otherwise is
    /// told, and put right.
    async fn recount_tallies(&self) -> Result<Vec<Miscounted>, Error>;

    /// Asks whether a request was made before under this key.
    async fn begin_request(
        &self,
        tenant: TenantId,
        key: &str,
        request: ContentHash,
        keep: Duration,
        now: DateTime<Utc>,
    ) -> Result<Begun, Error>;

    async fn finish_request(
        &self,
        tenant: TenantId,
        key: &str,
        response: Value,
    ) -> Result<(), Error>;

    /// The request came to nothing: the key may be used again.
    async fn abandon_request(&self, tenant: TenantId, key: &str) -> Result<(), Error>;

    async fn create_upload(
        &self,
        tenant: TenantId,
        upload: NewUpload,
        now: DateTime<Utc>,
    ) -> Result<Upload, Error>;

    async fn upload(&self, tenant: TenantId, upload: UploadId) -> Result<Upload, Error>;

    /// The object's key says whose it is.
    async fn upload_by_key(&self, object_key: &str) -> Result<Option<Upload>, Error>;

    /// Ends a pending upload; one that has ended stays as it is.
    async fn finish_upload(
        &self,
        tenant: TenantId,
        upload: UploadId,
        end: UploadEnd,
        now: DateTime<Utc>,
    ) -> Result<Upload, Error>;

    /// Pending uploads whose time is over, of all tenants.
    async fn overdue_uploads(&self, now: DateTime<Utc>, limit: u32) -> Result<Vec<Upload>, Error>;

    /// Of these hashes, those no version of the tenant refers to, nor anything that would tell of
    /// one whose row is lost: the ledger, a run that has not answered, or what was noted of it.
    async fn unreferenced(
        &self,
        tenant: TenantId,
        hashes: &[ContentHash],
    ) -> Result<Vec<ContentHash>, Error>;

    /// Of these versions, those there is no row of and whose life no ledger tells.
    async fn unknown_versions(
        &self,
        tenant: TenantId,
        versions: &[VersionId],
    ) -> Result<Vec<VersionId>, Error>;

    /// Deletes events, ended deliveries and what is known of replays older than `before`, and
    /// request keys that have expired.
    async fn prune(&self, before: DateTime<Utc>, now: DateTime<Utc>) -> Result<(), Error>;
}
