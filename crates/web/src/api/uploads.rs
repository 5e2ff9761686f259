//! Uploads straight to the store: a signed address for one file of one length and type.
//!
//! Here the store is this server; the contract is the one a bucket serves. Until its bytes
//! have arrived there is an upload and no document; the id promised for the document is
//! the upload's own, and is taken unless the bytes turn out to be there already.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, StatusCode};
use catalog::{NewUpload, RunType, Upload, UploadEnd, UploadState};
use chrono::{DateTime, TimeDelta, Utc};
use engine::intake::{Identity, Intake, StageError};
use model::{DocumentId, RunId, SourceOrder, UploadId};
use parse::Hints;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::ingest::{check_type, safe_name, submitted};
use crate::arrived::Arrived;
use crate::auth::{Ingest, May, Read};
use crate::extract::{Asked, Named, Sent};
use crate::gateway::Gateway;
use crate::problem::Problem;
use crate::trace::Traced;

const LIFE: TimeDelta = TimeDelta::minutes(15);
const LONGEST_TYPE: usize = 255;
const LONGEST_NAME: usize = 1024;
const ANY_TYPE: &str = "application/octet-stream";

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(create))
        .routes(routes!(show))
}

/// Takes as long as the client sends.
pub fn streamed_routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(put))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Announced {
    #[schema(min_length = 1, max_length = 1024)]
    pub filename: String,
    /// In bytes; the upload must have exactly as many.
    #[schema(minimum = 1)]
    pub file_size: u64,
    /// The upload must be sent as this type; `application/octet-stream` when left out.
    #[schema(
        min_length = 3,
        max_length = 255,
        pattern = "^[a-z0-9.+-]+/[a-z0-9.+-]+$"
    )]
    pub content_type: Option<String>,
}

/// Where to send the file, and how.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ticket {
    pub upload_url: String,
    pub method: &'static str,
    /// To be sent with the file, as they are.
    #[schema(value_type = Object)]
    pub headers: serde_json::Map<String, serde_json::Value>,
    pub object_key: String,
    pub upload_id: Uuid,
    /// The id the document will have, unless its bytes are in the knowledge base already:
    /// the upload then names the document they are.
    pub document_id: Uuid,
    pub expires_at: DateTime<Utc>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct UploadView {
    pub upload_id: Uuid,
    #[schema(value_type = String, example = "pending")]
    pub state: UploadState,
    pub filename: String,
    pub size: u64,
    pub object_key: String,
    pub document_id: Option<Uuid>,
    pub run_id: Option<Uuid>,
    pub error: Option<String>,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

impl From<Upload> for UploadView {
    fn from(upload: Upload) -> Self {
        Self {
            upload_id: upload.id.as_uuid(),
            state: upload.state,
            filename: upload.filename,
            size: upload.size,
            object_key: upload.object_key,
            document_id: upload.document.map(DocumentId::as_uuid),
            run_id: upload.run.map(RunId::as_uuid),
            error: upload.error,
            created_at: upload.created_at,
            expires_at: upload.expires_at,
        }
    }
}

/// Gives a signed address to which one file can be sent within a quarter of an hour.
#[utoipa::path(post, path = "/v1/kbs/{kb}/upload-url", tag = "documents",
    params(("kb" = String, Path)), request_body = Announced,
    responses((status = 201, body = Ticket)))]
