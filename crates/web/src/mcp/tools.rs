//! What a program can do through the protocol: search, read, list, follow, bring in a text.

use axum::body::Bytes;
use catalog::{DocumentFilter, RunType};
use engine::intake::{Identity, Intake, StageError};
use futures::stream;
use model::{DocumentId, RunId, SourceOrder, VersionId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{BAD_PARAMS, Caller, Fault};
use crate::api::documents::DocumentView;
use crate::api::ingest::{LONGEST_FIELD, safe_name, submitted, told};
use crate::api::runs::RunView;
use crate::api::search::{HitView, Question, RerankView, checked};
use crate::auth::{Ingest, Read, Right, Search};
use crate::paging::Paging;
use crate::problem::Problem;

/// Of a document's text in one answer, in characters.
const MOST_TEXT: usize = 20_000;
const LONGEST_INGEST: usize = 1 << 20;

pub fn list() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let number = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    let flag = |about: &str| json!({ "type": "boolean", "description": about });
    let kb = text("the knowledge base, by name or id; `default` when left out");
    let tool = |name: &str, about: &str, properties: Value, required: &[&str], reads: bool| {
        json!({ "name": name, "description": about,
            "inputSchema": { "type": "object", "properties": properties, "required": required,
                "additionalProperties": false },
            "annotations": { "readOnlyHint": reads, "idempotentHint": true } })
    };
    json!([
        tool(
            "search",
            "Finds passages by meaning and by words, each with its citation.",
            json!({ "query": text("what to look for"), "kb": kb, "top": number("how many, 1 to 50"),
                "rerank": flag("false leaves the reranker out, where one is configured") }),
            &["query"],
            true
        ),
        tool(
            "get_document",
            "A document and its text, a part at a time.",
            json!({ "document_id": text("as found by search or list_documents"),
                "offset": number("the character to begin at") }),
            &["document_id"],
            true
        ),
        tool(
            "list_documents",
            "The documents that answer, newest first.",
            json!({ "kb": kb, "text": text("part of a title, name or source URI"),
                "cursor": text("what the list before gave as `next`"),
                "limit": number("how many, 1 to 100") }),
            &[],
            true
        ),
        tool(
            "run_status",
            "How the processing of a document stands.",
            json!({ "run_id": text("as ingest_text gave it") }),
            &["run_id"],
            true
        ),
        tool(
            "ingest_text",
            "Takes in a text; equal texts are one document.",
            json!({ "text": text("plain text or Markdown"), "title": text("its title"), "kb": kb }),
            &["text"],
            false
        ),
    ])
}

#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(default)]
    arguments: Option<Value>,
}

/// A tool that fails says so in its result, where the caller's model can read it.
pub async fn call(caller: &Caller<'_>, params: &Value) -> Result<Value, Fault> {
    let named: Named = serde_json::from_value(params.clone())
        .map_err(|_| Fault::new(BAD_PARAMS, "tools/call needs a name and arguments"))?;
    let arguments = named.arguments.unwrap_or_else(|| json!({}));
    let done = match named.name.as_str() {
        "search" => search(caller, arguments).await,
        "get_document" => get_document(caller, arguments).await,
        "list_documents" => list_documents(caller, arguments).await,
        "run_status" => run_status(caller, arguments).await,
        "ingest_text" => ingest_text(caller, arguments).await,
        other => {
            return Err(Fault::new(
                BAD_PARAMS,
                format!("there is no tool `{other}`"),
            ));
        }
    };
    Ok(match done {
        Ok(result) => json!({
            "content": [{ "type": "text", "text": result.to_string() }],
            "structuredContent": result, "isError": false }),
        Err(problem) => json!({
            "content": [{ "type": "text", "text": problem.detail() }],
            "structuredContent": problem.body(), "isError": true }),
    })
}

fn arguments<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_json::from_value(value)
        .map_err(|error| Problem::invalid(format!("the arguments do not fit: {error}")))
}

fn shown(value: impl serde::Serialize) -> Result<Value, Problem> {
    serde_json::to_value(value).map_err(|error| Problem::internal(&error))
}

impl Caller<'_> {
    fn must<R: Right>(&self) -> Result<(), Problem> {
        if self.who.may::<R>() {
            Ok(())
        } else {
            Err(Problem::forbidden(R::SCOPE))
        }
    }
}

fn default_kb() -> String {
    "default".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
    #[serde(default = "default_kb")]
    kb: String,
    #[serde(default = "ten")]
    top: usize,
    rerank: Option<bool>,
}

fn ten() -> usize {
    10
}

