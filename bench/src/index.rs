//! The embedded index: recall, queries, build, disk, opening, ingest.
//!
//! Clustered, seeded vectors of 384 dimensions. FAISS answers the same queries in
//! the same run, one at a time on one thread, with the fastest setting that finds
//! no less than ours did; its index is in memory, ours is warm in a cache whose
//! size is a figure. Sizes come from `BENCH_INDEX_SIZES` (comma-separated; without
//! it 10,000 and 100,000); with `BENCH_INDEX_ALONE` FAISS, whose training takes most of the time at a
//! million, is left out. Up to 200,000 a chunk has the text of a real one and
//! ingest is the whole path; beyond, vectors are the topic and a chunk has a word.

mod data;
mod disk;
mod opening;
mod peer;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::index::{Fence, Flush, Index, IndexedChunk, Settings, Space, UnitPlace};
use anyhow::Context;
use model::{
    Chunk, ContentHash, GenerationId, KbId, ModelName, Span, TenantId, UnitName, VersionId,
};
use object_store::local::LocalFileSystem;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use roaring::RoaringBitmap;
use uuid::Uuid;

use crate::report::{Report, cpu_time};
use data::Data;
pub use opening::open_index;

const DIMENSIONS: usize = 384;
const QUERIES: usize = 300;
const TOP: usize = 10;
/// Chunks of a version, all in one unit.
const CHUNKS: usize = 100;
/// Vectors up to which chunks have a text to index.
const WITH_TEXT: usize = 200_000;
/// Knowledge bases beside the one that is opened, where that is measured.
const OTHERS: u32 = 200;
/// CPU time that a rate is taken over, at least; FAISS's is taken over as much.
const LONG_ENOUGH: Duration = Duration::from_millis(300);

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let sizes = std::env::var("BENCH_INDEX_SIZES").unwrap_or_else(|_| "10000,100000".to_owned());
    let sizes = sizes.split(',').map(str::trim);
    let mut times = Vec::new();
    for size in sizes.map(str::parse::<usize>) {
        let size = size?;
        times.push((size, runtime.block_on(one_size(report, size))?));
    }
    for pair in times.windows(2) {
        let [(from, before), (to, after)] = pair else {
            continue;
        };
        let name = format!("query time, from {from} vectors to {to}");
        report.figure(name, after / before, "times");
    }
    Ok(())
}

fn space() -> Space {
    space_of(2)
}

fn space_of(kb: u128) -> Space {
    Space {
        tenant: TenantId::from_uuid(Uuid::from_u128(1)),
        kb: KbId::from_uuid(Uuid::from_u128(kb)),
        generation: GenerationId::from_uuid(Uuid::from_u128(3)),
    }
}

fn version(number: u32) -> VersionId {
    VersionId::from_uuid(Uuid::from_u128(1000 + u128::from(number)))
}

fn all_of(versions: usize) -> RoaringBitmap {
    (0..versions as u32).collect()
}

fn text(words: usize, rng: &mut StdRng) -> String {
    let word = |_| {
        let rank = rng.random_range(0.0_f64..1.0).powi(4) * 50_000.0;
        format!("w{}", rank as u32)
    };
    let words: Vec<String> = (0..words).map(word).collect();
    words.join(" ")
}

fn chunk(data: &Data, at: usize, rng: &mut StdRng) -> IndexedChunk {
    let words = if data.size() > WITH_TEXT { 1 } else { 120 };
    let text = text(words, rng);
    let len = text.len() as u64;
    let span = Span {
        byte_start: 0,
        byte_end: len,
        char_start: 0,
        char_end: len,
    };
    IndexedChunk {
        input_hash: ContentHash::of(&at.to_le_bytes()),
        chunk: Chunk {
            ordinal: (at % CHUNKS) as u32,
            span,
            atoms: 0..1,
            text,
            tokens: words as u32,
            heading_path: Vec::new(),
            pages: vec![1],
            boxes: Vec::new(),
        },
        vector: data.vector(at).to_vec(),
        language: None,
        reused: false,
    }
}

