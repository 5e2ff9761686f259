//! The local embedder with the real weights, beside what the reference makes of
//! the same sentences (`golden/minilm.json`, written by `golden/make.py`).
//!
//! The weights come from `scripts/fetch-model`; without them these tests fail and say so.

use std::path::PathBuf;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use model::TokenCounter as _;
use providers::tokenize::Tokenizer;
use providers::{Embedder, Error, Kind, LocalEmbedder, LocalSettings, Precision};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    text: String,
    ids: Vec<u32>,
    vector: Option<String>,
}

impl Golden {
    fn vector(&self) -> Option<Vec<f32>> {
        let bytes = BASE64_STANDARD.decode(self.vector.as_ref()?).unwrap();
        let floats = bytes.chunks_exact(4);
        Some(
            floats
                .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
                .collect(),
        )
    }
}

fn golden() -> Vec<Golden> {
    serde_json::from_str(include_str!("golden/minilm.json")).unwrap()
}

fn folder() -> PathBuf {
    let named = std::env::var_os("GRISTMILL_MODEL_DIR").map(PathBuf::from);
    let fetched = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../.tools/models/all-MiniLM-L6-v2"
    );
    named.unwrap_or_else(|| fetched.into())
}

fn embedder() -> &'static LocalEmbedder {
    static EMBEDDER: OnceLock<LocalEmbedder> = OnceLock::new();
    EMBEDDER.get_or_init(|| {
        LocalEmbedder::open(&LocalSettings::of(folder())).unwrap_or_else(|e| panic!("{e}"))
    })
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn tokens_are_the_references_one_for_one() {
    let tokenizer = Tokenizer::open(&folder().join("tokenizer.json")).unwrap();
    for Golden { text, ids, .. } in golden() {
        assert_eq!(tokenizer.encode(&text), ids, "{text:?}");
        assert_eq!(tokenizer.count(&text), ids.len() - 2, "{text:?}");
    }
}

#[test]
fn its_fingerprint_is_the_same_everywhere_and_from_release_to_release() {
    let name = embedder().info().name.as_str();
    assert!(name.ends_with("@73b7cadd"), "{name}");
}

#[tokio::test]
async fn vectors_are_the_references_whatever_shares_their_group() {
    let golden = golden();
    let texts: Vec<_> = golden.iter().map(|g| g.text.clone()).collect();
    let fits: Vec<_> = texts
        .into_iter()
        .filter(|t| t.chars().count() < 150)
        .collect();
    let together = embedder().embed_passages(&fits).await.unwrap();
    for golden in golden.iter().filter(|g| g.vector.is_some()) {
        let alone = embedder().embed_query(&golden.text).await.unwrap();
        let place = fits.iter().position(|text| *text == golden.text).unwrap();
        let reference = golden.vector().unwrap();
        assert!(cosine(&alone, &reference) > 0.99999, "{:?}", golden.text);
        assert!(
            cosine(&together[place], &reference) > 0.99999,
            "{:?}",
            golden.text
        );
    }
}

#[tokio::test]
async fn eight_bits_are_a_model_of_their_own_close_to_the_reference() {
    let eight_bit = LocalEmbedder::open(&LocalSettings {
        precision: Precision::EightBit,
        ..LocalSettings::of(folder())
    });
    let eight_bit = eight_bit.unwrap_or_else(|e| panic!("{e}"));
    assert_ne!(eight_bit.info().name, embedder().info().name);
    let golden: Vec<_> = golden()
        .into_iter()
        .filter(|g| g.vector.is_some())
        .collect();
    let texts: Vec<_> = golden.iter().map(|g| g.text.clone()).collect();
    let together = eight_bit.embed_passages(&texts).await.unwrap();
    for (golden, together) in golden.iter().zip(together) {
        let alone = eight_bit.embed_query(&golden.text).await.unwrap();
        assert_eq!(alone, together, "{:?}", golden.text);
        let near = cosine(&alone, &golden.vector().unwrap());
        assert!(near > 0.95, "{near} {:?}", golden.text);
    }
}

/// What estimates are measured against, here and in `pipeline`.
#[test]
fn the_samples_of_each_script_have_as_many_tokens_as_they_say() {
    let samples = include_str!("../../testkit/samples/scripts.json");
    let samples: Vec<serde_json::Value> = serde_json::from_str(samples).unwrap();
    for sample in samples {
        let counted = embedder().tokens().count(sample["text"].as_str().unwrap());
        assert_eq!(sample["wordpiece"], counted, "{}", sample["kind"]);
    }
}

#[tokio::test]
async fn an_input_too_long_is_named_and_nothing_is_cut() {
    let limit = embedder().info().max_tokens as usize;
    let fits = vec!["mill".to_owned(), "grist ".repeat(limit / 2)];
    assert_eq!(embedder().tokens().count(&fits[1]), limit);
    assert_eq!(embedder().embed_passages(&fits).await.unwrap().len(), 2);

    let beyond = vec!["mill".to_owned(), format!("{} x", fits[1])];
    let error = embedder().embed_passages(&beyond).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Input { index: 1 });
    let told = matches!(error, Error::TooLong { tokens, limit: l, .. } if tokens == limit + 1 && l == limit);
    assert!(told, "{error}");
}

#[test]
fn where_no_weights_are_the_error_says_how_to_get_them() {
    let empty = tempfile::tempdir().unwrap();
    let error = LocalEmbedder::open(&LocalSettings::of(empty.path()))
        .err()
        .unwrap();
    assert_eq!(error.kind(), Kind::Misconfigured);
    assert!(error.to_string().contains("scripts/fetch-model"), "{error}");
}
