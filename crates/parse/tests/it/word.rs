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

fn mark(of: &str) -> String {
    format!(r#"<w:fldChar w:fldCharType="{of}"/>"#)
}

#[test]
fn a_field_may_end_in_a_hidden_run() {
    let hidden = |content: &str| format!("<w:r><w:rPr><w:vanish/></w:rPr>{content}</w:r>");
    let entry = "<w:instrText> XE \"mill\" </w:instrText>";
    let indexed = format!(
        "<w:p><w:r>{}</w:r>{}{}<w:r><w:t>Indexed.</w:t></w:r></w:p>",
        mark("begin"),
        hidden(&format!("{entry}<w:t>unseen</w:t>")),
        hidden(&mark("end")),
    );
    let body = words("First.") + &indexed + &indexed + &words("Last.");
    assert_eq!(markdown(&body), "First.\n\nIndexed.\n\nIndexed.\n\nLast.\n");
}

#[test]
fn fields_that_lost_their_ends_hide_nothing_that_follows() {
    let open = format!(
        "<w:p><w:r><w:t>Open.</w:t></w:r><w:r>{}</w:r></w:p>",
        mark("begin")
    );
    let part = open + &words("Shown.");
    assert_eq!(
        markdown(&part.repeat(3)),
        "Open.\n\nShown.\n\n".repeat(3).trim_end().to_owned() + "\n"
    );
    let written = markdown(&part.repeat(100));
    assert_eq!(written.matches("Shown.").count(), 100);
}

#[test]
fn of_runs_told_for_newer_and_older_readers_one_is_read() {
    let told = "<mc:AlternateContent><mc:Choice><w:r><w:t>once</w:t></w:r></mc:Choice>\
        <mc:Fallback><w:r><w:t>once</w:t></w:r></mc:Fallback></mc:AlternateContent>";
    let body = format!(
        r#"<w:p xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:r><w:t xml:space="preserve">Said </w:t></w:r>{told}</w:p>"#
    );
    assert_eq!(markdown(&body), "Said once\n");
}

/// A document with these styles instead of its own.
fn styled(styles: &str, body: &str) -> String {
    let names = r#"xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main""#;
    let styles = format!("<w:styles {names}>{styles}</w:styles>").into_bytes();
    let mut parts = samples::all_parts(&office::docx(body));
    for (name, bytes) in &mut parts {
        if name == "word/styles.xml" {
            *bytes = styles.clone();
        }
    }
    let parts: Vec<(&str, &[u8])> = parts.iter().map(|(n, b)| (&**n, &**b)).collect();
    read(&samples::archive_of_bytes(&parts))
}

fn style(id: &str, attributes: &str, name: &str, properties: &str) -> String {
    format!(
        r#"<w:style w:type="paragraph" w:styleId="{id}" {attributes}><w:name w:val="{name}"/>{properties}</w:style>"#
    )
}

fn of_style(id: &str, text: &str) -> String {
    set(&format!(r#"<w:pStyle w:val="{id}"/>"#), text)
}

#[test]
fn a_document_set_in_a_typewriters_font_is_no_listing() {
    let font = r#"<w:rPr><w:rFonts w:ascii="Courier New"/></w:rPr>"#;
    let normal = style("Normal", r#"w:default="1""#, "Normal", font);
    let based = format!(r#"<w:basedOn w:val="Normal"/>{font}"#);
    let styles = normal + &style("Own", "", "Body", &based) + &style("C", "", "Source Code", font);
    let body = words("We plead:") + &of_style("Own", "as follows.") + &of_style("C", "a = 1");
    assert_eq!(
        styled(&styles, &body),
        "We plead:\n\nas follows.\n\n```\na = 1\n```\n"
    );
    let defaults = format!("<w:docDefaults><w:rPrDefault>{font}</w:rPrDefault></w:docDefaults>");
    let styles = defaults + &style("Own", "", "Body", font);
    assert_eq!(styled(&styles, &of_style("Own", "Prose.")), "Prose.\n");
    // Where others are not, it is.
    let styles = style("Own", "", "Body", font);
    assert_eq!(
        styled(&styles, &of_style("Own", "a = 1")),
        "```\na = 1\n```\n"
    );
}

#[test]
fn styles_named_for_titles_of_persons_and_codes_of_places_mean_neither() {
    for (name, written) in [
        ("Job Title", "Words\n"),
        ("Cover Subtitle", "Words\n"),
        ("Postcode", "Words\n"),
        ("Zip Code", "Words\n"),
        ("Table Title", "Words\n"),
        ("Box Title", "### Words\n"),
        ("Code Block", "```\nWords\n```\n"),
    ] {
        let styles = style("S", "", name, "");
        assert_eq!(styled(&styles, &of_style("S", "Words")), written, "{name}");
    }
}

#[test]
fn a_paragraph_taken_out_of_the_outline_is_no_heading() {
    let body = set(
        r#"<w:pStyle w:val="H1"/><w:outlineLvl w:val="9"/>"#,
        "Not listed",
    );
    assert_eq!(markdown(&body), "Not listed\n");
}

#[test]
fn a_blank_first_row_makes_no_header_of_the_second() {
    let cells = |a: &str, b: &str| row(&[cell(&words(a)), cell(&words(b))]);
    let look = r#"<w:tblPr><w:tblLook w:firstRow="1"/></w:tblPr>"#;
    let body = format!("<w:tbl>{look}{}{}</w:tbl>", cells("", ""), cells("a", "1"));
    assert_eq!(markdown(&body), "|  |  |\n| --- | --- |\n| a | 1 |\n");
}

#[test]
fn what_a_picture_in_a_cell_shows_is_read() {
    let picture = r#"<w:p xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"><w:r><w:t>Upper</w:t></w:r><w:r><w:drawing><wp:docPr descr="A mill wheel"/></w:drawing></w:r></w:p>"#;
    let cells = row(&[cell(picture), cell(&words("b"))]);
    assert_eq!(
        markdown(&format!("<w:tbl>{cells}</w:tbl>")),
        "|  |  |\n| --- | --- |\n| Upper A mill wheel | b |\n"
    );
}
