//! An engine whose catalog and text lie in a scratch folder, and one knowledge base for it.

use std::path::Path;
use std::sync::Arc;

use catalog::{Catalog, GenerationSpec};
use chrono::Utc;
use engine::{Clock, Engine, Figures, Objects, Parts, Settings};
use model::ChunkPolicy;
use object_store::memory::InMemory;
use providers::Embedder;
use sandbox::Sandbox;
use testkit::Place;

pub async fn catalog_in(folder: &Path) -> Arc<dyn Catalog> {
    let url = format!("sqlite://{}", folder.join("catalog.db").display());
    catalog::open(&catalog::Settings::new(url)).await.unwrap()
}

pub async fn engine_in(
    folder: &Path,
    settings: Settings,
    catalog: Arc<dyn Catalog>,
    embedder: Arc<dyn Embedder>,
    clock: Arc<dyn Clock>,
) -> (Engine, Place) {
    let info = embedder.info();
    let generation = GenerationSpec {
        model: info.name.clone(),
        dimension: info.dimension,
        policy: ChunkPolicy::for_limit(info.max_tokens),
    };
    let place = testkit::place_of(generation, &*catalog, Utc::now());
    let place = place.await.unwrap();
    let text = folder.join("text");
    let index = index::Index::open(index::Settings::default(), Arc::new(InMemory::new()), text);
    let parts = Parts {
        catalog,
        index: index.await.unwrap(),
        objects: Objects::new(Arc::new(InMemory::new())),
        embedder,
        sandbox: Arc::new(Sandbox::unconfined_for_tests()),
        clock,
        figures: Figures::new(Arc::new(InMemory::new())),
    };
    (Engine::new(settings, parts), place)
}
