//! A thousand real Markdown and HTML files, from the folder to searchable, with the real model.
//!
//! Beside it, in the same run on the same files: the embedding of the very same chunks, all in
//! one call and nothing else, which is what an ingest cannot beat, and LlamaIndex's pipeline with the same
//! weights in onnxruntime. Then one file in a hundred is edited and all are ingested again.
//!
//! The files are this machine's own: crates' Markdown and the HTML of the toolchain's and the
//! system's documentation, the small ones, so that the run stays short.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use catalog::{JobCounters, Page};
use engine::{Engine, Objects, Parts, SystemClock};
use model::JobStatus;
use object_store::local::LocalFileSystem;
use providers::Precision;
use sandbox::{Program, Sandbox};
use serde::Deserialize;

use crate::corpus::{self, Sizes};
use crate::peers::{model_folder, python, root};
use crate::report::{Report, cpu_time};
use crate::source::Source;

const FILES: usize = 1_000;
const EDITED: usize = FILES / 100;
/// Often enough for the clock, and seldom enough to cost nothing itself.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
const MARKDOWN: Sizes = (400, 4_000);
const HTML: Sizes = (1_500, 9_000);
const LLAMA_INDEX: &str = "llama-index-core==0.14.25";
/// It takes minutes; a run that it hangs in is a figure lost, and not the night.
const PEER_SECONDS: u32 = 30 * 60;

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    // LlamaIndex reads nothing under a hidden folder.
    let files = tempfile::Builder::new().prefix("files-").tempdir()?;
    let bytes = gather(files.path())?;
    report.figure(format!("{FILES} files"), bytes as f64 / 1e6, "MB");
    tokio::runtime::Runtime::new()?.block_on(measure(report, files.path()))
}

async fn measure(report: &mut Report, files: &Path) -> anyhow::Result<()> {
    let data = tempfile::tempdir()?;
    let bench = Bench::open(data.path(), files).await?;
    let first = bench.ingest().await?;
    let inputs = bench.inputs().await?;
    report.figure("chunks", inputs.len() as f64, "");
    let embedder = &bench.engine.parts().embedder;
    let (begun, used) = (Instant::now(), cpu_time());
    embedder.embed_passages(&inputs).await?;
    let alone = begun.elapsed().as_secs_f64();
    let alone_cpu = (cpu_time() - used).as_secs_f64();
    report.against("ingest", first.wall, "s", ("embedding alone", alone));
    report.against(
        "ingest, CPU",
        first.cpu,
        "s",
        ("embedding alone", alone_cpu),
    );

    for n in 0..EDITED {
        // Of either kind as many.
        edit(&files.join(name(n * FILES / EDITED + n % 2)))?;
    }
    let again = bench.ingest().await?;
    let told = |counters: JobCounters| counters.chunks_processed as f64;
    report.against(
        "ingest again, 1 % edited",
        again.wall,
        "s",
        ("first", first.wall),
    );
    let embedded = told(again.counters);
    report.against(
        "chunks embedded again",
        embedded,
        "",
        ("first", told(first.counters)),
    );
    report.figure("documents skipped", again.counters.docs_skipped as f64, "");

    let peer = llama_index(files)?;
    report.against("ingest", first.wall, "s", ("LlamaIndex", peer.seconds));
    report.against("ingest, CPU", first.cpu, "s", ("LlamaIndex", peer.cpu));
    report.figure("chunks of LlamaIndex", peer.chunks, "");
    report.against(
        "chunks ingested",
        told(first.counters) / first.wall,
        "/s",
        ("LlamaIndex", peer.chunks / peer.seconds),
    );
    Ok(())
}

fn name(n: usize) -> String {
    let kind = if n.is_multiple_of(2) { "md" } else { "html" };
    format!("{n:04}.{kind}")
}

/// Half Markdown, half HTML, evenly taken from what there is.
fn gather(into: &Path) -> anyhow::Result<u64> {
    let mut total = 0;
    let kinds = [
        (0, "Markdown", corpus::markdown(MARKDOWN)),
        (1, "HTML", corpus::html(HTML)?),
    ];
    for (first, kind, found) in kinds {
        let wanted = FILES / 2;
        ensure!(
            found.len() >= wanted,
            "only {} {kind} files of that size here",
            found.len()
        );
        for n in 0..wanted {
            let from = &found[n * found.len() / wanted];
            total += std::fs::copy(from, into.join(name(2 * n + first)))?;
        }
    }
    Ok(total)
}

/// Says one thing more at the end of a paragraph in the middle, or of the last one there is.
fn edit(path: &Path) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(path)?;
    let ends: &[&str] = match path.extension().is_some_and(|kind| kind == "html") {
        // Not every page of documentation has paragraphs.
        true => &["</p>", "</li>", "</body>"],
        false => &["\n\n"],
    };
    let places = |end: &&str| text.match_indices(*end).map(|(at, _)| at).collect();
    let places: Vec<Vec<usize>> = ends.iter().map(places).collect();
    let found = places.iter().find(|found| !found.is_empty());
    let found = found.with_context(|| format!("{} has no paragraph", path.display()))?;
    let past_middle = found.iter().find(|at| **at >= text.len() / 2);
    let at = *past_middle.or(found.last()).expect("not empty");
    let (before, after) = text.split_at(at);
    std::fs::write(path, format!("{before} This sentence is new.{after}"))?;
    Ok(())
}