async fn search(caller: &Caller<'_>, value: Value) -> Result<Value, Problem> {
    caller.must::<Search>()?;
    let asked: SearchArguments = arguments(value)?;
    let request = checked(Question {
        rerank: asked.rerank,
        ..Question::new(asked.query, asked.top.min(50))
    })?;
    let kb = caller.gateway.kb(caller.who.tenant, &asked.kb).await?;
    let found = caller.gateway.engine().search(&kb, &request).await?;
    let hits: Vec<HitView> = found.hits.into_iter().map(HitView::from).collect();
    let rerank = found.reranked.map(RerankView::from);
    Ok(json!({
        "hits": shown(hits)?,
        "rerank": shown(rerank)?,
        "query_parts": found.query_parts,
        "words_only": found.words_only,
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentArguments {
    document_id: Uuid,
    #[serde(default)]
    offset: usize,
}

async fn get_document(caller: &Caller<'_>, value: Value) -> Result<Value, Problem> {
    caller.must::<Read>()?;
    let asked: DocumentArguments = arguments(value)?;
    let (gateway, tenant) = (caller.gateway, caller.who.tenant);
    let document = DocumentId::from_uuid(asked.document_id);
    let view = DocumentView::from(gateway.catalog().document(tenant, document).await?);
    let text = match view.active_version_id {
        Some(version) => {
            gateway
                .engine()
                .text(tenant, VersionId::from_uuid(version))
                .await?
        }
        None => String::new(),
    };
    let part: String = text.chars().skip(asked.offset).take(MOST_TEXT).collect();
    let end = asked.offset + part.chars().count();
    let next = text.chars().nth(end).map(|_| end);
    Ok(json!({ "document": shown(view)?, "text": part, "next_offset": next }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    #[serde(default = "default_kb")]
    kb: String,
    text: Option<String>,
    cursor: Option<String>,
    limit: Option<u32>,
}

async fn list_documents(caller: &Caller<'_>, value: Value) -> Result<Value, Problem> {
    caller.must::<Read>()?;
    let asked: ListArguments = arguments(value)?;
    let (gateway, tenant) = (caller.gateway, caller.who.tenant);
    let filter = DocumentFilter {
        kb: Some(gateway.kb(tenant, &asked.kb).await?.id),
        text: asked.text,
        ..DocumentFilter::default()
    };
    let paging = Paging {
        cursor: asked.cursor,
        limit: Some(asked.limit.unwrap_or(20).clamp(1, 100)),
        page: None,
    };
    let read = |page| gateway.catalog().documents(tenant, filter.clone(), page);
    let listed = paging.read(read).await?;
    let documents: Vec<DocumentView> = listed.items.into_iter().map(DocumentView::from).collect();
    Ok(json!({ "documents": shown(documents)?, "next": listed.next }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunArguments {
    run_id: Uuid,
}

async fn run_status(caller: &Caller<'_>, value: Value) -> Result<Value, Problem> {
    caller.must::<Read>()?;
    let asked: RunArguments = arguments(value)?;
    let run = RunId::from_uuid(asked.run_id);
    let (catalog, now) = (caller.gateway.catalog(), caller.gateway.now());
    let run = catalog.run(caller.who.tenant, run).await?;
    let busy = catalog.queue_depth(now).await?.leased > 0;
    shown(RunView::new(run, busy, now))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IngestArguments {
    text: String,
    title: Option<String>,
    #[serde(default = "default_kb")]
    kb: String,
}

async fn ingest_text(caller: &Caller<'_>, value: Value) -> Result<Value, Problem> {
    caller.must::<Ingest>()?;
    let asked: IngestArguments = arguments(value)?;
    if asked.text.trim().is_empty() || asked.text.len() > LONGEST_INGEST {
        return Err(Problem::unprocessable(format!(
            "a text has 1 to {LONGEST_INGEST} bytes, not all of them white space"
        )));
    }
    let title = asked.title.as_ref().map_or(0, String::len);
    if title > LONGEST_FIELD {
        return Err(Problem::unprocessable(format!(
            "a title has at most {LONGEST_FIELD} bytes"
        )));
    }
    let gateway = caller.gateway;
    gateway.check_disk()?;
    let kb = gateway.kb(caller.who.tenant, &asked.kb).await?;
    let name = safe_name(asked.title.as_deref().unwrap_or("text"));
    let body = stream::iter([Ok::<_, Problem>(Bytes::from(asked.text))]);
    let staged = match gateway.engine().stage(body, LONGEST_INGEST as u64).await {
        Ok(staged) => staged,
        Err(StageError::Engine(error)) => return Err(error.into()),
        Err(StageError::Body(problem)) => return Err(problem),
        Err(StageError::TooLarge { limit }) => return Err(Problem::too_large(limit)),
    };
    let intake = Intake {
        tenant: caller.who.tenant,
        identity: Identity::Content,
        promised: None,
        filename: format!("{name}.md"),
        title: asked.title,
        claimed_type: Some("text/markdown".to_owned()),
        metadata: serde_json::Map::new(),
        order: SourceOrder::of_time(gateway.now()),
        run_type: RunType::Upload,
        job: None,
        source: None,
        initiated_by: caller.who.user,
        trace: caller.traced.header(),
    };
    let admitted = gateway.engine().admit(&kb, intake, staged).await?;
    submitted(&kb, &admitted);
    shown(told(format!("{name}.md"), &admitted))
}
