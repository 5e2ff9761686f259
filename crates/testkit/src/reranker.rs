//! A reranking service that answers from a script, then well: Cohere's second version, as far
//! as it can be told from outside.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::double::{self, Request};

/// The key it accepts.
pub const KEY: &str = "co-test-key";
pub const RATE_LIMIT: &str =
    r#"{"message":"You are past the per minute request limit, please wait and try again later."}"#;

const MOST_DOCUMENTS: usize = 10_000;

#[derive(Clone)]
pub enum Answer {
    Good,
    Status(u16, &'static str),
    /// The same, and a header beside it.
    Header(u16, (&'static str, &'static str)),
    /// Of one passage too few.
    Missing,
    /// One passage scored twice, another not at all.
    Duplicate,
    OutOfRange,
    /// `null`, as JSON writes what is not a number.
    NotANumber,
    NotJson,
    /// Ends before the length it announced.
    Truncated,
    HangUp,
    Silence,
}

/// How well a passage answers, as the double sees it: the shorter, the better. Of four digits,
/// so that it is read as it was written.
pub fn relevance(document: &str) -> f64 {
    (1e4 / (1.0 + document.chars().count() as f64)).round() / 1e4
}

#[derive(Default)]
struct Seen {
    script: VecDeque<Answer>,
    /// What is answered when the script has ended.
    then: Option<Answer>,
    requests: Vec<Value>,
}

pub struct Double {
    url: String,
    seen: Arc<Mutex<Seen>>,
}

impl Double {
    pub async fn start(script: Vec<Answer>) -> Self {
        let seen = Arc::new(Mutex::new(Seen {
            script: script.into(),
            ..Seen::default()
        }));
        let shared = Arc::clone(&seen);
        let address = double::listen(move |stream| serve(stream, Arc::clone(&shared))).await;
        let url = format!("http://{address}/v2");
        Self { url, seen }
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Every request from now on is answered like this.
    pub fn from_now_on(&self, answer: Answer) {
        self.seen.lock().unwrap().then = Some(answer);
    }

    /// The bodies it was sent, in order of arrival.
    pub fn requests(&self) -> Vec<Value> {
        self.seen.lock().unwrap().requests.clone()
    }
}

/// One request a connection.
async fn serve(stream: TcpStream, seen: Arc<Mutex<Seen>>) {
    let mut stream = BufReader::new(stream);
    let request = double::request(&mut stream).await;
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let answer = {
        let mut seen = seen.lock().unwrap();
        seen.requests.push(body.clone());
        let next = seen.script.pop_front();
        next.or_else(|| seen.then.clone()).unwrap_or(Answer::Good)
    };
    let (status, header, text) = match &answer {
        Answer::HangUp => return,
        Answer::Silence => std::future::pending().await,
        Answer::Status(status, text) => (*status, None, (*text).to_owned()),
        Answer::Header(status, header) => (*status, Some(*header), "{}".to_owned()),
        Answer::NotJson => (200, None, "<html>fine</html>".to_owned()),
        odd => match refusal(&request, &body) {
            Some((status, why)) => (status, None, json!({ "message": why }).to_string()),
            None => (200, None, results(odd, &body).to_string()),
        },
    };
    let header = header.map_or(String::new(), |(name, value)| {
        format!("{name}: {value}\r\n")
    });
    let length = text.len();
    let cut = match answer {
        Answer::Truncated => length / 2,
        _ => length,
    };
    let head = format!(
        "HTTP/1.1 {status} Scripted\r\nconnection: close\r\n{header}content-length: {length}\r\n\r\n"
    );
    // A client that gave up is not the double's concern.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(&text.as_bytes()[..cut]).await;
    let _ = stream.shutdown().await;
}

/// What the service does not accept, in its own words.
fn refusal(request: &Request, body: &Value) -> Option<(u16, &'static str)> {
    let blank = |field: &str| {
        body[field]
            .as_str()
            .is_none_or(|text| text.trim().is_empty())
    };
    let documents = body["documents"].as_array().map(Vec::as_slice);
    let known = [
        "model",
        "query",
        "documents",
        "top_n",
        "max_tokens_per_doc",
        "priority",
    ];
    let stranger = |name: &String| !known.contains(&name.as_str());
    if request.line != "POST /v2/rerank HTTP/1.1" {
        return Some((404, "not found"));
    }
    match request.key.split_once(' ') {
        Some((scheme, KEY)) if scheme.eq_ignore_ascii_case("bearer") => {}
        None => return Some((401, "no api key supplied")),
        Some(_) => return Some((401, "invalid api token")),
    }
    match documents {
        _ if body
            .as_object()
            .is_none_or(|fields| fields.keys().any(stranger)) =>
        {
            Some((422, "unknown field"))
        }
        _ if blank("model") => Some((400, "invalid request: model is required")),
        _ if blank("query") => Some((
            400,
            "invalid request: query must not be empty or be only whitespace",
        )),
        None | Some([]) => Some((400, "invalid request: list of documents must not be empty")),
        Some(all) if all.len() > MOST_DOCUMENTS => {
            Some((400, "invalid request: too many documents"))
        }
        Some(all) if !all.iter().all(Value::is_string) => {
            Some((400, "invalid request: documents must be strings"))
        }
        Some(_) if body.get("top_n").is_some_and(|n| n.as_u64() < Some(1)) => {
            Some((400, "invalid request: top_n must be at least 1"))
        }
        Some(_) => None,
    }
}

/// Best first, as the service sorts them.
fn results(answer: &Answer, body: &Value) -> Value {
    let documents = body["documents"].as_array().into_iter().flatten();
    let mut scored: Vec<(usize, f64)> = documents
        .map(|document| relevance(document.as_str().unwrap_or_default()))
        .enumerate()
        .collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1));
    if let Some(most) = body["top_n"].as_u64() {
        scored.truncate(most as usize);
    }
    let result =
        |&(index, score): &(usize, f64)| json!({ "index": index, "relevance_score": score });
    let mut results: Vec<Value> = scored.iter().map(result).collect();
    match answer {
        Answer::Missing => drop(results.pop()),
        Answer::Duplicate => results[0]["index"] = results[1]["index"].clone(),
        Answer::OutOfRange => results[0]["index"] = json!(results.len()),
        Answer::NotANumber => results[0]["relevance_score"] = Value::Null,
        _ => {}
    }
    json!({ "id": "07734bd2-2473-4f07-94e1-0d9f0e6843cf", "results": results,
        "meta": { "api_version": { "version": "2" }, "billed_units": { "search_units": 1 } } })
}