async fn create(
    State(gateway): State<Gateway>,
    who: May<Ingest>,
    Named(kb): Named<String>,
    headers: HeaderMap,
    Sent(sent): Sent<Announced>,
) -> Result<(StatusCode, Json<Ticket>), Problem> {
    let kb = gateway.kb(who.tenant, &kb).await?;
    gateway.check_disk()?;
    let limit = gateway.settings().upload_limit;
    if sent.file_size > limit {
        return Err(Problem::too_large(limit));
    }
    let named = (1..=LONGEST_NAME).contains(&sent.filename.chars().count());
    if sent.file_size == 0 || !named {
        return Err(Problem::invalid(
            "fileSize is at least 1, filename has 1 to 1024 characters",
        ));
    }
    let media_type = checked_type(sent.content_type)?;
    let filename = safe_name(&sent.filename);
    let now = gateway.now();
    let upload = NewUpload {
        kb: kb.id,
        object_key: format!("uploads/{}/{}/{filename}", who.tenant, Uuid::now_v7()),
        filename,
        size: sent.file_size,
        media_type: Some(media_type),
        initiated_by: who.user,
        expires_at: now + LIFE,
    };
    let upload = gateway.catalog().create_upload(who.tenant, upload, now);
    let ticket = ticket(&gateway, &headers, &upload.await?);
    Ok((StatusCode::CREATED, Json(ticket)))
}

fn checked_type(given: Option<String>) -> Result<String, Problem> {
    let given = given.unwrap_or_else(|| ANY_TYPE.to_owned());
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".+-".contains(c);
    let word = |part: &str| !part.is_empty() && part.chars().all(plain);
    let well = given
        .split_once('/')
        .is_some_and(|(a, b)| word(a) && word(b));
    if well && given.len() <= LONGEST_TYPE {
        Ok(given)
    } else {
        Err(Problem::invalid(
            "contentType is a media type in lower case, such as text/plain",
        ))
    }
}

fn ticket(gateway: &Gateway, headers: &HeaderMap, upload: &Upload) -> Ticket {
    let seal = gateway.keys().seal(&pinned(upload));
    let escaped = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let upload_url = format!(
        "{}/v1/uploads/{}/content?key={}&expires={}&signature={}",
        gateway.base_url(headers),
        upload.id,
        escaped(&upload.object_key),
        upload.expires_at.timestamp(),
        escaped(&seal),
    );
    let mut pinned = serde_json::Map::new();
    let media_type = upload.media_type.clone().unwrap_or_default();
    pinned.insert("content-type".to_owned(), media_type.into());
    pinned.insert("content-length".to_owned(), upload.size.to_string().into());
    Ticket {
        upload_url,
        method: "PUT",
        headers: pinned,
        object_key: upload.object_key.clone(),
        upload_id: upload.id.as_uuid(),
        document_id: upload.id.as_uuid(),
        expires_at: upload.expires_at,
    }
}

/// Everything the signature holds fast.
fn pinned(upload: &Upload) -> String {
    format!(
        "PUT\n{}\n{}\n{}\n{}\n{}",
        upload.id,
        upload.object_key,
        upload.size,
        upload.media_type.as_deref().unwrap_or_default(),
        upload.expires_at.timestamp()
    )
}

impl Gateway {
    /// How callers reach us: as configured, or as this one did.
    pub fn base_url(&self, headers: &HeaderMap) -> String {
        if !self.settings().public_url.is_empty() {
            return self.settings().public_url.trim_end_matches('/').to_owned();
        }
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        host.map_or_else(String::new, |host| format!("http://{host}"))
    }
}

/// What became of an upload.
#[utoipa::path(get, path = "/v1/uploads/{upload}", tag = "documents",
    params(("upload" = Uuid, Path)), responses((status = 200, body = UploadView)))]
async fn show(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(upload): Named<Uuid>,
) -> Result<Json<UploadView>, Problem> {
    let upload = UploadId::from_uuid(upload);
    Ok(Json(
        gateway.catalog().upload(who.tenant, upload).await?.into(),
    ))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Signed {
    key: String,
    /// In seconds since 1970.
    expires: i64,
    signature: String,
}

/// Takes the file of a signed address. The signature is all it needs, and it is good once.
#[utoipa::path(put, path = "/v1/uploads/{upload}/content", tag = "documents", security(()),
    params(("upload" = Uuid, Path), Signed),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = UploadView)))]
