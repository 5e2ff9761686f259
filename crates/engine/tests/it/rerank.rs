//! A reranker has the last word on the order while it answers, and none when it does not.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use catalog::Kb;
use chrono::{TimeDelta, Utc};
use engine::rerank::Reranked;
use engine::search::{Filter, Found, Mode, Request};
use engine::{Engine, Error, Settings, SystemClock};
use pipeline::query::Weights;
use providers::{HashEmbedder, HashSettings, Reranker};

use crate::house::{catalog_in, engine_in, take_in};

const DOCUMENTS: usize = 12;

/// Answers from a script, then turns the order around.
#[derive(Default)]
struct Says {
    script: Mutex<VecDeque<Result<Vec<f64>, providers::Error>>>,
    given: Mutex<Vec<Vec<String>>>,
}

impl Says {
    fn next(&self, answer: Result<Vec<f64>, providers::Error>) {
        self.script.lock().unwrap().push_back(answer);
    }

    fn given(&self) -> Vec<Vec<String>> {
        self.given.lock().unwrap().clone()
    }
}

#[async_trait]
impl Reranker for Says {
    fn model(&self) -> &str {
        "says"
    }

    async fn rerank(&self, _: &str, passages: &[String]) -> Result<Vec<f64>, providers::Error> {
        self.given.lock().unwrap().push(passages.to_vec());
        let scripted = self.script.lock().unwrap().pop_front();
        scripted.unwrap_or_else(|| Ok((0..passages.len()).map(|n| n as f64).collect()))
    }
}

struct House {
    engine: Engine,
    kb: Kb,
    _folder: tempfile::TempDir,
}

impl House {
    async fn open(candidates: usize, reranker: Option<Arc<Says>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let embedder = Arc::new(HashEmbedder::new(&HashSettings::default()));
        let mut settings = Settings::default();
        settings.rerank.candidates = candidates;
        let catalog = catalog_in(folder.path()).await;
        let clock = Arc::new(SystemClock);
        let opened = engine_in(folder.path(), settings, catalog, embedder, clock);
        let (mut engine, place) = opened.await;
        if let Some(reranker) = reranker {
            engine = engine.reranked_by(reranker);
        }
        take_in(&engine, &place, files()).await;
        let kb = engine.parts().catalog.kb(place.tenant, place.kb);
        Self {
            kb: kb.await.unwrap(),
            engine,
            _folder: folder,
        }
    }

    async fn search(&self, top: usize, rerank: Option<bool>) -> Found {
        let request = Request {
            rerank,
            ..request(top)
        };
        self.engine.search(&self.kb, &request).await.unwrap()
    }
}

/// Twelve documents, every second under another heading.
fn files() -> impl Iterator<Item = (String, String)> {
    (0..DOCUMENTS).map(|n| {
        let heading = if n % 2 == 0 { "Water" } else { "Wind" };
        let more = "and turns on through the night ".repeat(n);
        let text = format!("# {heading}\n\nWheel {n} turns by day {more}.\n");
        (format!("{n}.md"), text)
    })
}

fn request(top: usize) -> Request {
    Request {
        query: "which wheel turns through the night".into(),
        mode: Mode::Hybrid,
        top,
        weights: Weights::default(),
        filter: Filter::default(),
        neighbours: 0,
        as_of: None,
        rerank: None,
    }
}

fn names(found: &Found) -> Vec<&str> {
    let names = found.hits.iter().map(|hit| hit.filename.as_str());
    names.collect()
}

fn scores(found: &Found) -> Vec<Option<f64>> {
    found.hits.iter().map(|hit| hit.rerank).collect()
}

#[tokio::test]
async fn the_best_are_put_in_the_rerankers_order_and_then_cut() {
    let says = Arc::new(Says::default());
    let house = House::open(8, Some(says.clone())).await;
    let fused = house.search(8, Some(false)).await;
    assert_eq!((fused.reranked.clone(), says.given().len()), (None, 0));
    assert_eq!(scores(&fused), [None; 8]);

    let found = house.search(3, None).await;
    assert_eq!(found.reranked, Some(Reranked::Applied));
    let expected: Vec<&str> = names(&fused).into_iter().rev().take(3).collect();
    assert_eq!(names(&found), expected);
    assert_eq!(scores(&found), [Some(7.0), Some(6.0), Some(5.0)]);
    // A hit keeps what each leg gave it, and its place in the document.
    let (last, first) = (&fused.hits[7], &found.hits[0]);
    assert_eq!((last.vector, last.text_leg), (first.vector, first.text_leg));
    assert_eq!(
        (last.score, last.chunk_hash),
        (first.score, first.chunk_hash)
    );
    assert_eq!((first.rank, last.span), (1, first.span));
    // What was given are the eight best, in their order and with their headings.
    let given = says.given().remove(0);
    assert_eq!(given.len(), 8);
    for (passage, hit) in given.iter().zip(&fused.hits) {
        assert!(passage.ends_with(&hit.text), "{passage}");
        assert!(passage.contains(&hit.heading_path[0]), "{passage}");
    }
}

