//! Questions longer than the model reads: all of one counts, and the answer says how it was read.

use reqwest::Method;
use serde_json::{Value, json};

use super::served::{Answer, Served, send};
use crate::mill::text;

/// What is asked comes after more than the model reads, which says nothing.
fn long(end: &str) -> String {
    format!("{}{end}", "Mumble mumble mumble mumble. ".repeat(80))
}

async fn by_meaning(served: &Served, query: &str) -> Value {
    let body = json!({ "query": query, "mode": "vector" });
    served
        .post("/v1/kbs/default/search", &body)
        .await
        .expect(200)
}

#[tokio::test]
async fn a_query_longer_than_the_model_reads_is_read_to_its_end_and_the_answer_says_so() {
    let served = Served::sqlite();
    served
        .ingest("stone.txt", "A coarser stone grinds the rye.")
        .await;
    served
        .ingest("wheel.txt", "The wheel stands still in winter.")
        .await;
    for (end, found) in [
        ("Which stone grinds the rye?", "stone"),
        ("Which wheel stands still in winter?", "wheel"),
    ] {
        let answer = by_meaning(&served, &long(end)).await;
        assert!(answer["query_parts"].as_u64() > Some(1), "{answer}");
        assert!(text(&answer["hits"][0]["text"]).contains(found), "{answer}");
    }
    let short = by_meaning(&served, "Which stone grinds the rye?").await;
    assert_eq!(short["query_parts"], 1);
    let words = json!({ "query": long("rye"), "mode": "text" });
    let words = served.post("/v1/kbs/default/search", &words).await;
    assert_eq!(words.expect(200)["query_parts"], Value::Null);

    let page = format!("/kb/default/search?q={}", long("rye").replace(' ', "+"));
    let page = served
        .request(Method::GET, &page)
        .header("accept", "text/html");
    let page = Answer::of(send(page).await).await.text;
    assert!(page.contains("parts of it were averaged"), "{page}");
}
