use std::collections::HashSet;

use model::{Parsed, Strategy, Unit};
use proptest::prelude::*;

use super::*;
use crate::sample::{Words, parsed};
use crate::units::units;

fn policy(strategy: Strategy) -> ChunkPolicy {
    ChunkPolicy::new(strategy, (40, 50, 8), 50).unwrap()
}

fn chunks(doc: &Parsed, policy: ChunkPolicy, tokens: &dyn TokenCounter) -> Vec<Chunk> {
    let chunks = |unit: &Unit| chunk(unit, policy, tokens);
    units(doc).iter().flat_map(chunks).collect()
}

/// Counts characters, so nothing adds up.
struct Letters;

impl TokenCounter for Letters {
    fn count(&self, text: &str) -> usize {
        text.chars().count()
    }
}

#[test]
fn a_chunk_stays_in_its_section_and_carries_its_heading_path() {
    let body = "Some words that fill a section well enough to stand alone in it. ";
    let text = format!("# A\n\n## B\n\n{body}\n\n## C\n\n{body}");
    let chunks = chunks(&parsed(&text), policy(Strategy::Structural), &Words);
    let paths: Vec<_> = chunks.iter().map(|c| c.heading_path.join(" > ")).collect();
    assert_eq!(paths, ["A > B", "A > C"]);
    assert!(chunks[0].text.starts_with("A\n\nB"));
    assert!(chunks[1].text.starts_with("C\n\nSome"));
}

#[test]
fn tiny_sections_share_a_chunk() {
    let text = "# Q one\n\nYes.\n\n# Q two\n\nNo.\n\n# Q three\n\nPerhaps.";
    let chunks = chunks(&parsed(text), policy(Strategy::Structural), &Words);
    assert_eq!(chunks.len(), 1);
}

#[test]
fn rows_of_a_table_and_sentences_stay_whole() {
    let rows: String = (0..40)
        .map(|n| format!("| cell {n} | more of it |\n"))
        .collect();
    let prose = "This is one sentence of eight words exactly. ".repeat(40);
    let text = format!("{rows}\n\n{prose}");
    for chunk in chunks(&parsed(&text), policy(Strategy::Structural), &Words) {
        let ends = ['|', '.'].iter().any(|end| chunk.text.ends_with(*end));
        let starts = ["| cell", "This is"]
            .iter()
            .any(|start| chunk.text.starts_with(start));
        assert!(starts && ends, "{:?}", chunk.text);
    }
}

#[test]
fn neighbours_overlap_by_whole_sentences() {
    let prose: String = (0..60)
        .map(|n| format!("Sentence {n} is short. "))
        .collect();
    let chunks = chunks(&parsed(&prose), policy(Strategy::Structural), &Words);
    assert!(chunks.len() > 4);
    for pair in chunks.windows(2) {
        assert!(pair[1].span.byte_start < pair[0].span.byte_end);
        assert!(pair[1].text.starts_with("Sentence"));
    }
}

#[test]
fn furniture_is_in_no_chunk() {
    let text = "One sentence here.\n\n~ page 7\n\nAnother sentence here.";
    for strategy in Strategy::ALL {
        for chunk in chunks(&parsed(text), policy(strategy), &Words) {
            assert!(!chunk.text.contains("page 7"), "{strategy}");
        }
    }
}

#[test]
fn boxes_of_the_part_of_an_atom_that_is_in_the_chunk() {
    let line = "Eight words of text are on this line. ";
    let mut doc = parsed(&line.repeat(20));
    let line_box = |n: u32| model::PageBox {
        page: 1 + n / 10,
        left: 0.0,
        top: n as f32 * 10.0,
        right: 100.0,
        bottom: n as f32 * 10.0 + 10.0,
    };
    doc.atoms[0].boxes = (0..20).map(line_box).collect();
    let chunks = chunks(&doc, policy(Strategy::Structural), &Words);
    assert_eq!(chunks[0].pages, [1]);
    assert_eq!(chunks.last().unwrap().pages, [2]);
    assert!(chunks.iter().all(|chunk| chunk.boxes.len() <= 8));
}

/// A long text without headings, in paragraphs of a few sentences.
fn long_text(seed: u64, paragraphs: u64) -> Vec<String> {
    let word = |n: u64| crate::cut::hash(&[seed, n].map(u64::to_be_bytes).concat());
    let sentence = |p: u64, s: u64| {
        let count = 6 + word(p * 64 + s) % 18;
        let words: Vec<_> = (0..count)
            .map(|w| format!("w{}", word(p * 4096 + s * 64 + w) % 5000))
            .collect();
        format!("The {}.", words.join(" "))
    };
    let paragraph = |p: u64| {
        let count = 2 + word(p) % 6;
        (0..count)
            .map(|s| sentence(p, s))
            .collect::<Vec<_>>()
            .join(" ")
    };
    (0..paragraphs).map(paragraph).collect()
}

#[test]
fn a_paragraph_put_into_a_thousand_chunks_changes_at_most_five() {
    let policy = ChunkPolicy::for_limit(254);
    let text = long_text(7, 2700);
    let before = chunks(&parsed(&text.join("\n\n")), policy, &Words);
    assert!(before.len() >= 1000, "{} chunks", before.len());
    let old: HashSet<_> = before.iter().map(|chunk| &chunk.text).collect();
    for (place, words) in [(300, 5), (1350, 40), (1351, 90), (2400, 300)] {
        let mut blocks = text.clone();
        blocks.insert(
            place,
            format!("An inserted paragraph of {}words.", "some ".repeat(words)),
        );
        let after = chunks(&parsed(&blocks.join("\n\n")), policy, &Words);
        let new = after
            .iter()
            .filter(|chunk| !old.contains(&chunk.text))
            .count();
        assert!((1..=5).contains(&new), "{new} chunks changed");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn whatever_the_text_the_promises_hold(
        blocks in prop::collection::vec(
            "(#{1,3} [a-c ]{1,8}|([a-zA-Zé日本]{1,9}[ .?\n]{1,2}){1,80}|~ [0-9]{1,3}|(\\| [a-z ]{1,30} \\|\n){1,20}|[a-z日]{100,200})",
            1..30,
        ),
        strategy in prop::sample::select(Strategy::ALL.to_vec()),
        adds_up in any::<bool>(),
    ) {
        let doc = parsed(&blocks.join("\n\n"));
        let tokens: &dyn TokenCounter = if adds_up { &Words } else { &Letters };
        let policy = policy(strategy);
        let made = chunks(&doc, policy, tokens);
        prop_assert_eq!(&made, &chunks(&doc, policy, tokens));
        let chars: Vec<char> = doc.text.chars().collect();
        let mut covered = vec![false; doc.text.len()];
        for chunk in &made {
            prop_assert_eq!(&doc.text[chunk.span.bytes()], &chunk.text);
            let cut: String = chars[chunk.span.char_start as usize..chunk.span.char_end as usize].iter().collect();
            prop_assert_eq!(&cut, &chunk.text);
            prop_assert_eq!(chunk.tokens as usize, tokens.count(&chunk.text));
            prop_assert!(chunk.tokens as usize <= policy.max(), "{} tokens", chunk.tokens);
            covered[chunk.span.bytes()].fill(true);
        }
        for atom in doc.atoms.iter().filter(|atom| atom.kind.is_indexed()) {
            for (at, char) in doc.text[atom.span.bytes()].char_indices() {
                prop_assert!(char.is_whitespace() || covered[atom.span.byte_start as usize + at]);
            }
        }
    }
}
