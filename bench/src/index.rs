//! The embedded index: recall, queries, build, disk, opening, ingest.
//!
//! Clustered, seeded vectors of 384 dimensions. FAISS (`bench/peers/faiss_ivf.py`) answers the same queries in the same run at no less
//! recall than ours, one thread; its index is in memory, ours is warm in a cache
//! whose size is a figure. Sizes come from `BENCH_INDEX_SIZES` (comma-separated;
//! without it 10,000 and 100,000).

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use ::index::{Fence, Flush, Index, IndexedChunk, Settings, Space, UnitPlace};
use anyhow::{Context, bail};
use model::{
    Chunk, ContentHash, GenerationId, KbId, ModelName, Span, TenantId, UnitName, VersionId,
};
use object_store::local::LocalFileSystem;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use roaring::RoaringBitmap;
use uuid::Uuid;

use crate::peers;
use crate::report::{Report, cpu_time, resident};

const DIMENSIONS: usize = 384;
const QUERIES: usize = 300;
const TOP: usize = 10;
/// Chunks of a version, all in one unit.
const CHUNKS: usize = 100;

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let sizes = std::env::var("BENCH_INDEX_SIZES").unwrap_or_else(|_| "10000,100000".to_owned());
    let sizes = sizes.split(',').map(str::trim);
    let mut times = Vec::new();
    for size in sizes.map(str::parse::<usize>) {
        times.push(runtime.block_on(one_size(report, size?))?);
    }
    for pair in times.windows(2) {
        report.figure(
            "growth of query time per step in size",
            pair[1] / pair[0],
            "times",
        );
    }
    Ok(())
}

struct Data {
    vectors: Vec<f32>,
    queries: Vec<f32>,
}

impl Data {
    /// A tenth as many clusters as a hundred vectors need; spread so that neighbours overlap.
    fn new(size: usize) -> Self {
        let mut rng = StdRng::seed_from_u64(size as u64);
        let centers: Vec<Vec<f32>> = (0..(size / 100).max(10))
            .map(|_| {
                (0..DIMENSIONS)
                    .map(|_| rng.random_range(-1.0_f32..1.0))
                    .collect()
            })
            .collect();
        let mut draw = |count: usize| {
            let mut all = Vec::with_capacity(count * DIMENSIONS);
            for _ in 0..count {
                let center = &centers[rng.random_range(0..centers.len())];
                let raw: Vec<f32> = center
                    .iter()
                    .map(|c| c + rng.random_range(-1.2..1.2))
                    .collect();
                let length = dot(&raw, &raw).sqrt();
                all.extend(raw.iter().map(|x| x / length));
            }
            all
        };
        Self {
            vectors: draw(size),
            queries: draw(QUERIES),
        }
    }

    fn vector(&self, at: usize) -> &[f32] {
        &self.vectors[at * DIMENSIONS..(at + 1) * DIMENSIONS]
    }

    fn queries(&self) -> impl Iterator<Item = &[f32]> {
        self.queries.chunks_exact(DIMENSIONS)
    }

    fn size(&self) -> usize {
        self.vectors.len() / DIMENSIONS
    }

    /// For each query the places of the best among those that pass.
    fn truth(&self, passes: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let of = |query: &[f32]| {
            let mut all: Vec<(f32, usize)> = (0..self.size())
                .filter(|at| passes(*at))
                .map(|at| (dot(self.vector(at), query), at))
                .collect();
            all.select_nth_unstable_by(TOP, |a, b| b.0.total_cmp(&a.0));
            all.truncate(TOP);
            all.into_iter().map(|(_, at)| at).collect()
        };
        self.queries().map(of).collect()
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    for (a, b) in a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0) {
        for lane in 0..16 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum()
}

fn space() -> Space {
    Space {
        tenant: TenantId::from_uuid(Uuid::from_u128(1)),
        kb: KbId::from_uuid(Uuid::from_u128(2)),
        generation: GenerationId::from_uuid(Uuid::from_u128(3)),
    }
}

fn version(number: u32) -> VersionId {
    VersionId::from_uuid(Uuid::from_u128(1000 + u128::from(number)))
}

fn chunk(data: &Data, at: usize, rng: &mut StdRng) -> IndexedChunk {
    let words: Vec<String> = (0..120)
        .map(|_| {
            format!(
                "w{}",
                (rng.random_range(0.0_f64..1.0).powi(4) * 50_000.0) as u32
            )
        })
        .collect();
    let text = words.join(" ");
    let len = text.len() as u64;
    let span = Span {
        byte_start: 0,
        byte_end: len,
        char_start: 0,
        char_end: len,
    };
    IndexedChunk {
        input_hash: ContentHash::of(text.as_bytes()),
        chunk: Chunk {
            ordinal: (at % CHUNKS) as u32,
            span,
            text,
            tokens: 120,
            heading_path: Vec::new(),
            pages: vec![1],
            boxes: Vec::new(),
        },
        vector: data.vector(at).to_vec(),
        language: None,
    }
}

async fn open(folder: &Path, settings: Settings) -> anyhow::Result<Index> {
    let slate = folder.join("index");
    std::fs::create_dir_all(&slate)?;
    let objects = LocalFileSystem::new_with_prefix(slate)?.with_fsync(true);
    Ok(Index::open(settings, Arc::new(objects), folder.join("text")).await?)
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
        let place = UnitPlace {
            space: space(),
            version: version(number as u32),
            number: number as u32,
            unit: UnitName::new("u")?,
        };
        last = Some(index.replace_unit(place, Fence(1), &model, chunks).await?);
    }
    last.context("nothing to ingest")?.durable().await?;
    Ok(bytes)
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
    let before = cpu_time();
    for _ in 0..2 {
        for query in data.queries() {
            snapshot.search_vector(space(), query, live, TOP).await?;
        }
    }
    let spent = cpu_time() - before;
    let recall = hits as f64 / (QUERIES * TOP) as f64;
    Ok((recall, 2.0 * QUERIES as f64 / spent.as_secs_f64()))
}

