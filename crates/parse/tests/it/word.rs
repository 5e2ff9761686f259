//! Word documents as their readers see them: what was deleted joins, what is hidden hides only
//! itself, what is told twice stands once.

use parse::{Hints, Limits};
use samples::office;

fn markdown(body: &str) -> String {
    read(&office::docx(body))
}

fn read(bytes: &[u8]) -> String {
    let parsed = parse::parse(bytes, &Hints::default(), &Limits::default()).unwrap();
    parse::to_markdown(&parsed)
}

fn words(text: &str) -> String {
    set("", text)
}

/// A paragraph with these properties.
fn set(properties: &str, text: &str) -> String {
    format!("<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>")
}

/// A paragraph whose end was deleted.
fn endless(text: &str) -> String {
    set("<w:rPr><w:del/></w:rPr>", text)
}

fn cell(content: &str) -> String {
    format!("<w:tc>{content}</w:tc>")
}

fn row(cells: &[String]) -> String {
    format!("<w:tr>{}</w:tr>", cells.concat())
}

#[test]
fn a_paragraph_whose_end_was_deleted_goes_on_in_a_paragraph_only() {
    let body = endless("One ") + &words("sentence.");
    assert_eq!(markdown(&body), "One sentence.\n");
    let table = row(&[cell(&words("a")), cell(&words("b"))]);
    let body = endless("Before:") + &format!("<w:tbl>{table}</w:tbl>") + &words("After.");
    assert_eq!(
        markdown(&body),
        "Before:\n\n|  |  |\n| --- | --- |\n| a | b |\n\nAfter.\n"
    );
    let framed = row(&[cell(&endless("In a box."))]);
    let body = endless("Before:") + &format!("<w:tbl>{framed}</w:tbl>") + &words("After.");
    assert_eq!(markdown(&body), "Before:\n\nIn a box.\n\nAfter.\n");
}

#[test]
fn a_text_box_on_a_paragraph_whose_end_was_deleted_is_no_part_of_it() {
    let hung = format!(
        "<w:r><w:pict><w:txbxContent>{}</w:txbxContent></w:pict></w:r>",
        endless("In a box.")
    );
    let host = format!(
        "<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>Host.</w:t></w:r>{hung}</w:p>"
    );
    assert_eq!(
        markdown(&(host + &words("After."))),
        "Host.\n\nIn a box.\n\nAfter.\n"
    );
}
