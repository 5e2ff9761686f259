//! A verification while others write: what they do is not taken for damage.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use async_trait::async_trait;
use bytes::Bytes;
use catalog::{Catalog, Kb};
use chrono::Utc;
use engine::generations::{Tending, Wanted};
use engine::objects::Key;
use engine::{Engine, Settings, SystemClock, Verified};
use model::ContentHash;
use object_store::memory::InMemory;
use providers::{HashEmbedder, HashSettings};
use testkit::{Asked, Meddled, Meddler, Place};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::house::{catalog_in, engine_over, take_in, work_off};

/// An answer that is held back until this is dropped.
type Held = oneshot::Sender<()>;

/// While it is watched, holds back what was read of an original.
#[derive(Debug, Default)]
struct Halting(Mutex<Option<UnboundedSender<Held>>>);

impl Halting {
    fn watch(&self) -> UnboundedReceiver<Held> {
        let (watched, reads) = unbounded_channel();
        *self.0.lock().unwrap() = Some(watched);
        reads
    }

    fn let_be(&self) {
        *self.0.lock().unwrap() = None;
    }
}

#[async_trait]
impl Meddler for Halting {
    async fn after(&self, asked: Asked<'_>) {
        let watched = self.0.lock().unwrap().clone();
        if let Some(watched) = watched
            && matches!(asked, Asked::Read(at) if at.as_ref().starts_with("originals/"))
        {
            let (held, until) = oneshot::channel();
            if watched.send(held).is_ok() {
                let _dropped = until.await;
            }
        }
    }
}

struct House {
    engine: Engine,
    catalog: Arc<dyn Catalog>,
    store: Arc<Meddled<Halting>>,
    place: Place,
    _folder: tempfile::TempDir,
}

impl House {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let catalog = catalog_in(folder.path()).await;
        let store = Meddled::new(Arc::new(InMemory::new()), Halting::default());
        let opened = engine_over(
            store.clone(),
            folder.path(),
            Settings::default(),
            catalog.clone(),
            Arc::new(HashEmbedder::new(&HashSettings::default())),
            Arc::new(SystemClock),
        );
        let (engine, place) = opened.await;
        Self {
            engine,
            catalog,
            store,
            place,
            _folder: folder,
        }
    }

    async fn take_in(&self, files: &[(&str, &str)]) {
        let files = files.iter();
        let files = files.map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        take_in(&self.engine, &self.place, files).await;
    }

    fn original(&self, text: &str) -> Key {
        Key::original(self.place.tenant, &ContentHash::of(text.as_bytes()))
    }

    /// Without it whoever verifies looks at its document twice.
    async fn lose(&self, text: &str) {
        let objects = &self.engine.parts().objects;
        objects.delete(&self.original(text)).await.unwrap();
    }

    async fn put(&self, text: &str) {
        let objects = &self.engine.parts().objects;
        let bytes = Bytes::from(text.to_owned());
        objects.put(&self.original(text), bytes).await.unwrap();
    }

    /// A verification, held back as often as `meanwhile` waits for it.
    async fn verify(&self, meanwhile: impl AsyncFnOnce(UnboundedReceiver<Held>)) -> Verified {
        let reads = self.store.by.watch();
        let (verified, ()) = tokio::join!(self.engine.verify(self.place.tenant), meanwhile(reads));
        verified.unwrap()
    }

    async fn kb(&self) -> Kb {
        let kb = self.catalog.kb(self.place.tenant, self.place.kb);
        kb.await.unwrap()
    }
}

#[tokio::test]
async fn a_switch_of_generations_meanwhile_is_no_disagreement() {
    let house = House::new().await;
    house.take_in(&[("a.txt", "a")]).await;
    let mut tending = Tending::default();
    let wanted = Wanted {
        target: Some(60),
        ..Wanted::default()
    };
    let engine = &house.engine;
    let kb = house.kb().await;
    engine.begin_generation(&kb, &wanted).await.unwrap();
    engine.tend_generations(&mut tending).await.unwrap();
    work_off(engine).await;

    house.lose("a").await;
    let found = house.verify(async |mut reads| {
        let held = reads.recv().await.expect("it reads the original");
        house.store.by.let_be();
        house.put("a").await;
        let kb = house.kb().await;
        engine.switch_generation(&kb, false).await.unwrap();
        // The index forgets the one that served.
        engine.tend_generations(&mut tending).await.unwrap();
        drop(held);
    });
    assert_eq!(found.await.disagreements, []);
}

