//! Any BERT-like folder does: one made up here, beside the plain textbook computation.

use std::collections::HashMap;
use std::path::Path;

use providers::{Embedder, LocalEmbedder, LocalSettings};
use serde_json::json;

const WIDTH: usize = 8;
const INNER: usize = 16;
const HEADS: usize = 2;
const LAYERS: usize = 2;
const PLACES: usize = 12;
const EPS: f32 = 1e-6;
const VOCAB: [&str; 8] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "mill", "stone", "turn", "##s",
];

type Tensors = HashMap<String, (Vec<usize>, Vec<f32>)>;

/// Numbers between -1 and 1, the same every time.
fn numbers(seed: &mut u64, count: usize) -> Vec<f32> {
    let next = |_| {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*seed >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..count).map(next).collect()
}

fn tensors() -> Tensors {
    let mut seed = 7;
    let mut tensors = Tensors::new();
    let mut add = |name: String, shape: &[usize]| {
        let values = numbers(&mut seed, shape.iter().product());
        tensors.insert(name, (shape.to_vec(), values));
    };
    for (name, rows) in [
        ("word", VOCAB.len()),
        ("position", PLACES),
        ("token_type", 2),
    ] {
        add(
            format!("embeddings.{name}_embeddings.weight"),
            &[rows, WIDTH],
        );
    }
    let mut norms = vec!["embeddings.LayerNorm".to_owned()];
    for layer in 0..LAYERS {
        let at = format!("encoder.layer.{layer}");
        for (name, out, inn) in [
            ("attention.self.query", WIDTH, WIDTH),
            ("attention.self.key", WIDTH, WIDTH),
            ("attention.self.value", WIDTH, WIDTH),
            ("attention.output.dense", WIDTH, WIDTH),
            ("intermediate.dense", INNER, WIDTH),
            ("output.dense", WIDTH, INNER),
        ] {
            add(format!("{at}.{name}.weight"), &[out, inn]);
            add(format!("{at}.{name}.bias"), &[out]);
        }
        norms.push(format!("{at}.attention.output.LayerNorm"));
        norms.push(format!("{at}.output.LayerNorm"));
    }
    for norm in norms {
        add(format!("{norm}.weight"), &[WIDTH]);
        add(format!("{norm}.bias"), &[WIDTH]);
    }
    tensors
}

/// A header with names, shapes and offsets, then the numbers.
fn safetensors(tensors: &Tensors) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::<u8>::new());
    for (name, (shape, values)) in tensors {
        let start = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let entry = json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]});
        header.insert(name.clone(), entry);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let length = (header.len() as u64).to_le_bytes();
    [&length[..], &header, &data].concat()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test's scratch folder need not survive anything"
)]
fn edit(file: &Path, text: &str) {
    std::fs::write(file, text).unwrap();
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test's scratch folder need not survive anything"
)]
fn write(folder: &Path, tensors: &Tensors) {
    let config = json!({
        "model_type": "bert", "hidden_size": WIDTH, "intermediate_size": INNER,
        "num_attention_heads": HEADS, "num_hidden_layers": LAYERS,
        "max_position_embeddings": PLACES, "layer_norm_eps": EPS, "hidden_act": "relu",
    });
    let vocab: HashMap<_, _> = VOCAB.iter().zip(0..).collect();
    let special = |id: u32, content: &str| json!({"id": id, "content": content, "special": true});
    let tokenizer = json!({
        "added_tokens": [special(2, "[CLS]"), special(3, "[SEP]")],
        "normalizer": {"type": "BertNormalizer", "lowercase": true, "clean_text": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab},
    });
    let modules = json!([
        {"path": "", "type": "sentence_transformers.models.Transformer"},
        {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ]);
    let pooling = json!({"word_embedding_dimension": WIDTH, "pooling_mode_cls_token": true});
    let prompts = json!({"prompts": {"query": "turn "}});
    std::fs::create_dir_all(folder.join("1_Pooling")).unwrap();
    for (name, value) in [
        ("config.json", config),
        ("tokenizer.json", tokenizer),
        ("modules.json", modules),
        ("1_Pooling/config.json", pooling),
        ("config_sentence_transformers.json", prompts),
    ] {
        std::fs::write(folder.join(name), value.to_string()).unwrap();
    }
    std::fs::write(folder.join("model.safetensors"), safetensors(tensors)).unwrap();
}

/// The forward pass as the textbook has it, one token and one number at a time.
struct Textbook<'a>(&'a Tensors);

type Rows = Vec<Vec<f32>>;

