//! For whoever runs it: ready or not, figures, logs, traces.

use std::time::Duration;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use reqwest::Method;
use serde_json::Value;
use tokio::sync::mpsc;

use super::served::{Answer, Served, send};
use crate::mill::{Mill, text};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test]
async fn it_says_what_is_missing_counts_what_is_asked_and_logs_no_secrets() {
    let served = Served::sqlite();
    assert_eq!(served.get("/livez").await.text, "ok");
    assert_eq!(served.get("/readyz").await.expect(200)["ready"], true);
    served
        .ingest("a.txt", "Words that are nobody's business.")
        .await;
    served.search("business").await;
    served
        .get_as("not-a-token", "/v1/documents")
        .await
        .problem(401);
    let figures = served.get("/metrics").await.text;
    for name in [
        "gristmill_http_requests_total{method=\"POST\",route=\"/v1/kbs/{kb}/search\",status=\"200\"} 1",
        "gristmill_http_request_duration_seconds_count{route=\"/v1/ingest\"} 1",
        "gristmill_queue_depth{state=\"ready\"}",
        "gristmill_embedding_batches_total{reason=\"end_of_document\"} 1\n",
        "gristmill_embedding_chunks_total 1\n",
        "gristmill_embedding_duplicates_total 0\n",
    ] {
        assert!(figures.contains(name), "{name}\n{figures}");
    }
    let log = served.log();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).expect("every line is a JSON object");
        assert!(
            line["timestamp"].is_string() && line["level"].is_string(),
            "{line}"
        );
    }
    assert!(
        log.contains("\"doc_id\"") && log.contains("\"tenant_id\""),
        "{log}"
    );
    for secret in [
        &served.token,
        super::served::PASSWORD,
        "nobody's business",
        "not-a-token",
    ] {
        assert!(!log.contains(secret), "{secret} is in the log");
    }

    // With its objects away, it says so.
    let objects = served.mill.data().join("objects");
    std::fs::rename(&objects, served.mill.data().join("away")).unwrap();
    std::fs::write(&objects, "not a folder").unwrap();
    let ready = served.get("/readyz").await.expect(503);
    assert!(
        text(&ready["missing"][0]).contains("object store"),
        "{ready}"
    );
}

#[tokio::test]
async fn answers_travel_compressed_when_asked_and_whole_otherwise() {
    let served = Served::sqlite();
    for (coding, magic) in [("gzip", &b"\x1f\x8b"[..]), ("zstd", b"\x28\xb5\x2f\xfd")] {
        let request = served
            .bare(Method::GET, "/openapi.json")
            .header("accept-encoding", coding);
        let answer = send(request).await;
        assert_eq!(answer.headers()["content-encoding"], coding);
        assert!(answer.bytes().await.unwrap().starts_with(magic));
    }
    let plain = send(served.bare(Method::GET, "/openapi.json")).await;
    assert!(!plain.headers().contains_key("content-encoding"));
    let head: Value = serde_json::from_str(&plain.text().await.unwrap()).unwrap();
    assert_eq!(head["openapi"], "3.1.0");
}

async fn collect(State(sent): State<mpsc::UnboundedSender<Value>>, Json(body): Json<Value>) {
    let _ = sent.send(body);
}

#[tokio::test]
async fn a_trace_goes_from_the_request_through_every_step_of_its_run() {
    let (sender, mut sent) = mpsc::unbounded_channel();
    let router = Router::new()
        .route("/v1/traces", post(collect))
        .with_state(sender);
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", socket.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(socket, router).await });
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str())];
    let served = Served::with(Mill::sqlite(), &variables);
    let part = reqwest::multipart::Part::text("Something to follow.").file_name("a.txt");
    let form = reqwest::multipart::Form::new().part("file", part);
    let request = served
        .request(Method::POST, "/v1/ingest")
        .header("traceparent", PARENT);
    let queued = Answer::of(send(request.multipart(form)).await)
        .await
        .expect(202);
    served.follow(&served.token, text(&queued["run_id"])).await;

    let mut names = Vec::new();
    let all = ["request", "prep", "extract", "finalize"];
    while !all.iter().all(|name| names.iter().any(|one| one == name)) {
        let body = tokio::time::timeout(Duration::from_secs(60), sent.recv()).await;
        let body = body.expect("spans keep coming").unwrap();
        for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"]
            .as_array()
            .unwrap()
        {
            if span["traceId"] != PARENT[3..35] {
                continue;
            }
            let kind = span["attributes"]
                .as_array()
                .unwrap()
                .iter()
                .find(|a| a["key"] == "kind");
            let kind = kind.map(|kind| text(&kind["value"]["stringValue"]).to_owned());
            names.push(kind.unwrap_or_else(|| text(&span["name"]).to_owned()));
            if span["name"] == "request" {
                assert_eq!(span["parentSpanId"], "00f067aa0ba902b7");
            }
        }
    }
}
