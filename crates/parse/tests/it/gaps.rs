//! Nothing of an office file or a book is told twice, spoilt or dropped without a word.

use model::Parsed;
use parse::{Hints, Limits};
use samples::{archive, archive_of_bytes, office};

fn read(bytes: &[u8]) -> Parsed {
    parse::parse(bytes, &Hints::default(), &Limits::default()).unwrap()
}

fn paragraph(text: &str) -> String {
    format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")
}

fn row(properties: &str, cells: &[&str]) -> String {
    let cells: String = cells.iter().map(|c| format!("<w:tc>{c}</w:tc>")).collect();
    format!("<w:tr><w:trPr>{properties}</w:trPr>{cells}</w:tr>")
}

#[test]
fn a_text_box_in_a_cell_is_told_once() {
    let content = format!("<w:txbxContent>{}</w:txbxContent>", paragraph("in the box"));
    let boxed = format!(
        r#"<w:p xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:r><mc:AlternateContent><mc:Choice><w:drawing>{content}</w:drawing></mc:Choice><mc:Fallback><w:pict>{content}</w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>"#
    );
    let rows = row("", &[&boxed, &paragraph("beside it")]);
    let parsed = read(&office::docx(&format!("<w:tbl>{rows}</w:tbl>")));
    assert_eq!(parsed.text.matches("in the box").count(), 1);
    assert!(parsed.text.contains("beside it"));
}

#[test]
fn a_deleted_row_is_gone_from_a_table_of_one_column_too() {
    let rows = row("", &[&paragraph("kept")]) + &row("<w:del/>", &[&paragraph("struck")]);
    let parsed = read(&office::docx(&format!("<w:tbl>{rows}</w:tbl>")));
    assert!(parsed.text.contains("kept") && !parsed.text.contains("struck"));
}

const CONTAINER: (&str, &[u8]) = (
    "META-INF/container.xml",
    b"<container><rootfiles><rootfile full-path=\"b.opf\"/></rootfiles></container>",
);

fn book(aside: &[u8], second: &[u8]) -> Vec<u8> {
    let package = br#"<package><manifest><item id="a" href="aside.xhtml"/><item id="b" href="second.xhtml"/></manifest><spine><itemref idref="a" linear="no"/><itemref idref="b"/></spine></package>"#;
    archive_of_bytes(&[
        ("mimetype", b"application/epub+zip"),
        CONTAINER,
        ("b.opf", package),
        ("aside.xhtml", aside),
        ("second.xhtml", second),
    ])
}

#[test]
fn a_chapter_is_read_in_the_encoding_it_declares() {
    let latin =
        b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><html><body><p>M\xfchle</p></body></html>";
    let marked: Vec<u8> = "\u{feff}<html><body><p>Mühlstein</p></body></html>"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(read(&book(&marked, latin)).text, "Mühle\n\nMühlstein");
}

#[test]
fn what_stands_beside_the_reading_order_comes_after_it() {
    let parsed = read(&book(b"<p>An aside</p>", b"<p>The tale</p>"));
    assert_eq!(parsed.text, "The tale\n\nAn aside");
}

/// The archive with the data of one part spoilt.
fn spoilt(mut bytes: Vec<u8>, part: &str) -> Vec<u8> {
    let name = part.as_bytes();
    let at = bytes.windows(name.len()).position(|at| at == name).unwrap();
    for byte in &mut bytes[at + name.len() + 8..][..8] {
        *byte ^= 0x5a;
    }
    bytes
}

fn assert_costs_that_part(parsed: &Parsed, part: &str, left: &str) {
    let [gap] = &parsed.gaps[..] else {
        panic!("one gap was expected in {:?}", parsed.gaps);
    };
    assert!(gap.reason.contains(part), "{}", gap.reason);
    assert!(parsed.text.contains(left), "{}", parsed.text);
}

#[test]
fn a_damaged_part_costs_that_part() {
    let body = paragraph("the body");
    for part in ["word/styles.xml", "word/header1.xml", "word/footnotes.xml"] {
        let parsed = read(&spoilt(office::docx(&body), part));
        assert_costs_that_part(&parsed, part, "the body");
    }
    let tale = b"<html><body><p>The tale goes on and on</p></body></html>";
    let parsed = read(&spoilt(book(tale, b"<p>The rest</p>"), "aside.xhtml"));
    assert_costs_that_part(&parsed, "aside.xhtml", "The rest");
    let parsed = read(&spoilt(office::xlsx(), "xl/worksheets/sheet1.xml"));
    assert_costs_that_part(&parsed, "xl/worksheets/sheet1.xml", "Yield");
}

