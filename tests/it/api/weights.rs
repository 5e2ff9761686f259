//! What meaning and words count for in a search, and how much a filter may name.

use serde_json::{Value, json};
use uuid::Uuid;

use super::served::Served;
use crate::mill::text;

const DOORS: [(&str, &str); 2] = [
    ("/v1/kbs/default/search", "query"),
    ("/v1/kbs/default/ask", "question"),
];

async fn library() -> Served {
    let served = Served::sqlite();
    served
        .ingest("stone.txt", "A coarser stone grinds the rye.")
        .await;
    served
        .ingest("wheel.txt", "The wheel stands still in winter.")
        .await;
    served
}

#[tokio::test]
async fn weights_are_those_of_the_request_and_of_the_command() {
    let served = library().await;
    let scores = async |weights: Value| {
        let body = json!({ "query": "rye", "weights": weights });
        let answer = served.post("/v1/kbs/default/search", &body).await;
        answer.expect(200)["hits"][0]["score"]
            .as_f64()
            .expect("a score")
    };
    let usual = scores(Value::Null).await;
    assert_eq!(scores(json!({})).await, usual);
    assert_eq!(scores(json!({ "vector": 1, "text": 1 })).await, usual);
    let tripled = scores(json!({ "vector": 3, "text": 3 })).await;
    assert!((tripled - 3.0 * usual).abs() < 1e-9, "{tripled}, {usual}");

    let words = ["search", "winter", "--weights", "0,1", "--json"];
    let words = served.mill.lines(&words).remove(0);
    let hits = words["hits"].as_array().expect("hits");
    assert_eq!(hits.len(), 1, "{words}");
    assert_eq!(hits[0]["scores"]["vector"], Value::Null);
    let refused = served.mill.run(&["search", "rye", "--weights", "0,0"]);
    assert!(!refused.status.success());

    for (door, asked) in DOORS {
        for weights in [json!({ "vector": 0, "text": 0 }), json!({ "vector": -1 })] {
            let refused = served
                .post(door, &json!({ asked: "rye", "weights": weights }))
                .await;
            assert_eq!(refused.problem(422), "unprocessable", "{door} {weights}");
        }
    }
}

#[tokio::test]
async fn a_filter_of_thousands_is_refused_with_its_limit_and_the_largest_is_answered() {
    let served = library().await;
    let ids = |count: u128| {
        let ids: Vec<Uuid> = (0..count).map(Uuid::from_u128).collect();
        json!({ "document_ids": ids })
    };
    let pairs = |count: usize| {
        let pairs = (0..count).map(|n| (n.to_string(), json!("x")));
        json!({ "metadata": Value::Object(pairs.collect()) })
    };
    for (door, asked) in DOORS {
        for (filter, limit) in [
            (ids(40_000), "at most 1000 documents"),
            (pairs(2_000), "at most 100 pairs"),
        ] {
            let body = json!({ asked: "rye", "filter": filter });
            let refused = served.post(door, &body).await;
            assert_eq!(refused.problem(422), "unprocessable", "{door}");
            assert!(text(&refused.json()["detail"]).contains(limit));
        }
        for filter in [ids(1_000), pairs(100)] {
            let body = json!({ asked: "rye", "filter": filter });
            served.post(door, &body).await.expect(200);
        }
    }
    let description = served.get("/openapi.json").await.expect(200);
    let filter = &description["components"]["schemas"]["FilterBody"]["properties"];
    assert_eq!(filter["document_ids"]["maxItems"], 1_000);
    assert_eq!(filter["metadata"]["maxProperties"], 100);
}
