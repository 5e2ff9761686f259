//! Documents: identities in a knowledge base, and which version of each answers.

use axum::Json;
use axum::extract::State;
use catalog::{Active, DocumentFilter, DocumentRow, DocumentState, Role};
use chrono::{DateTime, Utc};
use model::{ContentHash, DocumentId, Gap, RunId, RunStatus, SourceId, VersionId};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{May, Read};
use crate::extract::{Asked, Named};
use crate::gateway::Gateway;
use crate::paging::{Paging, Rows};
use crate::problem::Problem;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct DocumentView {
    pub document_id: Uuid,
    pub kb_id: Uuid,
    pub source_uri: String,
    pub source_id: Option<Uuid>,
    /// The version that answers, if one does.
    pub active_version_id: Option<Uuid>,
    pub active_since: Option<DateTime<Utc>>,
    /// The version the fields below describe: the active one, or the newest.
    pub version_id: Option<Uuid>,
    /// How far that version came, or `removed`: it was let go and nothing came since; or
    /// `purging`: its purge was begun and has not ended, and purging it again ends it.
    #[schema(value_type = Option<String>, example = "ready",
        pattern = "^(pending|processing|ready|superseded|failed|canceled|removed|purging)$")]
    pub state: Option<DocumentState>,
    pub title: Option<String>,
    pub filename: Option<String>,
    pub media_type: Option<String>,
    pub language: Option<String>,
    pub size: Option<u64>,
    pub content_hash: Option<String>,
    pub pages: u32,
    /// What could not be read.
    #[schema(value_type = Vec<Object>)]
    pub gaps: Vec<Gap>,
    pub chunks: u64,
    /// An estimate where the model is a remote one; the version says so.
    pub tokens: u64,
    #[schema(value_type = Object)]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    pub versions: u32,
    pub run_id: Option<Uuid>,
    #[schema(value_type = Option<String>)]
    pub run_status: Option<RunStatus>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

impl From<DocumentRow> for DocumentView {
    fn from(row: DocumentRow) -> Self {
        Self {
            document_id: row.id.as_uuid(),
            kb_id: row.kb.as_uuid(),
            source_uri: row.source_uri.to_string(),
            source_id: row.source.map(SourceId::as_uuid),
            active_version_id: row.active.map(VersionId::as_uuid),
            active_since: row.active_since,
            version_id: row.version.map(VersionId::as_uuid),
            state: row.state,
            title: row.title,
            filename: row.filename,
            media_type: row.media_type,
            language: row.language,
            size: row.size,
            content_hash: row.content_hash.as_ref().map(ContentHash::to_string),
            pages: row.pages,
            gaps: row.gaps,
            chunks: row.chunks,
            tokens: row.tokens,
            metadata: row.metadata,
            versions: row.versions,
            run_id: row.run.map(RunId::as_uuid),
            run_status: row.run_status,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DocumentQuery {
    /// Only of this knowledge base, by name or id.
    kb: Option<String>,
    /// `active` (the default), `current`, `inactive`, `all`, or for admins `orphans`.
    #[serde(default)]
    #[param(value_type = Option<String>, pattern = "^(active|current|inactive|all|orphans)$")]
    active: ActiveParam,
    /// Part of a source URI, title or file name.
    text: Option<String>,
    /// Exactly this source URI; needs `kb`.
    source_uri: Option<String>,
    /// Of the newest version, or `removed`, or `purging`.
    #[param(value_type = Option<String>,
        pattern = "^(pending|processing|ready|superseded|failed|canceled|removed|purging)$")]
    state: Option<DocumentState>,
    source_id: Option<Uuid>,
    cursor: Option<String>,
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    #[param(minimum = 1, maximum = 10000)]
    page: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ActiveParam {
    #[default]
    Active,
    Current,
    Inactive,
    All,
    Orphans,
}

impl From<ActiveParam> for Active {
    fn from(param: ActiveParam) -> Self {
        match param {
            ActiveParam::Active => Self::Active,
            ActiveParam::Current => Self::Current,
            ActiveParam::Inactive => Self::Inactive,
            ActiveParam::All => Self::All,
            ActiveParam::Orphans => Self::Orphans,
        }
    }
}

/// Newest first.
#[utoipa::path(get, path = "/v1/documents", tag = "documents", params(DocumentQuery),
    responses((status = 200, body = Rows<DocumentView>)))]
async fn list(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Asked(asked): Asked<DocumentQuery>,
) -> Result<Json<Rows<DocumentView>>, Problem> {
    if asked.active == ActiveParam::Orphans && who.role != Role::Admin {
        return Err(Problem::forbidden("manage"));
    }
    let kb = match &asked.kb {
        Some(kb) => Some(gateway.kb(who.tenant, kb).await?.id),
        None => None,
    };
    if let Some(uri) = &asked.source_uri {
        let kb = kb.ok_or_else(|| Problem::unprocessable("source_uri needs kb"))?;
        return by_uri(&gateway, &who, kb, uri).await;
    }
    let filter = DocumentFilter {
        kb,
        active: asked.active.into(),
        text: asked.text,
        state: asked.state,
        source: asked.source_id.map(SourceId::from_uuid),
        metadata: Vec::new(),
    };
    let paging = Paging {
        cursor: asked.cursor,
        limit: asked.limit,
        page: asked.page,
    };
    let read = |page| {
        gateway
            .catalog()
            .documents(who.tenant, filter.clone(), page)
    };
    Ok(Json(Rows::of(paging.read(read).await?, DocumentView::from)))
}

async fn by_uri(
    gateway: &Gateway,
    who: &May<Read>,
    kb: model::KbId,
    uri: &str,
) -> Result<Json<Rows<DocumentView>>, Problem> {
    let uri = model::SourceUri::new(uri).map_err(|bad| Problem::unprocessable(bad.to_string()))?;
    let found = gateway.catalog().document_by_uri(who.tenant, kb, &uri);
    Ok(Json(Rows {
        items: found.await?.into_iter().map(DocumentView::from).collect(),
        next: None,
    }))
}

#[utoipa::path(get, path = "/v1/documents/{document}", tag = "documents",
    params(("document" = Uuid, Path)), responses((status = 200, body = DocumentView)))]
async fn show(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(document): Named<Uuid>,
) -> Result<Json<DocumentView>, Problem> {
    let document = DocumentId::from_uuid(document);
    let row = gateway.catalog().document(who.tenant, document).await?;
    Ok(Json(row.into()))
}
