//! Files made to hurt: each is refused with its reason, or read within its budget.

use parse::{Budget, Error, Format, Hints, Limits};

use crate::office;

fn parse_as(name: &str, bytes: &[u8]) -> Result<model::Parsed, Error> {
    parse::parse(bytes, &Hints::of_filename(name), &Limits::default())
}

#[test]
fn what_inflates_beyond_the_budget_is_refused_while_inflating() {
    let body = format!("<w:p><w:r><w:t>{}</w:t></w:r></w:p>", "a".repeat(1 << 20));
    let limits = Limits {
        inflated_bytes: 1 << 16,
        ..Limits::default()
    };
    let refused = parse::parse(&office::docx(&body), &Hints::default(), &limits);
    assert_eq!(
        refused,
        Err(Error::OverBudget {
            budget: Budget::InflatedBytes,
            limit: 1 << 16
        })
    );
}

#[test]
fn nesting_without_end_is_refused_before_the_stack_is() {
    let body = format!("{}{}", "<w:p>".repeat(100_000), "</w:p>".repeat(100_000));
    let refused = parse_as("a.docx", &office::docx(&body)).unwrap_err();
    assert!(matches!(
        refused,
        Error::OverBudget {
            budget: Budget::Nesting,
            ..
        }
    ));
}

#[test]
fn an_entity_a_document_declares_means_nothing() {
    let part = r#"<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>a &x; b &amp; c</w:t></w:r></w:p></w:body></w:document>"#;
    let bytes = crate::samples::archive(&[("word/document.xml", part)]);
    assert_eq!(parse_as("a.docx", &bytes).unwrap().text, "a  b & c");
}

#[test]
fn text_below_ten_thousand_elements_is_still_text() {
    let html = format!(
        "<html>{}deep text{}",
        "<div>".repeat(10_000),
        "</div>".repeat(10_000)
    );
    assert_eq!(
        parse_as("a.html", html.as_bytes()).unwrap().text,
        "deep text"
    );
}

#[test]
fn what_no_one_sees_on_a_page_is_no_text() {
    let html = "<html><p>visible</p><script>S</script><style>T</style><template>U</template><p hidden>V</p><p style='display: none'>W</p>";
    assert_eq!(parse_as("a.html", html.as_bytes()).unwrap().text, "visible");
}

#[test]
fn a_binary_file_is_named_and_what_is_supported_is_listed() {
    let refused = parse_as("a.txt", b"\x89PNG\r\n\x1a\n\0\0\0").unwrap_err();
    let message = refused.to_string();
    assert!(
        message.starts_with("cannot read a PNG picture; supported are PDF, DOCX"),
        "{message}"
    );
}

#[test]
fn an_empty_text_is_a_text_and_an_empty_archive_is_none() {
    assert!(parse_as("a.md", b"").unwrap().atoms.is_empty());
    assert_eq!(
        parse_as("a.docx", b""),
        Err(Error::Empty {
            format: Format::Docx
        })
    );
}

#[test]
fn half_an_archive_is_damaged() {
    let whole = office::docx("");
    let refused = parse_as("a.docx", &whole[..whole.len() / 2]).unwrap_err();
    assert!(matches!(
        refused,
        Error::Damaged {
            format: Format::Docx,
            ..
        }
    ));
}
