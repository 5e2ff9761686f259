use model::{Parsed, Strategy, Unit};
use proptest::prelude::*;

use super::*;
use crate::cut::Sizes;
use crate::sample::{Words, parsed};
use crate::units::{units, units_of};

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
fn rows_of_a_table_lines_of_code_and_sentences_stay_whole() {
    let lines = |line: fn(usize) -> String| (0..40).map(line).collect::<Vec<_>>().join("\n");
    let rows = lines(|n| format!("| cell {n} | more of it |"));
    let code = lines(|n| format!("`let grain = sack. {n} + 1. 5;"));
    let prose = "This is one sentence of eight words exactly. ".repeat(40);
    let text = format!("{rows}\n\n{code}\n\n{prose}");
    // `fixed` promises words, and no more.
    for strategy in Strategy::ALL.into_iter().filter(|s| *s != Strategy::Fixed) {
        for chunk in chunks(&parsed(&text), policy(strategy), &Words) {
            let ends = ['|', ';', '.'].iter().any(|end| chunk.text.ends_with(*end));
            let starts = ["| cell", "`let", "This is"]
                .iter()
                .any(|start| chunk.text.starts_with(start));
            assert!(starts && ends, "{strategy}: {:?}", chunk.text);
        }
    }
}

#[test]
fn a_row_larger_than_a_chunk_is_cut_at_its_sentences() {
    let cell = |n| format!("Sentence {n} of this cell says a little. ").repeat(30);
    let rows: Vec<_> = (0..8).map(|n| format!("| {n} | {}|", cell(n))).collect();
    let short = "| 9 | Short rows. Between. |\n".repeat(3);
    let doc = parsed(&format!("{}\n{short}", rows.join(&format!("\n{short}"))));
    for strategy in Strategy::ALL.into_iter().filter(|s| *s != Strategy::Fixed) {
        for chunk in chunks(&doc, policy(strategy), &Words) {
            let ends = ['|', '.'].iter().any(|end| chunk.text.ends_with(*end));
            let starts = ["|", "Sentence"].iter().any(|s| chunk.text.starts_with(s));
            assert!(starts && ends, "{strategy}: {:?}", chunk.text);
        }
    }
}

#[test]
fn neighbours_overlap_by_whole_sentences() {
    let prose: String = (0..60)
        .map(|n| format!("Sentence {n} is short. "))
        .collect();
    for strategy in [
        Strategy::Structural,
        Strategy::Sentence,
        Strategy::Streaming,
    ] {
        let chunks = chunks(&parsed(&prose), policy(strategy), &Words);
        assert!(chunks.len() > 4, "{strategy}");
        for pair in chunks.windows(2) {
            assert!(
                pair[1].span.byte_start < pair[0].span.byte_end,
                "{strategy}"
            );
            assert!(pair[1].text.starts_with("Sentence"), "{strategy}");
        }
    }
}

/// Numbers that look random, written with a hundred ideographs.
fn ideographs(count: u32) -> String {
    let letter = |n: u32| 0x4e00 + n.wrapping_mul(2_654_435_761) % 100;
    let letters = (0..count).filter_map(|n| char::from_u32(letter(n)));
    letters.collect()
}

#[test]
fn text_without_spaces_is_cut_into_equal_windows_that_overlap() {
    let doc = parsed(&ideographs(2000));
    let made = chunks(&doc, policy(Strategy::Fixed), &Letters);
    for pair in made.windows(2) {
        assert_eq!(pair[0].tokens, 40);
        assert_eq!(pair[0].span.char_end - pair[1].span.char_start, 8);
    }
}

#[test]
fn a_sentence_larger_than_a_chunk_is_cut_behind_its_wide_commas() {
    let clauses: Vec<_> = (0..80).map(|n| ideographs(7 + n % 10)).collect();
    let doc = parsed(&format!("{}。", clauses.join("，")));
    for strategy in Strategy::ALL.into_iter().filter(|s| *s != Strategy::Fixed) {
        for chunk in chunks(&doc, policy(strategy), &Letters) {
            assert!(
                chunk.text.ends_with(['，', '。']),
                "{strategy}: {}",
                chunk.text
            );
        }
    }
}

