//! An engine in this process, no server before it. Its clock is told the time.

use std::sync::Arc;

use catalog::{FirstStart, GenerationSpec, Kb, Run, RunType};
use chrono::Utc;
use engine::intake::{Identity, Intake};
use engine::{Engine, Figures, ManualClock, Objects, Parts};
use futures::stream;
use model::{ChunkPolicy, RunId, SourceOrder, SourceUri};
use object_store::memory::InMemory;
use providers::Embedder;
use sandbox::{Program, Sandbox};
use sqlx::Connection as _;

pub struct Alone {
    pub engine: Arc<Engine>,
    pub clock: Arc<ManualClock>,
    pub kb: Kb,
    folder: tempfile::TempDir,
}

impl Alone {
    pub async fn open(settings: engine::Settings, embedder: Arc<dyn Embedder>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Utc::now()));
        let url = format!("sqlite://{}", folder.path().join("catalog.db").display());
        let text = folder.path().join("text");
        let index = index::Index::open(index::Settings::default(), Arc::new(InMemory::new()), text);
        let program = Program::new(env!("CARGO_BIN_EXE_gristmill"), &["parse-child"]);
        let parts = Parts {
            catalog: catalog::open(&catalog::Settings::new(url)).await.unwrap(),
            index: index.await.unwrap(),
            objects: Objects::new(Arc::new(InMemory::new())),
            embedder,
            sandbox: Arc::new(Sandbox::new(sandbox::Settings::default(), program)),
            clock: clock.clone(),
            figures: Figures::new(Arc::new(InMemory::new())),
        };
        let engine = Arc::new(Engine::new(settings, parts));
        Self {
            kb: kb(&engine).await,
            engine,
            clock,
            folder,
        }
    }

    pub async fn take_in(&self, text: &'static str) -> RunId {
        self.take_in_as("mill.md", text.to_owned()).await
    }

    pub async fn take_in_as(&self, name: &str, text: String) -> RunId {
        let body = stream::iter([Ok::<_, std::io::Error>(text.into())]);
        let staged = self.engine.stage(Box::pin(body), 1 << 20).await.unwrap();
        let intake = Intake {
            tenant: self.kb.tenant,
            identity: Identity::Uri(SourceUri::new(format!("file:///{name}")).unwrap()),
            promised: None,
            filename: name.into(),
            title: None,
            claimed_type: None,
            metadata: serde_json::Map::new(),
            order: SourceOrder::of_time(Utc::now()),
            run_type: RunType::Upload,
            job: None,
            source: None,
            initiated_by: None,
            trace: None,
        };
        let admitted = self.engine.admit(&self.kb, intake, staged).await.unwrap();
        admitted.run.unwrap()
    }

    /// Does to the catalog what only an accident would.
    pub async fn vandalise(&self, sql: &'static str) {
        let path = self.folder.path().join("catalog.db");
        let url = format!("sqlite://{}", path.display());
        let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
        sqlx::query(sql).execute(&mut connection).await.unwrap();
    }

    pub async fn run(&self, run: RunId) -> Run {
        let catalog = &self.engine.parts().catalog;
        catalog.run(self.kb.tenant, run).await.unwrap()
    }
}

async fn kb(engine: &Engine) -> Kb {
    let parts = engine.parts();
    let info = parts.embedder.info();
    let first = FirstStart {
        generation: GenerationSpec {
            model: info.name.clone(),
            dimension: info.dimension,
            policy: ChunkPolicy::for_limit(info.max_tokens),
        },
        ..testkit::first_start()
    };
    let name = first.kb_name.clone();
    let started = parts.catalog.ensure_first_start(first, parts.clock.now());
    let tenant = started.await.unwrap().tenant;
    parts.catalog.kb_by_name(tenant, &name).await.unwrap()
}
