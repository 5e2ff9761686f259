//! What the parser and the chunker make of a file, without keeping it.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use model::{Chunk, Parsed, UnitName};
use parse::Hints;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Ingest, May};
use crate::extract::{Asked, Whole};
use crate::gateway::Gateway;
use crate::paging::Rows;
use crate::problem::Problem;

/// Bodies here are whole files; the caller of this function sets their limit.
pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(extract))
        .routes(routes!(chunk))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FileParams {
    /// Its name; breaks ties where the content could be two things.
    filename: Option<String>,
    /// `md` (the default), `text` or `json`.
    #[serde(default)]
    #[param(value_type = Option<String>, pattern = "^(md|text|json)$")]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Md,
    Text,
    Json,
}

/// A chunk as `chunk --json` prints it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChunkView {
    pub ordinal: u32,
    pub unit: String,
    pub char_range: [u64; 2],
    pub byte_range: [u64; 2],
    pub tokens: u32,
    pub heading_path: Vec<String>,
    pub pages: Vec<u32>,
    pub text: String,
}

impl ChunkView {
    pub fn new(unit: &UnitName, chunk: Chunk) -> Self {
        Self {
            ordinal: chunk.ordinal,
            unit: unit.to_string(),
            char_range: [chunk.span.char_start, chunk.span.char_end],
            byte_range: [chunk.span.byte_start, chunk.span.byte_end],
            tokens: chunk.tokens,
            heading_path: chunk.heading_path,
            pages: chunk.pages,
            text: chunk.text,
        }
    }
}

/// What the parser sees. Nothing is kept.
#[utoipa::path(post, path = "/v1/extract", tag = "inspect", params(FileParams),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, content(
        (String = "text/plain"), (serde_json::Value = "application/json")))))]
async fn extract(
    State(gateway): State<Gateway>,
    _who: May<Ingest>,
    Asked(params): Asked<FileParams>,
    Whole(body): Whole,
) -> Result<Response, Problem> {
    let parsed = gateway.parsed(body, params.filename).await?;
    Ok(match params.format {
        Format::Md => parse::to_markdown(&parsed).into_response(),
        Format::Text => parsed.text.into_response(),
        Format::Json => Json(parsed).into_response(),
    })
}

/// The chunks a new knowledge base would hold of the file. Nothing is kept.
#[utoipa::path(post, path = "/v1/chunk", tag = "inspect", params(FileParams),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = Rows<ChunkView>)))]
async fn chunk(
    State(gateway): State<Gateway>,
    _who: May<Ingest>,
    Asked(params): Asked<FileParams>,
    Whole(body): Whole,
) -> Result<Json<Rows<ChunkView>>, Problem> {
    let parsed = gateway.parsed(body, params.filename).await?;
    let policy = gateway.generation_spec().policy;
    let tokens = gateway.engine().parts().embedder.tokens();
    let work = move || {
        let units = pipeline::units::units(&parsed);
        let cut = |unit: &model::Unit| {
            let chunks = pipeline::chunk::chunk(unit, policy, &*tokens);
            let view = |chunk| ChunkView::new(&unit.name, chunk);
            chunks.into_iter().map(view).collect::<Vec<_>>()
        };
        units.iter().flat_map(cut).collect()
    };
    let items = tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Problem::internal(&error))?;
    Ok(Json(Rows { items, next: None }))
}

impl Gateway {
    async fn parsed(&self, body: Bytes, filename: Option<String>) -> Result<Parsed, Problem> {
        let hints = Hints {
            filename,
            media_type: None,
        };
        let parsed = self.engine().parts().sandbox.parse(body, hints).await;
        parsed.map_err(|error| engine::Error::from(error).into())
    }
}
