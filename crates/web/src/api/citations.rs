//! Citations, and the proof that a quote stands where it is said to stand.

use axum::Json;
use axum::extract::State;
use engine::citation::{Claimed, Doubt, Proof};
use engine::search::Hit;
use model::{ContentHash, PageBox, Span, VersionId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{May, Read};
use crate::extract::Sent;
use crate::gateway::Gateway;
use crate::problem::Problem;

const LONGEST_QUOTE: usize = 64 * 1024;

/// The proof reads the whole original again, which takes as long as it is.
pub fn untimed_routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(verify))
}

/// Where something stands: enough to find it again without us.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CitationView {
    pub document_id: Uuid,
    pub version_id: Uuid,
    pub source_uri: String,
    pub title: Option<String>,
    pub pages: Vec<u32>,
    #[schema(value_type = Vec<Object>)]
    pub boxes: Vec<PageBox>,
    /// Of the version's normalised text.
    pub char_range: [u64; 2],
    pub byte_range: [u64; 2],
    pub chunk_id: String,
    /// Of the chunk's text.
    pub chunk_hash: String,
}

impl CitationView {
    /// Of a part of a hit.
    pub fn new(hit: &Hit, span: Span) -> Self {
        Self {
            document_id: hit.document.as_uuid(),
            version_id: hit.version.as_uuid(),
            source_uri: hit.source_uri.to_string(),
            title: hit.title.clone(),
            pages: hit.pages.clone(),
            boxes: hit.boxes.clone(),
            char_range: [span.char_start, span.char_end],
            byte_range: [span.byte_start, span.byte_end],
            chunk_id: hit.chunk.to_string(),
            chunk_hash: hit.chunk_hash.to_string(),
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuoteBody {
    pub version_id: Uuid,
    #[schema(min_length = 1, max_length = 16384)]
    pub quote: String,
    /// Characters of the version's normalised text the quote must stand in; anywhere in it
    /// when left out.
    #[schema(min_items = 2, max_items = 2)]
    pub char_range: Option<[u64; 2]>,
    /// What the text at `char_range` must hash to.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub chunk_hash: Option<String>,
}

/// Whether the quote is proved, and where it stands or why it is not.
#[derive(Debug, Serialize, ToSchema)]
pub struct Proved {
    pub verified: bool,
    /// `exact`, or `spaced` where only white space differs; absent without a proof.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matched: Option<&'static str>,
    /// Why there is no proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The quote as the document has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub char_range: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_range: Option<[u64; 2]>,
    pub pages: Vec<u32>,
    #[schema(value_type = Vec<Object>)]
    pub boxes: Vec<PageBox>,
    /// Of the original's bytes, which were read for this proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
    /// The ledger's root over the version's chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_hash: Option<String>,
}

/// Proves a quote against the stored original: its bytes are hashed and read anew.
///
/// Fails closed: `verified` is true only when the original is intact and the quote stands
/// in it at the cited place.
#[utoipa::path(post, path = "/v1/citations/verify", tag = "search", request_body = QuoteBody,
    responses((status = 200, body = Proved)))]
async fn verify(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Sent(sent): Sent<QuoteBody>,
) -> Result<Json<Proved>, Problem> {
    let claimed = checked(sent)?;
    let answer = gateway
        .engine()
        .verify_citation(who.tenant, &claimed)
        .await?;
    let doubt = answer.as_ref().err();
    tracing::info!(tenant_id = %who.tenant, version_id = %claimed.version, ?doubt, "citation checked");
    Ok(Json(match answer {
        Ok(proof) => proved(proof),
        Err(doubt) => doubted(doubt),
    }))
}

fn checked(sent: QuoteBody) -> Result<Claimed, Problem> {
    if sent.quote.trim().is_empty() || sent.quote.len() > LONGEST_QUOTE {
        return Err(Problem::unprocessable(format!(
            "a quote has 1 to {LONGEST_QUOTE} bytes, not all of them white space"
        )));
    }
    let hash =
        match sent.chunk_hash.as_deref() {
            None => None,
            Some(text) => Some(text.parse::<ContentHash>().map_err(|_| {
                Problem::invalid("chunk_hash is 64 hexadecimal digits in lower case")
            })?),
        };
    Ok(Claimed {
        version: VersionId::from_uuid(sent.version_id),
        quote: sent.quote,
        chars: sent.char_range.map(|[from, to]| (from, to)),
        hash,
    })
}

fn proved(proof: Proof) -> Proved {
    Proved {
        verified: true,
        matched: Some(if proof.spaced { "spaced" } else { "exact" }),
        reason: None,
        char_range: Some([proof.at.char_start, proof.at.char_end]),
        byte_range: Some([proof.at.byte_start, proof.at.byte_end]),
        text: Some(proof.text),
        pages: proof.pages,
        boxes: proof.boxes,
        content_hash: Some(proof.content_hash.to_string()),
        root_hash: proof.root_hash.map(|hash| hash.to_string()),
    }
}

fn doubted(doubt: Doubt) -> Proved {
    let reason = match doubt {
        Doubt::OriginalMissing => "original_missing",
        Doubt::OriginalChanged => "original_changed",
        Doubt::OriginalUnreadable => "original_unreadable",
        Doubt::ReadsDifferently => "reads_differently",
        Doubt::TextMissing => "text_missing",
        Doubt::NoSuchPlace => "no_such_place",
        Doubt::OtherText => "other_text",
        Doubt::Absent => "absent",
    };
    Proved {
        verified: false,
        matched: None,
        reason: Some(reason),
        text: None,
        char_range: None,
        byte_range: None,
        pages: Vec::new(),
        boxes: Vec::new(),
        content_hash: None,
        root_hash: None,
    }
}
