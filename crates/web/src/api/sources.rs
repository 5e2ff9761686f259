//! Sources: where documents come from, kept so that they can be synced again.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use catalog::{NewJob, NewSource, Source};
use chrono::{DateTime, Utc};
use engine::jobs::FolderSource;
use model::SourceId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::jobs::{FolderBody, JobView};
use crate::auth::{Manage, May, Read};
use crate::extract::{Named, Sent};
use crate::gateway::Gateway;
use crate::paging::Rows;
use crate::problem::Problem;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show))
        .routes(routes!(sync))
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
    pub folder: FolderBody,
}

#[utoipa::path(get, path = "/v1/sources", tag = "sources",
    responses((status = 200, body = Rows<SourceView>)))]
async fn list(
    State(gateway): State<Gateway>,
    who: May<Read>,
) -> Result<Json<Rows<SourceView>>, Problem> {
    let sources = gateway.catalog().sources(who.tenant).await?;
    Ok(Json(Rows {
        items: sources.into_iter().map(SourceView::from).collect(),
        next: None,
    }))
}

#[utoipa::path(post, path = "/v1/sources", tag = "sources", request_body = CreateSource,
    responses((status = 201, body = SourceView)))]
async fn create(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Sent(sent): Sent<CreateSource>,
) -> Result<(StatusCode, Json<SourceView>), Problem> {
    let name = sent.name.trim();
    if !(1..=200).contains(&name.len()) || name.chars().any(char::is_control) {
        return Err(Problem::invalid(
            "a source's name has 1 to 200 bytes, all printable",
        ));
    }
    let kb = gateway.kb(who.tenant, &sent.kb).await?;
    let config = FolderSource::try_from(sent.folder)?;
    let source = NewSource {
        kb: kb.id,
        kind: "folder".to_owned(),
        name: name.to_owned(),
        config: serde_json::to_value(config).map_err(|error| Problem::internal(&error))?,
    };
    let source = gateway
        .catalog()
        .create_source(who.tenant, source, gateway.now());
    Ok((StatusCode::CREATED, Json(source.await?.into())))
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

/// Starts a job over the source; 409 while one is under way.
#[utoipa::path(post, path = "/v1/sources/{source}/sync", tag = "sources",
    params(("source" = Uuid, Path)), responses((status = 202, body = JobView)))]
async fn sync(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(source): Named<Uuid>,
) -> Result<(StatusCode, Json<JobView>), Problem> {
    gateway.check_disk()?;
    let (catalog, now) = (gateway.catalog(), gateway.now());
    let source = catalog
        .source(who.tenant, SourceId::from_uuid(source))
        .await?;
    let job = NewJob {
        kb: source.kb,
        source: Some(source.id),
        config: source.config,
        initiated_by: who.user,
    };
    let job = catalog.create_job(who.tenant, job, now).await?;
    let job = catalog.start_job(who.tenant, job.id, now).await?;
    Ok((StatusCode::ACCEPTED, Json(job.into())))
}
