//! The reranker beside a double of the service that fails in every way it documents.
//!
//! The double is a real listener on this machine; waits are milliseconds, or on a clock that
//! the test moves.

use std::time::Duration;

use providers::remote::Retry;
use providers::{CohereReranker, CohereSettings, Error, Kind, Reranker, Secret};
use serde_json::json;
use testkit::reranker::{self, Answer, Double};

const QUERY: &str = "which stone grinds rye";
const TRANSIENT: Kind = Kind::Transient { retry_after: None };

fn settings(double: &Double) -> CohereSettings {
    CohereSettings {
        key: Some(Secret::new(reranker::KEY)),
        deadline: Duration::from_secs(30),
        retry: Retry {
            attempts: 2,
            first_wait: Duration::from_millis(1),
            ..Retry::default()
        },
        ..CohereSettings::of(double.url(), "rerank-v3.5")
    }
}

fn open(double: &Double) -> CohereReranker {
    CohereReranker::open(&settings(double)).unwrap()
}

fn passages() -> Vec<String> {
    ["a longer passage", "short", "in between"]
        .map(String::from)
        .to_vec()
}

fn relevance() -> Vec<f64> {
    let texts = passages();
    texts.iter().map(|text| reranker::relevance(text)).collect()
}

#[tokio::test]
async fn each_passage_gets_its_score_and_the_service_what_it_needs() {
    let double = Double::start(vec![]).await;
    let scores = open(&double).rerank(QUERY, &passages()).await.unwrap();
    assert_eq!(scores, relevance());
    let sent = json!({ "model": "rerank-v3.5", "query": QUERY, "documents": passages() });
    assert_eq!(double.requests(), [sent]);
}

#[tokio::test]
async fn what_passes_at_once_is_asked_once_more() {
    for failure in [
        Answer::Status(500, "<html>oops</html>"),
        Answer::Status(499, "{}"),
        Answer::Header(429, ("retry-after-ms", "2")),
        Answer::Missing,
        Answer::Truncated,
        Answer::HangUp,
    ] {
        let double = Double::start(vec![failure]).await;
        let scores = open(&double).rerank(QUERY, &passages()).await.unwrap();
        assert_eq!(scores, relevance());
        assert_eq!(double.requests().len(), 2);
    }
}

