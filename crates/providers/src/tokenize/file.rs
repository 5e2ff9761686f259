//! `tokenizer.json`, read and checked.
//!
//! Whatever it asks for that is not done here is refused by name, because tokens
//! that are nearly right give vectors that are quietly wrong.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::trie::Trie;
use super::words::{AddedToken, Normaliser, Words};
use super::{Pieces, Tokenizer};
use crate::Error;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<Added>,
    normalizer: Normalizer,
    post_processor: PostProcessor,
    model: WordPiece,
}

#[derive(Deserialize)]
struct Added {
    id: u32,
    content: String,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    #[serde(default)]
    normalized: bool,
}

#[derive(Deserialize)]
struct Normalizer {
    #[serde(default)]
    clean_text: bool,
    #[serde(default)]
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    #[serde(default)]
    lowercase: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum PostProcessor {
    TemplateProcessing {
        single: Vec<Template>,
        special_tokens: HashMap<String, SpecialToken>,
    },
    BertProcessing {
        sep: (String, u32),
        cls: (String, u32),
    },
}

#[derive(Deserialize)]
enum Template {
    SpecialToken { id: String },
    Sequence {},
}

#[derive(Deserialize)]
struct SpecialToken {
    ids: Vec<u32>,
}

#[derive(Deserialize)]
struct WordPiece {
    unk_token: String,
    #[serde(default = "continuing")]
    continuing_subword_prefix: String,
    #[serde(default = "hundred")]
    max_input_chars_per_word: usize,
    vocab: HashMap<String, u32>,
}

fn continuing() -> String {
    "##".to_owned()
}

fn hundred() -> usize {
    100
}

pub fn read(path: &Path, bytes: &[u8]) -> Result<Tokenizer, Error> {
    let malformed = |what: String| Error::Malformed {
        path: path.to_owned(),
        what,
    };
    let value: Value = serde_json::from_slice(bytes).map_err(|e| malformed(e.to_string()))?;
    if let Some(what) = unsupported_kind(&value) {
        return Err(Error::Unsupported {
            path: path.to_owned(),
            what,
        });
    }
    let file: File = serde_json::from_value(value).map_err(|e| malformed(e.to_string()))?;
    if let Some(what) = unsupported_token(&file.added_tokens) {
        return Err(Error::Unsupported {
            path: path.to_owned(),
            what,
        });
    }
    let (before, after) = surrounding(&file.post_processor).map_err(malformed)?;
    let ids = file.model.vocab.values();
    let ids = ids.chain(file.added_tokens.iter().map(|token| &token.id));
    let largest = ids.chain(&before).chain(&after).max();
    Ok(Tokenizer {
        lowers: false,
        vocabulary: largest.map_or(0, |id| *id as usize + 1),
        words: words(file.normalizer, file.added_tokens),
        pieces: pieces(&file.model).map_err(malformed)?,
        before,
        after,
    })
}

/// Asked before the shapes are: a file of another kind has other shapes.
fn unsupported_kind(value: &Value) -> Option<String> {
    let kind = |part: &str| value[part]["type"].as_str().unwrap_or("none").to_owned();
    let is = |part: &str, known: &[&str]| {
        let kind = kind(part);
        (!known.contains(&kind.as_str())).then(|| format!("the {part} `{kind}`"))
    };
    let model = || match value["model"]["type"].as_str() {
        None | Some("WordPiece") => None,
        Some(other) => Some(format!("the tokenizer model `{other}`")),
    };
    is("normalizer", &["BertNormalizer"])
        .or_else(|| is("pre_tokenizer", &["BertPreTokenizer"]))
        .or_else(|| is("post_processor", &["TemplateProcessing", "BertProcessing"]))
        .or_else(model)
}

fn unsupported_token(added: &[Added]) -> Option<String> {
    let plain = |t: &&Added| {
        let ascii_start = t.content.bytes().next().is_some_and(|b| b.is_ascii());
        !(t.single_word || t.lstrip || t.rstrip || t.normalized) && ascii_start
    };
    let odd = added.iter().find(|token| !plain(token))?;
    Some(format!("the added token `{}` with options", odd.content))
}

fn surrounding(processor: &PostProcessor) -> Result<(Vec<u32>, Vec<u32>), String> {
    match processor {
        PostProcessor::BertProcessing { sep, cls } => Ok((vec![cls.1], vec![sep.1])),
        PostProcessor::TemplateProcessing {
            single,
            special_tokens,
        } => {
            let mut sides = single.split(|part| matches!(part, Template::Sequence {}));
            let (before, after) = (sides.next(), sides.next());
            let ids = |side: Option<&[Template]>| template_ids(side, special_tokens);
            Ok((ids(before)?, ids(after)?))
        }
    }
}

fn template_ids(
    side: Option<&[Template]>,
    special_tokens: &HashMap<String, SpecialToken>,
) -> Result<Vec<u32>, String> {
    let mut ids = Vec::new();
    for part in side.ok_or("the template holds no sequence")? {
        let Template::SpecialToken { id } = part else {
            return Err("the template holds the sequence twice".to_owned());
        };
        let token = special_tokens.get(id);
        ids.extend(&token.ok_or_else(|| format!("no special token `{id}`"))?.ids);
    }
    Ok(ids)
}

fn words(normalizer: Normalizer, added: Vec<Added>) -> Words {
    let normaliser = Normaliser {
        clean: normalizer.clean_text,
        part_ideographs: normalizer.handle_chinese_chars,
        strip_accents: normalizer.strip_accents.unwrap_or(normalizer.lowercase),
        lowercase: normalizer.lowercase,
    };
    let added = added.into_iter().map(|token| AddedToken {
        text: token.content,
        id: token.id,
    });
    Words::new(normaliser, added.collect())
}

fn pieces(model: &WordPiece) -> Result<Pieces, String> {
    let vocab = model.vocab.iter();
    let trie = Trie::new(vocab.map(|(piece, id)| (piece.as_bytes(), *id)).collect());
    let prefix = &model.continuing_subword_prefix;
    let unknown = model.vocab.get(&model.unk_token);
    Ok(Pieces {
        continuation: trie
            .descend(prefix.as_bytes())
            .ok_or_else(|| format!("no piece begins with `{prefix}`"))?,
        unknown: *unknown
            .ok_or_else(|| format!("`{}` is not in the vocabulary", model.unk_token))?,
        longest_word: model.max_input_chars_per_word,
        trie,
    })
}