#[tokio::test]
async fn beyond_the_candidates_the_fused_order_goes_on_and_nothing_is_lost() {
    let house = House::open(4, Some(Arc::default())).await;
    let fused = house.search(DOCUMENTS, Some(false)).await;
    let found = house.search(DOCUMENTS, Some(true)).await;
    let mut expected = names(&fused);
    expected[..4].reverse();
    assert_eq!(names(&found), expected);
    assert_eq!(scores(&found)[3..5], [Some(0.0), None]);
    assert_eq!(found.hits.len(), DOCUMENTS);
}

#[tokio::test]
async fn whatever_fails_the_fused_order_stays_and_it_is_told_why() {
    use providers::Error as E;
    let says = Arc::new(Says::default());
    let house = House::open(6, Some(says.clone())).await;
    let fused = house.search(5, Some(false)).await;
    let after = Duration::from_secs(2);
    // What a service writes may quote anything.
    let message = || "no: `sk-hush wheel`".to_owned();
    let cases = [
        (Err(E::TimedOut { after }), "within 2s", "timed_out"),
        (
            Err(E::CircuitOpen { retry_after: after }),
            "left alone",
            "left_alone",
        ),
        (
            Err(E::Throttled {
                retry_after: None,
                message: message(),
            }),
            "slow down",
            "throttled",
        ),
        (
            Err(E::Quota { message: message() }),
            "nothing left to spend",
            "quota",
        ),
        (
            Err(E::Refused {
                status: 401,
                message: message(),
            }),
            "401; check rerank.api_key",
            "refused",
        ),
        (
            Err(E::Unavailable {
                status: 503,
                retry_after: None,
                message: message(),
            }),
            "failed with 503",
            "unavailable",
        ),
        (
            Err(E::TooLong {
                index: 0,
                tokens: 9,
                limit: 8,
            }),
            "longer than the reranker reads",
            "too_long",
        ),
        (
            Err(E::BadAnswer {
                what: "2 scores for 6 passages".into(),
            }),
            "2 scores",
            "bad_answer",
        ),
        (Ok(vec![1.0]), "one number for each", "bad_answer"),
        (Ok(vec![f64::NAN; 6]), "one number for each", "bad_answer"),
    ];
    for (failed, (answer, said, counted)) in (1..).zip(cases) {
        says.next(answer);
        let found = house.search(5, None).await;
        assert_eq!(names(&found), names(&fused), "{said}");
        assert_eq!(scores(&found), [None; 5]);
        let why = found.reranked.as_ref().and_then(Reranked::why).unwrap();
        assert!(why.contains(said) && !why.contains("hush"), "{why}");
        let counts = house.engine.reranks();
        let count = counts.iter().find(|(name, _)| *name == counted);
        assert!(count.is_some_and(|(_, count)| *count > 0), "{counts:?}");
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), failed);
    }
    assert_eq!(
        house.search(5, None).await.reranked,
        Some(Reranked::Applied)
    );
}

#[tokio::test]
async fn only_what_passes_the_filters_is_given_to_the_reranker() {
    let says = Arc::new(Says::default());
    let house = House::open(50, Some(says.clone())).await;
    let under = |heading: &str| Request {
        filter: Filter {
            heading: Some(heading.to_owned()),
            ..Filter::default()
        },
        ..request(3)
    };
    let found = house
        .engine
        .search(&house.kb, &under("wind"))
        .await
        .unwrap();
    assert!(found.hits.iter().all(|hit| hit.heading_path == ["Wind"]));
    let given = says.given().remove(0);
    assert_eq!(given.len(), DOCUMENTS / 2);
    assert!(given.iter().all(|passage| passage.contains("Wind")));

    let before = Request {
        as_of: Some(Utc::now() - TimeDelta::hours(1)),
        ..request(3)
    };
    let found = house.engine.search(&house.kb, &before).await.unwrap();
    assert_eq!((found.hits.len(), found.reranked), (0, None));
    assert_eq!(
        says.given().len(),
        1,
        "nothing found is nothing to ask about"
    );
}

#[tokio::test]
async fn without_a_reranker_nobody_is_asked_and_insisting_is_refused() {
    let house = House::open(50, None).await;
    let found = house.search(3, None).await;
    assert_eq!((found.hits.len(), found.reranked), (3, None));
    assert!(house.engine.reranks().is_empty());
    let insisting = Request {
        rerank: Some(true),
        ..request(3)
    };
    let refused = house.engine.search(&house.kb, &insisting).await;
    assert!(matches!(refused, Err(Error::NoReranker)), "{refused:?}");
}
