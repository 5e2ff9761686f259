//! A question becomes passages with their place.
//!
//! The active set is taken first, then a snapshot at least that new: a version
//! that is active is always found, and nothing that is not active ever is. Both legs are
//! fused; the best go to the reranker, where there is one, and are cut to what was asked for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use catalog::{Forgotten, Kb, LiveFilter, VersionRow};
use chrono::{DateTime, Utc};
use index::{Passage, Snapshot, Space};
use model::{ChunkId, ContentHash, DocumentId, PageBox, SourceUri, Span, VersionId};
use pipeline::query::{Fused, Leg, Weights, fuse};
use providers::Reranker;
use roaring::RoaringBitmap;

use crate::figures::Timed;
use crate::neighbours::Neighbours;
use crate::query_line::{self, Took, noting};
use crate::question::{self, Meaning};
use crate::rerank::Reranked;
use crate::{Engine, Error};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Hybrid,
    Vector,
    Text,
}

#[derive(Debug, Clone)]
pub struct Request {
    pub query: String,
    pub mode: Mode,
    pub top: usize,
    pub weights: Weights,
    pub filter: Filter,
    /// How many chunks before and after each hit to show with it.
    pub neighbours: u32,
    pub as_of: Option<DateTime<Utc>>,
    /// `false` leaves the reranker out, `true` insists that there is one; it may still fail.
    pub rerank: Option<bool>,
}

impl Request {
    /// A leg of no weight is not asked: what it brings would not be ranked, only waited for.
    fn asks_meaning(&self) -> bool {
        self.mode != Mode::Text && self.weights.vector > 0.0
    }

    fn asks_words(&self) -> bool {
        self.mode != Mode::Vector && self.weights.text > 0.0
    }
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct Found {
    pub hits: Vec<Hit>,
    /// `None` where no reranker was asked.
    pub reranked: Option<Reranked>,
    /// In how many parts the query was embedded, as it is longer than the model reads where there
    /// are several; `None` where only its words were searched for.
    pub query_parts: Option<usize>,
    /// Why only words were searched for although the meaning was asked for, too.
    pub words_only: Option<&'static str>,
    /// What answered at the time asked for, and was not searched.
    pub forgotten: Option<Forgotten>,
    /// Where fewer stand under the heading than were asked for: how many of each leg's best were
    /// looked at, if there are more.
    pub heading_among: Option<usize>,
    pub(crate) took: Took,
}

#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub documents: Vec<DocumentId>,
    pub metadata: Vec<(String, String)>,
    pub language: Option<String>,
    /// Kept are chunks under a heading that contains this, ignoring case.
    pub heading: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Hit {
    pub rank: usize,
    /// Of both legs, fused.
    pub score: f64,
    pub vector: Option<Leg>,
    pub text_leg: Option<Leg>,
    /// What the reranker gave it; hits that have one come in its order.
    pub rerank: Option<f64>,
    pub document: DocumentId,
    pub version: VersionId,
    pub source_uri: SourceUri,
    pub title: Option<String>,
    pub filename: String,
    /// How many parts of the document could not be read.
    pub gaps: usize,
    pub chunk: ChunkId,
    pub chunk_hash: ContentHash,
    pub heading_path: Vec<String>,
    pub text: String,
    pub pages: Vec<u32>,
    pub boxes: Vec<PageBox>,
    pub span: Span,
    /// Byte ranges of `text` that match the query.
    pub highlights: Vec<std::ops::Range<usize>>,
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// A chunk that may become a hit.
pub(crate) struct Candidate {
    pub fused: Fused,
    pub passage: Passage,
    pub rerank: Option<f64>,
}

/// Each leg brings this many times what is asked for, so that fusion and the heading
/// filter have something to choose from.
const LEG_FACTOR: usize = 4;
const LEG_LEAST: usize = 50;
/// While too few pass the heading filter, each leg is asked again for so many times as many,
const DEEPER: usize = 8;
/// up to this many.
const DEEPEST: usize = 10_000;

/// As many as were asked for, in their final order, and how they came to be.
struct Best {
    found: Vec<Candidate>,
    reranked: Option<Reranked>,
    heading_among: Option<usize>,
}

/// What is looked for, and among what.
struct Asked<'a> {
    request: &'a Request,
    meaning: Option<Meaning>,
    snapshot: &'a Snapshot,
    space: Space,
    live: &'a RoaringBitmap,
}

impl Engine {
    pub async fn search(&self, kb: &Kb, request: &Request) -> Result<Found, Error> {
        let found = self.find(kb, request).await?;
        query_line::log(kb, request, &found, None);
        Ok(found)
    }

