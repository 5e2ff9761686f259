//! An engine whose catalog and text lie in a scratch folder, and one knowledge base for it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalog::{Catalog, GenerationSpec};
use chrono::Utc;
use engine::objects::Key;
use engine::{Clock, Engine, Figures, Objects, Parts, Settings};
use futures::future::try_join_all;
use model::{ContentHash, StepKind};
use object_store::ObjectStore;
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
    let objects = Arc::new(InMemory::new());
    engine_over(objects, folder, settings, catalog, embedder, clock).await
}

/// As [`engine_in`], over objects that are there.
pub async fn engine_over(
    objects: Arc<dyn ObjectStore>,
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
        policy: info.policy(),
    };
    let place = testkit::place_of(generation, &*catalog, Utc::now());
    let place = place.await.unwrap();
    let text = folder.join("text");
    let index = index::Index::open(index::Settings::default(), Arc::new(InMemory::new()), text);
    let parts = Parts {
        catalog,
        index: index.await.unwrap(),
        objects: Objects::new(objects),
        embedder,
        sandbox: Arc::new(Sandbox::unconfined_for_tests()),
        clock,
        figures: Figures::new(Arc::new(InMemory::new())),
    };
    (Engine::new(settings, parts), place)
}

const LEASE: Duration = Duration::from_secs(60);
const AT_ONCE: usize = 12;

/// Takes files in, by name and text, and does all that follows from them.
pub async fn take_in(
    engine: &Engine,
    place: &Place,
    files: impl IntoIterator<Item = (String, String)>,
) {
    let parts = engine.parts();
    for (name, text) in files {
        let original = Key::original(place.tenant, &ContentHash::of(text.as_bytes()));
        let admission = place.file(&name, &text, Utc::now());
        let bytes = Bytes::from(text);
        parts.objects.put(&original, bytes).await.unwrap();
        parts.catalog.admit(admission, Utc::now()).await.unwrap();
    }
    work_off(engine).await;
}

pub async fn work_off(engine: &Engine) {
    let kinds = [StepKind::Prep, StepKind::Extract, StepKind::Finalize];
    loop {
        let catalog = &engine.parts().catalog;
        let claims = catalog.claim(&kinds, "worker", AT_ONCE, LEASE, Utc::now());
        let claims = claims.await.unwrap();
        if claims.is_empty() {
            return;
        }
        // Side by side, as they share a flush then.
        let steps = claims.iter().map(|claim| engine.perform(claim));
        try_join_all(steps).await.unwrap();
    }
}
