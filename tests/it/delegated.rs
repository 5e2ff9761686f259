//! Runs that are posted, and nobody there: they wait in the open, and not for ever.
//!
//! The clock is told the time, so an hour without a worker passes when the test says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::routing::post;
use axum::{Json, Router};
use catalog::{FirstStart, GenerationSpec, Kb, Page, Run, RunType, State as Stands};
use chrono::{TimeDelta, Utc};
use engine::intake::{Identity, Intake};
use engine::retry::Policy;
use engine::{Engine, Figures, ManualClock, Objects, Parts};
use futures::stream;
use model::contract::ProcessRequest;
use model::{ChunkPolicy, RunId, RunStatus, SourceOrder, SourceUri};
use object_store::memory::InMemory;
use providers::HashSettings;
use sandbox::{Program, Sandbox};
use shell::{Delegated, Post, Runtime, Workers};
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "what-servers-and-workers-show-each-other";

/// Where runs are posted to: closed at first, and then a way to the workers of the house.
#[derive(Clone, Default)]
struct Door {
    open: Arc<AtomicBool>,
    knocks: Arc<AtomicUsize>,
    behind: Arc<std::sync::OnceLock<Delegated>>,
}

impl Door {
    /// Its address.
    async fn stand(&self) -> String {
        let knock = |State(door): State<Self>,
                     headers: axum::http::HeaderMap,
                     Json(payload): Json<ProcessRequest>| async move {
            assert_eq!(headers[AUTHORIZATION], format!("Bearer {TOKEN}"));
            door.knocks.fetch_add(1, Ordering::SeqCst);
            match door.behind.get() {
                Some(workers) if door.open.load(Ordering::SeqCst) => {
                    workers.take(payload.run_id);
                    StatusCode::ACCEPTED
                }
                _ => StatusCode::SERVICE_UNAVAILABLE,
            }
        };
        let router = Router::new()
            .route("/internal/process", post(knock))
            .with_state(self.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/internal/process", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    /// Until it was asked a few more times.
    async fn knocked_again(&self) {
        let before = self.knocks.load(Ordering::SeqCst);
        while self.knocks.load(Ordering::SeqCst) < before + 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

struct House {
    engine: Arc<Engine>,
    clock: Arc<ManualClock>,
    kb: Kb,
    door: Door,
    workers: Workers,
    _folder: tempfile::TempDir,
}

impl House {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Utc::now()));
        let url = format!("sqlite://{}", folder.path().join("catalog.db").display());
        let text = folder.path().join("text");
        let index = index::Index::open(index::Settings::default(), Arc::new(InMemory::new()), text);
        let program = Program::new(env!("CARGO_BIN_EXE_gristmill"), &["parse-child"]);
        let hash = providers::Settings::Hash(HashSettings::default());
        let parts = Parts {
            catalog: catalog::open(&catalog::Settings::new(url)).await.unwrap(),
            index: index.await.unwrap(),
            objects: Objects::new(Arc::new(InMemory::new())),
            embedder: providers::open(&hash).unwrap(),
            sandbox: Arc::new(Sandbox::new(sandbox::Settings::default(), program)),
            clock: clock.clone(),
            figures: Figures::new(Arc::new(InMemory::new())),
        };
        let moment = Duration::from_millis(10);
        let settings = engine::Settings {
            retry: Policy {
                first: moment,
                factor: 1,
                cap: moment,
            },
            ..engine::Settings::default()
        };
        let engine = Arc::new(Engine::new(settings, parts));
        let door = Door::default();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let post = Post {
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
            url: door.stand().await,
            token: TOKEN.to_owned(),
            closing: CancellationToken::new(),
        };
        let settings = shell::Settings {
            poll: moment,
            ..shell::Settings::default()
        };
        let kb = kb(&engine).await;
        let workers = Workers::start_as(Runtime::Http(post), engine.clone(), settings);
        let _ = door.behind.set(workers.delegated());
        Self {
            engine,
            clock,
            kb,
            door,
            workers,
            _folder: folder,
        }
    }

    async fn take_in(&self, text: &'static str) -> RunId {
        let body = stream::iter([Ok::<_, std::io::Error>(text.into())]);
        let staged = self.engine.stage(Box::pin(body), 1 << 20).await.unwrap();
        let intake = Intake {
            tenant: self.kb.tenant,
            identity: Identity::Uri(SourceUri::new("file:///mill.md").unwrap()),
            promised: None,
            filename: "mill.md".into(),
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

    async fn run(&self, run: RunId) -> Run {
        let catalog = &self.engine.parts().catalog;
        catalog.run(self.kb.tenant, run).await.unwrap()
    }

    /// The run as soon as it is as wanted.
    async fn run_when(&self, run: RunId, wanted: impl Fn(&Run) -> bool) -> Run {
        loop {
            let found = self.run(run).await;
            if wanted(&found) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
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
    let started = parts.catalog.ensure_first_start(first, parts.clock.now());
    let started = started.await.unwrap();
    parts.catalog.kb(started.tenant, started.kb).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_without_a_worker_waits_in_the_open_and_ends_among_the_dead_letters() {
    let house = House::open().await;
    let now = || engine::Clock::now(&*house.clock);
    let run = house.take_in("# Mills\n\nThe wheel turns.\n").await;
    let waiting = |run: &Run| run.waiting.is_some();
    let found = house.run_when(run, waiting).await;
    assert_eq!(found.status, RunStatus::Queued);
    let stands = found.standing(false, now());
    assert_eq!(stands.state, Stands::Waiting);
    let why = "no worker takes it: the worker answered 503 Service Unavailable";
    assert_eq!(stands.detail.as_deref(), Some(why));

    house.clock.advance(TimeDelta::minutes(59));
    house.door.knocked_again().await;
    assert_eq!(house.run(run).await.status, RunStatus::Queued);
    house.clock.advance(TimeDelta::minutes(2));
    let failed = |run: &Run| run.status == RunStatus::Failed;
    let error = house.run_when(run, failed).await.error.unwrap();
    assert_eq!(error.code, "no_worker");
    assert!(error.message.contains("for 60 minutes"), "{error:?}");
    assert!(error.hint.unwrap().contains("workers.url"));

    // Replayed, it waits as long again; and goes through once the door opens.
    let (catalog, tenant) = (&house.engine.parts().catalog, house.kb.tenant);
    let letters = catalog.dead_letters(tenant, Page::first(9)).await.unwrap();
    let [letter] = &letters.items[..] else {
        panic!("one letter, not {letters:?}")
    };
    let replayed = catalog.replay_dead_letter(tenant, letter.id, now()).await;
    assert_eq!(replayed.unwrap().run, run);
    house.door.knocked_again().await;
    assert_eq!(house.run(run).await.status, RunStatus::Queued);
    house.door.open.store(true, Ordering::SeqCst);
    let succeeded = |run: &Run| run.status == RunStatus::Succeeded;
    let found = house.run_when(run, succeeded).await;
    assert_eq!(found.waiting, None);
    house.workers.stop(Duration::from_secs(20)).await;
}
