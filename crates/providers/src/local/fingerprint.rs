//! What tells a local model from another that is called the same.
//!
//! Everything that decides a vector is in it: the weights, the tokenizer, how the layers are
//! run, the pooling, the prefixes and the lower case. How much the model reads is not: no
//! input is cut, so the vector of one that is accepted does not depend on it. Nor is the
//! precision, which the name says in words.

use model::ContentHash;
use rayon::prelude::*;

use super::folder::Folder;

/// Digits of the hash that are shown: enough for the few models one installation ever has.
const DIGITS: usize = 8;

/// So much of the weights is hashed at a time, by whichever core is free.
const BLOCK: usize = 1 << 22;

pub fn fingerprint(folder: &Folder, tokenizer: &[u8], weights: &[u8]) -> String {
    let how = how(folder);
    let (query, passage) = (&folder.prefixes.query, &folder.prefixes.passage);
    let fields = [
        how.as_bytes(),
        query.as_bytes(),
        passage.as_bytes(),
        tokenizer,
    ];
    let blocks: Vec<_> = weights.par_chunks(BLOCK).map(ContentHash::of).collect();
    let blocks = blocks.iter().map(|hash| &hash.as_bytes()[..]);
    let hash = ContentHash::of_fields(fields.into_iter().chain(blocks));
    hash.to_string()[..DIGITS].to_owned()
}

/// What neither the weights nor the tokenizer say.
fn how(folder: &Folder) -> String {
    let config = &folder.config;
    // Said only where it is so: models were named before it was asked.
    let lower_case = if folder.lower_case { " lower case" } else { "" };
    format!(
        "heads {} layers {} epsilon {:08x} {:?} {:?}{lower_case}",
        config.num_attention_heads,
        config.num_hidden_layers,
        config.layer_norm_eps.to_bits(),
        config.hidden_act,
        folder.pooling,
    )
}
