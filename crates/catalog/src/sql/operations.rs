//! The methods that keep the house in order, each given its transaction.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use model::{ContentHash, DocumentId, RunId, TenantId, UploadId, UserId, VersionId};
use serde_json::Value;
use sqlx::query;
use uuid::Uuid;

use super::cells::micros;
use super::dialect::Dialect;
use super::{
    Sql, events, letters, originals, recreate, removal, requests, status, tallies, versions,
};
use crate::{
    Begun, Deactivated, DeadLetter, Error, Event, Listed, Miscounted, NewUpload, Operations, Page,
    QueueDepth, Removal, Removing, Replayed, Status, Untouched, Upload, UploadEnd,
};

#[async_trait]
impl<DB: Dialect> Operations for Sql<DB> {
    async fn events_after(
        &self,
        tenant: TenantId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Event>, Error> {
        self.read("catalog.events_after", move |c| {
            Box::pin(async move { events::after::<DB>(c, tenant, after, limit).await })
        })
        .await
    }

    async fn last_event(&self, tenant: TenantId) -> Result<i64, Error> {
        self.read("catalog.last_event", move |c| {
            Box::pin(async move { events::last::<DB>(c, tenant).await })
        })
        .await
    }

    async fn deactivate(
        &self,
        tenant: TenantId,
        document: DocumentId,
        removal: Removal,
        now: DateTime<Utc>,
    ) -> Result<Deactivated, Error> {
        self.write("catalog.deactivate", move |c| {
            Box::pin(async move {
                removal::deactivate::<DB>(c, tenant, document, &removal, micros(now)).await
            })
        })
        .await
    }

    async fn begin_purge(
        &self,
        tenant: TenantId,
        document: DocumentId,
        by: Option<UserId>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Removing>, Error> {
        self.write("catalog.begin_purge", move |c| {
            Box::pin(async move {
                removal::begin_purge::<DB>(c, tenant, document, by, micros(now)).await
            })
        })
        .await
    }

    async fn purging(&self, limit: u32) -> Result<Vec<Removing>, Error> {
        self.read("catalog.purging", move |c| {
            Box::pin(removal::purging::<DB>(c, limit))
        })
        .await
    }

    async fn dead_letters(
        &self,
        tenant: TenantId,
        page: Page,
    ) -> Result<Listed<DeadLetter>, Error> {
        self.read("catalog.dead_letters", move |c| {
            Box::pin(async move { letters::list::<DB>(c, tenant, &page).await })
        })
        .await
    }

    async fn dead_letter(&self, tenant: TenantId, letter: Uuid) -> Result<DeadLetter, Error> {
        self.read("catalog.dead_letter", move |c| {
            Box::pin(async move { letters::one::<DB>(c, tenant, letter).await })
        })
        .await
    }

    async fn replay_dead_letter(
        &self,
        tenant: TenantId,
        letter: Uuid,
        now: DateTime<Utc>,
    ) -> Result<Replayed, Error> {
        self.write("catalog.replay_dead_letter", move |c| {
            Box::pin(async move { letters::replay::<DB>(c, tenant, letter, micros(now)).await })
        })
        .await
    }

    async fn drop_dead_letter(&self, tenant: TenantId, letter: Uuid) -> Result<(), Error> {
        self.write("catalog.drop_dead_letter", move |c| {
            Box::pin(async move { letters::remove::<DB>(c, tenant, letter).await })
        })
        .await
    }

    async fn retry_run(
        &self,
        tenant: TenantId,
        run: RunId,
        now: DateTime<Utc>,
    ) -> Result<RunId, Error> {
        self.write("catalog.retry_run", move |c| {
            Box::pin(async move { letters::retry_run::<DB>(c, tenant, run, micros(now)).await })
        })
        .await
    }

    async fn recreate_missing_work(
        &self,
        untouched: Untouched,
        now: DateTime<Utc>,
    ) -> Result<Vec<RunId>, Error> {
        self.write("catalog.recreate_missing_work", move |c| {
            Box::pin(async move { recreate::recreate::<DB>(c, untouched, micros(now)).await })
        })
        .await
    }

    async fn queue_depth(&self, now: DateTime<Utc>) -> Result<QueueDepth, Error> {
        self.read("catalog.queue_depth", move |c| {
            Box::pin(async move { status::depth::<DB>(c, None, micros(now)).await })
        })
        .await
    }

    async fn status(&self, tenant: TenantId, now: DateTime<Utc>) -> Result<Status, Error> {
        self.read("catalog.status", move |c| {
            Box::pin(async move { status::status::<DB>(c, tenant, micros(now)).await })
        })
        .await
    }

    async fn recount_tallies(&self) -> Result<Vec<Miscounted>, Error> {
        let miscounted = self
            .read("catalog.miscounted", move |c| {
                Box::pin(async move { tallies::miscounted::<DB>(c).await })
            })
            .await?;
        if !miscounted.is_empty() {
            self.write("catalog.put_tallies_right", move |c| {
                Box::pin(tallies::put_right::<DB>(c))
            })
            .await?;
        }
        if let Some(fold) = DB::FOLD_TALLIES {
            self.write("catalog.fold_tallies", move |c| {
                Box::pin(async move {
                    query(fold).execute(c).await?;
                    Ok(())
                })
            })
            .await?;
        }
        Ok(miscounted)
    }

    async fn begin_request(
        &self,
        tenant: TenantId,
        key: &str,
        request: ContentHash,
        keep: Duration,
        now: DateTime<Utc>,
    ) -> Result<Begun, Error> {
        let key = key.to_owned();
        self.write("catalog.begin_request", move |c| {
            Box::pin(async move {
                requests::begin::<DB>(c, (tenant, &key), request, keep, micros(now)).await
            })
        })
        .await
    }

    async fn finish_request(
        &self,
        tenant: TenantId,
        key: &str,
        response: Value,
    ) -> Result<(), Error> {
        let key = key.to_owned();
        self.write("catalog.finish_request", move |c| {
            Box::pin(async move { requests::finish::<DB>(c, (tenant, &key), &response).await })
        })
        .await
    }

    async fn abandon_request(&self, tenant: TenantId, key: &str) -> Result<(), Error> {
        let key = key.to_owned();
        self.write("catalog.abandon_request", move |c| {
            Box::pin(async move { requests::abandon::<DB>(c, (tenant, &key)).await })
        })
        .await
    }

    async fn create_upload(
        &self,
        tenant: TenantId,
        upload: NewUpload,
        now: DateTime<Utc>,
    ) -> Result<Upload, Error> {
        self.write("catalog.create_upload", move |c| {
            Box::pin(
                async move { requests::create_upload::<DB>(c, tenant, upload, micros(now)).await },
            )
        })
        .await
    }

    async fn upload(&self, tenant: TenantId, upload: UploadId) -> Result<Upload, Error> {
        self.read("catalog.upload", move |c| {
            Box::pin(async move { requests::upload::<DB>(c, tenant, upload).await })
        })
        .await
    }

    async fn upload_by_key(&self, object_key: &str) -> Result<Option<Upload>, Error> {
        let object_key = object_key.to_owned();
        self.read("catalog.upload_by_key", move |c| {
            Box::pin(async move { requests::upload_by_key::<DB>(c, &object_key).await })
        })
        .await
    }

    async fn finish_upload(
        &self,
        tenant: TenantId,
        upload: UploadId,
        end: UploadEnd,
        now: DateTime<Utc>,
    ) -> Result<Upload, Error> {
        self.write("catalog.finish_upload", move |c| {
            Box::pin(async move {
                requests::finish_upload::<DB>(c, tenant, upload, end, micros(now)).await
            })
        })
        .await
    }

    async fn overdue_uploads(&self, now: DateTime<Utc>, limit: u32) -> Result<Vec<Upload>, Error> {
        self.read("catalog.overdue_uploads", move |c| {
            Box::pin(async move { requests::overdue::<DB>(c, micros(now), limit).await })
        })
        .await
    }

    async fn unreferenced(
        &self,
        tenant: TenantId,
        hashes: &[ContentHash],
    ) -> Result<Vec<ContentHash>, Error> {
        let hashes = hashes.to_vec();
        self.read("catalog.unreferenced", move |c| {
            Box::pin(async move { originals::untold::<DB>(c, tenant, hashes).await })
        })
        .await
    }

    async fn unknown_versions(
        &self,
        tenant: TenantId,
        versions: &[VersionId],
    ) -> Result<Vec<VersionId>, Error> {
        let versions = versions.to_vec();
        self.read("catalog.unknown_versions", move |c| {
            Box::pin(async move { versions::unknown::<DB>(c, tenant, versions).await })
        })
        .await
    }

    async fn prune(&self, before: DateTime<Utc>, now: DateTime<Utc>) -> Result<(), Error> {
        self.write("catalog.prune", move |c| {
            Box::pin(async move { requests::prune::<DB>(c, micros(before), micros(now)).await })
        })
        .await
    }
}
