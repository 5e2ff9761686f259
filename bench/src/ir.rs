//! nDCG@10 of search by text, by vector and by both, on Cranfield and CISI.
//!
//! The documents go the way an ingest takes: parsed as Markdown, cut, embedded under their
//! headings, and into the index; a document stands where its best chunk stands. The share of
//! the text leg is varied; the vectors are made of the text alone as well, to see what the
//! headings are worth, and in eight bits, to see what those lose.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use index::{Fence, Flush, Index, IndexedChunk, Snapshot, Space, UnitPlace};
use model::{
    Chunk, ChunkId, ChunkPolicy, ContentHash, GenerationId, KbId, TenantId, Unit, VersionId,
};
use pipeline::query::{Weights, blend, fuse, parts};
use providers::{Embedder, LocalEmbedder, Precision};
use roaring::RoaringBitmap;
use serde::Deserialize;
use uuid::Uuid;

use crate::peers::{eval_folder, model_folder};
use crate::report::Report;

/// Chunks of each leg: enough for ten documents.
const DEPTH: usize = 100;
/// The set's own BM25 (k1 0.9, b 0.4), as its README gives it.
const BASELINE: [(&str, f64); 2] = [("cranfield", 0.497), ("cisi", 0.368)];

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let Some(folder) = eval_folder() else {
        println!("embed-ir: the test collections are not here");
        return Ok(());
    };
    let cores = std::thread::available_parallelism()?.get();
    let open = |precision| crate::embed::open(&model_folder()?, cores, precision);
    let (full, eight_bit) = (open(Precision::Full)?, open(Precision::EightBit)?);
    let runtime = tokio::runtime::Runtime::new()?;
    for (name, baseline) in BASELINE {
        let collection = folder.join("ir").join(name);
        for (embedder, headings, form) in [
            (&full, true, ""),
            (&full, false, ", without headings"),
            (&eight_bit, true, ", eight bits"),
        ] {
            for (way, score) in runtime.block_on(scores(embedder, &collection, headings))? {
                let name = format!("nDCG@10, {name}, {way}{form}");
                report.against(name, score, "", ("BM25", baseline));
            }
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Entry {
    _id: String,
    #[serde(default)]
    title: String,
    text: String,
}

fn entries(path: &Path) -> anyhow::Result<Vec<Entry>> {
    let text = std::fs::read_to_string(path)?;
    let entry = |line| serde_json::from_str(line).context("a line of the collection");
    text.lines().map(entry).collect()
}

/// How much text counts beside the vectors' 1; without a text weight, vectors alone.
const SHARES: [f64; 6] = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0];

async fn scores(
    embedder: &LocalEmbedder,
    collection: &Path,
    headings: bool,
) -> anyhow::Result<Vec<(String, f64)>> {
    let documents = entries(&collection.join("corpus.jsonl"))?;
    let place = tempfile::tempdir()?;
    let library = Library::fill(embedder, &documents, place.path(), headings).await?;
    let judged = judgements(&collection.join("qrels/test.tsv"))?;
    let both = |text| Weights { vector: 1.0, text };
    let mut ways = vec![
        (
            "text".to_owned(),
            Weights {
                vector: 0.0,
                text: 1.0,
            },
        ),
        ("vector".to_owned(), both(0.0)),
    ];
    ways.extend(SHARES.map(|share| (format!("hybrid 1:{share}"), both(share))));
    let mut totals = vec![0.0; ways.len()];
    let mut count = 0.0;
    for query in entries(&collection.join("queries.jsonl"))? {
        let Some(gains) = judged.get(&query._id) else {
            continue;
        };
        let legs = library.legs(embedder, &query.text).await?;
        for ((_, weights), total) in ways.iter().zip(&mut totals) {
            let order = ranked(&legs, *weights);
            let found = order
                .iter()
                .map(|at| gains.get(&documents[*at]._id).copied());
            let mut ideal: Vec<f64> = gains.values().copied().collect();
            ideal.sort_by(|a, b| b.total_cmp(a));
            *total += dcg(found.map(|gain| gain.unwrap_or(0.0))) / dcg(ideal.into_iter());
        }
        count += 1.0;
    }
    let names = ways.into_iter().map(|(name, _)| name);
    Ok(names
        .zip(totals.iter().map(|total| total / count))
        .collect())
}

type Legs = [Vec<(ChunkId, f32)>; 2];

/// Documents in the order of their best chunks.
fn ranked([vector, text]: &Legs, weights: Weights) -> Vec<usize> {
    let mut order = Vec::new();
    for fused in fuse(vector, text, weights) {
        let at = fused.id.version.as_uuid().as_u128() as usize;
        if !order.contains(&at) {
            order.push(at);
        }
    }
    order
}

/// A collection in an index of its own.
struct Library {
    snapshot: Snapshot,
    space: Space,
    live: RoaringBitmap,
}

impl Library {
    async fn fill(
        embedder: &LocalEmbedder,
        documents: &[Entry],
        place: &Path,
        headings: bool,
    ) -> anyhow::Result<Self> {
        let objects = Arc::new(object_store::memory::InMemory::new());
        let index = Index::open(index::Settings::default(), objects, place.to_owned()).await?;
        let space = Space {
            tenant: TenantId::from_uuid(Uuid::nil()),
            kb: KbId::from_uuid(Uuid::nil()),
            generation: GenerationId::from_uuid(Uuid::nil()),
        };
        let mut last = None;
        for (from, some) in documents.chunks(256).enumerate() {
            let cut: Vec<Cut> = (from * 256..)
                .zip(some)
                .map(|(at, document)| cut(embedder, at, document, headings))
                .collect::<anyhow::Result<Vec<_>>>()?
                .concat();
            let inputs: Vec<String> = cut.iter().map(|cut| cut.input.clone()).collect();
            let vectors = embedder.embed_passages(&inputs).await?;
            for (place, chunks) in units(space, cut, vectors) {
                let model = &embedder.info().name;
                last = Some(index.replace_unit(place, Fence(1), model, chunks).await?);
            }
        }
        let flush = match last {
            Some(receipt) => receipt.durable().await?,
            None => Flush(0),
        };
        Ok(Self {
            snapshot: index.snapshot(flush).await?,
            space,
            live: (0..documents.len() as u32).collect(),
        })
    }

    async fn legs(&self, embedder: &LocalEmbedder, query: &str) -> anyhow::Result<Legs> {
        let vector = meaning(embedder, query).await?;
        let (snapshot, live) = (&self.snapshot, &self.live);
        let vector = snapshot.search_vector(self.space, &vector, live, DEPTH);
        let vector = vector.await?;
        let text = snapshot.search_text(self.space, query, live, DEPTH).await?;
        let leg = |scored: Vec<index::Scored>| scored.into_iter().map(|s| (s.id, s.score));
        Ok([leg(vector).collect(), leg(text).collect()])
    }
}

/// As a search does it: some of CISI's questions are whole abstracts, longer than the model reads.
async fn meaning(embedder: &LocalEmbedder, query: &str) -> anyhow::Result<Vec<f32>> {
    let parts = parts(query, embedder.info().max_tokens, &*embedder.tokens());
    let mut vectors = Vec::with_capacity(parts.len());
    for part in &parts {
        vectors.push(embedder.embed_query(&part.text).await?);
    }
    Ok(match vectors.len() {
        1 => vectors.remove(0),
        _ => blend(&parts, &vectors),
    })
}

#[derive(Clone)]
struct Cut {
    document: usize,
    unit: model::UnitName,
    chunk: Chunk,
    input: String,
}

fn cut(
    embedder: &LocalEmbedder,
    document: usize,
    entry: &Entry,
    headings: bool,
) -> anyhow::Result<Vec<Cut>> {
    let limit = embedder.info().max_tokens;
    let tokens = embedder.tokens();
    let page = format!("# {}\n\n{}\n", entry.title.trim(), entry.text);
    let hints = parse::Hints {
        filename: Some("entry.md".to_owned()),
        media_type: None,
    };
    let parsed = parse::parse(page.as_bytes(), &hints, &parse::Limits::default())?;
    let cut = |unit: &Unit| {
        let chunks = pipeline::chunk::chunk(unit, ChunkPolicy::for_limit(limit), &*tokens);
        let made = |chunk: Chunk| Cut {
            document,
            unit: unit.name.clone(),
            input: if headings {
                pipeline::chunk::embedder_input(&chunk, limit as usize, &*tokens).0
            } else {
                chunk.text.clone()
            },
            chunk,
        };
        chunks.into_iter().map(made).collect::<Vec<_>>()
    };
    Ok(pipeline::units::units(&parsed)
        .iter()
        .flat_map(cut)
        .collect())
}

/// The chunks by unit, each with its vector.
fn units(
    space: Space,
    cut: Vec<Cut>,
    vectors: Vec<Vec<f32>>,
) -> Vec<(UnitPlace, Vec<IndexedChunk>)> {
    let mut units: BTreeMap<(usize, String), (UnitPlace, Vec<IndexedChunk>)> = BTreeMap::new();
    for (cut, vector) in cut.into_iter().zip(vectors) {
        let place = UnitPlace {
            space,
            version: VersionId::from_uuid(Uuid::from_u128(cut.document as u128)),
            number: cut.document as u32,
            unit: cut.unit.clone(),
        };
        let key = (cut.document, cut.unit.to_string());
        let (_, chunks) = units.entry(key).or_insert((place, Vec::new()));
        chunks.push(IndexedChunk {
            input_hash: ContentHash::of(cut.input.as_bytes()),
            chunk: cut.chunk,
            vector,
            language: Some("en".to_owned()),
            reused: false,
        });
    }
    units.into_values().collect()
}

fn dcg(gains: impl Iterator<Item = f64>) -> f64 {
    let places = gains.take(10).zip(2..);
    places.map(|(gain, n)| gain / f64::from(n).log2()).sum()
}

type Judgements = BTreeMap<String, BTreeMap<String, f64>>;

/// Only documents found relevant count.
fn judgements(path: &Path) -> anyhow::Result<Judgements> {
    let mut judged = Judgements::new();
    for line in std::fs::read_to_string(path)?.lines().skip(1) {
        let mut fields = line.split('\t');
        let mut field = || fields.next().context("query, document, score");
        let (query, document, score) = (field()?, field()?, field()?.parse::<f64>()?);
        if score > 0.0 {
            let of_query = judged.entry(query.to_owned()).or_default();
            of_query.insert(document.to_owned(), score);
        }
    }
    Ok(judged)
}
