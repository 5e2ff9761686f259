//! An engine whose catalog and text lie in a scratch folder, and one knowledge base for it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalog::{Catalog, Claim, GenerationSpec, Page};
use chrono::Utc;
use engine::objects::Key;
use engine::{Clock, Engine, Figures, ManualClock, Objects, Parts, Settings};
use futures::future::try_join_all;
use index::Space;
use model::{ContentHash, StepKind, VersionId};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use providers::Embedder;
use sandbox::Sandbox;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
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

pub const LEASE: Duration = Duration::from_secs(60);
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

/// One that is told the time.
pub struct House {
    pub engine: Engine,
    pub clock: Arc<ManualClock>,
    pub place: Place,
    pub folder: tempfile::TempDir,
}

pub async fn house() -> House {
    house_with(Settings::default()).await
}

pub async fn house_with(settings: Settings) -> House {
    let folder = tempfile::tempdir().unwrap();
    let catalog = catalog_in(folder.path()).await;
    let clock = Arc::new(ManualClock::at(Utc::now()));
    let hash = providers::Settings::Hash(providers::HashSettings::default());
    let embedder = providers::open(&hash).unwrap();
    let opened = engine_in(folder.path(), settings, catalog, embedder, clock.clone());
    let (engine, place) = opened.await;
    House {
        engine,
        clock,
        place,
        folder,
    }
}

impl House {
    pub async fn claim(&self, worker: &str) -> Claim {
        self.claim_of(StepKind::Prep, worker).await
    }

    pub async fn claim_of(&self, kind: StepKind, worker: &str) -> Claim {
        let now = engine::Clock::now(&*self.clock);
        let catalog = &self.engine.parts().catalog;
        let claims = catalog.claim(&[kind], worker, 1, LEASE, now).await;
        claims.unwrap().remove(0)
    }

    /// Does to the catalog what only an accident would.
    pub async fn vandalise(&self, sql: &'static str) {
        let database = SqliteConnectOptions::new()
            .filename(self.folder.path().join("catalog.db"))
            .foreign_keys(false);
        let mut connection = database.connect().await.unwrap();
        sqlx::query(sql).execute(&mut connection).await.unwrap();
    }

    pub fn original(&self) -> Key {
        Key::original(self.place.tenant, &ContentHash::of(b"a"))
    }

    /// From its bytes to the step before the given one.
    pub async fn up_to(&self, kind: StepKind) {
        let objects = &self.engine.parts().objects;
        let bytes = Bytes::from_static(b"a");
        objects.put(&self.original(), bytes).await.unwrap();
        self.admit().await;
        for step in [StepKind::Prep, StepKind::Extract] {
            if step == kind {
                return;
            }
            let claim = self.claim_of(step, "worker").await;
            self.engine.perform(&claim).await.unwrap();
        }
    }

    /// A document that answers, and whose purge has begun.
    pub async fn begin_purge(&self) -> Vec<VersionId> {
        self.up_to(StepKind::Finalize).await;
        let last = self.claim_of(StepKind::Finalize, "worker").await;
        self.engine.perform(&last).await.unwrap();
        let parts = self.engine.parts();
        let (catalog, now) = (&parts.catalog, parts.clock.now());
        let begun = catalog.begin_purge(self.place.tenant, last.document, None, now);
        begun.await.unwrap().iter().map(|v| v.version).collect()
    }

    pub async fn admit(&self) {
        let now = engine::Clock::now(&*self.clock);
        let admission = self.place.file("a.txt", "a", now);
        let catalog = &self.engine.parts().catalog;
        catalog.admit(admission, now).await.unwrap();
    }

    pub async fn perform(&self, steps: &[StepKind]) {
        for step in steps {
            let claim = self.claim_of(*step, "worker").await;
            self.engine.perform(&claim).await.unwrap();
        }
    }

    /// As a worker leaves it that dies between its seal and the flip.
    pub async fn seal(&self) {
        let (tenant, parts) = (self.place.tenant, self.engine.parts());
        let dossiers = parts
            .catalog
            .dossiers(tenant, Page::first(1))
            .await
            .unwrap();
        let space = Space {
            tenant,
            kb: self.place.kb,
            generation: self.place.generation,
        };
        let version = dossiers.items[0].versions[0].id;
        let sealed = parts.index.seal(space, version).await.unwrap();
        sealed.durable().await.unwrap();
    }

    pub async fn answers_soundly(&self) {
        let whole = self.engine.verify(self.place.tenant).await.unwrap();
        assert_eq!((whole.documents, whole.disagreements), (1, Vec::new()));
    }
}
