//! Runs brought over HTTP: who may bring them, how often, and where they end.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use futures::future::join_all;
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use testkit::double::{self, Double};
use tokio::sync::mpsc;

use super::served::{Answer, Served, send};
use crate::mill::{Mill, text};
use crate::server::Server;

const TOKEN: &str = "what-servers-and-workers-show-each-other";
const PROCESS: &str = "/internal/process";

/// A worker that takes nothing, and tells what it was brought.
struct Busy {
    url: String,
    brought: mpsc::UnboundedReceiver<Value>,
}

impl Busy {
    async fn start() -> Self {
        let (told, brought) = mpsc::unbounded_channel();
        let refuse = |State(told): State<mpsc::UnboundedSender<Value>>,
                      Json(payload): Json<Value>| async move {
            let _ = told.send(payload);
            StatusCode::SERVICE_UNAVAILABLE
        };
        let router = Router::new().route(PROCESS, post(refuse)).with_state(told);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, brought }
    }

    /// What a run is brought as.
    async fn payload_of(&mut self, run: &str) -> Value {
        loop {
            let payload = self.brought.recv().await.expect("the server goes on");
            if payload["run_id"] == run {
                return payload;
            }
        }
    }

    /// A server whose runs are brought here; what else it is told comes with it.
    fn server(&self, mill: Mill, more: &[(&str, &str)]) -> Served {
        let ours = [
            ("GRISTMILL_RUNTIME", "http"),
            ("GRISTMILL_WORKERS_URL", &*self.url),
            ("INTERNAL_AUTH_TOKEN", TOKEN),
        ];
        Served::with(mill, &[&ours, more].concat())
    }
}

impl Served {
    async fn bring(&self, token: &str, payload: &Value) -> Answer {
        self.post_as(token, PROCESS, payload).await
    }

    async fn queued(&self, name: &str, body: &str) -> String {
        let queued = self.upload(name, body).await.expect(202);
        text(&queued["run_id"]).to_owned()
    }
}

fn form(files: usize) -> Form {
    (0..files).fold(Form::new(), |form, n| {
        let text = format!(
            "# Stone {n}\n\nStone {n} is dressed every {} weeks.\n\n## Care\n\nLook for cracks.\n",
            n + 2
        );
        form.part("file", Part::text(text).file_name(format!("{n}.md")))
    })
}

const DELEGATED: &[(&str, &str)] = &[("INGEST_MODE", "http"), ("INTERNAL_AUTH_TOKEN", TOKEN)];

fn idle(status: &Value) -> bool {
    ["work", "runs_queued", "runs_running"]
        .iter()
        .all(|count| status[count] == 0)
}

async fn undisturbed(files: usize) -> String {
    let mill = Mill::sqlite();
    let server = Server::start(&mill, &[]);
    server.upload(form(files)).await;
    server.until("/v1/status", idle).await;
    mill.digest()
}

