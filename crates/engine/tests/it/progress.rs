//! A Prep of a large text that was killed is gone on with where it stopped, and comes to the same.

#![expect(
    clippy::disallowed_methods,
    reason = "a test may write and damage what it likes"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use catalog::{Catalog, Claim};
use chrono::Utc;
use engine::objects::Key;
use engine::{Engine, Reads, Settings, SystemClock};
use futures::{FutureExt, TryStreamExt};
use model::{ContentHash, StepKind};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload, Result};
use providers::{HashEmbedder, HashSettings};
use serde_json::Value;
use testkit::{Asked, Meddled, Meddler, Place};
use tokio::sync::Notify;

use crate::house::{catalog_in, engine_over};

const LEASE: Duration = Duration::from_secs(60);
const PIECE: usize = 1 << 20;

/// At which time that progress is stored a life ends, and whether that still happens.
#[derive(Debug, Clone, Copy)]
enum Death {
    Before(usize),
    After(usize),
    Never,
}

/// Keeps a store from ever answering again, from the moment its user is to die at.
#[derive(Debug)]
struct Deadly {
    death: Death,
    stored: AtomicUsize,
    reached: Notify,
}

impl Deadly {
    async fn die(&self) {
        self.reached.notify_one();
        std::future::pending::<()>().await;
    }
}

fn is_progress(asked: Asked<'_>) -> bool {
    matches!(asked, Asked::Write(at) if at.as_ref().ends_with(".progress"))
}

#[async_trait]
impl Meddler for Deadly {
    async fn before(&self, asked: Asked<'_>) -> Result<()> {
        if is_progress(asked) {
            let nth = self.stored.fetch_add(1, Ordering::SeqCst) + 1;
            if matches!(self.death, Death::Before(at) if at == nth) {
                self.die().await;
            }
        }
        Ok(())
    }

    /// Progress is stored by one at a time.
    async fn after(&self, asked: Asked<'_>) {
        let stored = self.stored.load(Ordering::SeqCst);
        if is_progress(asked) && matches!(self.death, Death::After(at) if at == stored) {
            self.die().await;
        }
    }
}

/// What outlives a process.
struct World {
    folder: tempfile::TempDir,
    catalog: Arc<dyn Catalog>,
    objects: Arc<InMemory>,
    lives: usize,
}

/// One process.
struct Life {
    engine: Arc<Engine>,
    store: Arc<Meddled<Deadly>>,
    place: Place,
    nth: usize,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            catalog: catalog_in(folder.path()).await,
            folder,
            objects: Arc::new(InMemory::new()),
            lives: 0,
        }
    }

    async fn life(&mut self, death: Death) -> Life {
        self.lives += 1;
        let deadly = Deadly {
            death,
            stored: AtomicUsize::new(0),
            reached: Notify::new(),
        };
        let store = Meddled::new(self.objects.clone(), deadly);
        let folder = self.folder.path().join(self.lives.to_string());
        let opened = engine_over(
            store.clone(),
            &folder,
            Settings::default(),
            Arc::clone(&self.catalog),
            Arc::new(HashEmbedder::new(&HashSettings::default())),
            Arc::new(SystemClock),
        );
        let (engine, place) = opened.await;
        Life {
            engine: Arc::new(engine),
            store,
            place,
            nth: self.lives,
        }
    }

    /// Every object made of the one version there is, by the end of its name.
    async fn made(&self) -> BTreeMap<String, Bytes> {
        let prefix = Path::from("versions");
        let listed: Vec<_> = self
            .objects
            .list(Some(&prefix))
            .try_collect()
            .await
            .unwrap();
        let mut made = BTreeMap::new();
        for meta in listed {
            let name = meta.location.filename().unwrap().to_owned();
            let bytes = self.objects.get(&meta.location).await.unwrap();
            made.insert(name, bytes.bytes().await.unwrap());
        }
        made
    }

    async fn progress(&self) -> Option<Value> {
        let made = self.made().await;
        let progress = made.get("1.progress")?;
        Some(serde_json::from_slice(progress).unwrap())
    }
}

impl Life {
    async fn take_in(&self, name: &str, text: &str) {
        let (now, parts) = (Utc::now(), self.engine.parts());
        let original = Key::original(self.place.tenant, &ContentHash::of(text.as_bytes()));
        let bytes = Bytes::from(text.to_owned());
        parts.objects.put(&original, bytes).await.unwrap();
        let file = self.place.file(name, text, now);
        parts.catalog.admit(file, now).await.unwrap();
    }

