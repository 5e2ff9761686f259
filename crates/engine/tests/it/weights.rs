//! What meaning and words count for.

use engine::search::{Filter, Found, Mode, Request};
use pipeline::query::{Leg, Weights};
use testkit::Place;

use crate::filters::engine_of;
use crate::house::take_in;

const FILES: [(&str, &str); 4] = [
    ("quern.md", "The quern stands in the yard.\n"),
    ("wheel.md", "The wheel of the mill turns.\n"),
    ("sluice.md", "The sluice of the mill is shut.\n"),
    (
        "stone.md",
        "A stone grinds the rye, and the stone is worn.\n",
    ),
];

async fn found(engine: &engine::Engine, place: &Place, weights: Weights) -> Found {
    let kb = engine.parts().catalog.kb(place.tenant, place.kb);
    let request = Request {
        query: "the quern of the mill".to_owned(),
        mode: Mode::Hybrid,
        top: 4,
        weights,
        filter: Filter::default(),
        neighbours: 0,
        as_of: None,
        rerank: None,
    };
    engine.search(&kb.await.unwrap(), &request).await.unwrap()
}

#[tokio::test]
async fn each_leg_counts_for_its_weight_and_one_of_no_weight_is_not_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, place) = engine_of(folder.path()).await;
    let files = FILES.map(|(name, text)| (name.to_owned(), text.to_owned()));
    take_in(&engine, &place, files).await;

    let (vector, text) = (2.0, 0.5);
    let both = found(&engine, &place, Weights { vector, text }).await;
    let part = |weight: f64, leg: Option<Leg>| leg.map_or(0.0, |l| weight / (60 + l.rank) as f64);
    assert!(both.hits.iter().any(|hit| hit.text_leg.is_some()));
    for hit in &both.hits {
        assert_eq!(
            hit.score,
            part(vector, hit.vector) + part(text, hit.text_leg)
        );
    }

    let (vector, text) = (0.0, 1.0);
    let words = found(&engine, &place, Weights { vector, text }).await;
    assert!(!words.hits.is_empty());
    assert!(words.hits.iter().all(|hit| hit.vector.is_none()));
    assert_eq!(words.query_parts, None, "the model is not asked");

    let (vector, text) = (1.0, 0.0);
    let meaning = found(&engine, &place, Weights { vector, text }).await;
    assert_eq!(meaning.hits.len(), FILES.len());
    assert!(meaning.hits.iter().all(|hit| hit.text_leg.is_none()));
}
