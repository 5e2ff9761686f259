//! Webhooks: told when a run or a job ends, signed, and told again until it was heard.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use web::signature;

use super::served::Served;
use crate::mill::{Folder, text};

super::on_both_catalogs!(
    an_end_is_told_signed_and_again_until_it_is_heard,
    the_end_of_a_job_is_told_signed_and_listed,
);

type Heard = (HeaderMap, Bytes);

#[derive(Clone)]
struct Listener {
    answers: Arc<Mutex<VecDeque<u16>>>,
    heard: mpsc::UnboundedSender<Heard>,
}

async fn hear(State(listener): State<Listener>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let answer = listener.answers.lock().unwrap().pop_front().unwrap_or(204);
    let _ = listener.heard.send((headers, body));
    StatusCode::from_u16(answer).unwrap()
}

/// A listener that answers so, one after the other, then 204.
async fn listen(answers: &[u16]) -> (String, mpsc::UnboundedReceiver<Heard>) {
    let (heard, receiver) = mpsc::unbounded_channel();
    let listener = Listener {
        answers: Arc::new(Mutex::new(answers.iter().copied().collect())),
        heard,
    };
    let router = Router::new()
        .route("/hook", post(hear))
        .with_state(listener);
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", socket.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(socket, router).await });
    (url, receiver)
}

/// What was told, if the hook's secret signed it.
fn signed(hook: &Value, (headers, body): &Heard) -> Value {
    let secret = text(&hook["signing_secret"]);
    let now = chrono::Utc::now();
    assert_eq!(signature::verify(secret, headers, body, now), Ok(()));
    serde_json::from_slice(body).unwrap()
}

/// The newest delivery of a hook, once it has arrived.
async fn delivered(served: &Served, hook: &Value) -> Value {
    let path = format!("/v1/webhooks/{}/deliveries", text(&hook["webhook_id"]));
    loop {
        let listed = served.get(&path).await.expect(200);
        let one = listed["items"][0].clone();
        if one["state"] == "delivered" {
            return one;
        }
        tokio::task::yield_now().await;
    }
}

async fn the_end_of_a_job_is_told_signed_and_listed(served: &Served) {
    let (url, mut heard) = listen(&[]).await;
    let body = json!({ "url": url, "kinds": ["job.completed"] });
    let hook = served.post("/v1/webhooks", &body).await.expect(201);
    let folder = Folder::of(&[
        ("a.txt", "Something of a folder."),
        ("b.txt", "Something beside it."),
    ]);
    let body = json!({ "kb": "default", "folder": { "roots": [folder.path()] } });
    let job = served.post("/v1/jobs", &body).await.expect(201);
    let path = format!("/v1/jobs/{}", text(&job["job_id"]));
    let start = format!("{path}/start");
    served.post(&start, &json!({})).await.expect(202);

    let told = signed(&hook, &heard.recv().await.unwrap());
    assert_eq!(told["type"], "job.completed");
    assert_eq!(told["data"]["job_id"], job["job_id"]);
    let ended = served.get(&path).await.expect(200);
    assert_eq!(ended["status"], "completed", "nothing is told too early");
    let delivery = delivered(served, &hook).await;
    assert_eq!(
        (&delivery["kind"], &delivery["attempts"]),
        (&json!("job.completed"), &json!(1))
    );
    assert_eq!(delivery["payload"], told);
}

async fn an_end_is_told_signed_and_again_until_it_is_heard(served: &Served) {
    let (url, mut heard) = listen(&[500]).await;
    let body = json!({ "url": url, "kinds": ["run.succeeded"] });
    let hook = served.post("/v1/webhooks", &body).await.expect(201);
    let done = served.ingest("a.txt", "Something worth telling.").await;

    let (first_headers, first) = heard.recv().await.unwrap();
    let (headers, body) = heard.recv().await.unwrap();
    assert_eq!(first, body, "what was not heard is told again");
    assert_eq!(first_headers[signature::ID], headers[signature::ID]);
    let told = signed(&hook, &(headers, body.clone()));
    assert_eq!(told["type"], "run.succeeded");
    assert_eq!(told["data"]["run_id"], done["run_id"]);

    let delivery = delivered(served, &hook).await;
    assert_eq!(
        (&delivery["attempts"], &delivery["last_status"]),
        (&json!(2), &json!(204))
    );
    let again = format!(
        "/v1/deliveries/{}/redeliver",
        text(&delivery["delivery_id"])
    );
    served.post(&again, &json!({})).await.expect(202);
    assert_eq!(heard.recv().await.unwrap().1, body);
    let shown = served.get("/v1/webhooks").await;
    assert!(!shown.text.contains("whsec_"), "a secret is shown once");

    // Another tenant calls nobody next to us.
    let other = served.tenant("other").await;
    let near = json!({ "url": url });
    let near = served
        .post_as(&other, "/v1/webhooks", &near)
        .await
        .expect(201);
    let queued = served
        .upload_as(&other, "b.txt", "Told to nobody nearby.")
        .await
        .expect(202);
    served.follow(&other, text(&queued["run_id"])).await;
    let path = format!("/v1/webhooks/{}/deliveries", text(&near["webhook_id"]));
    loop {
        let listed = served.get_as(&other, &path).await.expect(200);
        if let Some(why) = listed["items"][0]["last_error"].as_str() {
            assert_eq!(why, "the host is not a public one");
            break;
        }
        tokio::task::yield_now().await;
    }
    for bad in [
        "ftp://example.org/x",
        "https://user:pass@example.org/",
        "nonsense",
    ] {
        let refused = served.post("/v1/webhooks", &json!({ "url": bad })).await;
        assert_eq!(refused.problem(422), "unprocessable", "{bad}");
    }
}