    /// Leases of lives before have ended.
    async fn claims(&self, kind: StepKind) -> Vec<Claim> {
        let now = Utc::now() + 2 * LEASE * self.nth as u32;
        let catalog = &self.engine.parts().catalog;
        let claims = catalog.claim(&[kind], "worker", 12, LEASE, now).await;
        claims.unwrap()
    }

    /// Performs Prep, until its death if it is to die.
    async fn prep(&self) {
        let prep = self.claims(StepKind::Prep).await.remove(0);
        let engine = Arc::clone(&self.engine);
        let mut working = tokio::spawn(async move { engine.perform(&prep).await });
        tokio::select! {
            done = &mut working => {
                assert!(matches!(self.store.by.death, Death::Never), "it was to die");
                done.unwrap().unwrap();
            }
            () = self.store.by.reached.notified() => {
                working.abort();
                let _ = working.await;
            }
        }
    }

    async fn rest(&self) -> String {
        for kind in [StepKind::Extract, StepKind::Finalize] {
            loop {
                let claims = self.claims(kind).await;
                if claims.is_empty() {
                    break;
                }
                let steps = claims
                    .iter()
                    .map(|claim| self.engine.perform(claim).boxed());
                futures::future::try_join_all(steps).await.unwrap();
            }
        }
        let verified = self.engine.verify(self.place.tenant).await.unwrap();
        assert!(
            verified.disagreements.is_empty(),
            "{:#?}",
            verified.disagreements
        );
        verified.digest.to_string()
    }
}

/// Paragraphs about as long as those of a book.
fn book(bytes: usize) -> String {
    let paragraph = |n: usize| {
        let sentences = (0..24).map(|s| format!("In year {n} the sluice of mill {s} was mended. "));
        format!("{}\n\n", sentences.collect::<String>())
    };
    let mut text = String::new();
    (0..)
        .map_while(|n| (text.len() < bytes).then(|| text.push_str(&paragraph(n))))
        .count();
    text
}

/// Sections, lists, addresses, and a block of code without an end in the middle.
fn manual(bytes: usize) -> String {
    let mut text = String::from("---\ntitle: The manual\n---\n\n");
    for n in 0.. {
        if text.len() > bytes {
            break;
        }
        let fence = if n == 100 { "```\n" } else { "" };
        let words =
            format!("Turn wheel {n} slowly, as [told](https://example.org/{n}). ").repeat(30);
        text += &format!("{fence}## Wheel {n}\n\n{words}\n\n- one\n- two\n\n");
    }
    text
}

/// One table.
fn ledger(bytes: usize) -> String {
    let row = |n: usize| format!("{n},\"sack {n}, rye\",{},{}\n", n * 7, "grain ".repeat(30));
    let mut text = String::from("number,name,weight,remarks\n");
    (0..)
        .map_while(|n| (text.len() < bytes).then(|| text.push_str(&row(n))))
        .count();
    text
}

fn without_progress(mut made: BTreeMap<String, Bytes>) -> BTreeMap<String, Bytes> {
    made.remove("1.progress");
    made
}