    pub(crate) async fn find(&self, kb: &Kb, request: &Request) -> Result<Found, Error> {
        let mut kb = Cow::Borrowed(kb);
        loop {
            let mut all = None;
            let answer = self.timed(Timed::Search, self.answer(&kb, request));
            let answer = noting(&mut all, answer).await;
            let Err(Error::Catalog(catalog::Error::Retired { .. })) = answer else {
                return answer.map(|found| found.within(all));
            };
            // Switched since the caller looked: what serves now answers.
            kb = Cow::Owned(self.parts.catalog.kb(kb.tenant, kb.id).await?);
        }
    }

    async fn answer(&self, kb: &Kb, request: &Request) -> Result<Found, Error> {
        if request.query.trim().is_empty() {
            return Err(Error::BadRequest {
                what: "the query is empty",
                why: "write what you are looking for".to_owned(),
            });
        }
        let reranker = self.reranker(request)?;
        // Before it is asked whether it serves: from here on the index keeps it.
        let _reading = self.readers.enter(kb.serving.id);
        let live = self
            .parts
            .catalog
            .live(
                kb.tenant,
                kb.id,
                LiveFilter {
                    as_of: request.as_of,
                    generation: Some(kb.serving.id),
                    documents: request.filter.documents.clone(),
                    metadata: request.filter.metadata.clone(),
                    language: request.filter.language.clone(),
                },
            )
            .await?;
        let snapshot = self.view(live.at_least).await?;
        let space = Space {
            tenant: kb.tenant,
            kb: kb.id,
            generation: kb.serving.id,
        };
        let mut took = Took::default();
        let (meaning, words_only) = match self.meaning(kb, request, &mut took).await {
            Ok(meaning) => (meaning, None),
            // The words of a query answer without the model, where they are searched for at all.
            Err(error) => match error.model_is_silent() {
                Some(why) if request.asks_words() => (None, Some(why)),
                _ => return Err(error),
            },
        };
        let asked = Asked {
            request,
            meaning,
            snapshot: &snapshot,
            space,
            live: &live.numbers,
        };
        let Best {
            found,
            reranked,
            heading_among,
        } = self.best(reranker, &asked, &mut took).await?;
        let hits = self.dress(kb, request, &snapshot, space, found).await?;
        Ok(Found {
            hits,
            reranked,
            query_parts: asked.meaning.map(|meaning| meaning.parts),
            words_only,
            forgotten: live.forgotten,
            heading_among,
            took,
        })
    }

    /// What the query means to the model that serves, unless only its words are searched for.
    async fn meaning(
        &self,
        kb: &Kb,
        request: &Request,
        took: &mut Took,
    ) -> Result<Option<Meaning>, Error> {
        if !request.asks_meaning() {
            return Ok(None);
        }
        let model = self.asked_model(&kb.serving)?;
        let meaning = question::meaning(&*model.embedder, &request.query);
        noting(&mut took.embed, meaning).await.map(Some)
    }

    /// As many as are asked for, in their final order.
    async fn best(
        &self,
        reranker: Option<&dyn Reranker>,
        asked: &Asked<'_>,
        took: &mut Took,
    ) -> Result<Best, Error> {
        let request = asked.request;
        let most = match reranker {
            Some(_) => request.top.max(self.candidates()),
            None => request.top,
        };
        // The same whether this request is reranked or not: so is the fused order.
        let depth = (request.top * LEG_FACTOR).max(LEG_LEAST);
        let depth = depth.max(self.candidates());
        let (mut found, heading_among) = asked.candidates(depth, most, took).await?;
        let mut reranked = None;
        if let Some(reranker) = reranker.filter(|_| !found.is_empty()) {
            let asking = self.rerank(reranker, &request.query, found);
            let (ranked, outcome) = noting(&mut took.rerank, asking).await;
            (found, reranked) = (ranked, Some(outcome));
        }
        found.truncate(request.top);
        Ok(Best {
            found,
            reranked,
            heading_among,
        })
    }

