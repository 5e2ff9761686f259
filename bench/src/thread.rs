//! The whole thread: files in a folder become searchable, with an embedder that does nothing.
//!
//! What is left when embedding costs nothing is our own: reading, cutting, storing and
//! keeping count. The stages are then run alone on the same files, so that the share of
//! the engine and its stores is what remains of the whole.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use catalog::{JobFilter, Page};
use engine::{Engine, Objects, Parts, SyncedFolder, SystemClock};
use model::{ChunkPolicy, TokenCounter};
use parse::Hints;
use providers::{Embedder, HashEmbedder, HashSettings, ModelInfo};
use sandbox::{Program, Sandbox};

use crate::report::{Report, cpu_time};
use crate::source::Source;

const FILES: usize = 2_000;

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(measure(report))
}

async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let files = tempfile::tempdir()?;
    write_files(files.path())?;
    let data = tempfile::tempdir()?;
    let engine = Arc::new(open(data.path(), index::Settings::default()).await?);
    let source = Source::new(&engine, files.path()).await?;
    let job = source.start(&engine).await?;

    let (begun, cpu) = (Instant::now(), cpu_time());
    let workers = shell::Workers::start(engine.clone(), shell::Settings::default());
    wait_for(&engine, (source.tenant, job)).await?;
    let (wall, cpu) = (begun.elapsed(), cpu_time() - cpu);
    workers.stop(Duration::from_secs(5)).await;

    let stages = stages_alone(&engine, files.path())?;
    let per_document = |time: Duration| time.as_secs_f64() * 1e6 / FILES as f64;
    report.figure(
        "documents per second",
        FILES as f64 / wall.as_secs_f64(),
        "1/s",
    );
    report.figure(
        "CPU per document, without the parsing children",
        per_document(cpu),
        "µs",
    );
    report.figure(
        "CPU per document, pure stages after parsing",
        per_document(stages),
        "µs",
    );
    let share = 1.0 - stages.as_secs_f64() / cpu.as_secs_f64();
    report.figure(
        "share of engine, catalog, index and objects",
        share * 100.0,
        "%",
    );
    let busy = cpu.as_secs_f64() / wall.as_secs_f64();
    report.figure("cores this process keeps busy", busy, "cores");
    Ok(())
}

fn write_files(folder: &Path) -> anyhow::Result<()> {
    for n in 0..FILES {
        let mut text = format!("# Document {n}\n\n");
        for section in 0..4 {
            text += &format!("## Section {section}\n\n");
            for sentence in 0..12 {
                text +=
                    &format!("Sentence {sentence} of part {section} says what mill {n} grinds. ");
            }
            text += "\n\n";
        }
        std::fs::write(folder.join(format!("{n}.md")), text)?;
    }
    Ok(())
}

pub async fn open(data: &Path, search: index::Settings) -> anyhow::Result<Engine> {
    let store = |name: &str| -> anyhow::Result<Arc<dyn object_store::ObjectStore>> {
        Ok(Arc::new(SyncedFolder::open(&data.join(name))?))
    };
    let url = format!("sqlite://{}", data.join("catalog.db").display());
    let program = Program::new(std::env::current_exe()?, &["parse-child"]);
    let parts = Parts {
        catalog: catalog::open(&catalog::Settings::new(url)).await?,
        index: index::Index::open(search, store("index")?, data.join("text")).await?,
        objects: Objects::new(store("objects")?),
        embedder: Arc::new(Nothing(HashEmbedder::new(&HashSettings::default()))),
        sandbox: Arc::new(Sandbox::new(sandbox::Settings::default(), program)),
        clock: Arc::new(SystemClock),
        figures: engine::Figures::new(store("figures")?),
    };
    Ok(Engine::new(engine::Settings::default(), parts))
}

async fn wait_for(
    engine: &Engine,
    (tenant, job): (model::TenantId, model::JobId),
) -> anyhow::Result<()> {
    loop {
        let job = engine.parts().catalog.job(tenant, job).await?;
        match job.status {
            model::JobStatus::Completed => break,
            model::JobStatus::Running => tokio::time::sleep(Duration::from_millis(20)).await,
            other => anyhow::bail!("the job is {other}: {:?}", job.error),
        }
    }
    let page = Page::first(1);
    let jobs = engine
        .parts()
        .catalog
        .jobs(tenant, JobFilter::default(), page)
        .await?;
    anyhow::ensure!(jobs.items[0].counters.runs_failed == 0, "runs failed");
    Ok(())
}

/// CPU time of what the stages after parsing take for the same files, on one thread.
fn stages_alone(engine: &Engine, files: &Path) -> anyhow::Result<Duration> {
    let tokens = engine.parts().embedder.tokens();
    let policy = ChunkPolicy::for_limit(engine.parts().embedder.info().max_tokens);
    let mut parsed = Vec::with_capacity(FILES);
    for n in 0..FILES {
        let name = format!("{n}.md");
        let bytes = Bytes::from(std::fs::read(files.join(&name))?);
        let hints = Hints {
            filename: Some(name),
            media_type: None,
        };
        parsed.push(parse::parse(&bytes, &hints, &parse::Limits::default())?);
    }
    let cpu = cpu_time();
    for document in &parsed {
        for unit in pipeline::units::units(document) {
            std::hint::black_box(pipeline::chunk::chunk(&unit, policy, &*tokens));
        }
    }
    Ok(cpu_time() - cpu)
}

/// Counts and names itself as the hash embedder does, and embeds nothing.
struct Nothing(HashEmbedder);

#[async_trait]
impl Embedder for Nothing {
    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    fn tokens(&self) -> Arc<dyn TokenCounter> {
        self.0.tokens()
    }

    async fn embed_passages(&self, inputs: &[String]) -> Result<Vec<Vec<f32>>, providers::Error> {
        let mut vector = vec![0.0; self.info().dimension as usize];
        vector[0] = 1.0;
        Ok(vec![vector; inputs.len()])
    }

    async fn embed_query(&self, query: &str) -> Result<Vec<f32>, providers::Error> {
        self.0.embed_query(query).await
    }
}
