//! Runs that are posted, and nobody there: they wait in the open, and not for ever.
//!
//! The clock is told the time, so an hour without a worker passes when the test says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, RETRY_AFTER};
use axum::response::IntoResponse as _;
use axum::routing::post;
use axum::{Json, Router};
use catalog::{Page, Run, State as Stands};
use chrono::TimeDelta;
use engine::delegation::BUSY;
use engine::retry::Policy;
use model::contract::ProcessRequest;
use model::{RunId, RunStatus};
use providers::HashSettings;
use serde_json::json;
use shell::{Delegated, Post, Runtime, Workers};
use tokio_util::sync::CancellationToken;

use crate::alone::Alone;

const TOKEN: &str = "what-servers-and-workers-show-each-other";

/// Where runs are posted to: closed at first, and then a way to the workers of the house.
#[derive(Clone, Default)]
struct Door {
    open: Arc<AtomicBool>,
    busy: Arc<AtomicBool>,
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
                    StatusCode::ACCEPTED.into_response()
                }
                _ if door.busy.load(Ordering::SeqCst) => {
                    let busy = Json(json!({ "code": BUSY }));
                    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "0")], busy).into_response()
                }
                _ => StatusCode::SERVICE_UNAVAILABLE.into_response(),
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
    alone: Alone,
    door: Door,
    workers: Workers,
}

impl House {
    async fn open() -> Self {
        let moment = Duration::from_millis(10);
        let settings = engine::Settings {
            retry: Policy {
                first: moment,
                factor: 1,
                cap: moment,
            },
            ..engine::Settings::default()
        };
        let hash = providers::Settings::Hash(HashSettings::default());
        let alone = Alone::open(settings, providers::open(&hash).unwrap()).await;
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
        let workers = Workers::start_as(Runtime::Http(post), alone.engine.clone(), settings);
        let _ = door.behind.set(workers.delegated());
        Self {
            alone,
            door,
            workers,
        }
    }

    /// The run as soon as it is as wanted.
    async fn run_when(&self, run: RunId, wanted: impl Fn(&Run) -> bool) -> Run {
        loop {
            let found = self.alone.run(run).await;
            if wanted(&found) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_without_a_worker_waits_in_the_open_and_ends_among_the_dead_letters() {
    let house = House::open().await;
    let now = || engine::Clock::now(&*house.alone.clock);
    let run = house.alone.take_in("# Mills\n\nThe wheel turns.\n").await;
    let waiting = |run: &Run| run.waiting.is_some();
    let found = house.run_when(run, waiting).await;
    assert_eq!(found.status, RunStatus::Queued);
    let stands = found.standing(false, now());
    assert_eq!(stands.state, Stands::Waiting);
    let why = "no worker takes it: the worker answered 503 Service Unavailable";
    assert_eq!(stands.detail.as_deref(), Some(why));

    house.alone.clock.advance(TimeDelta::minutes(59));
    house.door.knocked_again().await;
    assert_eq!(house.alone.run(run).await.status, RunStatus::Queued);
    house.alone.clock.advance(TimeDelta::minutes(2));
    let failed = |run: &Run| run.status == RunStatus::Failed;
    let error = house.run_when(run, failed).await.error.unwrap();
    assert_eq!(error.code, "no_worker");
    assert!(error.message.contains("for 60 minutes"), "{error:?}");
    assert!(error.hint.unwrap().contains("workers.url"));

    // Replayed, it waits as long again; and goes through once the door opens.
    let (catalog, tenant) = (&house.alone.engine.parts().catalog, house.alone.kb.tenant);
    let letters = catalog.dead_letters(tenant, Page::first(9)).await.unwrap();
    let [letter] = &letters.items[..] else {
        panic!("one letter, not {letters:?}")
    };
    let replayed = catalog.replay_dead_letter(tenant, letter.id, now()).await;
    assert_eq!(replayed.unwrap().run, run);
    house.door.knocked_again().await;
    assert_eq!(house.alone.run(run).await.status, RunStatus::Queued);
    house.door.open.store(true, Ordering::SeqCst);
    let succeeded = |run: &Run| run.status == RunStatus::Succeeded;
    let found = house.run_when(run, succeeded).await;
    assert_eq!(found.waiting, None);
    house.workers.stop(Duration::from_secs(20)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_nobody_can_read_keeps_no_other_from_a_worker() {
    let house = House::open().await;
    let hurt = house.alone.take_in("# Mills\n\nThe wheel turns.\n").await;
    let other = house
        .alone
        .take_in_as("sails.md", "# Sails\n\nThey turn.\n".into());
    let other = other.await;
    house
        .alone
        .vandalise("UPDATE document_versions SET metadata = '{x' WHERE filename = 'mill.md'")
        .await;
    house.door.open.store(true, Ordering::SeqCst);
    let succeeded = |run: &Run| run.status == RunStatus::Succeeded;
    house.run_when(other, succeeded).await;
    let failed = |run: &Run| run.status == RunStatus::Failed;
    let error = house.run_when(hurt, failed).await.error.unwrap();
    assert_eq!(error.code, "set_aside");
    house.workers.stop(Duration::from_secs(20)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_is_busy_is_not_a_missing_one() {
    let house = House::open().await;
    house.door.busy.store(true, Ordering::SeqCst);
    let run = house.alone.take_in("# Mills\n\nThe wheel turns.\n").await;
    house.door.knocked_again().await;
    house.alone.clock.advance(TimeDelta::hours(2));
    house.door.knocked_again().await;
    let found = house.alone.run(run).await;
    assert_eq!((found.status, found.waiting), (RunStatus::Queued, None));
    house.door.open.store(true, Ordering::SeqCst);
    let succeeded = |run: &Run| run.status == RunStatus::Succeeded;
    house.run_when(run, succeeded).await;
    house.workers.stop(Duration::from_secs(20)).await;
}
