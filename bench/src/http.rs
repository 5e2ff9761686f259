//! The gateway end to end over HTTP, in a process of its own.
//!
//! What eight large uploads at once cost in memory; how long a search takes over ten thousand
//! documents, alone and two hundred at a time while documents come in; and beside it the time
//! the index itself takes for the same queries on the same data. Embeddings are hashed, so
//! that what is measured is the server and not a model. The clients run on the same cores, so
//! rates are those of both together. A search that finds nothing, a document that was not read
//! and a server that does not stop well end the topic: their figures would mean nothing.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use index::{Flush, Space};
use object_store::local::LocalFileSystem;
use providers::{Embedder as _, HashEmbedder, HashSettings};
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Client};
use roaring::RoaringBitmap;
use serde_json::{Value, json};

use crate::report::Report;

const UPLOADS: u64 = 8;
const UPLOAD_MB: u64 = 500;
/// What the uploads may cost above idle.
const ALLOWED_MB: f64 = 150.0;
const DOCUMENTS: usize = 10_000;
const SEARCHES: usize = 400;
/// Asked before the clock runs, of the server and of the index alike.
const WARM: usize = 100;
const AT_ONCE: usize = 200;
const ROUNDS: usize = 5;
const PASSWORD: &str = "bench-and-grain";
const SEARCH: &str = "/v1/kbs/default/search";

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(measure(report))
}

async fn measure(report: &mut Report) -> anyhow::Result<()> {
    uploads(report).await?;
    let files = tempfile::tempdir()?;
    let data = tempfile::tempdir()?;
    write_files(files.path(), DOCUMENTS)?;
    let served = Served::start(data.path(), &["serve", "--listen", "127.0.0.1:0"]).await?;
    served.ingest_folder(files.path()).await?;
    let mut alone = Vec::new();
    for n in 0..WARM + SEARCHES {
        alone.push(served.search(&query(n)).await?);
    }
    alone.drain(..WARM);
    let space = served.space().await?;
    let served = Arc::new(served);
    let before = served.succeeded().await?;
    let (crowded, errors) = crowd(&served).await?;
    let beside = served.succeeded().await? - before;
    stop(served)?;
    let own = index_alone(data.path(), space).await?;
    let index_ms = (percentile(&own, 50), percentile(&own, 99));
    let name = |which: &str| format!("search over {DOCUMENTS} documents, over HTTP, {which}");
    let peer = "the index alone, both legs";
    report.against(
        name("p50"),
        percentile(&alone, 50),
        "ms",
        (peer, index_ms.0),
    );
    report.against(
        name("p99"),
        percentile(&alone, 99),
        "ms",
        (peer, index_ms.1),
    );
    let crowd = format!("{AT_ONCE} searches at once while ingesting");
    report.figure(format!("{crowd}, p50"), percentile(&crowded, 50), "ms");
    report.figure(format!("{crowd}, p99"), percentile(&crowded, 99), "ms");
    report.figure(format!("{crowd}, errors"), errors as f64, "");
    report.figure("documents read and made findable meanwhile", beside, "");
    Ok(())
}

async fn uploads(report: &mut Report) -> anyhow::Result<()> {
    let data = tempfile::tempdir()?;
    let args = ["serve", "--listen", "127.0.0.1:0", "--no-workers"];
    let served = Arc::new(Served::start(data.path(), &args).await?);
    served.post(SEARCH, &json!({ "query": "warm" })).await?;
    let idle = served.resident_mb()?;
    let done = Arc::new(AtomicBool::new(false));
    let watched = tokio::spawn(watch(served.clone(), done.clone()));
    let begun = Instant::now();
    let sent = (0..UPLOADS).map(|n| tokio::spawn(upload(served.clone(), n)));
    for one in sent.collect::<Vec<_>>() {
        one.await??;
    }
    let seconds = begun.elapsed().as_secs_f64();
    done.store(true, Ordering::Relaxed);
    let above = watched.await?? - idle;
    let what = format!("memory above idle, {UPLOADS} uploads of {UPLOAD_MB} MB at once");
    report.against(what, above, "MB", ("allowed", ALLOWED_MB));
    let total = (UPLOADS * UPLOAD_MB) as f64;
    report.figure("uploaded, all together", total / seconds, "MB/s");
    stop(served)
}

fn stop(served: Arc<Served>) -> anyhow::Result<()> {
    Arc::into_inner(served)
        .context("nobody else holds it")?
        .stop()
}

