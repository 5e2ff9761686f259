//! A server with a reranker: its order while it answers, the fused one when it does not.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::reranker::{Answer as Reranks, Double, KEY};

use super::served::{Answer, Served, send};
use crate::mill::{Mill, text};

const QUERY: &str = "which stone grinds the rye";
const SEARCH: &str = "/v1/kbs/default/search";

/// The shorter, the better, says the double; the longer ones have more of the query's words.
const TEXTS: [(&str, &str); 4] = [
    (
        "a.txt",
        "The stone grinds the rye, and which stone it is the miller knows.",
    ),
    (
        "b.txt",
        "The second stone grinds the rye when the stream runs low.",
    ),
    ("c.txt", "Rye wants a coarser stone than wheat does."),
    ("d.txt", "A stone rests in autumn."),
];

async fn served(double: &Double) -> Served {
    let url = double.url();
    let variables = [
        ("GRISTMILL_RERANK_URL", url.as_str()),
        ("GRISTMILL_RERANK_MODEL", "rerank-v3.5"),
        ("COHERE_API_KEY", KEY),
        // How long it takes on a busy machine is not what is tested.
        ("GRISTMILL_RERANK_DEADLINE_MS", "30000"),
    ];
    let served = Served::with(Mill::sqlite(), &variables);
    for (name, body) in TEXTS {
        served.ingest(name, body).await;
    }
    served
}

async fn search(served: &Served, rerank: Value) -> Value {
    let body = json!({ "query": QUERY, "rerank": rerank });
    served.post(SEARCH, &body).await.expect(200)
}

/// Which file each hit is of, by its text.
fn order(hits: &Value) -> Vec<&'static str> {
    let hits = hits.as_array().expect("hits").iter();
    hits.map(|hit| {
        let mut texts = TEXTS.iter();
        let of = texts.find(|(_, body)| text(&hit["text"]) == *body);
        of.expect("one of ours").0
    })
    .collect()
}

fn is_reranked(found: &Value) {
    assert_eq!(found["rerank"], json!({ "applied": true, "why": null }));
    assert_eq!(order(&found["hits"]), ["d.txt", "c.txt", "b.txt", "a.txt"]);
}

