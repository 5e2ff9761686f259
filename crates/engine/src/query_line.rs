//! One line in the log for each query: what it cost and what came of it, and nothing of what
//! was asked or found.

use std::time::Duration;

use catalog::Kb;
use tokio::time::Instant;

use crate::rerank::Reranked;
use crate::search::{Found, Mode, Request};

/// How long each part took, where there was one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Took {
    pub embed: Option<Duration>,
    pub vector: Option<Duration>,
    pub text: Option<Duration>,
    pub rerank: Option<Duration>,
    pub all: Option<Duration>,
}

/// Awaits a part and notes how long it took, whatever came of it; a part that is done again takes
/// the longer.
pub(crate) async fn noting<T>(took: &mut Option<Duration>, part: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let done = part.await;
    *took = Some(took.unwrap_or_default() + began.elapsed());
    done
}

/// `answered` says of a question whether the documents do.
pub(crate) fn log(kb: &Kb, request: &Request, found: &Found, answered: Option<bool>) {
    let took = &found.took;
    let reranked = match found.reranked {
        Some(Reranked::Applied) => "yes",
        Some(Reranked::Failed { .. }) => "failed",
        None => "no",
    };
    tracing::info!(
        tenant_id = %kb.tenant,
        kb = %kb.name,
        mode = name(request.mode),
        hits = found.hits.len(),
        answered,
        query_parts = found.query_parts,
        words_only = found.words_only,
        forgotten = found.forgotten.map(|forgotten| forgotten.documents),
        heading_among = found.heading_among,
        ms = ms(took.all),
        embed_ms = ms(took.embed),
        vector_ms = ms(took.vector),
        text_ms = ms(took.text),
        rerank_ms = ms(took.rerank),
        reranked,
        rerank_why = found.reranked.as_ref().and_then(Reranked::why),
        "searched"
    );
}

fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Hybrid => "hybrid",
        Mode::Vector => "vector",
        Mode::Text => "text",
    }
}

/// To a hundredth.
fn ms(took: Option<Duration>) -> Option<f64> {
    took.map(|took| (took.as_secs_f64() * 1e5).round() / 100.0)
}