/// The most it ever held.
async fn watch(served: Arc<Served>, done: Arc<AtomicBool>) -> anyhow::Result<f64> {
    let mut most = 0.0_f64;
    while !done.load(Ordering::Relaxed) {
        most = most.max(served.resident_mb()?);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(most)
}

async fn upload(served: Arc<Served>, n: u64) -> anyhow::Result<()> {
    let pieces = (0..UPLOAD_MB).map(move |mb| {
        let line = format!("Upload {n}, megabyte {mb}: plain words and nothing more.\n");
        let mut text = line.repeat((1 << 20) / line.len() + 1);
        text.truncate(1 << 20);
        Ok::<_, std::io::Error>(Bytes::from(text))
    });
    let body = Body::wrap_stream(futures::stream::iter(pieces));
    let part = Part::stream(body).file_name(format!("large-{n}.txt"));
    let request = served.http.post(format!("{}/v1/ingest", served.base));
    let request = request
        .bearer_auth(&served.token)
        .multipart(Form::new().part("file", part));
    let answer = request.send().await?;
    anyhow::ensure!(
        answer.status() == 202,
        "upload {n}: {}",
        answer.text().await?
    );
    Ok(())
}

struct Served {
    child: Child,
    base: String,
    http: Client,
    token: String,
}

impl Served {
    async fn start(data: &Path, args: &[&str]) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?.with_file_name("gristmill");
        let missing = "build the server beside the bench: cargo build --release -p gristmill-app";
        anyhow::ensure!(program.exists(), missing);
        let mut child = Command::new(program)
            .args(args)
            .env("GRISTMILL_DATA", data.join("data"))
            .env("GRISTMILL_EMBEDDING_PROVIDER", "hash")
            .env("GRISTMILL_AUTH_ADMIN_PASSWORD", PASSWORD)
            .env("GRISTMILL_UPLOAD_MAX_MB", "1024")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let out = child.stdout.take().context("it is piped")?;
        let first = BufReader::new(out)
            .lines()
            .next()
            .context("it says where it is")??;
        let base = first.rsplit(' ').next().unwrap_or_default().to_owned();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut served = Self {
            child,
            base,
            http: Client::builder().no_proxy().build()?,
            token: String::new(),
        };
        let body = json!({ "login": "admin", "password": PASSWORD });
        let signed = served.post("/v1/auth/login", &body).await?;
        served.token = signed["token"].as_str().unwrap_or_default().to_owned();
        Ok(served)
    }

    async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self
            .http
            .post(format!("{}{path}", self.base))
            .bearer_auth(&self.token);
        let answer = request.json(body).send().await?.error_for_status()?;
        Ok(answer.json().await?)
    }

    async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let request = self
            .http
            .get(format!("{}{path}", self.base))
            .bearer_auth(&self.token);
        Ok(request.send().await?.error_for_status()?.json().await?)
    }

    async fn ingest_folder(&self, folder: &Path) -> anyhow::Result<()> {
        let body = json!({ "kb": "default", "folder": { "roots": [folder] } });
        let job = self.post("/v1/jobs", &body).await?;
        let path = format!("/v1/jobs/{}", job["job_id"].as_str().unwrap_or_default());
        self.post(&format!("{path}/start"), &json!({})).await?;
        loop {
            let job = self.get(&path).await?;
            match job["status"].as_str() {
                Some("completed") => break,
                Some("running") => tokio::time::sleep(Duration::from_millis(200)).await,
                _ => anyhow::bail!("the documents were not taken in: {job}"),
            }
        }
        let read = self.succeeded().await?;
        anyhow::ensure!(read == DOCUMENTS as f64, "{read} of {DOCUMENTS} were read");
        Ok(())
    }

    /// Runs that ended well, as the server counts them.
    async fn succeeded(&self) -> anyhow::Result<f64> {
        let status = self.get("/v1/status").await?;
        let runs = status["runs_succeeded"].as_f64();
        runs.with_context(|| format!("no runs in {status}"))
    }

    /// How long one search took, in milliseconds.
    async fn search(&self, query: &str) -> anyhow::Result<f64> {
        let begun = Instant::now();
        let answer = self.post(SEARCH, &json!({ "query": query })).await?;
        let took = begun.elapsed().as_secs_f64() * 1e3;
        let hits = answer["hits"].as_array().map_or(0, Vec::len);
        anyhow::ensure!(hits > 0, "`{query}` found nothing");
        Ok(took)
    }

    async fn ingest_one(&self, n: usize) -> anyhow::Result<()> {
        let text = Part::text(document(n)).file_name("more.md");
        let request = self.http.post(format!("{}/v1/ingest", self.base));
        let form = Form::new().part("file", text);
        let sent = request.bearer_auth(&self.token).multipart(form).send();
        sent.await?.error_for_status()?;
        Ok(())
    }

    async fn space(&self) -> anyhow::Result<Space> {
        let me = self.get("/v1/auth/me").await?;
        let kb = self.get("/v1/kbs/default").await?;
        let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(Space {
            tenant: id(&me["tenant_id"]).parse()?,
            kb: id(&kb["id"]).parse()?,
            generation: id(&kb["serving"]["id"]).parse()?,
        })
    }

    fn resident_mb(&self) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kb = line.and_then(|line| line.split_whitespace().next());
        Ok(kb.context("the kernel tells it")?.parse::<f64>()? / 1024.0)
    }

    /// Gently, so that everything is on the disk.
    fn stop(mut self) -> anyhow::Result<()> {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status()?;
        let ended = self.child.wait()?;
        anyhow::ensure!(ended.success(), "the server ended with {ended}");
        Ok(())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two hundred searches at a time, each a client of its own, while documents come in: times
/// and errors. A document that is refused is an error of the topic.
async fn crowd(served: &Arc<Served>) -> anyhow::Result<(Vec<f64>, usize)> {
    let done = Arc::new(AtomicBool::new(false));
    let ingesting = tokio::spawn(keep_ingesting(served.clone(), done.clone()));
    let (mut times, mut errors) = (Vec::new(), 0);
    for round in 0..ROUNDS {
        let asked: Vec<_> = (0..AT_ONCE)
            .map(|n| (served.clone(), query(round * AT_ONCE + n)))
            .map(|(served, query)| tokio::spawn(async move { served.search(&query).await }))
            .collect();
        for answer in asked {
            match answer.await? {
                Ok(time) => times.push(time),
                Err(error) => {
                    eprintln!("a search failed: {error:#}");
                    errors += 1;
                }
            }
        }
    }
    done.store(true, Ordering::Relaxed);
    ingesting.await??;
    Ok((times, errors))
}

async fn keep_ingesting(served: Arc<Served>, done: Arc<AtomicBool>) -> anyhow::Result<()> {
    for n in DOCUMENTS.. {
        if done.load(Ordering::Relaxed) {
            break;
        }
        served.ingest_one(n).await?;
    }
    Ok(())
}

/// The same queries straight at the index, both legs, as a search asks for them.
async fn index_alone(data: &Path, space: Space) -> anyhow::Result<Vec<f64>> {
    let folder: PathBuf = data.join("data");
    let store = Arc::new(LocalFileSystem::new_with_prefix(folder.join("index"))?);
    let settings = index::Settings::default();
    let index = index::Index::open(settings, store, folder.join("text")).await?;
    let snapshot = index.snapshot(Flush(0)).await?;
    let embedder = HashEmbedder::new(&HashSettings::default());
    let live: RoaringBitmap = (0..2 * DOCUMENTS as u32).collect();
    let mut times = Vec::new();
    for n in 0..WARM + SEARCHES {
        let query = query(n);
        let vector = embedder.embed_query(&query).await?;
        let begun = Instant::now();
        let near = snapshot.search_vector(space, &vector, &live, 50).await?;
        let said = snapshot.search_text(space, &query, &live, 50).await?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        let found = !near.is_empty() && !said.is_empty();
        anyhow::ensure!(found, "a leg found nothing for `{query}`");
    }
    times.drain(..WARM);
    index.close().await?;
    Ok(times)
}

const WORDS: [&str; 24] = [
    "mill", "stone", "grain", "river", "wheel", "flour", "sack", "rye", "wheat", "oat", "baker",
    "oven", "bread", "crust", "yeast", "salt", "water", "wind", "sail", "gear", "dust", "sieve",
    "harvest", "barn",
];

fn document(n: usize) -> String {
    let word = |at: usize| WORDS[(n * 7 + at * at + at * 3) % WORDS.len()];
    let sentence = |s: usize| {
        let words: Vec<&str> = (0..12).map(|at| word(s * 13 + at)).collect();
        format!("{} number{n}x{s}. ", words.join(" "))
    };
    let body: String = (0..12).map(sentence).collect();
    format!("# Document {n}\n\n{body}\n")
}

fn query(n: usize) -> String {
    let word = |at: usize| WORDS[(n * 5 + at * 11) % WORDS.len()];
    format!(
        "{} {} {} number{}x3",
        word(0),
        word(1),
        word(2),
        (n * 37) % DOCUMENTS
    )
}

fn write_files(folder: &Path, count: usize) -> anyhow::Result<()> {
    for n in 0..count {
        std::fs::write(folder.join(format!("{n:05}.md")), document(n))?;
    }
    Ok(())
}

fn percentile(times: &[f64], percent: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}