impl Textbook<'_> {
    fn of(&self, name: &str) -> &[f32] {
        &self.0[name].1
    }

    fn row(&self, table: &str, at: usize) -> &[f32] {
        let name = format!("embeddings.{table}_embeddings.weight");
        &self.0[&name].1[at * WIDTH..(at + 1) * WIDTH]
    }

    fn dense(&self, name: &str, x: &[f32]) -> Vec<f32> {
        let weight = self.of(&format!("{name}.weight")).chunks_exact(x.len());
        let bias = self.of(&format!("{name}.bias"));
        let sum = |row: &[f32]| row.iter().zip(x).map(|(w, x)| w * x).sum::<f32>();
        weight.zip(bias).map(|(row, b)| sum(row) + b).collect()
    }

    fn norm(&self, name: &str, x: &[f32]) -> Vec<f32> {
        let mean = x.iter().sum::<f32>() / WIDTH as f32;
        let spread = x.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / WIDTH as f32;
        let scale = self.of(&format!("{name}.weight"));
        let shift = self.of(&format!("{name}.bias"));
        let one = |i: usize| (x[i] - mean) / (spread + EPS).sqrt() * scale[i] + shift[i];
        (0..WIDTH).map(one).collect()
    }

    fn attend(&self, at: &str, x: &Rows) -> Rows {
        let part = |name: &str| -> Rows {
            let name = format!("{at}.attention.self.{name}");
            x.iter().map(|x| self.dense(&name, x)).collect()
        };
        let (query, key, value) = (part("query"), part("key"), part("value"));
        let size = WIDTH / HEADS;
        let mut context = vec![vec![0.0; WIDTH]; x.len()];
        for head in 0..HEADS {
            let span = head * size..(head + 1) * size;
            for (q, out) in query.iter().zip(&mut context) {
                let score = |k: &Vec<f32>| {
                    let dot = span.clone().map(|i| q[i] * k[i]).sum::<f32>();
                    (dot / (size as f32).sqrt()).exp()
                };
                let scores: Vec<f32> = key.iter().map(score).collect();
                let total: f32 = scores.iter().sum();
                for i in span.clone() {
                    let mix = scores.iter().zip(&value).map(|(s, v)| s / total * v[i]);
                    out[i] = mix.sum();
                }
            }
        }
        context
    }

    fn first_token(&self, ids: &[usize]) -> Vec<f32> {
        let mut x: Rows = Vec::new();
        for (place, id) in ids.iter().enumerate() {
            let parts = [
                self.row("word", *id),
                self.row("position", place),
                self.row("token_type", 0),
            ];
            let sum: Vec<f32> = (0..WIDTH)
                .map(|i| parts.iter().map(|p| p[i]).sum())
                .collect();
            x.push(self.norm("embeddings.LayerNorm", &sum));
        }
        for layer in 0..LAYERS {
            let at = format!("encoder.layer.{layer}");
            let context = self.attend(&at, &x);
            for (x, context) in x.iter_mut().zip(&context) {
                let attended = self.dense(&format!("{at}.attention.output.dense"), context);
                let added: Vec<f32> = x.iter().zip(&attended).map(|(a, b)| a + b).collect();
                *x = self.norm(&format!("{at}.attention.output.LayerNorm"), &added);
                let up = self.dense(&format!("{at}.intermediate.dense"), x);
                let up: Vec<f32> = up.into_iter().map(|v| v.max(0.0)).collect();
                let down = self.dense(&format!("{at}.output.dense"), &up);
                let added: Vec<f32> = x.iter().zip(&down).map(|(a, b)| a + b).collect();
                *x = self.norm(&format!("{at}.output.LayerNorm"), &added);
            }
        }
        let length = x[0].iter().map(|v| v * v).sum::<f32>().sqrt();
        x[0].iter().map(|v| v / length).collect()
    }
}

#[test]
fn a_model_is_what_decides_its_vectors_whatever_its_folder_is_called() {
    let tensors = tensors();
    let mut retrained = tensors.clone();
    retrained.get_mut("embeddings.LayerNorm.bias").unwrap().1[0] += 1.0;
    let name = |tensors: &Tensors, file: &str, text: &str| {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("model");
        write(&folder, tensors);
        edit(&folder.join(file), text);
        let opened = LocalEmbedder::open(&LocalSettings::of(folder)).unwrap();
        opened.info().name.to_string()
    };
    let prompts = "config_sentence_transformers.json";
    let same = r#"{"prompts": {"query": "turn "}}"#;
    let first = name(&tensors, prompts, same);
    assert!(first.starts_with("local:model@"), "{first}");
    assert_eq!(name(&tensors, prompts, same), first);
    // How much it reads decides no vector.
    let shorter = r#"{"max_seq_length": 10}"#;
    assert_eq!(name(&tensors, "sentence_bert_config.json", shorter), first);
    let mean = r#"{"pooling_mode_mean_tokens": true}"#;
    let lower = r#"{"do_lower_case": true}"#;
    let others = [
        name(&tensors, "sentence_bert_config.json", lower),
        name(&retrained, prompts, same),
        name(&tensors, prompts, "{}"),
        name(&tensors, "1_Pooling/config.json", mean),
    ];
    for other in others {
        assert_ne!(other, first);
    }
}