/// Of two knowledge bases, so that one is read while the generation of the other goes.
#[tokio::test]
async fn a_generation_forgotten_while_a_verification_reads_texts_is_no_disagreement() {
    let house = House::new().await;
    house.take_in(&[("a.txt", "a")]).await;
    let (engine, tenant) = (&house.engine, house.place.tenant);
    let spec = house.kb().await.serving.spec;
    let kb = house.catalog.create_kb(tenant, "second", spec, Utc::now());
    let kb = kb.await.unwrap();
    let place = Place {
        tenant,
        kb: kb.id,
        generation: kb.serving.id,
    };
    take_in(engine, &place, [("b.txt".to_owned(), "b".to_owned())]).await;
    let second = async || house.catalog.kb(tenant, kb.id).await.unwrap();

    let mut tending = Tending::default();
    // Its views are taken, and the texts read, within the first of them.
    for moment in 0..18 {
        let wanted = Wanted {
            target: Some(60 + moment % 2),
            ..Wanted::default()
        };
        let kb = second().await;
        engine.begin_generation(&kb, &wanted).await.unwrap();
        engine.tend_generations(&mut tending).await.unwrap();
        work_off(engine).await;

        let mut verifying = pin!(engine.verify(tenant));
        let early = woken(&mut verifying, moment).await;
        let kb = second().await;
        engine.switch_generation(&kb, false).await.unwrap();
        engine.tend_generations(&mut tending).await.unwrap();
        let found = match early {
            Some(found) => found,
            None => verifying.await,
        };
        assert_eq!(found.unwrap().disagreements, [], "after {moment} wakings");
    }
}

/// Goes on until it has been woken so often; answers if it ended before.
async fn woken<F: Future>(future: &mut Pin<&mut F>, times: u32) -> Option<F::Output> {
    let mut so_far = 0;
    poll_fn(|context| {
        if so_far == times {
            return Poll::Ready(None);
        }
        so_far += 1;
        future.as_mut().poll(context).map(Some)
    })
    .await
}

#[tokio::test]
async fn a_knowledge_base_made_meanwhile_is_no_disagreement() {
    let house = House::new().await;
    let (tenant, place) = (house.place.tenant, &house.place);
    house.put("a").await;
    // More than are read from the catalog at a time.
    for n in 0..201 {
        let admission = place.file(&format!("{n}.txt"), "a", Utc::now());
        house.catalog.admit(admission, Utc::now()).await.unwrap();
    }
    let found = house.verify(async |mut reads| {
        let held = reads.recv().await.expect("it reads an original");
        house.store.by.let_be();
        let spec = house.kb().await.serving.spec;
        let kb = house.catalog.create_kb(tenant, "second", spec, Utc::now());
        let kb = kb.await.unwrap();
        let place = Place {
            tenant,
            kb: kb.id,
            generation: kb.serving.id,
        };
        let admission = place.file("b.txt", "a", Utc::now());
        house.catalog.admit(admission, Utc::now()).await.unwrap();
        drop(held);
    });
    assert_eq!(found.await.disagreements, []);
}

#[tokio::test]
async fn a_document_finished_between_its_second_look_and_the_view_for_it_is_no_disagreement() {
    let house = House::new().await;
    house.take_in(&[("a.txt", "a")]).await;
    house.take_in(&[("b.txt", "b")]).await;
    house.lose("a").await;
    house.lose("b").await;
    let found = house.verify(async |mut reads| {
        let first = reads.recv().await.expect("it reads the first original");
        drop(first);
        let second = reads.recv().await.expect("it reads the other");
        house.put("a").await;
        house.put("b").await;
        drop(second);
        let again = reads.recv().await.expect("it looks at the first again");
        house.store.by.let_be();
        house.take_in(&[("b.txt", "b, and more")]).await;
        drop(again);
    });
    let found = found.await;
    assert_eq!(found.disagreements, []);
    assert_eq!(found.documents, 2);
}
