//! Pages that are not where the document says they are.

use model::Parsed;
use parse::{Hints, Limits};
use samples::pdf::{Page, pdf};

fn read(bytes: &[u8]) -> Parsed {
    parse::parse(bytes, &Hints::default(), &Limits::default()).unwrap()
}

/// A file whose bytes have been changed in one place, none of them moved.
fn changed(mut bytes: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = bytes
        .windows(from.len())
        .position(|at| at == from.as_bytes());
    bytes[at.unwrap()..][..to.len()].copy_from_slice(to.as_bytes());
    bytes
}

const WORDS: [&str; 3] = ["Of the wheel", "Of the stone", "Of the sack"];

fn three_pages() -> Vec<u8> {
    pdf(&WORDS.map(Page::Text))
}

/// The pages words stand on.
fn places(parsed: &Parsed) -> Vec<(&str, u32)> {
    let atoms = parsed.atoms.iter();
    let words = atoms.map(|atom| (&parsed.text[atom.span.bytes()], atom.boxes[0].page));
    words.collect()
}

/// The numbers of pages that are gaps.
fn gaps(parsed: &Parsed) -> Vec<(u32, u32)> {
    parsed.gaps.iter().filter_map(|gap| gap.pages).collect()
}

#[test]
fn a_lost_page_is_a_gap_and_the_others_keep_their_numbers() {
    let dangling = changed(three_pages(), "Kids[5 0 R 7 0 R", "Kids[5 0 R 0 0 R");
    let destroyed = changed(three_pages(), "7 0 obj\n<</Type", "7 0 obj\n#######");
    for bytes in [dangling, destroyed] {
        let parsed = read(&bytes);
        assert_eq!(places(&parsed), [(WORDS[0], 1), (WORDS[2], 3)]);
        assert_eq!(gaps(&parsed), [(2, 2)]);
        assert_eq!(parsed.pages.len(), 3);
    }
}

#[test]
fn a_lost_branch_costs_the_pages_that_were_on_it() {
    let claims_five = changed(
        three_pages(),
        "7 0 R 9 0 R ]/Count 3",
        "0 0 R 9 0 R ]/Count 5",
    );
    let parsed = read(&claims_five);
    assert_eq!(places(&parsed), [(WORDS[0], 1), (WORDS[2], 5)]);
    assert_eq!(gaps(&parsed), [(2, 2), (3, 3), (4, 4)]);
}

#[test]
fn an_entry_that_is_no_longer_counted_is_no_gap() {
    let deleted = changed(
        three_pages(),
        "7 0 R 9 0 R ]/Count 3",
        "0 0 R 9 0 R ]/Count 2",
    );
    let parsed = read(&deleted);
    assert_eq!(places(&parsed), [(WORDS[0], 1), (WORDS[2], 2)]);
    assert_eq!(gaps(&parsed), []);
}