async fn tool(served: &Served, arguments: Value) -> Value {
    let params = json!({ "name": "search", "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    served.post("/mcp", &body).await.expect(200)["result"]["structuredContent"].clone()
}

/// The line each query leaves in the log.
fn lines(served: &Served) -> Vec<Value> {
    let lines: Vec<Value> = served
        .log()
        .lines()
        .map(|line| serde_json::from_str(line).expect("every line is a JSON object"))
        .collect();
    let is_query = |line: &Value| line["message"] == "searched";
    lines.into_iter().filter(is_query).collect()
}

/// On threads of its own: the double answers while the test waits for a command.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_found_comes_in_the_rerankers_order_wherever_it_is_asked_for() {
    let double = Double::start(vec![]).await;
    let served = served(&double).await;
    let fused = search(&served, json!(false)).await;
    assert_eq!(fused["rerank"], Value::Null);
    assert_eq!(order(&fused["hits"])[0], "a.txt", "{fused}");
    assert!(double.requests().is_empty(), "nothing has left");

    let found = search(&served, Value::Null).await;
    is_reranked(&found);
    for hit in found["hits"].as_array().expect("hits") {
        assert!(hit["scores"]["rerank"].is_number(), "{hit}");
        let mut twins = fused["hits"].as_array().expect("hits").iter();
        let twin = twins.find(|one| one["chunk_id"] == hit["chunk_id"]);
        assert_eq!(
            twin.expect("the same passages")["citation"],
            hit["citation"]
        );
    }
    is_reranked(&tool(&served, json!({ "query": QUERY, "rerank": true })).await);
    let body = json!({ "question": QUERY });
    let asked = served.post("/v1/kbs/default/ask", &body).await.expect(200);
    assert_eq!(asked["rerank"]["applied"], true, "{asked}");
    assert_eq!(asked["answered"], true, "{asked}");
    let printed = served.mill.lines(&["search", QUERY, "--json"]);
    is_reranked(&printed[0]);
    let printed = served
        .mill
        .lines(&["search", QUERY, "--json", "--no-rerank"]);
    assert_eq!(order(&printed[0]["hits"]), order(&fused["hits"]));
    assert_eq!(double.requests().len(), 4);

    let lines = lines(&served);
    let reranked: Vec<&str> = lines.iter().map(|line| text(&line["reranked"])).collect();
    assert_eq!(reranked, ["no", "yes", "yes", "yes", "yes", "no"]);
    for line in &lines {
        assert_eq!((&line["kb"], &line["hits"]), (&json!("default"), &json!(4)));
        assert_eq!(line["mode"], "hybrid");
        let parts = ["ms", "embed_ms", "vector_ms", "text_ms"];
        assert!(parts.iter().all(|part| line[part].is_number()), "{line}");
        assert_eq!(line["rerank_ms"].is_number(), line["reranked"] == "yes");
    }
    assert_eq!(lines[3]["answered"], true);
    secret(&served);
}

/// Nothing that was asked, found or signed with is in the log.
fn secret(served: &Served) {
    let log = served.log();
    for hushed in [KEY, QUERY, "grinds", "coarser"] {
        assert!(!log.contains(hushed), "{hushed} is in the log");
    }
}

#[tokio::test]
async fn a_reranker_that_is_down_costs_nothing_but_its_order() {
    let double = Double::start(vec![]).await;
    let served = served(&double).await;
    let fused = search(&served, json!(false)).await;
    let cases = [
        (Reranks::HangUp, "cannot be reached"),
        (Reranks::Status(500, "which stone"), "failed with 500"),
        (Reranks::OutOfRange, "twice or out of range"),
        (Reranks::Status(401, "{}"), "check rerank.api_key"),
        (Reranks::NotANumber, "not a number"),
    ];
    for (failing, said) in cases {
        double.from_now_on(failing);
        let found = search(&served, json!(true)).await;
        assert_eq!(found["hits"], fused["hits"]);
        assert_eq!(found["rerank"]["applied"], false);
        let why = text(&found["rerank"]["why"]);
        assert!(why.contains(said), "{why} does not say {said}");
    }

    // Five in a row: it is left alone, and no search waits for it.
    let asked = double.requests().len();
    let found = search(&served, Value::Null).await;
    assert_eq!(found["hits"], fused["hits"]);
    let why = text(&found["rerank"]["why"]);
    assert!(why.contains("left alone for a while"), "{why}");
    assert_eq!(double.requests().len(), asked);
    let figures = served.get("/metrics").await.text;
    for line in [
        "gristmill_reranks_total{outcome=\"applied\"} 0",
        "gristmill_reranks_total{outcome=\"unreachable\"} 1",
        "gristmill_reranks_total{outcome=\"bad_answer\"} 2",
        "gristmill_reranks_total{outcome=\"left_alone\"} 1",
    ] {
        assert!(figures.contains(line), "{line}\n{figures}");
    }
    let last = lines(&served).pop().expect("a line");
    assert_eq!(last["reranked"], "failed");
    assert!(text(&last["rerank_why"]).contains("left alone"), "{last}");
    assert_eq!(lines(&served).len(), 7, "one line a query");

    let page = format!("/kb/default/search?q={}", QUERY.replace(' ', "+"));
    let page = served
        .request(Method::GET, &page)
        .header("accept", "text/html");
    let page = Answer::of(send(page).await).await.text;
    assert!(
        page.contains("Not reranked: the reranker kept failing"),
        "{page}"
    );
    secret(&served);
}

#[tokio::test]
async fn a_server_without_a_reranker_says_so_to_whoever_insists() {
    let served = Served::sqlite();
    served.ingest("a.txt", TEXTS[0].1).await;
    assert_eq!(search(&served, Value::Null).await["rerank"], Value::Null);
    let insisting = json!({ "query": QUERY, "rerank": true });
    let refused = served.post(SEARCH, &insisting).await;
    assert_eq!(refused.problem(422), "unprocessable");
    assert!(text(&refused.json()["hint"]).contains("rerank.url"));
    let asking = json!({ "question": QUERY, "rerank": true });
    let refused = served.post("/v1/kbs/default/ask", &asking).await;
    assert_eq!(refused.problem(422), "unprocessable");
    let odd = json!({ "query": QUERY, "rerank": "perhaps" });
    assert_eq!(
        served.post(SEARCH, &odd).await.problem(400),
        "invalid_request"
    );
    assert!(!served.get("/metrics").await.text.contains("reranks_total"));
}
