//! What the parser and the chunker make of a file, without keeping it.

mod streamed;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use catalog::GenerationSpec;
use engine::intake::StageError;
use model::{
    Chunk, ChunkPolicy, ModelName, PageBox, Parsed, Strategy, TokenCounter, Unit, UnitName,
};
use parse::Hints;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::arrived::Arrived;
use crate::auth::{Ingest, May};
use crate::extract::Asked;
use crate::gateway::Gateway;
use crate::paging::Rows;
use crate::problem::Problem;
use streamed::Told;

/// Bodies here are files; like uploads they are measured while they come.
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

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ChunkParams {
    /// As of `extract`.
    filename: Option<String>,
    /// How it is cut; as a new knowledge base would, unless said.
    #[param(value_type = Option<String>,
        pattern = "^(structural|fixed|sentence|markdown|streaming)$")]
    strategy: Option<Strategy>,
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
    /// Whether these are an estimate, as they are for a remote model.
    pub tokens_estimated: bool,
    pub heading_path: Vec<String>,
    /// The first of its unit's atoms that it is cut from, and the one after the last.
    pub atoms: [u32; 2],
    pub pages: Vec<u32>,
    /// Where it is printed on them.
    #[schema(value_type = Vec<Object>)]
    pub boxes: Vec<PageBox>,
    pub text: String,
}

impl ChunkView {
    /// `model` is the one its tokens are of.
    pub fn new(unit: &UnitName, chunk: Chunk, model: &ModelName) -> Self {
        Self {
            ordinal: chunk.ordinal,
            unit: unit.to_string(),
            char_range: [chunk.span.char_start, chunk.span.char_end],
            byte_range: [chunk.span.byte_start, chunk.span.byte_end],
            tokens: chunk.tokens,
            tokens_estimated: model.estimates_tokens(),
            heading_path: chunk.heading_path,
            atoms: [chunk.atoms.start, chunk.atoms.end],
            pages: chunk.pages,
            boxes: chunk.boxes,
            text: chunk.text,
        }
    }
}

/// What the parser sees. Nothing is kept. Of plain text, Markdown, CSV and JSON lines it is told
/// while it is read, with flat memory.
#[utoipa::path(post, path = "/v1/extract", tag = "inspect", params(FileParams),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, content(
        (String = "text/plain"), (serde_json::Value = "application/json")))))]
async fn extract(
    State(gateway): State<Gateway>,
    _who: May<Ingest>,
    Asked(params): Asked<FileParams>,
    request: Request,
) -> Result<Response, Problem> {
    let arrived = gateway.arrived(request).await?;
    let hints = hints(params.filename);
    if arrived.staged().is_large_text(&hints) {
        let engine = gateway.engine().clone();
        return streamed::answer(engine, arrived, hints, Told::Read(params.format)).await;
    }
    let parsed = gateway.parsed(&arrived, hints).await?;
    Ok(match params.format {
        Format::Md => parse::to_markdown(&parsed).into_response(),
        Format::Text => parsed.text.into_response(),
        Format::Json => Json(parsed).into_response(),
    })
}

/// How a file is cut, and by whose tokens.
struct Cutting {
    model: ModelName,
    policy: ChunkPolicy,
    tokens: Arc<dyn TokenCounter>,
}

impl Cutting {
    fn chunks(&self, unit: &Unit) -> Vec<ChunkView> {
        let chunks = pipeline::chunk::chunk(unit, self.policy, &*self.tokens);
        let view = |chunk| ChunkView::new(&unit.name, chunk, &self.model);
        chunks.into_iter().map(view).collect()
    }
}

/// The chunks a new knowledge base would hold of the file, or those of another strategy. Nothing is
/// kept. Of plain text, Markdown, CSV and JSON lines they are told while it is read, with flat
/// memory.
#[utoipa::path(post, path = "/v1/chunk", tag = "inspect", params(ChunkParams),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = Rows<ChunkView>)))]
async fn chunk(
    State(gateway): State<Gateway>,
    _who: May<Ingest>,
    Asked(params): Asked<ChunkParams>,
    request: Request,
) -> Result<Response, Problem> {
    let arrived = gateway.arrived(request).await?;
    let GenerationSpec { model, policy, .. } = gateway.generation_spec();
    let cutting = Cutting {
        model,
        policy: policy.with_strategy(params.strategy.unwrap_or(policy.strategy())),
        tokens: gateway.engine().parts().embedder.tokens(),
    };
    let hints = hints(params.filename);
    if arrived.staged().is_large_text(&hints) {
        let engine = gateway.engine().clone();
        return streamed::answer(engine, arrived, hints, Told::Cut(cutting)).await;
    }
    let parsed = gateway.parsed(&arrived, hints).await?;
    let work = move || {
        let units = pipeline::units::units(&parsed);
        units.iter().flat_map(|unit| cutting.chunks(unit)).collect()
    };
    let items: Vec<ChunkView> = tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Problem::internal(&error))?;
    Ok(Json(Rows { items, next: None }).into_response())
}

fn hints(filename: Option<String>) -> Hints {
    Hints {
        filename,
        media_type: None,
    }
}

impl Gateway {
    async fn arrived(&self, request: Request) -> Result<Arrived, Problem> {
        self.check_disk()?;
        let (engine, limit) = (self.engine(), self.settings().upload_limit);
        let body = request.into_body().into_data_stream();
        match engine.stage(body, limit).await {
            Ok(staged) => Ok(Arrived::new(engine, staged)),
            Err(StageError::TooLarge { limit }) => Err(Problem::too_large(limit).hint(
                "an admin can raise upload.max_mb; where no server holds the data folder, \
                 `gristmill extract` reads files of any size",
            )),
            Err(StageError::Engine(error)) => Err(error.into()),
            Err(StageError::Body(error)) => {
                let status = StatusCode::BAD_REQUEST;
                let problem = Problem::new(status, "broken_upload", error.to_string());
                Err(problem.hint("nothing of it was kept; send it again"))
            }
        }
    }

    async fn parsed(&self, arrived: &Arrived, hints: Hints) -> Result<Parsed, Problem> {
        let parsed = self.engine().parse_staged(arrived.staged(), hints).await;
        Ok(parsed?)
    }
}