async fn put(
    State(gateway): State<Gateway>,
    traced: Traced,
    Named(id): Named<Uuid>,
    Asked(signed): Asked<Signed>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<UploadView>, Problem> {
    let upload = gateway.signed_upload(id, &signed).await?;
    if upload.state == UploadState::Admitted {
        return Ok(Json(upload.into()));
    }
    check_headers(&upload, &headers)?;
    gateway.check_disk()?;
    let staged = gateway
        .engine()
        .stage(body.into_data_stream(), upload.size)
        .await;
    let arrived = match staged {
        Ok(staged) => Arrived::new(gateway.engine(), staged),
        Err(StageError::TooLarge { limit }) => return Err(Problem::too_large(limit)),
        Err(StageError::Body(error)) => return Err(broken(&error)),
        Err(StageError::Engine(error)) => return Err(error.into()),
    };
    let size = arrived.staged().size;
    if size != upload.size {
        let detail = format!("{size} bytes came, {} were announced", upload.size);
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "broken_upload",
            detail,
        ));
    }
    let intake = intake(&upload, &traced, gateway.now());
    let hints = Hints {
        filename: Some(intake.filename.clone()),
        media_type: intake.claimed_type.clone(),
    };
    check_type(arrived.staged(), &hints)?;
    let kb = gateway.catalog().kb(upload.tenant, upload.kb).await?;
    gateway.check_enabled(kb.tenant).await?;
    let staged = arrived.admit();
    let admitted = gateway.engine().admit(&kb, intake, staged).await?;
    submitted(&kb, &admitted);
    let end = UploadEnd::Admitted {
        document: admitted.document,
        run: admitted.run,
    };
    let ended = gateway
        .catalog()
        .finish_upload(upload.tenant, upload.id, end, gateway.now());
    Ok(Json(ended.await?.into()))
}

impl Gateway {
    async fn signed_upload(&self, id: Uuid, signed: &Signed) -> Result<Upload, Problem> {
        let refused = |code, why: &str| Problem::new(StatusCode::FORBIDDEN, code, why);
        let upload = self.catalog().upload_by_key(&signed.key).await?;
        let upload = upload
            .filter(|upload| upload.id.as_uuid() == id)
            .filter(|upload| upload.expires_at.timestamp() == signed.expires)
            .filter(|upload| self.keys().is_sealed(&pinned(upload), &signed.signature))
            .ok_or_else(|| refused("bad_signature", "the address is not one we signed"))?;
        let over = upload.state != UploadState::Admitted && upload.expires_at <= self.now();
        if over || matches!(upload.state, UploadState::Failed | UploadState::Expired) {
            return Err(refused("expired", "the address has expired").hint("ask for a new one"));
        }
        self.check_enabled(upload.tenant).await?;
        Ok(upload)
    }
}

fn check_headers(upload: &Upload, headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let length = text(CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    match length {
        None => Err(Problem::new(
            StatusCode::LENGTH_REQUIRED,
            "length_required",
            "send the file with its Content-Length",
        )),
        Some(length) if length != upload.size => Err(Problem::invalid(format!(
            "the address is for {} bytes, not {length}",
            upload.size
        ))),
        Some(_) if text(CONTENT_TYPE) != upload.media_type.as_deref() => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "other_type",
            "the address is for another Content-Type",
        )
        .hint("send the headers the address came with")),
        Some(_) => Ok(()),
    }
}

fn broken(error: &axum::Error) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "broken_upload", error.to_string())
        .hint("nothing of it was kept; send it again")
}

fn intake(upload: &Upload, traced: &Traced, now: DateTime<Utc>) -> Intake {
    Intake {
        tenant: upload.tenant,
        identity: Identity::Content,
        promised: Some(DocumentId::from_uuid(upload.id.as_uuid())),
        filename: upload.filename.clone(),
        title: None,
        claimed_type: upload
            .media_type
            .clone()
            .filter(|claimed| claimed != ANY_TYPE),
        metadata: serde_json::Map::new(),
        order: SourceOrder::of_time(now),
        run_type: RunType::Upload,
        job: None,
        source: None,
        initiated_by: upload.initiated_by,
        trace: traced.header(),
    }
}
