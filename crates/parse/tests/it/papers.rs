//! What papers and manuals do with type.

use model::{AtomKind, Parsed};
use parse::{Hints, Limits, to_markdown};

fn at(size: u8, x: u16, y: u16, text: &str) -> String {
    format!("BT /F {size} Tf {x} {y} Td ({text}) Tj ET\n")
}

fn read(page: &str) -> Parsed {
    let bytes = samples::pdf::drawn(page);
    parse::parse(&bytes, &Hints::of_filename("a.pdf"), &Limits::default()).unwrap()
}

/// Enough of it that its size is the body's.
fn body(y: u16) -> String {
    let line = "The miller wrote down what came in and what went out, every day of the year, and";
    (0..6).map(|n| at(10, 72, y - 12 * n, line)).collect()
}

fn headings(parsed: &Parsed) -> Vec<&str> {
    let is_heading = |kind: &AtomKind| matches!(kind, AtomKind::Heading { .. });
    let atoms = parsed.atoms.iter().filter(|atom| is_heading(&atom.kind));
    atoms.map(|atom| &parsed.text[atom.span.bytes()]).collect()
}

#[test]
fn a_logo_with_a_raised_letter_tears_no_line() {
    let logo = "BT /F 10 Tf 72 700 Td [(This was set in L) 360] TJ /F 7 Tf 2 Ts (A) Tj \
        /F 10 Tf 0 Ts [150 (TEX by the miller of the town himself.)] TJ ET\n";
    let parsed = read(&(logo.to_owned() + &body(660)));
    let first = &parsed.text[parsed.atoms[0].span.bytes()];
    assert_eq!(
        first,
        "This was set in LATEX by the miller of the town himself."
    );
}

#[test]
fn a_large_first_letter_belongs_to_the_first_line() {
    let page = at(26, 72, 676, "T")
        + &at(
            10,
            90,
            688,
            "HIS is the almanac of the mill, in which all of its years are told, and",
        )
        + &at(
            10,
            90,
            676,
            "those of its owners, as far as anybody still knows what became of them",
        )
        + &at(
            10,
            72,
            664,
            "after the flood that took the old weir away and left the race without any",
        );
    let parsed = read(&page);
    assert!(
        parsed
            .text
            .starts_with("THIS is the almanac of the mill, in which all of its years"),
        "{}",
        parsed.text
    );
    assert!(parsed.text.contains("told, and those of its owners"));
}

#[test]
fn entries_of_a_table_of_contents_are_no_headings_and_stand_alone() {
    let dots = ". ".repeat(40);
    let mut page = String::new();
    for (n, y) in [(1, 700), (2, 676)] {
        page.push_str(&at(12, 72, y, &format!("{n} Of wheels")));
        page.push_str(&at(12, 500, y, &n.to_string()));
        page.push_str(&at(10, 84, y - 12, &format!("{n}.1 Their paddles {dots}")));
        page.push_str(&at(10, 500, y - 12, &n.to_string()));
    }
    let parsed = read(&(page + &body(600)));
    assert_eq!(headings(&parsed), [] as [&str; 0]);
    let entry = |atom: &model::Atom| parsed.text[atom.span.bytes()].contains("Their paddles");
    assert_eq!(parsed.atoms.iter().filter(|atom| entry(atom)).count(), 2);
}

#[test]
fn authors_side_by_side_are_each_read_with_their_address() {
    // Centred under each other.
    let author = |x: u16, (in_by, name): (u16, &str), town: &str| {
        at(12, x + in_by, 700, name)
            + &at(10, x, 687, "The guild of all millers")
            + &at(10, x + 25, 675, town)
    };
    let page = at(20, 200, 740, "Of water mills")
        + &author(72, (19, "Ann Quern"), "Weirbridge")
        + &author(240, (16, "Ben Hopper"), "Racehead")
        + &author(400, (22, "Cay Rynd"), "Sluicegate")
        + &body(640);
    let parsed = read(&page);
    assert_eq!(headings(&parsed), ["Of water mills"]);
    let text = to_markdown(&parsed);
    let place = |words: &str| text.find(words).expect(words);
    assert!(place("Ann Quern") < place("Weirbridge"), "{text}");
    assert!(place("Weirbridge") < place("Ben Hopper"), "{text}");
    assert!(place("Racehead") < place("Cay Rynd"), "{text}");
}

#[test]
fn sections_numbered_as_journals_do_are_headings() {
    let page = at(8, 250, 700, "IV. WHAT THE STONES ARE MADE OF") + &body(680);
    assert_eq!(headings(&read(&page)), ["IV. WHAT THE STONES ARE MADE OF"]);
}

#[test]
fn a_number_at_the_beginning_of_a_line_is_no_item_within_a_sentence() {
    let lines = [
        "The weir was built when the old one broke, as is told at length in chapters 1 and",
        "and again, by somebody who did not believe the first account of it, in those named",
        "4. By then nobody was left who had seen it, and what was told had been told before.",
    ];
    let drawn = lines.iter().zip([700, 688, 676]);
    let page: String = drawn.map(|(line, y)| at(10, 72, y, line)).collect();
    let parsed = read(&page);
    assert_eq!(parsed.atoms.len(), 1, "{:?}", parsed.atoms);
    assert_eq!(parsed.text, lines.join(" "));
}

#[test]
fn a_wide_abstract_does_not_tear_the_columns_under_it() {
    let wide = "What is told here of mills, of their wheels and of their stones was found in the papers of the guild.";
    let left = [
        "The wheel is turned by the water that",
        "comes down the race in spring and even",
        "more of it in the autumn of most years",
        "when the rain has filled up the ponds.",
    ];
    let mut page = at(10, 90, 700, wide) + &at(10, 90, 688, wide);
    for (row, (line, y)) in left.iter().zip([650, 638, 626, 614]).enumerate() {
        page.push_str(&at(10, if row == 0 { 82 } else { 72 }, y, line));
    }
    for y in [650, 638, 626, 614] {
        page.push_str(&at(
            10,
            270,
            y,
            "and what else is known of it, which is not much.",
        ));
    }
    let parsed = read(&page);
    assert!(parsed.text.contains(&left.join(" ")), "{}", parsed.text);
}

#[test]
fn a_sentence_that_begins_with_a_hash_is_no_heading_in_markdown() {
    let markdown = to_markdown(&read(
        &(at(10, 72, 700, "# gives the number of sacks.") + &body(660)),
    ));
    assert!(markdown.starts_with("\\# gives the number"), "{markdown}");
}
