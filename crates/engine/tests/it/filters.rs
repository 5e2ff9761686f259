//! A filter takes away what does not pass, and nothing else.

use std::sync::Arc;

use engine::search::{Filter, Mode, Request};
use engine::{Settings, SystemClock};
use pipeline::query::Weights;
use providers::{HashEmbedder, HashSettings};

use crate::house::{catalog_in, engine_in, take_in};

/// More than a leg brings at first.
const BETTER: usize = 60;

#[tokio::test]
async fn a_heading_is_found_however_many_better_passages_stand_under_others() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = Arc::new(HashEmbedder::new(&HashSettings::default()));
    let catalog = catalog_in(folder.path()).await;
    let clock = Arc::new(SystemClock);
    let opened = engine_in(folder.path(), Settings::default(), catalog, embedder, clock);
    let (engine, place) = opened.await;
    let better = (0..BETTER).map(|n| {
        let text = format!("# Water\n\nThe wheel of mill {n} turns.\n");
        (format!("{n}.md"), text)
    });
    let worse = "It has sails of cloth, a cap, and a tail pole that nobody moves. ".repeat(4);
    let worse = format!("# Wind\n\nOnce a year its wheel turns. {worse}\n");
    let files = better.chain([("wind.md".to_owned(), worse)]);
    take_in(&engine, &place, files).await;

    let kb = engine.parts().catalog.kb(place.tenant, place.kb);
    let kb = kb.await.unwrap();
    for mode in [Mode::Text, Mode::Vector, Mode::Hybrid] {
        let request = Request {
            query: "the wheel of the mill turns".into(),
            mode,
            top: 3,
            weights: Weights::default(),
            filter: Filter {
                heading: Some("wind".to_owned()),
                ..Filter::default()
            },
            neighbours: 0,
            as_of: None,
            rerank: None,
        };
        let found = engine.search(&kb, &request).await.unwrap();
        let names: Vec<&str> = found.hits.iter().map(|hit| &*hit.filename).collect();
        assert_eq!(names, ["wind.md"], "{mode:?}");
    }
}
