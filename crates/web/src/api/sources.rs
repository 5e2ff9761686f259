//! Sources: where documents come from, kept so that they can be synced again.

use std::path::PathBuf;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use catalog::{Job, NewJob, NewSource, Source, SourceChange};
use chrono::{DateTime, Utc};
use engine::bucket::BucketSource;
use engine::jobs::FolderSource;
use model::{JobStatus, SourceId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::jobs::{FolderBody, JobView};
use crate::auth::{Manage, May, Principal, Read};
use crate::extract::{Asked, Named, Sent};
use crate::gateway::Gateway;
use crate::idempotency::ShownOnce;
use crate::network::Network;
use crate::paging::{Paging, Rows};
use crate::problem::Problem;
use crate::signature;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show))
        .routes(routes!(sync))
        .routes(routes!(pause))
        .routes(routes!(resume))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SourceView {
    pub source_id: Uuid,
    pub kb_id: Uuid,
    pub kind: String,
    pub name: String,
    pub config: serde_json::Value,
    pub enabled: bool,
    pub created_at: DateTime<Utc>,
    pub last_success_at: Option<DateTime<Utc>>,
}

impl From<Source> for SourceView {
    fn from(source: Source) -> Self {
        Self {
            source_id: source.id.as_uuid(),
            kb_id: source.kb.as_uuid(),
            kind: source.kind,
            name: source.name,
            config: source.config,
            enabled: source.enabled,
            created_at: source.created_at,
            last_success_at: source.last_success_at,
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSource {
    /// By name or id.
    pub kb: String,
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    pub folder: Option<FolderBody>,
    pub bucket: Option<BucketBody>,
}

/// A bucket whose events come to `POST /v1/events`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BucketBody {
    /// As its events name it.
    #[schema(min_length = 1, max_length = 255)]
    pub name: String,
    /// The folder of this machine that stands for it: an absolute path.
    #[schema(value_type = String)]
    pub folder: PathBuf,
    /// Only keys that begin so.
    #[serde(default)]
    pub prefix: String,
    /// Addresses and networks whose events need no signature.
    #[serde(default)]
    pub allow_from: Vec<String>,
    /// Put on every document.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SourceMade {
    #[serde(flatten)]
    pub source: SourceView,
    /// Signs the events of a bucket; shown this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<String>,
}

/// By name.
#[utoipa::path(get, path = "/v1/sources", tag = "sources", params(Paging),
    responses((status = 200, body = Rows<SourceView>)))]
async fn list(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Rows<SourceView>>, Problem> {
    let read = |page| gateway.catalog().sources(who.tenant, page);
    Ok(Json(Rows::of(paging.read(read).await?, SourceView::from)))
}

#[utoipa::path(post, path = "/v1/sources", tag = "sources", request_body = CreateSource,
    responses((status = 201, body = SourceMade)))]
async fn create(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Sent(sent): Sent<CreateSource>,
) -> Result<Response, Problem> {
    let name = checked_name(&sent.name)?;
    let kb = gateway.kb(who.tenant, &sent.kb).await?;
    // Both name a folder of this machine.
    gateway.check_operator(&who)?;
    let (kind, config) = config_of(sent.folder, sent.bucket)?;
    let source = NewSource {
        kb: kb.id,
        kind: kind.to_owned(),
        name: name.to_owned(),
        config,
    };
    let (catalog, now) = (gateway.catalog(), gateway.now());
    let source = catalog.create_source(who.tenant, source, now).await?;
    if kind != "bucket" {
        let made = SourceMade {
            source: source.into(),
            signing_secret: None,
        };
        return Ok((StatusCode::CREATED, Json(made)).into_response());
    }
    let secret = signature::new_secret();
    catalog
        .set_source_secret(who.tenant, source.id, &secret, now)
        .await?;
    let made = SourceMade {
        source: source.into(),
        signing_secret: Some(secret),
    };
    Ok((StatusCode::CREATED, Extension(ShownOnce), Json(made)).into_response())
}

fn config_of(
    folder: Option<FolderBody>,
    bucket: Option<BucketBody>,
) -> Result<(&'static str, serde_json::Value), Problem> {
    let config = match (folder, bucket) {
        (Some(folder), None) => {
            let config = FolderSource::try_from(folder)?;
            serde_json::to_value(config).map(|config| ("folder", config))
        }
        (None, Some(bucket)) => {
            let config = BucketSource::try_from(bucket)?;
            serde_json::to_value(config).map(|config| ("bucket", config))
        }
        _ => return Err(Problem::unprocessable("a source has a folder or a bucket")),
    };
    config.map_err(|error| Problem::internal(&error))
}

