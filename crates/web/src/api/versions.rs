//! Versions of a document, and what was made of each.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use catalog::{Listed, Page, Removal, Version, VersionState};
use chrono::{DateTime, Utc};
use engine::objects;
use engine::pages::Drawn;
use futures::future::ready;
use index::StoredChunk;
use model::{ContentHash, DocumentId, Gap, TenantId, VersionId, Warning};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::inspect::ChunkView;
use crate::auth::{Manage, May, Read};
use crate::extract::{Asked, Named, Sent};
use crate::gateway::Gateway;
use crate::paging::{Paging, Rows};
use crate::problem::Problem;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(rollback))
        .routes(routes!(deactivate))
        .routes(routes!(show))
        .routes(routes!(text))
        .routes(routes!(chunks))
        .routes(routes!(page))
}

/// Purging takes as long as there is something to delete.
pub fn untimed_routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(purge))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct VersionView {
    pub version_id: Uuid,
    pub document_id: Uuid,
    pub run_id: Uuid,
    pub source_uri: String,
    #[schema(value_type = String, example = "ready")]
    pub state: VersionState,
    pub content_hash: String,
    pub size: u64,
    pub media_type: Option<String>,
    pub filename: String,
    pub title: Option<String>,
    pub language: Option<String>,
    #[schema(value_type = Object)]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    pub chunks: u64,
    pub tokens: u64,
    /// Whether these are an estimate, as they are for a remote model.
    pub tokens_estimated: bool,
    pub units_total: u32,
    pub units_open: u32,
    /// What could not be read.
    #[schema(value_type = Vec<Object>)]
    pub gaps: Vec<Gap>,
    #[schema(value_type = Vec<Object>)]
    pub warnings: Vec<Warning>,
    pub root_hash: Option<String>,
    pub created_at: DateTime<Utc>,
}

impl From<Version> for VersionView {
    fn from(version: Version) -> Self {
        Self {
            version_id: version.id.as_uuid(),
            document_id: version.document.as_uuid(),
            run_id: version.run.as_uuid(),
            source_uri: version.source_uri.to_string(),
            state: version.state,
            content_hash: version.content_hash.to_string(),
            size: version.size,
            media_type: version.media_type,
            filename: version.filename,
            title: version.title,
            language: version.language,
            metadata: version.metadata,
            chunks: version.chunks,
            tokens: version.tokens,
            tokens_estimated: version.generation.spec.model.estimates_tokens(),
            units_total: version.units_total,
            units_open: version.units_open,
            gaps: version.gaps,
            warnings: version.warnings,
            root_hash: version.root_hash.as_ref().map(ContentHash::to_string),
            created_at: version.created_at,
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rollback {
    /// The version that shall answer again.
    pub version_id: Uuid,
}

/// Newest first.
#[utoipa::path(get, path = "/v1/documents/{document}/versions", tag = "documents",
    params(("document" = Uuid, Path), Paging),
    responses((status = 200, body = Rows<VersionView>)))]
async fn list(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(document): Named<Uuid>,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Rows<VersionView>>, Problem> {
    let document = DocumentId::from_uuid(document);
    let read = |page| gateway.catalog().versions(who.tenant, document, page);
    let versions = paging.read(read).await?;
    if versions.items.is_empty() {
        // Empty is not the same as unknown.
        gateway.catalog().document(who.tenant, document).await?;
    }
    Ok(Json(Rows::of(versions, VersionView::from)))
}

/// An earlier version answers again, in one transaction.
#[utoipa::path(post, path = "/v1/documents/{document}/rollback", tag = "documents",
    params(("document" = Uuid, Path)), request_body = Rollback,
    responses((status = 200, body = super::documents::DocumentView)))]
async fn rollback(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(document): Named<Uuid>,
    Sent(sent): Sent<Rollback>,
) -> Result<Json<super::documents::DocumentView>, Problem> {
    let document = DocumentId::from_uuid(document);
    let version = VersionId::from_uuid(sent.version_id);
    let (catalog, now) = (gateway.catalog(), gateway.now());
    catalog
        .rollback(who.tenant, document, version, who.user, now)
        .await?;
    Ok(Json(catalog.document(who.tenant, document).await?.into()))
}

/// The document answers no more; its history stays.
#[utoipa::path(post, path = "/v1/documents/{document}/deactivate", tag = "documents",
    params(("document" = Uuid, Path)),
    responses((status = 200, body = super::documents::DocumentView)))]
async fn deactivate(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(document): Named<Uuid>,
) -> Result<Json<super::documents::DocumentView>, Problem> {
    let document = DocumentId::from_uuid(document);
    let (catalog, now) = (gateway.catalog(), gateway.now());
    let removal = Removal {
        order: None,
        by: who.user,
    };
    catalog
        .deactivate(who.tenant, document, removal, now)
        .await?;
    Ok(Json(catalog.document(who.tenant, document).await?.into()))
}

/// What a purge deleted.
#[derive(Debug, Serialize, ToSchema)]
pub struct Purged {
    pub document_id: Uuid,
    pub versions: u64,
    /// Files of the index that were read in the end, record by record: all of them. None holds
    /// anything of it.
    pub files_read: u64,
    /// What a scan of every store still finds of it, by kind: all zero when it is gone.
    #[schema(value_type = Object)]
    pub residue: engine::Residue,
    /// Jobs of the knowledge base that met what was purged, and keep the metadata they put on
    /// it: they have not ended, or other documents came by them. It goes with the last of these.
    pub jobs_keeping_metadata: u64,
}

/// Deletes the document and everything of it, for good, and waits until its bytes have left the
/// files. Its ledger stays, and its runs without what it was called.
#[utoipa::path(post, path = "/v1/documents/{document}/purge", tag = "documents",
    params(("document" = Uuid, Path)), responses((status = 200, body = Purged)))]
