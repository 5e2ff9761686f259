//! Tables of a print that have no grid, with cells of several lines.

use model::{AtomKind, Parsed};
use parse::{Hints, Limits};

fn read(page: &str) -> Parsed {
    let bytes = samples::pdf::drawn(page);
    parse::parse(&bytes, &Hints::of_filename("a.pdf"), &Limits::default()).unwrap()
}

fn at(x: u16, y: u16, text: &str) -> String {
    format!("BT /F 11 Tf {x} {y} Td ({text}) Tj ET\n")
}

const PLACES: [u16; 3] = [72, 160, 420];
const SENTENCE: &str = "What follows is the law of the mill, as the miller wrote it down himself.";

/// Rows printed cell by cell, each cell line by line, `apart` more points between rows.
fn table(rows: &[[&[&str]; 3]], apart: u16) -> String {
    let (mut drawn, mut y) = (String::new(), 700);
    for row in rows {
        for (cell, x) in row.iter().zip(PLACES) {
            for (nth, line) in cell.iter().enumerate() {
                drawn.push_str(&at(x, y - 13 * nth as u16, line));
            }
        }
        let lines = row.iter().map(|cell| cell.len()).max();
        y -= 13 * lines.unwrap_or(1) as u16 + apart;
    }
    drawn
}

const ROWS: [[&[&str]; 3]; 4] = [
    [&["Key"], &["Meaning"], &["Usual"]],
    [
        &["stones"],
        &[
            "How many stones are turned by the wheel, of",
            "which one at least is always kept spare",
        ],
        &["2"],
    ],
    [&["race"], &["How wide the race is, in feet"], &["6"]],
    [
        &["grain"],
        &[
            "What is ground when nobody asks for any",
            "other kind, which seldom happens in a",
            "year",
        ],
        &["rye"],
    ],
];

#[test]
fn wrapped_cells_are_joined_and_keep_to_their_columns() {
    for apart in [0, 6] {
        let page = at(72, 730, SENTENCE) + &table(&ROWS, apart) + &at(72, 560, SENTENCE);
        let parsed = read(&page);
        let kinds: Vec<_> = parsed.atoms.iter().map(|atom| &atom.kind).collect();
        let [
            AtomKind::Paragraph,
            AtomKind::Table(found),
            AtomKind::Paragraph,
        ] = kinds[..]
        else {
            panic!(
                "a table between two paragraphs was expected: {:?}",
                parsed.atoms
            );
        };
        let expected = ROWS.map(|row| row.map(|cell| cell.join(" ")).to_vec());
        assert_eq!(found.rows, expected, "{apart} points apart");
    }
}

#[test]
fn a_row_without_a_name_of_its_own_goes_on_with_no_other() {
    let rows: [[&str; 4]; 6] = [
        ["Sign", "Written", "Read", "What it does"],
        ["~", "~a", "a", "prints both, one of them raised"],
        ["", "", "", "by half of its size"],
        ["", "/Times", "abc", "prints it in another face"],
        ["", "/Arial", "abc", "prints it in yet another face"],
        ["", "", "", "and larger"],
    ];
    let mut page = String::new();
    for (nth, row) in rows.iter().enumerate() {
        for (cell, x) in row.iter().zip([72, 120, 200, 280]) {
            page.push_str(&at(x, 700 - 13 * nth as u16, cell));
        }
    }
    let parsed = read(&page);
    let tables = parsed.atoms.iter().filter_map(|atom| match &atom.kind {
        AtomKind::Table(table) => Some(table.rows.len()),
        _ => None,
    });
    assert_eq!(tables.collect::<Vec<_>>(), [4], "{}", parsed.text);
}

#[test]
fn a_heading_close_under_a_table_is_none_of_its_cells() {
    let page = table(&ROWS, 6) + "BT /F 13 Tf 72 578 Td (Afterwards) Tj ET\n";
    let parsed = read(&page);
    let tables = parsed.atoms.iter().filter_map(|atom| match &atom.kind {
        AtomKind::Table(table) => Some(table.rows.len()),
        _ => None,
    });
    assert_eq!(tables.collect::<Vec<_>>(), [4], "{}", parsed.text);
    assert!(parsed.text.ends_with("\n\nAfterwards"), "{}", parsed.text);
}