async fn open(folder: &Path, settings: Settings) -> anyhow::Result<Index> {
    let slate = folder.join("index");
    std::fs::create_dir_all(&slate)?;
    let objects = LocalFileSystem::new_with_prefix(slate)?.with_fsync(true);
    Ok(Index::open(settings, Arc::new(objects), folder.join("text")).await?)
}

fn place(space: Space, number: u32) -> anyhow::Result<UnitPlace> {
    Ok(UnitPlace {
        space,
        version: version(number),
        number,
        unit: UnitName::new("u")?,
    })
}

async fn ingest(index: &Index, data: &Data) -> anyhow::Result<u64> {
    let model = ModelName::new("bench", "none");
    let mut rng = StdRng::seed_from_u64(1);
    let mut bytes = 0;
    let mut last = None;
    for number in 0..data.size() / CHUNKS {
        let all = number * CHUNKS..(number + 1) * CHUNKS;
        let chunks: Vec<_> = all.map(|at| chunk(data, at, &mut rng)).collect();
        bytes += chunks
            .iter()
            .map(|c| c.chunk.text.len() + DIMENSIONS * 4)
            .sum::<usize>() as u64;
        let place = place(space(), number as u32)?;
        last = Some(index.replace_unit(place, Fence(1), &model, chunks).await?);
    }
    last.context("nothing to ingest")?.durable().await?;
    Ok(bytes)
}

/// Lets the stores' own work in the background come to its end.
async fn quiet() {
    let pause = Duration::from_millis(500);
    loop {
        let before = cpu_time();
        tokio::time::sleep(pause).await;
        if cpu_time() - before < pause / 20 {
            return;
        }
    }
}

/// Recall and queries per CPU-second over all queries, the cache warm.
async fn measure(
    index: &Index,
    data: &Data,
    live: &RoaringBitmap,
    truth: &[Vec<usize>],
) -> anyhow::Result<(f64, f64)> {
    let snapshot = index.snapshot(Flush(0)).await?;
    let mut hits = 0;
    for (query, truth) in data.queries().zip(truth) {
        let found = snapshot.search_vector(space(), query, live, TOP).await?;
        let at = |s: &::index::Scored| s.number as usize * CHUNKS + s.id.ordinal as usize;
        hits += found.iter().filter(|s| truth.contains(&at(s))).count();
    }
    quiet().await;
    let (mut asked, before) = (0, cpu_time());
    while cpu_time() - before < LONG_ENOUGH {
        for query in data.queries() {
            snapshot.search_vector(space(), query, live, TOP).await?;
        }
        asked += QUERIES;
    }
    let spent = cpu_time() - before;
    let recall = hits as f64 / (QUERIES * TOP) as f64;
    Ok((recall, asked as f64 / spent.as_secs_f64()))
}

async fn one_size(report: &mut Report, size: usize) -> anyhow::Result<f64> {
    let data = Data::new(size);
    let folder = tempfile::tempdir_in(concat!(env!("CARGO_MANIFEST_DIR"), "/out"))?;
    let name = format!("{size} vectors");
    let cache_bytes = (size * DIMENSIONS * 4 * 5 / 4).max(256 << 20);
    let settings = Settings {
        cache_bytes,
        ..Settings::default()
    };
    let index = open(folder.path(), settings).await?;
    let (built, bytes) = build(report, &index, folder.path(), &data).await?;
    let all = all_of(size / CHUNKS);
    let (recall, rate) = measure(&index, &data, &all, &data.truth(|_| true)).await?;
    report.figure(format!("{name}: recall@10"), recall, "");
    report.figure(format!("{name}: cache"), cache_bytes as f64 / 1e6, "MB");
    report.figure(format!("{name}: queries per CPU-second"), rate, "/s");
    let peers = match std::env::var_os("BENCH_INDEX_ALONE") {
        Some(_) => Vec::new(),
        None => peer::faiss(folder.path(), &data, recall)?,
    };
    for peer in peers {
        let label = format!("{} at recall {:.3}", peer.name, peer.recall);
        let what = format!("{name}: queries per CPU-second, and its peer's");
        report.against(what, rate, "/s", (&label, peer.rate));
        let what = format!("{name}: CPU-seconds to build, text and all");
        report.against(what, built.as_secs_f64(), "s", (&peer.name, peer.build));
    }
    few_live(report, &index, &data).await?;
    index.close().await?;
    disk::on_disk(report, &name, folder.path(), bytes).await?;
    opening::opening(report, &name, folder.path(), &data)?;
    add_others(folder.path()).await?;
    let name = format!("{name} beside {OTHERS} other knowledge bases");
    opening::opening(report, &name, folder.path(), &data)?;
    Ok(1.0 / rate)
}