async fn purge(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(document): Named<Uuid>,
) -> Result<Json<Purged>, Problem> {
    let id = DocumentId::from_uuid(document);
    let purged = gateway.engine().purge(who.tenant, id, who.user).await?;
    Ok(Json(Purged {
        document_id: document,
        versions: purged.versions,
        files_read: purged.files_read,
        residue: purged.residue,
        jobs_keeping_metadata: purged.jobs_keeping_metadata,
    }))
}

#[utoipa::path(get, path = "/v1/versions/{version}", tag = "documents",
    params(("version" = Uuid, Path)), responses((status = 200, body = VersionView)))]
async fn show(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(version): Named<Uuid>,
) -> Result<Json<VersionView>, Problem> {
    let version = VersionId::from_uuid(version);
    let version = gateway.catalog().version(who.tenant, version).await?;
    Ok(Json(version.into()))
}

/// The normalised text all ranges of the version refer to.
#[utoipa::path(get, path = "/v1/versions/{version}/text", tag = "documents",
    params(("version" = Uuid, Path)),
    responses((status = 200, body = String, content_type = "text/plain")))]
async fn text(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(version): Named<Uuid>,
) -> Result<String, Problem> {
    let version = VersionId::from_uuid(version);
    match gateway.engine().text(who.tenant, version).await {
        Ok(text) => Ok(text),
        Err(error) => Err(gateway.unread(who.tenant, version, error).await),
    }
}

impl Gateway {
    /// Nothing is lost of a version that was never read, and it says so.
    async fn unread(&self, tenant: TenantId, version: VersionId, error: engine::Error) -> Problem {
        if !matches!(
            error,
            engine::Error::Objects(objects::Error::Missing { .. })
        ) {
            return error.into();
        }
        let read = |state| matches!(state, VersionState::Ready | VersionState::Superseded);
        match self.catalog().version(tenant, version).await {
            Ok(version) if read(version.state) => error.into(),
            Ok(version) => Problem::conflict("the version has not been read")
                .hint(format!("how it stands: GET /v1/runs/{}", version.run)),
            Err(error) => error.into(),
        }
    }
}

/// The chunks of the version, in reading order.
#[utoipa::path(get, path = "/v1/versions/{version}/chunks", tag = "documents",
    params(("version" = Uuid, Path), Paging),
    responses((status = 200, body = Rows<ChunkView>)))]
async fn chunks(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(version): Named<Uuid>,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Rows<ChunkView>>, Problem> {
    let version = VersionId::from_uuid(version);
    let stored = gateway.engine().chunks(who.tenant, version).await?;
    let read = |page: Page| ready(part(&stored, &page));
    let version = gateway.catalog().version(who.tenant, version).await?;
    let model = &version.generation.spec.model;
    let view = |stored: StoredChunk| ChunkView::new(&stored.id.unit, stored.chunk, model);
    Ok(Json(Rows::of(paging.read(read).await?, view)))
}

/// A page of what is there already; its cursor counts what came before it.
fn part<T: Clone>(all: &[T], page: &Page) -> Result<Listed<T>, catalog::Error> {
    let from = match &page.after {
        None => 0,
        Some(cursor) => cursor.parse().map_err(|_| catalog::Error::NotFound {
            what: "page",
            id: cursor.clone(),
        })?,
    };
    let rest = all.get(from..).unwrap_or_default();
    let items = rest[..rest.len().min(page.limit as usize)].to_vec();
    let next = from.saturating_add(items.len());
    Ok(Listed {
        next: (next < all.len()).then(|| next.to_string()),
        items,
    })
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// `to_read` (the default) or `thumbnail`.
    #[serde(default)]
    #[param(value_type = Option<String>, pattern = "^(to_read|thumbnail)$")]
    size: Drawn,
}

/// A page as an image, counted from 1: of a PDF, and of a DOCX where LibreOffice is installed.
#[utoipa::path(get, path = "/v1/versions/{version}/pages/{page}", tag = "documents",
    params(("version" = Uuid, Path), ("page" = u32, Path), PageQuery),
    responses((status = 200, body = Vec<u8>, content_type = "image/png")))]
async fn page(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named((version, page)): Named<(Uuid, u32)>,
    Asked(asked): Asked<PageQuery>,
) -> Result<impl IntoResponse, Problem> {
    let version = VersionId::from_uuid(version);
    let engine = gateway.engine();
    let image = engine.page_image(who.tenant, version, page, asked.size);
    let Some(image) = image.await? else {
        // There is none, or nothing has been read yet.
        if let Err(error) = engine.structure(who.tenant, version).await {
            return Err(gateway.unread(who.tenant, version, error).await);
        }
        return Err(Problem::not_found("page", page));
    };
    let headers = [
        (CONTENT_TYPE, "image/png"),
        // A version never changes; who may see it does, so no shared cache.
        (CACHE_CONTROL, "private, max-age=86400, immutable"),
    ];
    Ok((StatusCode::OK, headers, image))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_on_one_page_and_the_last_page_says_so() {
        let all: Vec<u32> = (0..7).collect();
        let page = |after: Option<&str>| Page {
            after: after.map(str::to_owned),
            limit: 3,
        };
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let listed = part(&all, &page(after.as_deref())).unwrap();
            seen.extend(listed.items);
            after = listed.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, all);
        assert!(part(&all, &page(Some("9"))).unwrap().items.is_empty());
        let last = usize::MAX.to_string();
        assert!(part(&all, &page(Some(&last))).unwrap().next.is_none());
        assert!(part(&all, &page(Some("-1"))).is_err());
    }
}
