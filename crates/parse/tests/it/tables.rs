//! Tables of values: separators found, records kept together.

use model::AtomKind;
use parse::{Hints, Limits};

fn rows(text: &str) -> Vec<Vec<String>> {
    let hints = Hints::of_filename("a.csv");
    let parsed = parse::parse(text.as_bytes(), &hints, &Limits::default()).unwrap();
    let [atom] = &parsed.atoms[..] else {
        panic!("one table was expected: {}", parsed.text);
    };
    match &atom.kind {
        AtomKind::Table(table) => table.rows.clone(),
        other => panic!("a table was expected: {other:?}"),
    }
}

#[test]
fn the_separator_is_the_one_outside_quotes() {
    assert_eq!(rows("\"x, y, z\";b\n1;2\n"), [["x, y, z", "b"], ["1", "2"]]);
    assert_eq!(rows("\n\na;b\n1;2,5\n"), [["a", "b"], ["1", "2,5"]]);
}

#[test]
fn a_separator_that_is_named_is_taken_and_is_no_row() {
    assert_eq!(
        rows("sep=;\r\na,b;c\r\n1,0;2\r\n"),
        [["a,b", "c"], ["1,0", "2"]]
    );
}

#[test]
fn a_record_may_run_over_lines_and_hold_quotes() {
    let text = "id,note\r\n1,\"two\r\nlines, \"\"said\"\" so\"\r\n2,\r\n";
    assert_eq!(
        rows(text),
        [["id", "note"], ["1", "two\nlines, \"said\" so"], ["2", ""]]
    );
}

#[test]
fn a_header_without_end_is_told_once() {
    let text = format!("\"{}", "a,b\n".repeat(400_000));
    let hints = Hints::of_filename("a.csv");
    let parsed = parse::parse(text.as_bytes(), &hints, &Limits::default()).unwrap();
    assert!(parsed.atoms.len() > 3);
    assert!(parsed.text.len() < text.len() * 4, "{}", parsed.text.len());
}