/// Ingests all; the CPU time it took, and the bytes of texts and vectors there are now.
async fn build(
    report: &mut Report,
    index: &Index,
    folder: &Path,
    data: &Data,
) -> anyhow::Result<(Duration, u64)> {
    let size = data.size();
    let what = match size > WITH_TEXT {
        true => "chunks of one word",
        false => "chunks",
    };
    let (began, cpu) = (Instant::now(), cpu_time());
    let bytes = ingest(index, data).await?;
    let rate = size as f64 / began.elapsed().as_secs_f64();
    let spent = cpu_time() - cpu;
    let raw = raw_rate(folder, size, bytes).await?;
    let name = format!("{size} vectors: {what} ingested, durable");
    report.against(name, rate, "/s", ("raw SlateDB, same bytes", raw));
    let name = format!("{size} vectors: {what} ingested per CPU-second");
    report.figure(name, size as f64 / spent.as_secs_f64(), "/s");
    Ok((spent, bytes))
}

async fn few_live(report: &mut Report, index: &Index, data: &Data) -> anyhow::Result<()> {
    let size = data.size();
    let tenth: RoaringBitmap = (0..(size / CHUNKS) as u32).step_by(10).collect();
    let truth = data.truth(|at| (at / CHUNKS).is_multiple_of(10));
    for state in ["90 % inactive", "90 % inactive, compacted"] {
        if state.ends_with("compacted") {
            index.compact(space(), &tenth).await?;
        }
        let (recall, rate) = measure(index, data, &tenth, &truth).await?;
        let name = format!("{size} vectors, {state}");
        report.figure(format!("{name}: recall@10"), recall, "");
        report.figure(format!("{name}: queries per CPU-second"), rate, "/s");
    }
    Ok(())
}

/// Other knowledge bases, of a chunk each.
async fn add_others(folder: &Path) -> anyhow::Result<()> {
    let index = open(folder, Settings::default()).await?;
    let data = Data::new(CHUNKS);
    let model = ModelName::new("bench", "none");
    let mut rng = StdRng::seed_from_u64(2);
    for other in 0..OTHERS {
        let place = place(space_of(100 + u128::from(other)), 0)?;
        let chunks = vec![chunk(&data, 0, &mut rng)];
        index.replace_unit(place, Fence(1), &model, chunks).await?;
    }
    Ok(index.close().await?)
}

/// Chunks a second if their bytes were all there is to write.
async fn raw_rate(folder: &Path, size: usize, bytes: u64) -> anyhow::Result<f64> {
    let raw = folder.join("raw");
    std::fs::create_dir_all(&raw)?;
    let objects = LocalFileSystem::new_with_prefix(&raw)?.with_fsync(true);
    let db = slatedb::Db::open("raw", Arc::new(objects)).await?;
    let value = vec![7_u8; bytes as usize / size];
    let began = Instant::now();
    for first in (0..size).step_by(1000) {
        let mut batch = slatedb::WriteBatch::new();
        for at in first..(first + 1000).min(size) {
            batch.put((at as u64).to_be_bytes(), &value);
        }
        db.write(batch).await?;
    }
    db.flush().await?;
    let rate = size as f64 / began.elapsed().as_secs_f64();
    db.close().await?;
    std::fs::remove_dir_all(raw)?;
    Ok(rate)
}
