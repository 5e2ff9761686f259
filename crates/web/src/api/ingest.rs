//! Uploads: many files, streamed and hashed in one pass with constant memory.
//!
//! Fields may come in any order, so files are staged as they arrive and admitted
//! when the whole form has been read. A form that breaks off admits nothing and leaves
//! nothing; one of many small files waits on the disk, not in memory.

use std::collections::HashMap;

use axum::Json;
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{Multipart, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use catalog::{Admitted, Kb, Outcome, RunType};
use engine::intake::{Identity, Intake, StageError};
use model::{RunId, SourceOrder, SourceUri};
use parse::Hints;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::arrived::Arrived;
use crate::auth::{self, May, Principal};
use crate::extract::{check_text, nul};
use crate::gateway::Gateway;
use crate::problem::{Problem, ProblemBody};
use crate::trace::Traced;

type Metadata = serde_json::Map<String, serde_json::Value>;

/// Of a field that is not a file.
pub const LONGEST_FIELD: usize = 64 * 1024;
const MOST_FILES: usize = 1000;
const LONGEST_NAME: usize = 1024;
/// What all files of a form together may take of memory.
const HELD_OF_A_FORM: usize = 4 << 20;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(ingest))
}

/// The form; only its description, the body itself is read as it streams.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes the form to OpenAPI")]
pub struct Form {
    /// One part per file.
    #[schema(value_type = Vec<String>, format = Binary, min_items = 1)]
    file: Vec<Vec<u8>>,
    /// The knowledge base, by name or id; `default` when left out.
    kb: Option<String>,
    title: Option<String>,
    /// A JSON object, kept with every file.
    metadata: Option<String>,
    /// What makes it the same document next time, such as `file:///…`: changed bytes are then a
    /// new version. Admins only, and for one file. Without it the bytes are the identity.
    source_uri: Option<String>,
    /// The version's place in the order of that source.
    order: Option<String>,
    /// A JSON object from file name to a JSON object, kept with that file.
    file_metadata: Option<String>,
}

/// What became of one file.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Ingested {
    pub filename: String,
    /// As the status of a request with this file alone would be.
    pub code: u16,
    /// `queued`, `skipped` or `refused`.
    pub status: String,
    /// `new`, `new_version` or `skipped`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doc_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_id: Option<Uuid>,
    /// Why it was skipped: `same_content`, `live_run` or `rolled_back`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<ProblemBody>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct IngestedMany {
    pub results: Vec<Ingested>,
}

/// Its name, the type it claims, and its bytes or why there are none.
type File = (String, Option<String>, Result<Arrived, Problem>);

#[derive(Default)]
struct Read {
    files: Vec<File>,
    kb: Option<String>,
    title: Option<String>,
    metadata: Metadata,
    file_metadata: HashMap<String, Metadata>,
    source_uri: Option<SourceUri>,
    order: Option<SourceOrder>,
    trace: Option<String>,
}

/// Takes in files. One file: 202, or 200 when it was skipped. Several: 207 with one result each.
#[utoipa::path(post, path = "/v1/ingest", tag = "documents",
    request_body(content = Form, content_type = "multipart/form-data"),
    responses((status = 202, body = Ingested), (status = 200, body = Ingested),
              (status = 207, body = IngestedMany)))]
async fn ingest(
    State(gateway): State<Gateway>,
    who: May<auth::Ingest>,
    traced: Traced,
    form: Result<Multipart, axum::extract::multipart::MultipartRejection>,
) -> Result<Response, Problem> {
    let form = form.map_err(|rejection| Problem::invalid(rejection.body_text()))?;
    let mut read = read(&gateway, form).await?;
    read.trace = traced.header();
    if read.source_uri.is_some() {
        check_identity(&who, &read)?;
    }
    let kb = gateway
        .kb(who.tenant, read.kb.as_deref().unwrap_or("default"))
        .await?;
    let files = std::mem::take(&mut read.files);
    match <[_; 1]>::try_from(files) {
        Ok([(name, claimed, staged)]) => {
            let staged = staged?;
            let admitted = admit(&gateway, &who, &kb, &read, (&name, claimed), staged).await?;
            let result = told(name, &admitted);
            let status = StatusCode::from_u16(result.code).expect("a code of ours");
            Ok((status, Json(result)).into_response())
        }
        Err(files) if files.is_empty() => {
            Err(Problem::invalid("the form has no part named `file`"))
        }
        Err(files) => {
            let mut results = Vec::with_capacity(files.len());
            for (name, claimed, staged) in files {
                let admitted = match staged {
                    Ok(staged) => admit(&gateway, &who, &kb, &read, (&name, claimed), staged).await,
                    Err(problem) => Err(problem),
                };
                results.push(match admitted {
                    Ok(admitted) => told(name, &admitted),
                    Err(problem) => refused(name, &problem),
                });
            }
            let many = Json(IngestedMany { results });
            Ok((StatusCode::MULTI_STATUS, many).into_response())
        }
    }
}