struct Bench {
    engine: Arc<Engine>,
    source: Source,
}

struct Ingested {
    wall: f64,
    cpu: f64,
    counters: JobCounters,
}

impl Bench {
    async fn open(data: &Path, files: &Path) -> anyhow::Result<Self> {
        let store = |name: &str| -> anyhow::Result<Arc<dyn object_store::ObjectStore>> {
            let path = data.join(name);
            std::fs::create_dir_all(&path)?;
            let store = LocalFileSystem::new_with_prefix(path)?;
            Ok(Arc::new(store.with_fsync(true)))
        };
        let url = format!("sqlite://{}", data.join("catalog.db").display());
        let program = Program::new(std::env::current_exe()?, &["parse-child"]);
        let cores = std::thread::available_parallelism()?.get();
        let text = data.join("text");
        let parts = Parts {
            catalog: catalog::open(&catalog::Settings::new(url)).await?,
            index: index::Index::open(index::Settings::default(), store("index")?, text).await?,
            objects: Objects::new(store("objects")?),
            embedder: Arc::new(crate::embed::open(
                &model_folder()?,
                cores,
                Precision::Full,
            )?),
            sandbox: Arc::new(Sandbox::new(sandbox::Settings::default(), program)),
            clock: Arc::new(SystemClock),
            figures: engine::Figures::new(store("figures")?),
        };
        let engine = Arc::new(Engine::new(engine::Settings::default(), parts));
        let source = Source::new(&engine, files).await?;
        Ok(Self { engine, source })
    }

    /// A job over the whole folder, from its start to its end. The parsing children count.
    async fn ingest(&self) -> anyhow::Result<Ingested> {
        let catalog = &self.engine.parts().catalog;
        let tenant = self.source.tenant;
        let (begun, used) = (Instant::now(), cpu_of_all());
        let job = self.source.start(&self.engine).await?;
        let workers = shell::Workers::start(self.engine.clone(), shell::Settings::default());
        let counters = loop {
            let job = catalog.job(tenant, job).await?;
            match job.status {
                JobStatus::Completed => break job.counters,
                JobStatus::Running => tokio::time::sleep(LOOK_AGAIN).await,
                other => anyhow::bail!("the job is {other}: {:?}", job.error),
            }
        };
        let wall = begun.elapsed().as_secs_f64();
        workers.stop(Duration::from_secs(5)).await;
        Ok(Ingested {
            wall,
            cpu: cpu_of_all() - used,
            counters,
        })
    }

    /// What the model was given, chunk by chunk.
    async fn inputs(&self) -> anyhow::Result<Vec<String>> {
        let (parts, mut inputs) = (self.engine.parts(), Vec::new());
        let (tokens, limit) = (parts.embedder.tokens(), parts.embedder.info().max_tokens);
        let (tenant, mut page) = (self.source.tenant, Page::first(Page::MAX));
        loop {
            let active = parts.catalog.all_active(Some(tenant), page).await?;
            for version in &active.items {
                for stored in self.engine.chunks(tenant, version.version).await? {
                    let input =
                        pipeline::chunk::embedder_input(&stored.chunk, limit as usize, &*tokens);
                    inputs.push(input.0);
                }
            }
            let Some(after) = active.next else {
                break;
            };
            page = Page {
                after: Some(after),
                ..Page::first(Page::MAX)
            };
        }
        inputs.sort();
        inputs.dedup();
        Ok(inputs)
    }
}

/// CPU seconds of this process and of the children it has waited for.
fn cpu_of_all() -> f64 {
    #[expect(unsafe_code, reason = "getrusage fills a plain struct")]
    let children = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let of = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    cpu_time().as_secs_f64() + of(children.ru_utime) + of(children.ru_stime)
}

#[derive(Deserialize)]
struct Peer {
    seconds: f64,
    cpu: f64,
    chunks: f64,
}

fn llama_index(files: &Path) -> anyhow::Result<Peer> {
    let python = python(
        "ingest",
        &[&[LLAMA_INDEX], &crate::embed::PACKAGES[..]].concat(),
    )?;
    let cores = std::thread::available_parallelism()?.get();
    let output = Command::new("timeout")
        .arg(PEER_SECONDS.to_string())
        .arg(python)
        .arg(root().join("bench/peers/ingest.py"))
        .args([files.as_os_str(), model_folder()?.as_os_str()])
        .arg(cores.to_string())
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(
        output.status.code() != Some(124),
        "the peer took more than {PEER_SECONDS} s"
    );
    ensure!(output.status.success(), "the peer failed");
    serde_json::from_slice(&output.stdout).context("the peer's answer")
}
