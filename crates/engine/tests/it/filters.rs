//! A filter takes away what does not pass, and nothing else.

use std::path::Path;
use std::sync::Arc;

use engine::search::{Filter, Mode, Request};
use engine::{Engine, Settings, SystemClock};
use pipeline::query::Weights;
use providers::{HashEmbedder, HashSettings};
use testkit::Place;

use crate::house::{catalog_in, engine_in, take_in};

/// More than a leg brings at first.
const BETTER: usize = 60;

#[tokio::test]
async fn a_heading_is_found_however_many_better_passages_stand_under_others() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, place) = engine_of(folder.path()).await;
    let better = (0..BETTER).map(|n| {
        let text = format!("# Water\n\nThe wheel of mill {n} turns.\n");
        (format!("{n}.md"), text)
    });
    let worse = "It has sails of cloth, a cap, and a tail pole that nobody moves. ".repeat(4);
    let worse = format!("# Wind\n\nOnce a year its wheel turns. {worse}\n");
    let files = better.chain([("wind.md".to_owned(), worse)]);
    take_in(&engine, &place, files).await;

    let heading = Filter {
        heading: Some("wind".to_owned()),
        ..Filter::default()
    };
    for mode in [Mode::Text, Mode::Vector, Mode::Hybrid] {
        let query = "the wheel of the mill turns";
        let names = found(&engine, &place, (query, mode), &heading).await;
        assert_eq!(names, ["wind.md"], "{mode:?}");
    }
}

/// What a document says of itself counts where its text is too short to tell.
#[tokio::test]
async fn a_language_keeps_its_own_documents_and_takes_away_all_others() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, place) = engine_of(folder.path()).await;
    let english = "The rotor is the part of the machine that turns, and it is \
                   driven by the wind which blows over the hill behind the house.";
    let german = "Der Rotor ist der Teil der Maschine, der sich dreht, und er wird \
                  von dem Wind getrieben, der hinter dem Haus über den Hügel weht.";
    let files = [
        ("english.md", english),
        ("german.md", german),
        ("french.md", "---\nlang: fr-CA\n---\n\nRotor.\n"),
        ("unknown.md", "Rotor 7.\n"),
    ];
    take_in(
        &engine,
        &place,
        files.map(|(name, text)| (name.to_owned(), text.to_owned())),
    )
    .await;

    let spoken = |language: &str| Filter {
        language: Some(language.to_owned()),
        ..Filter::default()
    };
    for mode in [Mode::Text, Mode::Vector, Mode::Hybrid] {
        for (language, expected) in [
            ("en", &["english.md"][..]),
            ("de", &["german.md"]),
            ("fr", &["french.md"]),
            ("it", &[]),
        ] {
            let names = found(&engine, &place, ("rotor", mode), &spoken(language)).await;
            assert_eq!(names, expected, "{language}, {mode:?}");
        }
        let mut all = found(&engine, &place, ("rotor", mode), &Filter::default()).await;
        all.sort_unstable();
        assert_eq!(
            all,
            ["english.md", "french.md", "german.md", "unknown.md"],
            "{mode:?}"
        );
    }
}

pub async fn engine_of(folder: &Path) -> (Engine, Place) {
    let embedder = Arc::new(HashEmbedder::new(&HashSettings::default()));
    let catalog = catalog_in(folder).await;
    let clock = Arc::new(SystemClock);
    engine_in(folder, Settings::default(), catalog, embedder, clock).await
}

/// The names of the files of the best hits.
async fn found(
    engine: &Engine,
    place: &Place,
    (query, mode): (&str, Mode),
    filter: &Filter,
) -> Vec<String> {
    let kb = engine.parts().catalog.kb(place.tenant, place.kb);
    let request = Request {
        query: query.to_owned(),
        mode,
        top: 4,
        weights: Weights::default(),
        filter: filter.clone(),
        neighbours: 0,
        as_of: None,
        rerank: None,
    };
    let found = engine.search(&kb.await.unwrap(), &request).await.unwrap();
    found.hits.into_iter().map(|hit| hit.filename).collect()
}
