//! What a repair makes again is no worse than what there was, or it is left as it was.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use catalog::{Mend, Page, Version};
use chrono::Utc;
use engine::objects::Key;
use engine::{Engine, Figures, Objects, Parts, Settings, SystemClock};
use futures::TryStreamExt;
use model::Gap;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, Result};
use providers::{HashEmbedder, HashSettings};
use sandbox::Sandbox;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use testkit::{Asked, Meddled, Meddler, Place};

use crate::house::{catalog_in, engine_over, take_in};

/// The second of them.
const PAGE: [u32; 1] = [1];
const GONE: &str = "the structure is gone";

/// A book of three pages that was taken in, and what it was taken into.
struct Shelf {
    engine: Engine,
    place: Place,
    objects: Arc<InMemory>,
    folder: tempfile::TempDir,
}

impl Shelf {
    /// Its reader is hurt by these pages.
    async fn read_but_for(poison: &[u32]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let objects = Arc::new(InMemory::new());
        let (engine, place) = engine_over(
            objects.clone(),
            folder.path(),
            Settings::default(),
            catalog_in(folder.path()).await,
            Arc::new(HashEmbedder::new(&HashSettings::default())),
            Arc::new(SystemClock),
        )
        .await;
        let mut shelf = Self {
            engine,
            place,
            objects,
            folder,
        };
        shelf.engine = shelf.reader(poison, shelf.objects.clone());
        let book = String::from_utf8(samples::pdf::book(3)).unwrap();
        let file = [("book.pdf".to_owned(), book)];
        take_in(&shelf.engine, &shelf.place, file).await;
        assert_eq!(shelf.version().await.gaps.len(), poison.len());
        shelf
    }

    /// The same stores, and another reader.
    fn reader(&self, poison: &[u32], objects: Arc<dyn ObjectStore>) -> Engine {
        let parts = self.engine.parts();
        let parts = Parts {
            catalog: Arc::clone(&parts.catalog),
            index: parts.index.clone(),
            objects: Objects::new(objects),
            embedder: Arc::clone(&parts.embedder),
            sandbox: Arc::new(Sandbox::unconfined_and_hurt_by(poison.to_vec())),
            clock: Arc::clone(&parts.clock),
            figures: Figures::new(Arc::new(InMemory::new())),
        };
        Engine::new(Settings::default(), parts)
    }

    async fn repair(&self, poison: &[u32]) -> engine::Repaired {
        let reader = self.reader(poison, self.objects.clone());
        reader.repair(self.place.tenant).await.unwrap()
    }

    async fn version(&self) -> Version {
        let (tenant, catalog) = (self.place.tenant, &self.engine.parts().catalog);
        let dossiers = catalog.dossiers(tenant, Page::first(1)).await.unwrap();
        let id = dossiers.items[0].versions[0].id;
        catalog.version(tenant, id).await.unwrap()
    }

    async fn lose_structure(&self) {
        let version = self.version().await;
        let key = Key::parsed(version.tenant, version.id, version.pass);
        self.engine.parts().objects.delete(&key).await.unwrap();
    }

    async fn found(&self) -> Vec<&'static str> {
        let verified = self.engine.verify(self.place.tenant).await.unwrap();
        verified.disagreements.iter().map(|one| one.what).collect()
    }

    async fn digest(&self) -> String {
        let verified = self.engine.verify(self.place.tenant).await.unwrap();
        verified.digest.to_string()
    }

    /// What there is of the version.
    async fn made(&self) -> BTreeSet<Path> {
        let prefix = Path::from("versions");
        let listed = self.objects.list(Some(&prefix));
        let listed: Vec<_> = listed.try_collect().await.unwrap();
        listed.into_iter().map(|meta| meta.location).collect()
    }

    /// Does to the catalog what only an accident would.
    async fn vandalise(&self, sql: &'static str) {
        let database = SqliteConnectOptions::new()
            .filename(self.folder.path().join("catalog.db"))
            .foreign_keys(false);
        let mut connection = database.connect().await.unwrap();
        sqlx::query(sql).execute(&mut connection).await.unwrap();
    }
}

