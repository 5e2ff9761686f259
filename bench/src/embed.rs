//! The local embedder beside onnxruntime and tokenizers, with the same weights.
//!
//! The same texts go through both, on one thread (per second of CPU) and on all cores
//! (per second); the least agreement of their vectors stands in the table.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};
use providers::{Embedder, LocalEmbedder, LocalSettings, Precision};
use serde::{Deserialize, Serialize};

use crate::peers::{model_folder, python, root};
use crate::report::{Report, cpu_time, resident};

/// The best of them counts, so that a neighbour on the machine does not.
const ROUNDS: usize = 8;
pub const PACKAGES: [&str; 4] = [
    "onnxruntime==1.31.1",
    "onnx==1.23.2",
    "tokenizers==0.23.3",
    "numpy==2.4.6",
];
const PEER: &str = "onnxruntime";

#[derive(Serialize)]
pub struct Case {
    pub texts: Vec<String>,
    batch: usize,
    rounds: usize,
}

#[derive(Serialize)]
struct Request<'a> {
    cases: &'a BTreeMap<String, Case>,
    vectors: &'a Path,
}

#[derive(Deserialize)]
struct Answer {
    seconds: BTreeMap<String, f64>,
    cpu: BTreeMap<String, f64>,
    memory: f64,
}

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let folder = model_folder()?;
    let cases = cases();
    let cores = std::thread::available_parallelism()?.get();
    for threads in [1, cores] {
        measure(report, &folder, &cases, threads)?;
    }
    Ok(())
}

fn measure(
    report: &mut Report,
    folder: &Path,
    cases: &BTreeMap<String, Case>,
    threads: usize,
) -> anyhow::Result<()> {
    let (theirs, their_vectors) = peer(folder, cases, threads)?;
    let embedder = open(folder, threads, Precision::Full)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let mut agreement = f32::INFINITY;
    let mut their_vectors = their_vectors.chunks_exact(embedder.info().dimension as usize);
    for (name, case) in cases {
        let (wall, cpu, vectors) = runtime.block_on(timed(&embedder, case))?;
        for vector in &vectors {
            let theirs = their_vectors.next().context("a vector for each text")?;
            agreement = agreement.min(cosine(vector, theirs));
        }
        let rate = |seconds: f64| case.texts.len() as f64 / seconds;
        let (ours, theirs, unit) = if threads == 1 {
            (cpu, theirs.cpu[name], "texts/cpu-s")
        } else {
            (wall, theirs.seconds[name], "texts/s")
        };
        let name = format!("{name}, {threads} threads");
        report.against(name, rate(ours), unit, (PEER, rate(theirs)));
    }
    let name = format!("least cosine with {PEER}, {threads} threads");
    report.figure(name, f64::from(agreement), "");
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    let name = format!("memory, {threads} threads");
    let peer = (PEER, mib(theirs.memory));
    report.against(name, mib(resident() as f64), "MiB", peer);
    Ok(())
}

/// The best wall and CPU seconds, and the vectors.
pub async fn timed(
    embedder: &LocalEmbedder,
    case: &Case,
) -> anyhow::Result<(f64, f64, Vec<Vec<f32>>)> {
    let mut best = (f64::MAX, f64::MAX, Vec::new());
    for _ in 0..case.rounds {
        let (start, used) = (Instant::now(), cpu_time());
        best.2 = embedder.embed_passages(&case.texts).await?;
        best.0 = best.0.min(start.elapsed().as_secs_f64());
        best.1 = best.1.min((cpu_time() - used).as_secs_f64());
    }
    Ok(best)
}

pub fn cases() -> BTreeMap<String, Case> {
    let equal = |tokens: usize, count: usize| vec![tokens - 2; count];
    // Many short and a few long, as chunks of real documents are.
    let mixed = (0..64).map(|n| 6 + (n * 37 % 64) * (n * 37 % 64) / 16);
    let lengths = [
        ("32 tokens", equal(32, 128)),
        ("128 tokens", equal(128, 32)),
        ("256 tokens", equal(256, 16)),
        ("mixed lengths", mixed.collect()),
    ];
    let case = |(name, lengths): (&str, Vec<usize>)| {
        let case = Case {
            texts: lengths.iter().enumerate().map(text).collect(),
            batch: 32,
            rounds: ROUNDS,
        };
        (name.to_owned(), case)
    };
    lengths.into_iter().map(case).collect()
}

/// `length` words that are one token each.
fn text((seed, length): (usize, &usize)) -> String {
    const WORDS: [&str; 13] = [
        "mill", "wheat", "river", "stone", "bread", "wheel", "wind", "grain", "field", "turns",
        "slowly", "under", "the",
    ];
    let word = |n| WORDS[(seed * 5 + n * n + n * 3) % WORDS.len()];
    (0..*length).map(word).collect::<Vec<_>>().join(" ")
}

fn peer(
    folder: &Path,
    cases: &BTreeMap<String, Case>,
    threads: usize,
) -> anyhow::Result<(Answer, Vec<f32>)> {
    let python = python("embed", &PACKAGES)?;
    let vectors = std::env::temp_dir().join(format!("embed-{}.f32", std::process::id()));
    let mut child = Command::new(python)
        .arg(root().join("bench/peers/embed.py"))
        .arg(folder)
        .arg(threads.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let request = Request {
        cases,
        vectors: &vectors,
    };
    serde_json::to_writer(child.stdin.take().context("a pipe")?, &request)?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the peer failed");
    let bytes = std::fs::read(&vectors)?;
    std::fs::remove_file(&vectors)?;
    let floats = bytes.as_chunks::<4>().0.iter();
    let floats = floats.map(|b| f32::from_le_bytes(*b)).collect();
    Ok((serde_json::from_slice(&output.stdout)?, floats))
}

pub fn open(folder: &Path, threads: usize, precision: Precision) -> anyhow::Result<LocalEmbedder> {
    Ok(LocalEmbedder::open(&LocalSettings {
        threads: Some(threads),
        precision,
        ..LocalSettings::of(folder)
    })?)
}

pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