    async fn dress(
        &self,
        kb: &Kb,
        request: &Request,
        snapshot: &Snapshot,
        space: Space,
        found: Vec<Candidate>,
    ) -> Result<Vec<Hit>, Error> {
        let numbers: Vec<u32> = found.iter().map(|one| one.passage.number).collect();
        let rows = self
            .parts
            .catalog
            .versions_by_number(kb.tenant, kb.id, &numbers)
            .await?;
        let rows: HashMap<u32, VersionRow> =
            rows.into_iter().map(|row| (row.number, row)).collect();
        let catalog = &*self.parts.catalog;
        let mut neighbours = Neighbours::new(catalog, snapshot, space, request.neighbours);
        let mut hits = Vec::with_capacity(found.len());
        for candidate in found {
            let Candidate { fused, passage, .. } = candidate;
            // Purged between the active set and now: it no longer answers.
            let Some(row) = rows.get(&passage.number) else {
                continue;
            };
            let (before, after) = neighbours.of(&passage).await?;
            let chunk = passage.chunk;
            hits.push(Hit {
                rank: hits.len() + 1,
                score: fused.score,
                vector: fused.vector,
                text_leg: fused.text,
                rerank: candidate.rerank,
                document: row.document,
                version: row.version,
                source_uri: row.source_uri.clone(),
                title: row.title.clone(),
                filename: row.filename.clone(),
                gaps: row.gaps.len(),
                chunk: passage.id,
                chunk_hash: chunk.text_hash(),
                highlights: pipeline::query::highlights(&request.query, &chunk.text),
                heading_path: chunk.heading_path,
                text: chunk.text,
                pages: chunk.pages,
                boxes: chunk.boxes,
                span: chunk.span,
                before,
                after,
            });
        }
        Ok(hits)
    }
}

impl Asked<'_> {
    /// The first `most` chunks that pass the heading filter. A leg knows nothing of headings, so
    /// while too few pass and it has more, it is asked for more; and where that has an end, how
    /// many were looked at is said.
    async fn candidates(
        &self,
        mut depth: usize,
        most: usize,
        took: &mut Took,
    ) -> Result<(Vec<Candidate>, Option<usize>), Error> {
        loop {
            let [vector, text] = self.legs(depth, took).await?;
            let all = vector.len() < depth && text.len() < depth;
            let fused = fuse(&vector, &text, self.request.weights);
            let found = self.pick(fused, most).await?;
            if found.len() == most || all {
                return Ok((found, None));
            }
            match deeper(depth) {
                Some(more) => depth = more,
                None => return Ok((found, Some(depth))),
            }
        }
    }

    async fn legs(&self, depth: usize, took: &mut Took) -> Result<[Vec<(ChunkId, f32)>; 2], Error> {
        let (snapshot, space, live) = (self.snapshot, self.space, self.live);
        let mut vector = Vec::new();
        if let Some(meaning) = &self.meaning {
            let searching = snapshot.search_vector(space, &meaning.vector, live, depth);
            vector = noting(&mut took.vector, searching).await?;
        }
        let mut text = Vec::new();
        if self.request.asks_words() {
            let searching = snapshot.search_text(space, &self.request.query, live, depth);
            text = noting(&mut took.text, searching).await?;
        }
        let leg = |scored: Vec<index::Scored>| scored.into_iter().map(|s| (s.id, s.score));
        Ok([vector, text].map(|scored| leg(scored).collect()))
    }

    async fn pick(&self, fused: Vec<Fused>, most: usize) -> Result<Vec<Candidate>, Error> {
        let mut found = Vec::with_capacity(most);
        for fused in fused {
            if found.len() == most {
                break;
            }
            let passage = match self.snapshot.passage(self.space, &fused.id).await {
                Ok(Some(passage)) => passage,
                Ok(None) => continue,
                // One damaged chunk must not keep the others from answering.
                Err(error @ index::Error::Corrupt { .. }) => {
                    tracing::warn!(chunk = %fused.id, %error, "a chunk is left out: run verify");
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if self.request.filter.admits(&passage.chunk.heading_path) {
                found.push(Candidate {
                    fused,
                    passage,
                    rerank: None,
                });
            }
        }
        Ok(found)
    }
}

/// How many to ask each leg for after `depth` were too few, if it is asked again.
fn deeper(depth: usize) -> Option<usize> {
    (depth < DEEPEST).then(|| (depth * DEEPER).min(DEEPEST))
}

impl Found {
    fn within(mut self, all: Option<Duration>) -> Self {
        self.took.all = all;
        self
    }
}

impl Filter {
    fn admits(&self, heading_path: &[String]) -> bool {
        self.heading.as_ref().is_none_or(|wanted| {
            let wanted = wanted.to_lowercase();
            heading_path
                .iter()
                .any(|heading| heading.to_lowercase().contains(&wanted))
        })
    }
}