async fn ends_where_inline_ends(mill: &Mill) {
    const FILES: usize = 12;
    let server = Server::start(mill, DELEGATED);
    server.upload(form(FILES)).await;
    let status = server.until("/v1/status", idle).await;
    assert_eq!(status["runs_succeeded"], FILES, "{status}");
    assert_eq!(mill.digest(), undisturbed(FILES).await);
    let log = std::fs::read_to_string(mill.log()).unwrap();
    let accepted = log.matches(r#""status":"accepted""#).count();
    assert!(accepted >= FILES, "{accepted} were accepted:\n{log}");
}

#[tokio::test]
async fn runs_that_are_posted_end_where_inline_ones_end() {
    ends_where_inline_ends(&Mill::sqlite()).await;
}

#[tokio::test]
async fn runs_that_are_posted_end_where_inline_ones_end_on_postgres() {
    ends_where_inline_ends(&Mill::postgres().await).await;
}

async fn killed_it_goes_on(mill: &Mill) {
    const FILES: usize = 24;
    let server = Server::start(mill, DELEGATED);
    server.upload(form(FILES)).await;
    let some = |status: &Value| status["runs_succeeded"].as_u64() >= Some(3);
    server.until("/v1/status", some).await;
    drop(server);
    let server = Server::start(mill, DELEGATED);
    let status = server.until("/v1/status", idle).await;
    assert_eq!(status["runs_succeeded"], FILES, "{status}");
    assert_eq!(status["dead_letters"], 0, "{status}");
    assert_eq!(mill.digest(), undisturbed(FILES).await);
}

#[tokio::test]
async fn killed_amid_posted_runs_it_goes_on_and_ends_there_too() {
    killed_it_goes_on(&Mill::sqlite()).await;
}

#[tokio::test]
async fn killed_amid_posted_runs_it_goes_on_and_ends_there_too_on_postgres() {
    killed_it_goes_on(&Mill::postgres().await).await;
}

async fn eight_deliveries_are_one(mill: Mill) {
    let mut busy = Busy::start().await;
    let served = busy.server(mill, &[]);
    let run = served.queued("a.md", "# A\n\nThe wheel turns.\n").await;
    let payload = busy.payload_of(&run).await;
    let path = format!("/v1/runs/{run}");
    let waits = loop {
        let seen = served.get(&path).await.expect(200);
        if !seen["waiting"].is_null() {
            break seen;
        }
    };
    assert_eq!(waits["status"], "queued");
    let why = text(&waits["waiting"]);
    assert!(
        why.starts_with("no worker takes it: the worker answered 503"),
        "{why}"
    );

    let answers = join_all((0..8).map(|_| served.bring(TOKEN, &payload))).await;
    let told: Vec<Value> = answers.iter().map(|answer| answer.expect(202)).collect();
    assert!(
        told.iter().any(|told| told["status"] == "accepted"),
        "{told:?}"
    );
    assert!(told.iter().all(|told| told["run_id"] == *run), "{told:?}");
    served.follow(&served.token, &run).await;
    let again = served.bring(TOKEN, &payload).await.expect(202);
    assert_eq!(again["status"], "already_done");
    let run = served.get(&path).await.expect(200);
    assert_eq!(
        (&run["status"], &run["waiting"]),
        (&json!("succeeded"), &Value::Null)
    );
    let stats = &run["stats"];
    assert_eq!(
        stats["chunks_created"], stats["chunks_processed"],
        "{stats}"
    );
    let status = served.get("/v1/status").await.expect(200);
    for (counted, expected) in [("documents_active", 1), ("runs_succeeded", 1), ("work", 0)] {
        assert_eq!(status[counted], expected, "{counted} in {status}");
    }
}

#[tokio::test]
async fn a_run_delivered_eight_times_at_once_is_processed_once() {
    eight_deliveries_are_one(Mill::sqlite()).await;
}

#[tokio::test]
async fn a_run_delivered_eight_times_at_once_is_processed_once_on_postgres() {
    eight_deliveries_are_one(Mill::postgres().await).await;
}

#[tokio::test]
async fn the_door_opens_to_the_shared_token_alone_and_that_opens_no_other() {
    let mut busy = Busy::start().await;
    let served = busy.server(Mill::sqlite(), &[]);
    let run = served.queued("a.md", "The wheel turns.").await;
    let payload = busy.payload_of(&run).await;
    let key = json!({ "name": "worker", "role": "admin" });
    let key = served.post("/v1/api-keys", &key).await.expect(201);
    let wrong = format!("{TOKEN}.");
    let short = &TOKEN[..TOKEN.len() - 1];
    for token in [&*served.token, text(&key["secret"]), &wrong, short, "", "x"] {
        assert_eq!(
            served.bring(token, &payload).await.problem(401),
            "unauthorized"
        );
    }
    let bare = served.bare(Method::POST, PROCESS).json(&payload);
    assert_eq!(
        Answer::of(send(bare).await).await.problem(401),
        "unauthorized"
    );
    // Nobody is told what is wrong with a payload before they have shown the token.
    let garbage = served.bare(Method::POST, PROCESS).body("{");
    assert_eq!(
        Answer::of(send(garbage).await).await.problem(401),
        "unauthorized"
    );
    for path in ["/v1/documents", "/v1/users", "/v1/auth/me"] {
        assert_eq!(
            served.get_as(TOKEN, path).await.problem(401),
            "unauthorized"
        );
    }
    let run = served.get(&format!("/v1/runs/{run}")).await.expect(200);
    assert_eq!(run["status"], "queued", "nobody was let in");
    assert!(!served.log().contains(TOKEN));
    let described = served.get("/openapi.json").await.expect(200);
    let operation = &described["paths"][PROCESS]["post"];
    assert_eq!(operation["security"], json!([{ "internal": [] }]));
}

#[tokio::test]
async fn without_a_shared_token_there_is_no_door() {
    let served = Served::sqlite();
    for token in [&*served.token, TOKEN, ""] {
        assert_eq!(
            served.bring(token, &json!({})).await.problem(404),
            "not_found"
        );
    }
}

#[tokio::test]
async fn a_payload_that_is_not_of_a_run_here_is_refused_and_tells_nothing() {
    let mut busy = Busy::start().await;
    let served = busy.server(Mill::sqlite(), &[]);
    let run = served.queued("secret name.md", "The wheel turns.").await;
    let payload = busy.payload_of(&run).await;
    let other = uuid::Uuid::now_v7().to_string();
    let with = |field: &str, value: Value| {
        let mut changed = payload.clone();
        changed[field] = value;
        changed
    };
    let stranger = served.tenant("acme").await;
    let theirs = served.get_as(&stranger, "/v1/auth/me").await.expect(200);
    for (field, value, status) in [
        ("run_id", json!(other), 404),
        ("tenant_id", json!(other), 404),
        ("tenant_id", theirs["tenant_id"].clone(), 404),
        ("doc_id", json!(other), 409),
        ("content_hash", json!("0".repeat(64)), 409),
        ("embedding_model", json!("hash:other"), 409),
        ("embedding_dim", json!(7), 409),
        ("embedding_dim", json!(-7), 400),
        ("content_hash", json!("none"), 400),
        ("original_filename", json!("a\0b"), 422),
        ("title", json!("x".repeat(70_000)), 413),
    ] {
        let answer = served.bring(TOKEN, &with(field, value)).await;
        answer.problem(status);
        assert!(!answer.text.contains("secret name"), "{}", answer.text);
    }
    let seen = served.get(&format!("/v1/runs/{run}")).await.expect(200);
    assert_eq!(seen["status"], "queued", "none of them was taken");
    assert_eq!(
        served.bring(TOKEN, &payload).await.expect(202)["status"],
        "accepted"
    );
    served.follow(&served.token, &run).await;
}

#[tokio::test]
async fn a_full_worker_and_a_server_without_workers_say_when_to_come_back() {
    let silent = Double::start(vec![double::Answer::silence(); 64]).await;
    let mut busy = Busy::start().await;
    let served = busy.server(
        Mill::sqlite(),
        &[
            ("WORKER_MAX_CONCURRENT_JOBS", "1"),
            ("GRISTMILL_EMBEDDING_PROVIDER", "openai"),
            ("GRISTMILL_EMBEDDING_URL", &silent.url()),
            ("GRISTMILL_EMBEDDING_MODEL", "double"),
            ("GRISTMILL_EMBEDDING_DIMENSION", "8"),
            ("GRISTMILL_EMBEDDING_MAX_TOKENS", "256"),
        ],
    );
    let run = served.queued("a.md", "The wheel turns.").await;
    let first = busy.payload_of(&run).await;
    let told = served.bring(TOKEN, &first).await.expect(202);
    assert_eq!(told["status"], "accepted");
    let run = served.queued("b.md", "The stone turns.").await;
    let second = busy.payload_of(&run).await;
    let refused = served.bring(TOKEN, &second).await;
    assert_eq!(refused.problem(503), "slots_full");
    assert_eq!(refused.headers["retry-after"], "1");
    let again = served.bring(TOKEN, &first).await.expect(202);
    assert_eq!(again["status"], "already_running", "full or not");

    let mill = served.stop();
    let shared = [("INTERNAL_AUTH_TOKEN", TOKEN)];
    let server = Server::spawn(&mill, &["--no-workers"], &shared);
    let request = server.http.post(format!("{}{PROCESS}", server.base));
    let refused = send(request.bearer_auth(TOKEN).json(&second)).await;
    let refused = Answer::of(refused).await;
    assert_eq!(refused.problem(503), "no_workers");
    assert!(refused.headers.contains_key("retry-after"));
}
