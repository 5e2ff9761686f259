//! Slides, rich text and listings as they were meant.

use parse::{Hints, Limits};
use samples::{archive, office};

fn markdown(bytes: &[u8]) -> String {
    let parsed = parse::parse(bytes, &Hints::default(), &Limits::default()).unwrap();
    parse::to_markdown(&parsed)
}

fn deck(shapes: &str) -> Vec<u8> {
    let names = r#"xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships""#;
    archive(&[
        (
            "ppt/presentation.xml",
            &format!(
                r#"<p:presentation {names}><p:sldIdLst><p:sldId id="1" r:id="r1"/></p:sldIdLst></p:presentation>"#
            ),
        ),
        (
            "ppt/_rels/presentation.xml.rels",
            r#"<Relationships><Relationship Id="r1" Type="x/slide" Target="slides/slide1.xml"/></Relationships>"#,
        ),
        (
            "ppt/slides/slide1.xml",
            &format!("<p:sld {names}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"),
        ),
    ])
}

#[test]
fn numbered_lists_on_a_slide_are_numbered() {
    let item = |properties: &str, text: &str| {
        format!("<a:p>{properties}<a:r><a:t>{text}</a:t></a:r></a:p>")
    };
    let number = r#"<a:pPr><a:buAutoNum type="alphaLcParenR"/></a:pPr>"#;
    let inner = r#"<a:pPr lvl="1"><a:buChar char="-"/></a:pPr>"#;
    let items = item(number, "one") + &item(inner, "inner") + &item(number, "two");
    let shape = format!("<p:sp><p:txBody>{items}</p:txBody></p:sp>");
    assert_eq!(markdown(&deck(&shape)), "a) one\n    - inner\nb) two\n");
}

#[test]
fn a_cell_merged_over_rows_of_a_slide_stands_in_each() {
    let cell = |attributes: &str, text: &str| {
        format!(
            "<a:tc {attributes}><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"
        )
    };
    let rows = [
        cell("", "A") + &cell("", "B"),
        cell(r#"rowSpan="2""#, "m") + &cell("", "1"),
        cell(r#"vMerge="1""#, "") + &cell("", "2"),
    ];
    let rows: String = rows
        .iter()
        .map(|row| format!("<a:tr>{row}</a:tr>"))
        .collect();
    let frame =
        format!(r#"<p:graphicFrame><a:tbl><a:tblPr firstRow="1"/>{rows}</a:tbl></p:graphicFrame>"#);
    assert_eq!(
        markdown(&deck(&frame)),
        "| A | B |\n| --- | --- |\n| m | 1 |\n| m | 2 |\n"
    );
}

#[test]
fn a_font_of_another_script_is_read_in_its_own_code_page() {
    let file = br"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial;}}\pard\f0 caf\'e9 {\f1\'cc\'e8\'f0} \'e9\par}";
    assert_eq!(markdown(file), "caf\u{e9} \u{41c}\u{438}\u{440} \u{e9}\n");
}

#[test]
fn a_blank_line_within_a_listing_is_a_line_of_it() {
    let line = |text: &str| {
        format!(r#"<w:p><w:pPr><w:pStyle w:val="Code"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"#)
    };
    let body = line("let a = 1;") + &line("") + &line("let b = 2;") + &line("");
    assert_eq!(
        markdown(&office::docx(&body)),
        "```\nlet a = 1;\n\nlet b = 2;\n```\n"
    );
}
