//! Random writes, checked against a model that keeps everything in a map.

use std::collections::BTreeMap;

use index::{Error, Fence, Flush, Probe, Settings, Snapshot};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::kit::*;

const DIMENSIONS: usize = 8;

/// The words of a chunk, and its vector.
type Passage = (String, Vec<f32>);

#[derive(Default)]
struct Model {
    /// By version number and unit.
    units: BTreeMap<(u32, u32), Vec<Passage>>,
    fences: BTreeMap<(u32, u32), u64>,
    sealed: BTreeMap<u32, bool>,
}

fn vector(rng: &mut StdRng) -> Vec<f32> {
    // Few distinct values: ties are common, and their order must be right.
    (0..DIMENSIONS)
        .map(|_| f32::from(rng.random_range(-2_i8..=2)))
        .collect()
}

fn settings() -> Settings {
    Settings {
        exact_up_to: 300,
        probe: Probe {
            barren: 10_000,
            postings: 10_000,
            doubt: 1e9,
            measure: 10_000,
        },
        ..Settings::default()
    }
}

impl Model {
    fn best(&self, query: &[f32], live: &[u32], top: usize) -> Vec<(String, f32)> {
        let mut all = Vec::new();
        for ((number, unit), chunks) in &self.units {
            for (ordinal, (_, vector)) in chunks.iter().enumerate() {
                let score: f32 = vector.iter().zip(query).map(|(a, b)| a * b).sum();
                if live.contains(number) {
                    all.push((
                        score,
                        version(*number),
                        format!("u{unit:03}"),
                        ordinal as u32,
                    ));
                }
            }
        }
        all.sort_by(|a, b| {
            b.0.total_cmp(&a.0)
                .then_with(|| (a.1, &a.2, a.3).cmp(&(b.1, &b.2, b.3)))
        });
        let named =
            |(score, version, unit, ordinal)| (format!("{version}:{unit}:{ordinal}"), score);
        all.into_iter().take(top).map(named).collect()
    }

    fn with_word(&self, word: &str, live: &[u32]) -> Vec<String> {
        let mut found = Vec::new();
        for ((number, unit), chunks) in &self.units {
            for (ordinal, (text, _)) in chunks.iter().enumerate() {
                if live.contains(number) && text.split(' ').any(|w| w == word) {
                    found.push(format!("{}:u{unit:03}:{ordinal}", version(*number)));
                }
            }
        }
        found.sort();
        found
    }
}

async fn compare(model: &Model, snapshot: &Snapshot, rng: &mut StdRng) {
    let numbers: Vec<u32> = (0..12).filter(|_| rng.random_bool(0.4)).collect();
    let query = vector(rng);
    let found = snapshot
        .search_vector(space(1), &query, &live(numbers.clone()), 15)
        .await
        .unwrap();
    let found: Vec<_> = found.iter().map(|s| (s.id.to_string(), s.score)).collect();
    assert_eq!(found, model.best(&query, &numbers, 15));
    let word = format!("w{}", rng.random_range(0..20));
    let found = snapshot
        .search_text(space(1), &word, &live(numbers.clone()), 100_000)
        .await
        .unwrap();
    let mut found: Vec<_> = found.iter().map(|s| s.id.to_string()).collect();
    found.sort();
    assert_eq!(found, model.with_word(&word, &numbers));
}

async fn step(model: &mut Model, index: &index::Index, rng: &mut StdRng) {
    let number = rng.random_range(0..12);
    let unit = rng.random_range(0..6);
    match rng.random_range(0..100) {
        0..80 => {
            let fence = rng.random_range(1..4_u64);
            let chunks: Vec<_> = (0..rng.random_range(0..40))
                .map(|_| {
                    let words: Vec<_> = (0..4)
                        .map(|_| format!("w{}", rng.random_range(0..20)))
                        .collect();
                    (words.join(" "), vector(rng))
                })
                .collect();
            let written = chunks.iter().enumerate();
            let written = written
                .map(|(i, (text, vector))| chunk(i as u32, text, vector))
                .collect();
            let done = replace(
                index,
                place(space(1), number, &format!("u{unit:03}")),
                fence,
                written,
            )
            .await;
            let held = model.fences.get(&(number, unit)).copied().unwrap_or(0);
            match done {
                Err(Error::Sealed(_) | Error::Forgotten(_)) => {
                    assert!(model.sealed.contains_key(&number));
                }
                Err(Error::Fenced { .. }) => assert!(held > fence),
                Ok(_) => {
                    assert!(!model.sealed.contains_key(&number) && held <= fence);
                    model.fences.insert((number, unit), fence);
                    model.units.insert((number, unit), chunks);
                }
                Err(error) => panic!("{error}"),
            }
        }
        80..84 => {
            let done = index.seal(space(1), version(number)).await;
            assert_eq!(done.is_err(), model.sealed.get(&number) == Some(&false));
            model.sealed.entry(number).or_insert(true);
        }
        84..90 => {
            index.forget(space(1), version(number)).await.unwrap();
            model.sealed.insert(number, false);
            model.units.retain(|(n, _), _| *n != number);
            model.fences.retain(|(n, _), _| *n != number);
        }
        90..95 => {
            let unit = place(space(1), number, "u000");
            index.reopen(&unit, Fence(u64::MAX)).await.unwrap();
            model.sealed.remove(&number);
        }
        _ => {
            let numbers = (0..12).filter(|_| rng.random_bool(0.5));
            index.compact(space(1), &live(numbers)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn searches_agree_with_a_model_whatever_is_written_forgotten_and_compacted() {
    for seed in 0..4 {
        let mut rng = StdRng::seed_from_u64(seed);
        let folder = tempfile::tempdir().unwrap();
        let mut index = open_with(folder.path(), settings()).await;
        let mut model = Model::default();
        for round in 0..10 {
            for _ in 0..14 {
                step(&mut model, &index, &mut rng).await;
            }
            let last = index.seal(space(1), version(99)).await.unwrap();
            let flush = last.flushed().await.unwrap();
            let snapshot = index.snapshot(flush).await.unwrap();
            for _ in 0..4 {
                compare(&model, &snapshot, &mut rng).await;
            }
            if round % 4 == 3 {
                index.close().await.unwrap();
                index = open_with(folder.path(), settings()).await;
                compare(&model, &index.snapshot(Flush(0)).await.unwrap(), &mut rng).await;
            }
        }
        index.close().await.unwrap();
    }
}
