//! An edit changes the chunks beside it: a property, tried on many texts at many places.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use model::hash::short;
use model::{ChunkPolicy, Strategy, Unit};

use super::*;
use crate::cut::Sizes;
use crate::sample::{Words, parsed};
use crate::units::{units, units_of};

/// Numbers that look random and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        short([&self.0.to_be_bytes()[..]]) % end
    }

    fn between(&mut self, range: &Range<u64>) -> u64 {
        range.start + self.below(range.end - range.start)
    }
}

/// How long what a text is made of is: sentences in words, paragraphs in sentences.
struct Prose {
    sentence: Range<u64>,
    paragraph: Range<u64>,
}

impl Prose {
    fn sentence(&self, chance: &mut Chance, words: u64) -> String {
        let mut sentence = String::from("The");
        for _ in 1..words {
            sentence.push_str(" w");
            sentence.push_str(&chance.below(5000).to_string());
        }
        sentence + "."
    }

    fn paragraph(&self, chance: &mut Chance) -> String {
        let sentences = chance.between(&self.paragraph);
        let sentence = |_| {
            let words = chance.between(&self.sentence);
            self.sentence(chance, words)
        };
        (0..sentences).map(sentence).collect::<Vec<_>>().join(" ")
    }

    /// A paragraph of that many words, however long paragraphs are here.
    fn added(&self, chance: &mut Chance, words: u64) -> String {
        let mut left = words;
        let mut sentences = Vec::new();
        while left > 0 {
            let words = chance.between(&self.sentence).min(left);
            sentences.push(self.sentence(chance, words));
            left -= words;
        }
        sentences.join(" ")
    }
}

/// A text without headings, a thousand chunks long, and how it is cut.
struct Trial {
    prose: Prose,
    paragraphs: usize,
    policy: ChunkPolicy,
    /// The chunks of each unit, made once: they are the same whenever the unit is.
    made: HashMap<String, Vec<Made>>,
}

/// A chunk, and where what it does not share with the one before lies in its unit.
#[derive(Clone)]
struct Made {
    text: String,
    own: Range<u64>,
}

impl Trial {
    fn new(prose: Prose, paragraphs: usize, policy: ChunkPolicy) -> Self {
        Self {
            prose,
            paragraphs,
            policy,
            made: HashMap::new(),
        }
    }

    /// A quarter of everything but the units.
    fn small() -> Self {
        let prose = Prose {
            sentence: 2..7,
            paragraph: 2..8,
        };
        let policy = ChunkPolicy::new(Strategy::Structural, (50, 64, 8), 64).unwrap();
        Self::new(prose, 2400, policy)
    }

    fn full() -> Self {
        let prose = Prose {
            sentence: 6..25,
            paragraph: 2..8,
        };
        Self::new(prose, 2600, ChunkPolicy::for_limit(254))
    }

    fn text(&self, chance: &mut Chance) -> Vec<String> {
        (0..self.paragraphs)
            .map(|_| self.prose.paragraph(chance))
            .collect()
    }

    /// The chunks with where their own text lies in the document.
    fn chunks(&mut self, blocks: &[String]) -> Vec<Made> {
        let mut chunks = Vec::new();
        for unit in units(&parsed(&blocks.join("\n\n"))) {
            let base = unit.span.byte_start;
            let known = self.made.entry(unit.text.clone());
            let made = known.or_insert_with(|| made(&unit, self.policy));
            chunks.extend(made.iter().map(|chunk| Made {
                text: chunk.text.clone(),
                own: base + chunk.own.start..base + chunk.own.end,
            }));
        }
        chunks
    }

    /// How many chunks are gone after a paragraph was put in, and how many there are in their
    /// stead: those that hold nothing of their own but the new paragraph are new.
    fn changed(&mut self, before: &Before, place: usize, added: &str) -> (usize, usize) {
        let mut edited = before.text.clone();
        edited.insert(place, added.to_owned());
        let at: usize = edited[..place].iter().map(|block| block.len() + 2).sum();
        let new = at as u64..(at + added.len()) as u64;
        let after = self.chunks(&edited);
        let kept: HashSet<&str> = after.iter().map(|chunk| chunk.text.as_str()).collect();
        let gone = before
            .chunks
            .iter()
            .filter(|chunk| !kept.contains(&***chunk));
        let holds_old = |own: &Range<u64>| own.start < new.start || own.end > new.end;
        let stead = after
            .iter()
            .filter(|chunk| !before.chunks.contains(&chunk.text) && holds_old(&chunk.own));
        (gone.count(), stead.count())
    }

    fn put_in(&mut self, seed: u64, places: usize, most_words: u64) {
        let mut chance = Chance(seed << 32);
        let text = self.text(&mut chance);
        self.made.clear();
        let chunks = self.chunks(&text).into_iter().map(|chunk| chunk.text);
        let before = Before {
            chunks: chunks.collect(),
            text,
        };
        assert!(before.chunks.len() >= 1000, "{}", before.chunks.len());
        for _ in 0..places {
            let place = chance.below(before.text.len() as u64 + 1) as usize;
            let words = 1 + chance.below(most_words);
            let added = self.prose.added(&mut chance, words);
            let (gone, stead) = self.changed(&before, place, &added);
            assert!(
                gone <= 5 && stead <= 5,
                "{gone} gone for {stead}: {words} words at {place}, seed {seed}"
            );
        }
    }
}

/// A text and its chunks, no two of which are alike.
struct Before {
    text: Vec<String>,
    chunks: HashSet<String>,
}

fn made(unit: &Unit, policy: ChunkPolicy) -> Vec<Made> {
    let mut end = 0;
    let own = |chunk: Chunk| {
        let base = unit.span.byte_start;
        let own = end.max(chunk.span.byte_start - base)..chunk.span.byte_end - base;
        end = own.end;
        Made {
            text: chunk.text,
            own,
        }
    };
    chunk(unit, policy, &Words).into_iter().map(own).collect()
}

#[test]
fn a_paragraph_put_anywhere_into_a_thousand_chunks_changes_at_most_five() {
    let mut trial = Trial::small();
    for seed in 0..200 {
        trial.put_in(seed, 4, 75);
    }
}

#[test]
fn a_paragraph_changes_at_most_five_of_a_thousand_chunks_as_large_as_models_take_them() {
    let mut trial = Trial::full();
    for seed in 0..3 {
        trial.put_in(seed, 20, 300);
    }
}

#[test]
fn a_unit_that_outgrew_its_bound_is_cut_where_a_chunk_began() {
    let trial = Trial::full();
    let text = trial.text(&mut Chance(3));
    let doc = parsed(&text.join("\n\n"));
    let smaller = Sizes {
        limit: 48 * 1024,
        floor: 12 * 1024,
        halve: false,
    };
    let begun: HashSet<u64> = units(&doc)
        .iter()
        .flat_map(|unit| groups_begin(unit, trial.policy))
        .collect();
    for unit in units_of(&doc, smaller) {
        let at = unit.span.byte_start;
        assert!(begun.contains(&at), "cut inside a chunk at {at}");
    }
}

/// Where chunks begin in the document, their overlap left out.
fn groups_begin(unit: &Unit, policy: ChunkPolicy) -> Vec<u64> {
    let cutter = piece::Cutter {
        unit,
        tokens: &Words,
        sizer: &Words,
        max: policy.max(),
    };
    let pieces = cutter.pieces();
    let begin =
        |group: pack::Group| unit.span.byte_start + pieces[group.pieces.start].bytes.start as u64;
    pack::structural(unit, &pieces, policy)
        .into_iter()
        .map(begin)
        .collect()
}
