//! Chunks with the default model's own tokenizer, from `scripts/fetch-model`.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use model::{Atom, AtomKind, ChunkPolicy, Parsed, Span, TokenCounter, Unit};
use pipeline::chunk::{Estimate, chunk};
use pipeline::units::units;
use providers::tokenize::Tokenizer;

const WORDS: &str = "the a of in and mill stone grain wheel water miller flour is was turned ground slowly \
    because every spring sluice furrows bolting hopper damsel quern bedstone runner 1847 Oxfordshire \
    undershot overshot breastshot tolerances reconstruction archaeologists watercourse granary";

fn tokenizer() -> Tokenizer {
    let fetched = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../.tools/models/all-MiniLM-L6-v2"
    );
    let folder = std::env::var("GRISTMILL_MODEL_DIR").unwrap_or_else(|_| fetched.to_owned());
    let path = Path::new(&folder).join("tokenizer.json");
    Tokenizer::open(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// Numbers that look random and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn sentence(&mut self, words: u64) -> String {
        let known: Vec<&str> = WORDS.split_whitespace().collect();
        let word = |_| known[self.below(known.len() as u64) as usize];
        let words: Vec<&str> = (0..words).map(word).collect();
        format!("The {}.", words.join(" "))
    }

    fn paragraph(&mut self, words: u64) -> String {
        let mut sentences = Vec::new();
        let mut left = words;
        while left > 0 {
            let length = (6 + self.below(18)).min(left);
            sentences.push(self.sentence(length));
            left -= length;
        }
        sentences.join(" ")
    }
}

fn parsed(paragraphs: &[String]) -> Parsed {
    let mut doc = Parsed::default();
    for paragraph in paragraphs {
        let (start, length) = (doc.text.len() as u64, paragraph.len() as u64);
        // Nothing but ASCII: a character is a byte.
        let span = Span {
            byte_start: start,
            byte_end: start + length,
            char_start: start,
            char_end: start + length,
        };
        doc.atoms.push(Atom {
            kind: AtomKind::Paragraph,
            span,
            boxes: Vec::new(),
            source: None,
            anchor: None,
            links: Vec::new(),
        });
        doc.text.push_str(paragraph);
        doc.text.push_str("\n\n");
    }
    doc
}

/// The chunks of each unit, made once: they are the same whenever the unit is.
struct Mill {
    tokens: Tokenizer,
    policy: ChunkPolicy,
    made: HashMap<String, Vec<String>>,
}

impl Mill {
    fn chunks(&mut self, paragraphs: &[String]) -> Vec<String> {
        let mut chunks: Vec<String> = Vec::new();
        for unit in units(&parsed(paragraphs)) {
            let known = self.made.entry(unit.text.clone());
            let made = known.or_insert_with(|| texts(&unit, self.policy, &self.tokens));
            chunks.extend(made.iter().cloned());
        }
        chunks
    }
}

fn texts(unit: &Unit, policy: ChunkPolicy, tokens: &Tokenizer) -> Vec<String> {
    let chunks = chunk(unit, policy, tokens).into_iter();
    chunks.map(|chunk| chunk.text).collect()
}

/// A chunk is changed when it holds text that was there before and was no chunk before; one that
/// holds nothing but the new paragraph, and what it repeats of the one before, is new.
#[test]
fn a_paragraph_put_anywhere_changes_at_most_five_chunks_of_the_default_model() {
    let mut mill = Mill {
        tokens: tokenizer(),
        policy: ChunkPolicy::for_limit(254),
        made: HashMap::new(),
    };
    let mut changes = Vec::new();
    for seed in 1..=2 {
        let mut chance = Chance(seed);
        let sizes: Vec<u64> = (0..2200).map(|_| 25 + chance.below(90)).collect();
        let text: Vec<_> = sizes.iter().map(|words| chance.paragraph(*words)).collect();
        let before: HashSet<_> = mill.chunks(&text).into_iter().collect();
        assert!(before.len() >= 1000, "{} chunks", before.len());
        for _ in 0..40 {
            let words = 1 + chance.below(300);
            let added = chance.paragraph(words);
            let mut edited = text.clone();
            edited.insert(chance.below(text.len() as u64 + 1) as usize, added.clone());
            let after = mill.chunks(&edited);
            let changed = |chunk: &&String| !before.contains(*chunk) && !added.contains(*chunk);
            changes.push(after.iter().filter(changed).count());
        }
    }
    assert!(changes.iter().all(|changed| *changed <= 5), "{changes:?}");
}

/// This repository's own decisions, in stretches of so many words.
fn prose(words: usize) -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/adr");
    let mut stretches = Vec::new();
    for file in std::fs::read_dir(folder).expect("the decisions are here") {
        let text = std::fs::read_to_string(file.expect("an entry").path()).expect("text");
        let all: Vec<&str> = text.split_whitespace().collect();
        stretches.extend(all.chunks_exact(words).map(|some| some.join(" ")));
    }
    stretches
}

#[test]
fn the_estimate_is_off_by_no_more_than_it_says() {
    let tokens = tokenizer();
    let stretches = prose(150);
    assert!(stretches.len() > 50, "{} stretches", stretches.len());
    let off = |text: &&String| {
        let ratio = Estimate.count(text) as f64 / tokens.count(text) as f64;
        !(0.88..=1.15).contains(&ratio)
    };
    let off = stretches.iter().filter(off).count();
    assert!(off * 50 <= stretches.len(), "{off} are");
    // Where no estimate is to be trusted, bytes are.
    for text in ["{}{}();=>", "\u{1f980}\u{301}x", "日本語", "\u{7f}\u{200b}"] {
        assert!(tokens.count(text) <= text.len(), "{text:?}");
    }
}