#[test]
fn a_damaged_slide_costs_that_slide() {
    let names = r#"xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main""#;
    let slide = |text: &str| {
        format!(
            r#"<p:sld {names}><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>"#
        )
    };
    let relation =
        |n: u8| format!(r#"<Relationship Id="r{n}" Type="x/slide" Target="slides/slide{n}.xml"/>"#);
    let deck = archive(&[
        (
            "ppt/presentation.xml",
            &format!(
                r#"<p:presentation {names} xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><p:sldIdLst><p:sldId id="1" r:id="r1"/><p:sldId id="2" r:id="r2"/></p:sldIdLst></p:presentation>"#
            ),
        ),
        (
            "ppt/_rels/presentation.xml.rels",
            &format!(
                "<Relationships>{}{}</Relationships>",
                relation(1),
                relation(2)
            ),
        ),
        ("ppt/slides/slide1.xml", &slide("First")),
        ("ppt/slides/slide2.xml", &slide("Second")),
    ]);
    let parsed = read(&spoilt(deck, "ppt/slides/slide1.xml"));
    assert_costs_that_part(&parsed, "ppt/slides/slide1.xml", "Second");
}

#[test]
fn a_main_part_is_read_up_to_its_damage_and_the_rest_is_a_gap() {
    let body = paragraph("before") + "<w:p><w:r><w:t>just before</w:t></w:r><w<broken";
    let parsed = read(&office::docx(&body));
    assert_costs_that_part(&parsed, "word/document.xml", "before\n\njust before");
    let names = r#"xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main""#;
    let cut = format!("<w:document {names}><w:body>{}<w:p>", paragraph("before"));
    let parsed = read(&archive(&[("word/document.xml", &cut)]));
    assert_costs_that_part(&parsed, "word/document.xml", "before");
    let content = office::odt_content("<text:p>before</text:p><text:p>just before<text<broken");
    let parts = [office::ODT_MIMETYPE, ("content.xml", content.as_bytes())];
    let parsed = read(&archive_of_bytes(&parts));
    assert_costs_that_part(&parsed, "content.xml", "before\n\njust before");
}

#[test]
fn a_main_part_without_a_word_before_its_damage_is_an_error() {
    let spoilt = spoilt(office::docx(&paragraph("lost")), "word/document.xml");
    assert!(parse::parse(&spoilt, &Hints::default(), &Limits::default()).is_err());
}

fn warnings(parsed: &Parsed) -> Vec<&str> {
    let said = parsed.warnings.iter();
    said.map(|warning| warning.message.as_str()).collect()
}

#[test]
fn what_is_shown_but_kept_in_parts_of_its_own_is_told_as_left_out() {
    let graphic = |kind: &str| {
        format!(
            r#"<w:p><w:r><w:drawing><a:graphicData xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" uri="http://schemas.openxmlformats.org/drawingml/2006/{kind}"/></w:drawing></w:r></w:p>"#
        )
    };
    let body = [
        paragraph("the body"),
        graphic("chart"),
        graphic("chart"),
        graphic("diagram"),
        graphic("picture"),
        r#"<w:altChunk id="r1"/>"#.to_owned(),
    ];
    let parsed = read(&office::docx(&body.concat()));
    let expected = [
        "charts were not read: 2",
        "SmartArt diagrams were not read: 1",
        "embedded documents were not read: 1",
    ];
    assert_eq!(warnings(&parsed), expected);
}

#[test]
fn the_last_row_of_rich_text_needs_no_end_and_text_boxes_are_told_as_left_out() {
    let rtf = br"{\rtf1\ansi First.\par {\shp{\*\shpinst{\shptxt boxed\par}}}\trowd\intbl one\cell two\cell\row\trowd\intbl three\cell four";
    let parsed = read(rtf);
    assert!(parsed.text.contains("| three | four |"), "{}", parsed.text);
    assert_eq!(warnings(&parsed), ["text boxes were not read: 1"]);
}
