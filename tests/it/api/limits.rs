//! What one request may take from the others: time, and a turn.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::served::{Answer, Served, send};
use crate::mill::{Mill, text};
use crate::server::Server;

const QUERY: &str = r#"{"query":"rye"}"#;

/// The head of a search; its body is announced.
fn head(address: &str, more: &str) -> String {
    format!(
        "POST /v1/kbs/default/search HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n{more}\r\n",
        QUERY.len()
    )
}

#[test]
fn a_request_that_takes_too_long_is_answered_with_a_problem() {
    let mill = Mill::sqlite();
    let server = Server::start(&mill, &[("GRISTMILL_HTTP_TIMEOUT_SECONDS", "1")]);
    let address = server.base.strip_prefix("http://").unwrap();
    // With a key the body is read before anything else.
    for more in ["", "idempotency-key: once\r\n"] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(head(address, more).as_bytes()).unwrap();
        stream.write_all(&QUERY.as_bytes()[..5]).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a whole answer");
        assert!(head.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(
            head.contains("content-type: application/problem+json"),
            "{answer}"
        );
        let problem: Value = serde_json::from_str(body).expect("a problem is JSON");
        assert_eq!(
            (&problem["code"], &problem["status"]),
            (&json!("timeout"), &json!(503))
        );
        assert!(!text(&problem["hint"]).is_empty(), "{problem}");
    }
}

#[tokio::test]
async fn more_requests_than_the_server_takes_on_are_told_to_come_back() {
    let served = Served::with(Mill::sqlite(), &[("GRISTMILL_HTTP_CONCURRENCY", "1")]);
    let address = served.base.strip_prefix("http://").unwrap();
    let mut first = TcpStream::connect(address).unwrap();
    let more = format!(
        "authorization: Bearer {}\r\nexpect: 100-continue\r\n",
        served.token
    );
    first.write_all(head(address, &more).as_bytes()).unwrap();
    // It says so once it reads the body: the only turn is taken.
    let mut go_on = [0; 25];
    first.read_exact(&mut go_on).unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100 "));

    let refused = served.get("/v1/kbs").await;
    assert_eq!(refused.problem(503), "unavailable");
    assert!(refused.headers.contains_key("retry-after"));
    assert!(!text(&refused.json()["hint"]).is_empty());
    // Whoever looks after it is told all the same.
    assert_eq!(served.get("/livez").await.text, "ok");
    served.get("/readyz").await.expect(200);

    first.write_all(QUERY.as_bytes()).unwrap();
    let mut answer = String::new();
    first.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    served.get("/v1/kbs").await.expect(200);
}

#[tokio::test]
async fn a_tenant_has_only_so_many_event_streams_open() {
    let variables = [("GRISTMILL_HTTP_STREAMS_PER_TENANT", "2")];
    let served = Served::with(Mill::sqlite(), &variables);
    let other = served.tenant("other").await;
    let open = async |token: &str| {
        let request = served.bare(Method::GET, "/v1/events/stream");
        send(request.bearer_auth(token)).await
    };
    let (first, second) = (open(&served.token).await, open(&served.token).await);
    assert_eq!([first.status(), second.status()], [StatusCode::OK; 2]);
    let third = Answer::of(open(&served.token).await).await;
    assert_eq!(third.problem(429), "too_many_streams");
    assert!(third.headers.contains_key("retry-after"));
    assert!(!text(&third.json()["hint"]).is_empty());
    assert_eq!(open(&other).await.status(), 200, "they have their own");
    // Whoever goes makes room, as soon as the server has noticed.
    drop(first);
    while open(&served.token).await.status() != 200 {}
}