#[tokio::test]
async fn a_reading_with_a_gap_that_is_new_replaces_nothing() {
    let shelf = Shelf::read_but_for(&[]).await;
    let digest = shelf.digest().await;
    shelf.lose_structure().await;
    let made = shelf.made().await;

    let told = shelf.repair(&PAGE).await;
    let [one] = &told.findings[..] else {
        panic!("{told:#?}");
    };
    assert_eq!((one.finding.what, one.mended), (GONE, false));
    assert!(one.done.contains("lacks page 2"), "{}", one.done);
    assert!(one.done.contains("parse.memory_mb"), "{}", one.done);
    assert_eq!(shelf.found().await, [GONE]);
    assert_eq!(shelf.made().await, made);

    let told = shelf.repair(&[]).await;
    assert_eq!(told.after.disagreements, []);
    assert_eq!(told.after.digest.to_string(), digest);
}

#[tokio::test]
async fn a_gap_goes_from_the_catalog_with_a_repair_that_reads_what_it_left_out() {
    let shelf = Shelf::read_but_for(&PAGE).await;
    shelf.lose_structure().await;
    let told = shelf.repair(&[]).await;
    assert_eq!(told.after.disagreements, []);
    assert_eq!(shelf.version().await.gaps, []);
}

#[tokio::test]
async fn a_document_with_a_gap_is_made_again_with_it_whatever_still_tells_of_that() {
    for forgotten in [false, true] {
        let shelf = Shelf::read_but_for(&PAGE).await;
        let (before, digest) = (shelf.version().await, shelf.digest().await);
        shelf.lose_structure().await;
        if forgotten {
            shelf.vandalise("DELETE FROM version_witnesses").await;
            shelf.vandalise("DELETE FROM document_versions").await;
        }
        let told = shelf.repair(&PAGE).await;
        assert_eq!(told.after.disagreements, [], "{told:#?}");
        assert_eq!(told.after.digest.to_string(), digest);
        assert_eq!(shelf.version().await.gaps, before.gaps);
    }
}

#[tokio::test]
async fn a_catalog_that_hides_a_gap_of_the_structure_is_named() {
    let shelf = Shelf::read_but_for(&PAGE).await;
    let before = shelf.version().await;
    shelf
        .vandalise("UPDATE document_versions SET gaps = '[]'")
        .await;
    let catalog = &shelf.engine.parts().catalog;
    let noted = vec![Mend::Witness(before.id)];
    let noted = catalog.mend(before.tenant, before.document, noted, Utc::now());
    noted.await.unwrap();

    let named = ["the catalog has other gaps than the structure"];
    assert_eq!(shelf.found().await, named);
    let told = shelf.repair(&PAGE).await;
    assert_eq!(told.after.disagreements, []);
    let now: Vec<Gap> = shelf.version().await.gaps;
    assert_eq!(now, before.gaps);
}

/// Refuses one thing that is asked for of versions.
#[derive(Debug)]
struct Refusing {
    at: usize,
    asked: AtomicUsize,
}

#[async_trait]
impl Meddler for Refusing {
    async fn before(&self, asked: Asked<'_>) -> Result<()> {
        let (Asked::Read(path) | Asked::Write(path)) = asked;
        if !path.as_ref().starts_with("versions/") {
            return Ok(());
        }
        match self.asked.fetch_add(1, Ordering::SeqCst) == self.at {
            true => Err(object_store::Error::NotImplemented {
                operation: "anything".to_owned(),
                implementer: "a store that refuses".to_owned(),
            }),
            false => Ok(()),
        }
    }
}

/// It would read more today, so that nothing it writes is what was written before.
#[tokio::test]
async fn a_repair_that_fails_anywhere_leaves_a_version_as_it_was() {
    let shelf = Shelf::read_but_for(&PAGE).await;
    shelf.lose_structure().await;
    let made = shelf.made().await;
    for at in 0.. {
        let refusing = Refusing {
            at,
            asked: AtomicUsize::new(0),
        };
        let store = Meddled::new(shelf.objects.clone(), refusing);
        let _refused = shelf.reader(&[], store).repair(shelf.place.tenant).await;
        let found = shelf.found().await;
        if found.is_empty() {
            assert!(at > 5, "it was refused {at} things");
            return;
        }
        assert_eq!(found, [GONE], "refused what it asked for after {at}");
        assert_eq!(shelf.made().await, made);
    }
}