/// What is made of a text, undisturbed; and how often its progress was stored.
async fn undisturbed(name: &str, text: &str) -> (BTreeMap<String, Bytes>, usize, Reads) {
    let mut world = World::new().await;
    let life = world.life(Death::Never).await;
    life.take_in(name, text).await;
    life.prep().await;
    let stored = life.store.by.stored.load(Ordering::SeqCst);
    (
        without_progress(world.made().await),
        stored,
        life.engine.reads(),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repair_reads_a_large_text_in_pieces_as_its_prep_did() {
    let mut world = World::new().await;
    let life = world.life(Death::Never).await;
    // Large, and soon embedded.
    let text = book(64 << 10).replace("\n\n", &"\n".repeat(48 << 10));
    life.take_in("book.txt", &text).await;
    life.prep().await;
    let digest = life.rest().await;
    let (made, reads) = (world.made().await, life.engine.reads());
    let lost = made.keys().find(|name| name.ends_with(".text")).unwrap();
    let versions = world.objects.list(Some(&Path::from("versions")));
    let versions: Vec<_> = versions.try_collect().await.unwrap();
    let lost = versions
        .iter()
        .find(|meta| meta.location.as_ref().ends_with(&**lost));
    world.objects.delete(&lost.unwrap().location).await.unwrap();

    let repaired = life.engine.repair(life.place.tenant).await.unwrap();
    assert_eq!(repaired.after.disagreements, []);
    assert_eq!(repaired.after.digest.to_string(), digest);
    // The same, in the next pass.
    let in_next = |name: &String| name.replacen('1', "2", 1);
    let names: Vec<_> = made.keys().map(in_next).collect();
    let (now, bytes) = (world.made().await, made.values().collect::<Vec<_>>());
    assert_eq!(now.keys().cloned().collect::<Vec<_>>(), names);
    assert_eq!(now.values().collect::<Vec<_>>(), bytes);
    let again = life.engine.reads();
    assert_eq!(again.bytes, reads.bytes + text.len() as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_prep_goes_on_at_the_piece_after_the_last_it_noted() {
    let files = [
        ("book.txt", book(5 << 20)),
        ("manual.md", manual(4 << 20)),
        ("ledger.csv", ledger(3 << 20)),
    ];
    for (name, text) in files {
        let (expected, stored, reads) = undisturbed(name, &text).await;
        let all = text.len().div_ceil(PIECE) as u64;
        let calm = Reads {
            pieces: all,
            bytes: text.len() as u64,
            resumes: 0,
        };
        assert_eq!(reads, calm, "{name}");
        let deaths = match stored {
            0 => panic!("progress of {name} was never stored"),
            1 => vec![Death::After(1)],
            last => vec![Death::After(1), Death::Before(last), Death::After(last)],
        };
        assert!(deaths.len() > 1 || name != "book.txt");
        for death in deaths {
            let mut world = World::new().await;
            let first = world.life(death).await;
            first.take_in(name, &text).await;
            first.prep().await;
            let progress = world.progress().await.unwrap();
            let next = progress["next_byte"].as_u64().unwrap();
            let held = next - progress["parser"]["source_byte"].as_u64().unwrap();
            assert!(
                next > 0 && next.is_multiple_of(PIECE as u64),
                "{name}: {next}"
            );

            let second = world.life(Death::Never).await;
            second.prep().await;
            let left = Reads {
                pieces: all - next / PIECE as u64 + u64::from(held > 0),
                bytes: text.len() as u64 - next + held,
                resumes: 1,
            };
            assert_eq!(second.engine.reads(), left, "{name} {death:?}");
            let made = without_progress(world.made().await);
            assert!(made == expected, "{name} {death:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_whose_prep_was_killed_ends_in_the_same_digest_and_leaves_no_progress() {
    // Read in three pieces, and little to embed.
    let text = format!("{}{}{}", book(700_000), "\n".repeat(2 << 20), book(9_000));
    let mut digests = Vec::new();
    for deaths in [vec![], vec![Death::After(1)], vec![Death::Before(1)]] {
        let mut world = World::new().await;
        world
            .life(Death::Never)
            .await
            .take_in("book.txt", &text)
            .await;
        for death in deaths {
            world.life(death).await.prep().await;
        }
        let last = world.life(Death::Never).await;
        last.prep().await;
        assert!(world.progress().await.is_some(), "kept until all is done");
        digests.push(last.rest().await);
        assert!(world.progress().await.is_none());
    }
    assert!(
        digests.iter().all(|digest| *digest == digests[0]),
        "{digests:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_that_does_not_fit_is_not_gone_on_from() {
    let text = book(3 << 20);
    let (expected, ..) = undisturbed("book.txt", &text).await;
    let unit = "1.unit.start";
    assert!(expected.contains_key(unit));
    for spoilt in [
        "a unit is gone",
        "a unit is another",
        "of another release",
        "no JSON",
    ] {
        let mut world = World::new().await;
        let first = world.life(Death::After(1)).await;
        first.take_in("book.txt", &text).await;
        first.prep().await;
        let prefix = Path::from("versions");
        let listed: Vec<_> = world
            .objects
            .list(Some(&prefix))
            .try_collect()
            .await
            .unwrap();
        let of = |end: &str| {
            let mut listed = listed.iter().map(|meta| meta.location.clone());
            listed.find(|path| path.as_ref().ends_with(end)).unwrap()
        };
        let mut progress = world.progress().await.unwrap();
        let (unit, stored) = (of(unit), of(".progress"));
        match spoilt {
            "a unit is gone" => world.objects.delete(&unit).await.unwrap(),
            "a unit is another" => {
                let put = world.objects.put(&unit, PutPayload::from_static(b"{}"));
                drop(put.await.unwrap());
            }
            "no JSON" => {
                let put = world.objects.put(&stored, PutPayload::from_static(b"{"));
                drop(put.await.unwrap());
            }
            _ => {
                progress["made_by"] = "0.0.0".into();
                let json = serde_json::to_vec(&progress).unwrap();
                drop(world.objects.put(&stored, json.into()).await.unwrap());
            }
        }
        let second = world.life(Death::Never).await;
        second.prep().await;
        assert_eq!(second.engine.reads().resumes, 0, "{spoilt}");
        assert!(without_progress(world.made().await) == expected, "{spoilt}");
    }
}
