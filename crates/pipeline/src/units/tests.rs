use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::sample::parsed;

const SMALL: Sizes = Sizes {
    limit: 400,
    floor: 100,
    halve: false,
};

fn names(units: &[Unit]) -> HashSet<&str> {
    units.iter().map(|unit| unit.name.as_str()).collect()
}

fn manual(sections: usize, paragraphs: usize) -> Vec<String> {
    let mut blocks = Vec::new();
    for section in 0..sections {
        blocks.push(format!("# Section {section}"));
        for n in 0..paragraphs {
            blocks.push(format!(
                "Paragraph {n} of section {section} says what it says. It ends here."
            ));
        }
    }
    blocks
}

#[test]
fn a_small_document_is_one_unit_and_an_empty_one_has_none() {
    assert_eq!(units(&parsed("# Title\n\nText.")).len(), 1);
    assert!(units(&parsed("~ page 1 of 1")).is_empty());
    assert!(units(&parsed("")).is_empty());
}

#[test]
fn editing_one_section_keeps_the_names_of_the_others() {
    let mut blocks = manual(60, 4);
    let before = units_of(&parsed(&blocks.join("\n\n")), SMALL);
    blocks[152] =
        "An entirely different paragraph, and a good deal longer than the old one was. ".repeat(3);
    let after = units_of(&parsed(&blocks.join("\n\n")), SMALL);
    assert!(before.len() > 30);
    let kept = names(&before).intersection(&names(&after)).count();
    assert!(kept + 2 >= before.len(), "{kept} of {}", before.len());
}

#[test]
fn text_without_headings_is_cut_by_content() {
    let mut blocks: Vec<_> = (0..300)
        .map(|n| format!("Line {n} of a long text, number {}.", n * 7))
        .collect();
    let before = units_of(&parsed(&blocks.join("\n\n")), SMALL);
    blocks.insert(
        150,
        "Something new was put in the middle of it all.".to_owned(),
    );
    let after = units_of(&parsed(&blocks.join("\n\n")), SMALL);
    let texts: HashSet<_> = before.iter().map(|unit| &unit.text).collect();
    let new = after
        .iter()
        .filter(|unit| !texts.contains(&unit.text))
        .count();
    assert!(before.len() > 20 && new <= 3, "{new} of {}", after.len());
}

#[test]
fn a_heading_inside_a_unit_knows_which_headings_it_ends() {
    let body = ["More words under C, to be cut between."; 30].join("\n\n");
    let doc = parsed(&format!("# A\n\ntext\n\n## B\n\ntext\n\n### C\n\n{body}"));
    let units = units_of(&doc, SMALL);
    let last = units.last().unwrap();
    assert_eq!(last.heading_path, ["A", "B", "C"]);
    assert_eq!(last.heading_levels, [1, 2, 3]);
}

#[test]
fn one_enormous_atom_is_divided_at_its_lines() {
    let lines: String = (0..200)
        .map(|n| format!("row {n} of a log that never ends\n"))
        .collect();
    let units = units_of(&parsed(&lines), SMALL);
    assert!(units.len() > 10);
    for unit in &units[1..] {
        assert!(unit.text.starts_with("row "), "{:?}", unit.text);
    }
}

#[test]
fn any_slicing_gives_the_same_units_also_when_stored_in_between() {
    let doc = parsed(&manual(120, 3).join("\n\n"));
    let whole = units_of(&doc, SMALL);
    for per_slice in [1, 7, 100] {
        let mut tiler = Tiler::of(SMALL);
        let mut units = Vec::new();
        let mut at = 0;
        for atoms in doc.atoms.chunks(per_slice) {
            let end = atoms.last().unwrap().span.byte_end as usize + 2;
            units.extend(tiler.push(&doc.text[at..end], atoms.to_vec()));
            at = end;
            let stored = serde_json::to_string(&tiler).unwrap();
            tiler = serde_json::from_str(&stored).unwrap();
        }
        let held = SMALL.limit as usize * 9;
        assert!(units.iter().map(|unit| unit.text.len()).sum::<usize>() + held > at);
        units.extend(tiler.finish());
        assert_eq!(units, whole, "{per_slice} atoms in a slice");
    }
}

fn rejoined(units: &[Unit], held: &[model::Atom]) -> Vec<model::Atom> {
    let mut joiner = Joiner::default();
    let mut atoms: Vec<_> = units
        .iter()
        .flat_map(|unit| joiner.push(unit.atoms.clone()))
        .collect();
    atoms.extend(joiner.push(held.to_vec()));
    atoms.extend(joiner.finish());
    atoms
}

#[test]
fn the_units_so_far_and_what_is_held_are_the_document_so_far() {
    let lines: String = (0..400)
        .map(|n| format!("row {n} of a log that never ends\n"))
        .collect();
    let sections = manual(20, 3).join("\n\n");
    let mut doc = parsed(&format!("{sections}\n\n{lines}\n\n{sections}"));
    let endless = doc.atoms.iter_mut().max_by_key(|a| a.span.bytes().len());
    let endless = endless.unwrap();
    let start = endless.span;
    endless.links = (0..300)
        .map(|n| model::Link {
            span: model::Span {
                byte_start: start.byte_start + n * 40,
                byte_end: start.byte_start + n * 40 + 5,
                char_start: start.char_start + n * 40,
                char_end: start.char_start + n * 40 + 5,
            },
            text: "a row".to_owned(),
            target: format!("https://example.org/{n}"),
        })
        .collect();
    let mut tiler = Tiler::of(SMALL);
    let mut units = Vec::new();
    let mut at = 0;
    for (n, atom) in doc.atoms.iter().enumerate() {
        let end = atom.span.byte_end as usize + 2;
        units.extend(tiler.push(&doc.text[at..end], vec![atom.clone()]));
        at = end;
        let (text, held) = tiler.held();
        let texts = units.iter().map(|unit| unit.text.as_str());
        assert!(texts.chain([text]).collect::<String>() == doc.text[..end]);
        assert!(rejoined(&units, held) == doc.atoms[..=n], "after atom {n}");
    }
    let divided = |unit: &Unit| unit.span.byte_end < start.byte_end;
    assert!(units.iter().filter(|unit| divided(unit)).count() > 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn units_tile_the_text_within_their_bound(blocks in prop::collection::vec("(#{1,3} [a-c]{1,8}|[a-zé. ]{1,300}|~ [0-9]{1,3})", 1..60)) {
        let doc = parsed(&blocks.join("\n\n"));
        let units = units_of(&doc, SMALL);
        let tiled: String = units.iter().map(|unit| unit.text.as_str()).collect();
        prop_assert!(units.is_empty() || tiled == doc.text);
        let atoms: usize = units.iter().map(|unit| unit.atoms.len()).sum();
        prop_assert!(units.is_empty() || atoms == doc.atoms.len());
        prop_assert_eq!(names(&units).len(), units.len());
        prop_assert!(units.is_empty() || rejoined(&units, &[]) == doc.atoms);
        for unit in &units {
            prop_assert_eq!(&doc.text[unit.span.bytes()], &unit.text);
            prop_assert_eq!(unit.text.chars().count() as u64, unit.span.char_end - unit.span.char_start);
            for atom in &unit.atoms {
                prop_assert!(unit.span.byte_start <= atom.span.byte_start && atom.span.byte_end <= unit.span.byte_end);
            }
        }
    }
}