#[test]
fn no_room_is_kept_for_an_overlap_that_is_not_taken() {
    let sentence = |n| format!("The {} end{n}.", "word ".repeat(16));
    let text: Vec<_> = (0..20).map(sentence).collect();
    let doc = parsed(&text.join("\n\n"));
    for strategy in [Strategy::Sentence, Strategy::Streaming, Strategy::Markdown] {
        let made = chunks(&doc, policy(strategy), &Words);
        assert_eq!(made.len(), 10, "{strategy}");
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

/// As a model does that knows no word of more than a hundred characters.
struct Unknowing;

impl TokenCounter for Unknowing {
    fn count(&self, text: &str) -> usize {
        let tokens = |word: &str| match word.chars().count() {
            101.. => 1,
            length => length.div_ceil(4),
        };
        text.split_whitespace().map(tokens).sum()
    }

    fn adds_up(&self) -> bool {
        true
    }
}

#[test]
fn words_the_model_does_not_know_fill_a_chunk_all_the_same() {
    let endless = "x".repeat(60_000);
    let long = vec!["y".repeat(3000); 50].join(" ");
    let doc = parsed(&format!("{endless}\n\n{long}"));
    for strategy in Strategy::ALL {
        let policy = policy(strategy);
        let made = chunks(&doc, policy, &Unknowing);
        let longest = made.iter().map(|chunk| chunk.text.len()).max();
        assert!(
            longest <= Some(policy.max() * 16 + 16),
            "{strategy}: {longest:?}"
        );
    }
}

#[test]
fn an_endless_heading_is_carried_shortened_and_not_said_twice() {
    let heading = "Rule under a paragraph ".repeat(3000);
    let doc = parsed(&format!("# {heading}\n\nText."));
    let made = chunks(&doc, ChunkPolicy::for_limit(254), &Words);
    assert!(made.len() > 50, "{} chunks", made.len());
    for chunk in &made {
        let carried: usize = chunk.heading_path.iter().map(String::len).sum();
        assert!(carried <= 204, "{carried} bytes");
    }
    let (input, _) = embedder_input(&made[0], 400, &Words);
    assert_eq!(input, made[0].text);
}

/// A block of any kind: headings, prose with line ends of both kinds, furniture, tables, code, list
/// items, letters with marks on top, ideographs and their marks, control characters, words without an end.
const BLOCK: &str = "(#{1,3} [a-c ]{1,8}|([a-zA-Zé日本]{1,9}[ .?\n]{1,2}){1,80}|([a-z]{1,9}( |\\.\r\n)){1,60}\
    |~ [0-9]{1,3}|(\\| [a-z ]{1,30} \\|\n){1,20}|`([a-z(){};=]{1,40}\r?\n){1,30}|- ([a-z]{1,9} ){1,20}\
    |([a-z]\u{301}?\u{323}?){1,120}|([a-z]{0,4}[\u{1}\u{7f}\u{200b}\u{b}\t]){1,60}|[a-z日]{100,200}\
    |([日本語のコーa]{1,9}[「，、。）]?){1,80}|x{400,2000})";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]
    #[test]
    fn whatever_the_text_the_promises_hold(
        blocks in prop::collection::vec(BLOCK, 1..30),
        strategy in prop::sample::select(Strategy::ALL.to_vec()),
        counter in 0..3_usize,
        one_unit in any::<bool>(),
    ) {
        let doc = parsed(&blocks.join("\n\n"));
        let tokens: &dyn TokenCounter = [&Words as &dyn TokenCounter, &Letters, &Unknowing][counter];
        let policy = policy(strategy);
        let limit = if one_unit { 64 * 1024 } else { 400 };
        let sizes = Sizes { limit, floor: limit / 4, halve: false };
        let units = units_of(&doc, sizes);
        let cut = || units.iter().flat_map(|unit| chunk(unit, policy, tokens)).collect::<Vec<_>>();
        let made = cut();
        prop_assert_eq!(&made, &cut());
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
        for unit in &units {
            for chunk in chunk(unit, policy, tokens) {
                let own = chunk.span.bytes();
                for (at, atom) in unit.atoms.iter().enumerate() {
                    let bytes = atom.span.bytes();
                    let shared = bytes.start < own.end && own.start < bytes.end;
                    prop_assert_eq!(chunk.atoms.contains(&(at as u32)), shared, "atom {}", at);
                }
            }
        }
        for atom in doc.atoms.iter().filter(|atom| atom.kind.is_indexed()) {
            for (at, char) in doc.text[atom.span.bytes()].char_indices() {
                prop_assert!(char.is_whitespace() || covered[atom.span.byte_start as usize + at]);
            }
        }
    }
}