async fn read(gateway: &Gateway, mut form: Multipart) -> Result<Read, Problem> {
    let mut read = Read::default();
    while let Some(field) = form.next_field().await.map_err(broken)? {
        match field.name().unwrap_or_default() {
            "file" if read.files.len() == MOST_FILES => {
                return Err(Problem::invalid(format!(
                    "a form has at most {MOST_FILES} files"
                )));
            }
            "file" => {
                let room = HELD_OF_A_FORM.saturating_sub(held(&read.files));
                let file = stage(gateway, field, room).await?;
                read.files.push(file);
            }
            "kb" => read.kb = Some(text(field).await?),
            "title" => read.title = Some(text(field).await?),
            "source_uri" => read.source_uri = Some(source_uri(&text(field).await?)?),
            "order" => read.order = Some(SourceOrder::from_stored(text(field).await?)),
            "metadata" => read.metadata = json(field, "metadata").await?,
            "file_metadata" => read.file_metadata = json(field, "file_metadata").await?,
            other => {
                return Err(Problem::invalid(format!(
                    "`{other}` is not a field of the form"
                )));
            }
        }
    }
    Ok(read)
}

/// A file over the limit is refused by itself; bytes that stop coming end the whole form.
async fn stage(gateway: &Gateway, field: Field<'_>, room: usize) -> Result<File, Problem> {
    gateway.check_disk()?;
    let name = safe_name(field.file_name().unwrap_or("upload"));
    let claimed = field.content_type().map(str::to_owned);
    let limit = gateway.settings().upload_limit;
    let engine = gateway.engine();
    let staged = match engine.stage_holding(field, limit, room).await {
        Ok(staged) => Ok(Arrived::new(engine, staged)),
        Err(StageError::TooLarge { limit }) => Err(Problem::too_large(limit)),
        Err(StageError::Body(error)) => return Err(broken(error)),
        Err(StageError::Engine(error)) => return Err(error.into()),
    };
    Ok((name, claimed, staged))
}

/// What the files so far take of memory.
fn held(files: &[File]) -> usize {
    let arrived = files.iter().filter_map(|(_, _, file)| file.as_ref().ok());
    arrived.map(|file| file.staged().held()).sum()
}

fn source_uri(text: &str) -> Result<SourceUri, Problem> {
    SourceUri::new(text).map_err(|bad| Problem::unprocessable(bad.to_string()))
}

/// Whoever names the identity decides which document is replaced.
fn check_identity(who: &Principal, read: &Read) -> Result<(), Problem> {
    if !who.may::<auth::Manage>() {
        return Err(Problem::forbidden("manage"));
    }
    if read.files.len() > 1 {
        return Err(Problem::unprocessable(
            "a source_uri names one document: send one file",
        ));
    }
    Ok(())
}

async fn admit(
    gateway: &Gateway,
    who: &Principal,
    kb: &Kb,
    read: &Read,
    (name, claimed): (&str, Option<String>),
    arrived: Arrived,
) -> Result<Admitted, Problem> {
    let hints = Hints {
        filename: Some(name.to_owned()),
        media_type: claimed.clone(),
    };
    check_type(arrived.staged(), &hints)?;
    let mut metadata = read.metadata.clone();
    metadata.extend(read.file_metadata.get(name).cloned().unwrap_or_default());
    let intake = Intake {
        tenant: who.tenant,
        identity: read
            .source_uri
            .clone()
            .map_or(Identity::Content, Identity::Uri),
        promised: None,
        filename: name.to_owned(),
        title: read.title.clone(),
        claimed_type: claimed,
        metadata,
        order: read
            .order
            .clone()
            .unwrap_or_else(|| SourceOrder::of_time(gateway.now())),
        run_type: RunType::Upload,
        job: None,
        source: None,
        initiated_by: who.user,
        trace: read.trace.clone(),
    };
    // Disabled while the bytes came in is disabled.
    gateway.check_enabled(kb.tenant).await?;
    let staged = arrived.admit();
    let admitted = gateway.engine().admit(kb, intake, staged).await?;
    submitted(kb, &admitted);
    Ok(admitted)
}

