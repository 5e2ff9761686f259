//! The same bytes always give the same atoms: reviewed like code.

use std::fmt::Write;

use parse::{Hints, Limits};

use samples::{office, pdf, text};

/// Every atom with its kind and text, then what the document says of itself.
fn listing(bytes: &[u8], name: &str) -> String {
    let parsed = parse::parse(bytes, &Hints::of_filename(name), &Limits::default()).unwrap();
    let mut out = String::new();
    for atom in &parsed.atoms {
        let text = &parsed.text[atom.span.bytes()];
        let kind = match &atom.kind {
            model::AtomKind::Table(table) => format!("Table, header rows {}", table.header_rows),
            kind => format!("{kind:?}"),
        };
        let anchor = atom
            .anchor
            .as_deref()
            .map(|a| format!(" #{a}"))
            .unwrap_or_default();
        let source = atom
            .source
            .as_ref()
            .map(|s| {
                let part = s.part.as_deref().unwrap_or_default();
                format!(
                    " @{part}{}{}..{}",
                    if part.is_empty() { "" } else { ":" },
                    s.start,
                    s.end
                )
            })
            .unwrap_or_default();
        writeln!(out, "[{kind}]{anchor}{source}\n{text}").unwrap();
        for link in &atom.links {
            writeln!(out, "({} leads to {})", link.text, link.target).unwrap();
        }
    }
    let (title, language) = (&parsed.title, &parsed.language);
    writeln!(
        out,
        "---\n{} {title:?} {language:?} {:?}",
        parsed.media_type, parsed.properties
    )
    .unwrap();
    for warning in &parsed.warnings {
        writeln!(out, "warning: {}", warning.message).unwrap();
    }
    out
}

macro_rules! snapshots {
    ($($test:ident: $file:literal, $bytes:expr;)*) => {$(
        #[test]
        fn $test() {
            insta::assert_snapshot!(stringify!($test), listing(&$bytes, $file));
        }
    )*};
}

snapshots! {
    markdown: "a.md", text::MARKDOWN.as_bytes();
    plain_text: "a.txt", text::TEXT.as_bytes();
    csv: "a.csv", text::CSV.as_bytes();
    json: "a.json", text::JSON.as_bytes();
    json_lines: "a.jsonl", text::JSON_LINES.as_bytes();
    web_page: "a.html", text::PAGE.as_bytes();
    mail: "a.eml", text::MAIL.as_bytes();
    rich_text: "a.rtf", text::RTF.as_bytes();
    word: "a.docx", office::docx(&office::docx_body());
    presentation: "a.pptx", office::pptx();
    workbook: "a.xlsx", office::xlsx();
    open_document: "a.odt", office::odt();
    book: "a.epub", office::epub();
    print: "a.pdf", pdf::leaflet();
}

#[test]
fn the_name_of_a_file_does_not_change_what_it_is() {
    let hints = Hints::of_filename("lie.pdf");
    let parsed = parse::parse(
        &office::docx(&office::docx_body()),
        &hints,
        &Limits::default(),
    );
    assert!(
        parsed
            .unwrap()
            .media_type
            .ends_with("wordprocessingml.document")
    );
}

#[test]
fn markdown_of_a_document_reads_as_a_person_would_write_it() {
    let bytes = office::docx(&office::docx_body());
    let parsed = parse::parse(&bytes, &Hints::default(), &Limits::default()).unwrap();
    insta::assert_snapshot!("word_as_markdown", parse::to_markdown(&parsed));
}