async fn one_size(report: &mut Report, size: usize) -> anyhow::Result<f64> {
    let data = Data::new(size);
    let folder = tempfile::tempdir_in(concat!(env!("CARGO_MANIFEST_DIR"), "/out"))?;
    let name = |what: &str| format!("{size} vectors: {what}");
    let cache_bytes = (size * DIMENSIONS * 4 * 5 / 4).max(256 << 20);
    let settings = Settings {
        cache_bytes,
        ..Settings::default()
    };
    let index = open(folder.path(), settings).await?;
    let (began, cpu) = (Instant::now(), cpu_time());
    let bytes = ingest(&index, &data).await?;
    let rate = size as f64 / began.elapsed().as_secs_f64();
    let cpu_rate = size as f64 / (cpu_time() - cpu).as_secs_f64();
    let raw = raw_rate(folder.path(), size, bytes).await?;
    report.against(
        name("chunks ingested, durable"),
        rate,
        "/s",
        ("raw SlateDB, same bytes", raw),
    );
    report.figure(name("chunks ingested per CPU-second"), cpu_rate, "/s");

    let all: RoaringBitmap = (0..(size / CHUNKS) as u32).collect();
    let (recall, rate) = measure(&index, &data, &all, &data.truth(|_| true)).await?;
    report.figure(name("recall@10"), recall, "");
    report.figure(name("cache"), cache_bytes as f64 / 1e6, "MB");
    let peers = faiss(folder.path(), &data, recall)?;
    for peer in &peers {
        let label = format!("{} at recall {:.3}", peer.name, peer.recall);
        report.against(
            name("queries per CPU-second"),
            rate,
            "/s",
            (&label, peer.rate),
        );
    }
    few_live(report, &index, &data).await?;
    index.close().await?;
    report.figure(name("on disk"), disk(folder.path()) as f64 / 1e6, "MB");
    report.figure(
        name("vectors alone"),
        (size * DIMENSIONS * 4) as f64 / 1e6,
        "MB",
    );
    opening(report, folder.path(), &data, size).await?;
    Ok(1.0 / rate)
}

async fn few_live(report: &mut Report, index: &Index, data: &Data) -> anyhow::Result<()> {
    let size = data.size();
    let tenth: RoaringBitmap = (0..(size / CHUNKS) as u32).step_by(10).collect();
    let truth = data.truth(|at| (at / CHUNKS).is_multiple_of(10));
    let (recall, rate) = measure(index, data, &tenth, &truth).await?;
    report.figure(
        format!("{size} vectors, 90 % inactive: recall@10"),
        recall,
        "",
    );
    report.figure(
        format!("{size} vectors, 90 % inactive: queries per CPU-second"),
        rate,
        "/s",
    );
    index.compact(space(), &tenth).await?;
    let (recall, rate) = measure(index, data, &tenth, &truth).await?;
    report.figure(
        format!("{size} vectors, 90 % inactive, compacted: recall@10"),
        recall,
        "",
    );
    let name = format!("{size} vectors, 90 % inactive, compacted: queries per CPU-second");
    report.figure(name, rate, "/s");
    Ok(())
}

async fn opening(
    report: &mut Report,
    folder: &Path,
    data: &Data,
    size: usize,
) -> anyhow::Result<()> {
    let before = resident();
    let began = Instant::now();
    let index = open(folder, Settings::default()).await?;
    let snapshot = index.snapshot(Flush(0)).await?;
    let query = data.queries().next().context("there are queries")?;
    let all: RoaringBitmap = (0..(size / CHUNKS) as u32).collect();
    snapshot.search_vector(space(), query, &all, TOP).await?;
    let took = began.elapsed().as_secs_f64();
    let grown = resident().saturating_sub(before) as f64 / 1e6;
    report.figure(
        format!("{size} vectors: opened and first query answered"),
        took,
        "s",
    );
    report.figure(
        format!("{size} vectors: memory grown by opening"),
        grown,
        "MB",
    );
    index.close().await?;
    Ok(())
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

fn disk(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => disk(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

#[derive(serde::Deserialize)]
struct Peer {
    name: String,
    recall: f64,
    rate: f64,
}

fn faiss(folder: &Path, data: &Data, recall: f64) -> anyhow::Result<Vec<Peer>> {
    let python = peers::python("faiss", &["faiss-cpu", "numpy"])?;
    write_floats(&folder.join("vectors.f32"), &data.vectors)?;
    write_floats(&folder.join("queries.f32"), &data.queries)?;
    let said = Command::new(python)
        .arg(peers::root().join("bench/peers/faiss_ivf.py"))
        .args([folder.as_os_str(), recall.to_string().as_ref()])
        .output()?;
    std::fs::remove_file(folder.join("vectors.f32"))?;
    std::fs::remove_file(folder.join("queries.f32"))?;
    if !said.status.success() {
        bail!("faiss_ivf.py: {}", String::from_utf8_lossy(&said.stderr));
    }
    let lines = String::from_utf8(said.stdout)?;
    Ok(lines
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}

fn write_floats(path: &Path, values: &[f32]) -> anyhow::Result<()> {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    Ok(std::fs::write(path, bytes)?)
}