/// One line for everything that is taken in, whichever way it came.
pub fn submitted(kb: &Kb, admitted: &Admitted) {
    tracing::info!(
        tenant_id = %kb.tenant, kb = %kb.name, doc_id = %admitted.document,
        run_id = ?admitted.run, outcome = ?admitted.outcome, "ingest submitted"
    );
}

pub fn told(filename: String, admitted: &Admitted) -> Ingested {
    let reason = match admitted.outcome {
        Outcome::Skipped { reason } => Some(reason.as_str().to_owned()),
        Outcome::New | Outcome::NewVersion => None,
    };
    let (code, status, outcome) = match admitted.outcome {
        Outcome::Skipped { .. } => (200, "skipped", "skipped"),
        Outcome::New => (202, "queued", "new"),
        Outcome::NewVersion => (202, "queued", "new_version"),
    };
    Ingested {
        filename,
        code,
        status: status.to_owned(),
        outcome: Some(outcome.to_owned()),
        run_id: admitted.run.map(RunId::as_uuid),
        doc_id: Some(admitted.document.as_uuid()),
        version_id: Some(admitted.version.as_uuid()),
        reason,
        problem: None,
    }
}

fn refused(filename: String, problem: &Problem) -> Ingested {
    Ingested {
        filename,
        code: problem.status().as_u16(),
        status: "refused".to_owned(),
        outcome: None,
        run_id: None,
        doc_id: None,
        version_id: None,
        reason: None,
        problem: Some(problem.body()),
    }
}

/// Content decides: what no parser reads is refused before it is kept.
pub fn check_type(staged: &engine::intake::Staged, hints: &Hints) -> Result<(), Problem> {
    staged.format(hints).map(drop).map_err(|error| {
        Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_type",
            error.to_string(),
        )
        .hint(format!("these can be read: {}", parse::Format::names()))
    })
}

async fn text(mut field: Field<'_>) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    while let Some(piece) = field.chunk().await.map_err(broken)? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > LONGEST_FIELD {
            return Err(Problem::unprocessable(format!(
                "a field has at most {LONGEST_FIELD} bytes"
            )));
        }
    }
    if bytes.contains(&0) {
        return Err(nul());
    }
    String::from_utf8(bytes).map_err(|_| Problem::unprocessable("a field is not UTF-8"))
}

async fn json<T: serde::de::DeserializeOwned>(field: Field<'_>, name: &str) -> Result<T, Problem> {
    let text = text(field).await?;
    let other = |error: serde_json::Error| {
        Problem::unprocessable(format!("`{name}` is not the JSON it should be: {error}"))
    };
    let value = serde_json::from_str(&text).map_err(other)?;
    check_text(&value)?;
    serde_json::from_value(value).map_err(other)
}

fn broken(error: MultipartError) -> Problem {
    // Whatever breaks while a body is read is on the client's side of it.
    let status = match error.status() {
        status if status.is_server_error() => StatusCode::BAD_REQUEST,
        status => status,
    };
    Problem::new(status, "broken_upload", error.body_text())
        .hint("nothing of it was kept; send it again")
}

/// A file name is shown and kept, never opened: only its last part, without control characters.
pub fn safe_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown: String = last.chars().filter(|c| !c.is_control()).collect();
    let mut end = shown.len().min(LONGEST_NAME);
    while !shown.is_char_boundary(end) {
        end -= 1;
    }
    match &shown[..end] {
        "" | "." | ".." => "upload".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_leads_nowhere() {
        let cases = [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\docs\\a.txt", "a.txt"),
            ("a\r\nSet-Cookie: x", "aSet-Cookie: x"),
            ("..", "upload"),
            ("", "upload"),
        ];
        for (given, kept) in cases {
            assert_eq!(safe_name(given), kept);
        }
        assert_eq!(safe_name(&"ü".repeat(2000)).len(), LONGEST_NAME);
    }
}