/// One file of a folder, changed in one place.
fn change(file: &Path, within: &str, value: serde_json::Value) {
    let mut json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    *json.pointer_mut(within).unwrap() = value;
    edit(file, &json.to_string());
}

#[test]
fn a_token_without_a_word_vector_is_found_when_the_folder_is_opened() {
    let (beyond, last) = (VOCAB.len(), VOCAB.len() - 1);
    let added = |id: usize| ("/added_tokens/0", json!({"id": id, "content": "[DOC]"}));
    let around = |id: usize| ("/post_processor/sep/1", json!(id));
    let open = |(within, value)| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &tensors());
        change(&folder.path().join("tokenizer.json"), within, value);
        LocalEmbedder::open(&LocalSettings::of(folder.path())).map(|_| ())
    };
    for with in [added, around] {
        assert!(open(with(last)).is_ok());
        let refused = open(with(beyond)).unwrap_err().to_string();
        assert!(
            refused.ends_with("8 word vectors, and tokenizer.json gives ids up to 8"),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn a_folder_that_asks_for_lower_case_gets_it_before_the_tokenizer() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &tensors());
    let tokenizer = folder.path().join("tokenizer.json");
    change(&tokenizer, "/normalizer/lowercase", json!(false));
    let open = || LocalEmbedder::open(&LocalSettings::of(folder.path())).unwrap();
    let texts = [
        "MILL Stones [SEP]".to_owned(),
        "mill stones [sep]".to_owned(),
    ];
    let as_written = open().embed_passages(&texts).await.unwrap();
    assert_ne!(as_written[0], as_written[1]);

    let lower = r#"{"do_lower_case": true}"#;
    edit(&folder.path().join("sentence_bert_config.json"), lower);
    let lowering = open();
    let vectors = lowering.embed_passages(&texts).await.unwrap();
    assert_eq!(vectors[0], as_written[1]);
    assert_eq!(vectors[1], as_written[1]);
    let [shouted, said] = texts.map(|text| lowering.tokens().count(&text));
    assert_eq!(shouted, said);
}

#[test]
fn a_prompt_that_is_read_and_not_pooled_is_refused_by_name() {
    let open = |pooling: &str, prompts: &str| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &tensors());
        edit(&folder.path().join("1_Pooling/config.json"), pooling);
        let file = folder.path().join("config_sentence_transformers.json");
        edit(&file, prompts);
        LocalEmbedder::open(&LocalSettings::of(folder.path())).map(|_| ())
    };
    let mean = r#"{"pooling_mode_mean_tokens": true, "include_prompt": false}"#;
    let first = r#"{"pooling_mode_cls_token": true, "include_prompt": false}"#;
    let prompted = r#"{"prompts": {"query": "turn "}}"#;
    let refused = open(mean, prompted).unwrap_err().to_string();
    assert!(refused.contains("leaves out the prompt"), "{refused}");
    // Nothing to leave out, or nothing it would change.
    assert!(open(mean, "{}").is_ok());
    assert!(open(first, prompted).is_ok());
}

#[tokio::test]
async fn a_folder_of_another_shape_embeds_as_the_textbook_does() {
    let folder = tempfile::tempdir().unwrap();
    let tensors = tensors();
    write(folder.path(), &tensors);
    let embedder = LocalEmbedder::open(&LocalSettings::of(folder.path())).unwrap();
    let info = embedder.info();
    // Two places are for special tokens; what is put before a query takes one of a query's.
    assert_eq!(info.dimension, WIDTH as u32);
    assert_eq!(info.max_tokens, PLACES as u32 - 2);
    assert_eq!(info.max_query_tokens, PLACES as u32 - 3);

    let passages = ["Mills turn stones".to_owned(), "stone".to_owned()];
    let mut vectors = embedder.embed_passages(&passages).await.unwrap();
    vectors.push(embedder.embed_query("mill").await.unwrap());
    let ids: [&[usize]; 3] = [&[2, 4, 7, 6, 5, 7, 3], &[2, 5, 3], &[2, 6, 4, 3]];
    for (vector, ids) in vectors.iter().zip(ids) {
        let expected = Textbook(&tensors).first_token(ids);
        let apart = vector.iter().zip(&expected).map(|(a, b)| (a - b).abs());
        let apart = apart.fold(0.0, f32::max);
        assert!(apart < 1e-4, "{vector:?} is not {expected:?}");
    }
}