impl TryFrom<BucketBody> for BucketSource {
    type Error = Problem;

    fn try_from(body: BucketBody) -> Result<Self, Problem> {
        if !body.folder.is_absolute() || body.name.trim().is_empty() {
            return Err(Problem::unprocessable(
                "a bucket has a name and the absolute path of its folder",
            ));
        }
        for network in &body.allow_from {
            network.parse::<Network>().map_err(|bad| {
                Problem::unprocessable(format!("allow_from: `{network}` is {bad}"))
            })?;
        }
        Ok(Self {
            bucket: body.name,
            folder: body.folder,
            prefix: body.prefix,
            allow_from: body.allow_from,
            metadata: body.metadata,
        })
    }
}

#[utoipa::path(get, path = "/v1/sources/{source}", tag = "sources",
    params(("source" = Uuid, Path)), responses((status = 200, body = SourceView)))]
async fn show(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(source): Named<Uuid>,
) -> Result<Json<SourceView>, Problem> {
    let source = SourceId::from_uuid(source);
    Ok(Json(
        gateway.catalog().source(who.tenant, source).await?.into(),
    ))
}

pub(crate) fn checked_name(name: &str) -> Result<&str, Problem> {
    let controls = name.chars().any(char::is_control);
    let name = name.trim();
    if (1..=200).contains(&name.len()) && !controls {
        Ok(name)
    } else {
        Err(Problem::unprocessable(
            "a source's name has 1 to 200 bytes, all printable",
        ))
    }
}

/// Starts a job over the source; 409 while one is under way, or while the source is paused.
#[utoipa::path(post, path = "/v1/sources/{source}/sync", tag = "sources",
    params(("source" = Uuid, Path)), responses((status = 202, body = JobView)))]
async fn sync(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(source): Named<Uuid>,
) -> Result<(StatusCode, Json<JobView>), Problem> {
    let job = start_sync(&gateway, &who, SourceId::from_uuid(source)).await?;
    Ok((
        StatusCode::ACCEPTED,
        Json(JobView::of(&gateway, job).await?),
    ))
}

/// A job over the whole source, started.
pub(crate) async fn start_sync(
    gateway: &Gateway,
    who: &Principal,
    source: SourceId,
) -> Result<Job, Problem> {
    gateway.check_disk()?;
    let (catalog, now) = (gateway.catalog(), gateway.now());
    let source = catalog.source(who.tenant, source).await?;
    if !source.enabled {
        return Err(Problem::conflict("the source is paused").hint("resume it first"));
    }
    if source.kind != "folder" {
        return Err(
            Problem::conflict("a bucket is not walked: its events tell of every change")
                .hint("send its events to POST /v1/events"),
        );
    }
    let job = NewJob {
        kb: source.kb,
        source: Some(source.id),
        config: source.config,
        initiated_by: who.user,
    };
    Ok(catalog.begin_job(who.tenant, job, now).await?)
}

/// No sync begins from here on, and one under way waits.
#[utoipa::path(post, path = "/v1/sources/{source}/pause", tag = "sources",
    params(("source" = Uuid, Path)), responses((status = 200, body = SourceView)))]
async fn pause(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(source): Named<Uuid>,
) -> Result<Json<SourceView>, Problem> {
    let source = switch(&gateway, &who, SourceId::from_uuid(source), false).await?;
    Ok(Json(source.into()))
}

/// Syncs may begin again, and one that waits goes on.
#[utoipa::path(post, path = "/v1/sources/{source}/resume", tag = "sources",
    params(("source" = Uuid, Path)), responses((status = 200, body = SourceView)))]
async fn resume(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(source): Named<Uuid>,
) -> Result<Json<SourceView>, Problem> {
    let source = switch(&gateway, &who, SourceId::from_uuid(source), true).await?;
    Ok(Json(source.into()))
}

/// Turns a source on or off, and its job under way with it.
pub(crate) async fn switch(
    gateway: &Gateway,
    who: &Principal,
    source: SourceId,
    on: bool,
) -> Result<Source, Problem> {
    let (catalog, now) = (gateway.catalog(), gateway.now());
    let change = SourceChange {
        enabled: Some(on),
        ..SourceChange::default()
    };
    let changed = catalog
        .update_source(who.tenant, source, change, now)
        .await?;
    let job = catalog.job_of_source(who.tenant, source).await?;
    match job.map(|job| (job.id, job.status)) {
        Some((job, JobStatus::Running)) if !on => {
            catalog.pause_job(who.tenant, job, now).await?;
        }
        Some((job, JobStatus::Paused)) if on => {
            catalog.resume_job(who.tenant, job, now).await?;
        }
        _ => {}
    }
    Ok(changed)
}
