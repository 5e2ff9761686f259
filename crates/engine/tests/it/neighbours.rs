//! What stands beside a hit, wherever a document was parted.

use engine::search::{Filter, Mode, Request};
use index::{Flush, Space};
use model::{ChunkId, UnitName};
use pipeline::query::Weights;

use crate::filters::engine_of;
use crate::house::take_in;

#[tokio::test]
async fn neighbours_go_on_into_the_units_before_and_after() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, place) = engine_of(folder.path()).await;
    // Long enough for several units; every sentence has a word of its own.
    let section = |n: usize| {
        let sentence = |k| format!("Of gear{n}x{k} the miller knows what it drives and why. ");
        let sentences: String = (0..40).map(sentence).collect();
        format!("## Gear {n}\n\n{sentences}\n\n")
    };
    let text: String = (0..90).map(section).collect();
    take_in(&engine, &place, [("gears.md".to_owned(), text)]).await;

    let parts = engine.parts();
    let kb = parts.catalog.kb(place.tenant, place.kb).await.unwrap();
    let snapshot = parts.index.snapshot(Flush(0)).await.unwrap();
    let space = Space {
        tenant: kb.tenant,
        kb: kb.id,
        generation: kb.serving.id,
    };
    let (_, version, _) = snapshot.versions().await.unwrap()[0];
    let units = parts.catalog.units(place.tenant, version).await.unwrap();
    assert!(units.len() > 2, "{}", units.len());
    let at = |unit: &UnitName, ordinal| ChunkId {
        version,
        unit: unit.clone(),
        ordinal,
    };
    let mut all = Vec::new();
    for unit in &units {
        for ordinal in 0..unit.chunks as u32 {
            let id = at(&unit.name, ordinal);
            let passage = snapshot.passage(space, &id).await.unwrap().unwrap();
            all.push((id, passage.chunk.text));
        }
    }
    let middle = &units[1];
    for ordinal in [0, middle.chunks as u32 - 1] {
        let here = at(&middle.name, ordinal);
        let here = all.iter().position(|(id, _)| *id == here).unwrap();
        let own = all[here].1.split_whitespace();
        let request = Request {
            query: own
                .clone()
                .find(|w| w.starts_with("gear"))
                .unwrap()
                .to_owned(),
            mode: Mode::Text,
            top: 1,
            weights: Weights::default(),
            filter: Filter::default(),
            neighbours: 2,
            as_of: None,
            rerank: None,
        };
        let found = engine.search(&kb, &request).await.unwrap();
        let hit = &found.hits[0];
        assert_eq!(hit.chunk, all[here].0);
        let texts = |of: &[(ChunkId, String)]| -> Vec<String> {
            of.iter().map(|(_, text)| text.clone()).collect()
        };
        assert_eq!(hit.before, texts(&all[here - 2..here]));
        assert_eq!(hit.after, texts(&all[here + 1..here + 3]));
    }
}