#[tokio::test]
async fn every_failure_is_told_by_its_kind() {
    let throttled = Kind::Throttled { retry_after: None };
    let cases = [
        (Answer::Status(429, reranker::RATE_LIMIT), throttled, 1),
        (Answer::Status(402, "{}"), Kind::Quota, 1),
        (Answer::Status(401, "{}"), Kind::Misconfigured, 1),
        (Answer::Status(404, "{}"), Kind::Misconfigured, 1),
        (Answer::Status(422, "{}"), Kind::Misconfigured, 1),
        (Answer::Status(498, "{}"), Kind::Misconfigured, 1),
        (Answer::Status(503, "{}"), TRANSIENT, 2),
        (Answer::Missing, TRANSIENT, 2),
        (Answer::Duplicate, TRANSIENT, 2),
        (Answer::OutOfRange, TRANSIENT, 2),
        (Answer::NotANumber, TRANSIENT, 2),
        (Answer::NotJson, TRANSIENT, 2),
        (Answer::Truncated, TRANSIENT, 2),
        (Answer::HangUp, TRANSIENT, 2),
    ];
    for (answer, kind, requests) in cases {
        let double = Double::start(vec![]).await;
        double.from_now_on(answer);
        let error = open(&double).rerank(QUERY, &passages()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(double.requests().len(), requests, "{error}");
        assert!(!format!("{error} {error:?}").contains(reranker::KEY));
    }
}

#[tokio::test]
async fn a_key_that_is_not_accepted_is_told_and_never_shown() {
    let double = Double::start(vec![]).await;
    let wrong = CohereSettings {
        key: Some(Secret::new("co-wrong")),
        ..settings(&double)
    };
    assert!(!format!("{wrong:?}").contains("co-wrong"));
    let reranker = CohereReranker::open(&wrong).unwrap();
    let error = reranker.rerank(QUERY, &passages()).await.unwrap_err();
    assert!(matches!(error, Error::Refused { status: 401, .. }));
    assert!(error.to_string().ends_with("invalid api token"), "{error}");
}

#[tokio::test]
async fn settings_that_cannot_be_meant_are_named() {
    let double = Double::start(vec![]).await;
    let with = |change: fn(&mut CohereSettings)| {
        let mut settings = settings(&double);
        change(&mut settings);
        match CohereReranker::open(&settings) {
            Err(Error::Setting { name, .. }) => name,
            _ => "accepted",
        }
    };
    assert_eq!(with(|s| s.url = "api.cohere.com".into()), "url");
    assert_eq!(with(|s| s.url = "ftp://api.cohere.com".into()), "url");
    assert_eq!(with(|s| s.model = " ".into()), "model");
    assert_eq!(with(|s| s.key = Some(Secret::new("a\nb"))), "api_key");
    assert_eq!(with(|s| s.url += "/"), "accepted");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_says_nothing_costs_its_deadline_and_no_more() {
    let double = Double::start(vec![]).await;
    double.from_now_on(Answer::Silence);
    let deadline = Duration::from_secs(2);
    let reranker = CohereReranker::open(&CohereSettings {
        deadline,
        ..settings(&double)
    });
    let began = tokio::time::Instant::now();
    let error = reranker.unwrap().rerank(QUERY, &passages()).await;
    let Err(Error::TimedOut { after }) = error else {
        panic!("{error:?}");
    };
    assert_eq!(after, deadline);
    let took = began.elapsed();
    assert!(took >= deadline && took < deadline * 2, "{took:?}");
}

#[tokio::test]
async fn a_service_that_keeps_failing_is_left_alone_and_then_tried_again() {
    for failing in [Answer::Status(503, "{}"), Answer::Status(401, "{}")] {
        let double = Double::start(vec![]).await;
        double.from_now_on(failing);
        let reranker = open(&double);
        for _ in 0..5 {
            reranker.rerank(QUERY, &passages()).await.unwrap_err();
        }
        let asked = double.requests().len();
        let error = reranker.rerank(QUERY, &passages()).await.unwrap_err();
        assert!(matches!(error, Error::CircuitOpen { .. }), "{error}");
        assert_eq!(double.requests().len(), asked, "nothing has left");

        double.from_now_on(Answer::Good);
        later(Duration::from_secs(5)).await;
        let scores = reranker.rerank(QUERY, &passages()).await.unwrap();
        assert_eq!(scores, relevance());
    }
}

#[tokio::test]
async fn a_wait_the_service_asks_for_is_kept_by_every_query() {
    let double = Double::start(vec![Answer::Header(429, ("retry-after", "30"))]).await;
    let reranker = open(&double);
    for _ in 0..3 {
        let error = reranker.rerank(QUERY, &passages()).await.unwrap_err();
        assert!(matches!(error, Error::Throttled { .. }), "{error}");
    }
    assert_eq!(double.requests().len(), 1);
    later(Duration::from_secs(30)).await;
    reranker.rerank(QUERY, &passages()).await.unwrap();
}

#[tokio::test]
async fn a_query_longer_than_the_model_reads_is_not_sent() {
    let double = Double::start(vec![]).await;
    let long = "stone ".repeat(3000);
    let error = open(&double).rerank(&long, &passages()).await.unwrap_err();
    assert!(
        matches!(error, Error::TooLong { limit: 2048, .. }),
        "{error}"
    );
    assert!(double.requests().is_empty());
}

/// Moves the clock; it runs on afterwards, as what is on the network does not wait for it.
async fn later(by: Duration) {
    tokio::time::pause();
    tokio::time::advance(by).await;
    tokio::time::resume();
}
