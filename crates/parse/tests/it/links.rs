//! Where the words of a document lead to.

use model::{Link, Parsed};
use parse::{Hints, Limits, to_markdown};

const TEXT: &str = "BT /F 11 Tf 14 TL 72 700 Td (The guild keeps a list of all mills) Tj T* \
    (that still grind, and of their owners.) Tj ET";

/// A page with these words and notes on it, and a second page.
fn page(content: &str, notes: &str) -> Vec<u8> {
    let stream =
        |content: &str| format!("<</Length {}>>stream\n{content}\nendstream", content.len());
    samples::pdf::file(&[
        "<</Type/Catalog/Pages 2 0 R/Dests<</end[6 0 R/Fit]>>>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R 6 0 R]/Count 2>>".to_owned(),
        format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R\
             /Resources<</Font<</F 5 0 R>>>>/Annots[{notes}]>>"
        ),
        stream(content),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]>>".to_owned(),
    ])
}

fn read(content: &str, notes: &str) -> Parsed {
    let bytes = page(content, notes);
    let parsed = parse::parse(&bytes, &Hints::of_filename("a.pdf"), &Limits::default());
    parsed.unwrap()
}

/// A note over some words of the first line (`list of` is from 161 to 188) or of others.
fn note(rect: &str, action: &str) -> String {
    format!("<</Type/Annot/Subtype/Link/Rect[{rect}]{action}>>")
}

fn uri(address: &str) -> String {
    format!("/A<</S/URI/URI({address})>>")
}

fn links(parsed: &Parsed) -> Vec<&Link> {
    parsed.atoms.iter().flat_map(|atom| &atom.links).collect()
}

fn shown(parsed: &Parsed) -> Vec<(&str, &str)> {
    let links = links(parsed).into_iter();
    links.map(|link| (&*link.text, &*link.target)).collect()
}

#[test]
fn words_under_a_link_are_known_with_their_target() {
    let parsed = read(
        TEXT,
        &note("160 695 188 712", &uri("https://example.org/mills")),
    );
    assert_eq!(shown(&parsed), [("list of", "https://example.org/mills")]);
    let link = links(&parsed)[0];
    assert_eq!(&parsed.text[link.span.bytes()], "list of");
    assert_eq!(link.span.char_end - link.span.char_start, 7);
    let markdown = to_markdown(&parsed);
    assert!(
        markdown.contains("keeps a [list of](https://example.org/mills) all"),
        "{markdown}"
    );
}

#[test]
fn a_link_over_two_lines_is_one() {
    let target = uri("https://example.org/");
    let (first, second) = ("203 695 260 712", "72 681 142 698");
    let notes = note(first, &target) + &note(second, &target);
    let quads = "/QuadPoints[203 712 260 712 203 695 260 695 72 698 142 698 72 681 142 681]";
    let one = note("72 681 260 712", &(target + quads));
    for notes in [notes, one] {
        let parsed = read(TEXT, &notes);
        let words = "mills that still grind,";
        assert_eq!(shown(&parsed), [(words, "https://example.org/")]);
    }
}

#[test]
fn a_link_within_the_document_names_its_page_and_is_no_address() {
    let by_name = note("160 695 188 712", "/Dest/end");
    let by_action = note("72 681 95 698", "/A<</S/GoTo/D[6 0 R/Fit]>>");
    let parsed = read(TEXT, &(by_name + &by_action));
    assert_eq!(
        shown(&parsed),
        [("list of", "#page=2"), ("that", "#page=2")]
    );
    assert!(!to_markdown(&parsed).contains("]("));
}

#[test]
fn what_runs_something_or_reads_a_file_is_left_out_and_that_is_said() {
    let hostile = [
        uri("javascript:alert\\(1\\)"),
        uri("java\\nscript:alert\\(1\\)"),
        uri("file:///etc/passwd"),
        uri(&format!("https://example.org/{}", "a".repeat(1 << 20))),
    ];
    let notes: String = hostile
        .iter()
        .map(|uri| note("160 695 188 712", uri))
        .collect();
    let parsed = read(
        TEXT,
        &(notes + &note("0 0 9 9", "/A<</S/Launch/F(x.exe)>>")),
    );
    assert_eq!(shown(&parsed), []);
    let said: Vec<_> = parsed.warnings.iter().map(|w| &*w.message).collect();
    assert!(
        said.iter()
            .any(|said| said.starts_with("4 links were left out")),
        "{said:?}"
    );
}

#[test]
fn a_hundred_thousand_links_are_cut_off_and_the_text_is_whole() {
    let one = note("160 695 188 712", &uri("https://example.org/"));
    let parsed = read(TEXT, &one.repeat(100_000));
    assert_eq!(shown(&parsed), [("list of", "https://example.org/")]);
    assert!(parsed.text.ends_with("and of their owners."));
    assert_eq!(parsed.warnings.len(), 1, "{:?}", parsed.warnings);
}

#[test]
fn a_dangling_note_hides_none_of_those_behind_it() {
    let good = note("160 695 188 712", &uri("https://example.org/"));
    let parsed = read(TEXT, &format!("99 0 R null {good}"));
    assert_eq!(shown(&parsed), [("list of", "https://example.org/")]);
}

#[test]
fn brackets_in_words_and_addresses_do_not_end_a_link() {
    let content = "BT /F 11 Tf 72 700 Td (See [7] for more.) Tj ET";
    let parsed = read(
        content,
        &note("92 695 109 712", &uri("https://example.org/a_\\(b\\)")),
    );
    let markdown = to_markdown(&parsed);
    assert!(
        markdown.contains("See [\\[7\\]](https://example.org/a_%28b%29) for"),
        "{markdown}"
    );
}

fn html(body: &str) -> Parsed {
    let page = format!("<html><body>{body}</body></html>");
    let hints = Hints::of_filename("a.html");
    parse::parse(page.as_bytes(), &hints, &Limits::default()).unwrap()
}

#[test]
fn links_of_a_web_page_keep_their_words_over_lines_and_blocks() {
    let parsed = html(
        "<p>See  <a href=' https://example.org/a '>all\n the  mills</a>, or <a href='/b'>b</a>.</p>\
         <a href='https://example.org/c'><p>One block</p><p>and another<br>line</p></a>\
         <p><a href='https://example.org/d'>  </a>none</p>",
    );
    assert_eq!(
        shown(&parsed),
        [
            ("all the mills", "https://example.org/a"),
            ("One block", "https://example.org/c"),
            ("and another\nline", "https://example.org/c"),
        ]
    );
    let markdown = to_markdown(&parsed);
    assert!(
        markdown.starts_with("See [all the mills](https://example.org/a), or b.\n"),
        "{markdown}"
    );
}

#[test]
fn words_that_are_their_own_address_are_written_once() {
    let parsed = html(
        "<p>At &lt;<a href='https://example.org/'>https://example.org</a>&gt; or \
         <a href='mailto:ann@example.org'>ann@example.org</a>.</p>",
    );
    assert_eq!(links(&parsed).len(), 2);
    assert_eq!(
        to_markdown(&parsed),
        "At <https://example.org> or ann@example.org.\n"
    );
}

#[test]
fn no_page_leads_to_what_runs_something() {
    let parsed = html(
        "<p><a href='javascript:alert(1)'>a</a> <a href='JAVA&#10;SCRIPT:x'>b</a> \
         <a href='data:text/html,x'>c</a> <a href='file:///etc/passwd'>d</a></p>",
    );
    assert_eq!(shown(&parsed), []);
    assert_eq!(to_markdown(&parsed), "a b c d\n");
}

fn docx(body: &str) -> Parsed {
    let bytes = samples::office::docx(body);
    parse::parse(&bytes, &Hints::default(), &Limits::default()).unwrap()
}

fn run(text: &str) -> String {
    format!("<w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r>")
}

#[test]
fn links_of_a_word_document_are_known_by_relation_and_by_field() {
    let field = |instruction: &str, words: &str| {
        let mark = |kind: &str| format!(r#"<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>"#);
        let said = format!("<w:r><w:instrText>{instruction}</w:instrText></w:r>");
        [
            mark("begin"),
            said,
            mark("separate"),
            run(words),
            mark("end"),
        ]
        .concat()
    };
    let list = r#"<w:pPr><w:pStyle w:val="H1"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>"#;
    let body = [
        format!(
            r#"<w:p>{list}{}<w:hyperlink r:id="r5">{}</w:hyperlink></w:p>"#,
            run("  Of "),
            run("mills ")
        ),
        format!(
            "<w:p>{}{} {}</w:p>",
            run("by "),
            field(r#" HYPERLINK &quot;https://example.org/f&quot; \\o &quot;x&quot; "#, "field"),
            field(r#" HYPERLINK &quot;javascript:x&quot; "#, "no"),
        ),
        format!(
            r#"<w:p><w:fldSimple w:instr='HYPERLINK "mailto:a@example.org"'>{}</w:fldSimple></w:p>"#,
            run("Ann")
        ),
    ]
    .concat();
    let parsed = docx(&body);
    assert_eq!(
        shown(&parsed),
        [
            ("mills", "https://example.org/mills"),
            ("field", "https://example.org/f"),
            ("Ann", "mailto:a@example.org"),
        ]
    );
    let markdown = to_markdown(&parsed);
    assert!(
        markdown.starts_with("# 1. Of [mills](https://example.org/mills)\n"),
        "{markdown}"
    );
}

#[test]
fn one_long_address_under_every_word_costs_links_and_no_text() {
    let address = format!("https://example.org/{}", "a".repeat(2_000));
    let link = format!("<a href='{address}'>w</a> ");
    let page = format!("<p>{}</p>", link.repeat(10_000));
    let parsed = html(&page);
    let bytes: usize = links(&parsed).iter().map(|link| link.target.len()).sum();
    assert!(bytes < 5 << 20, "{bytes}");
    assert_eq!(parsed.text.matches('w').count(), 10_000);
    let said = &parsed.warnings[0].message;
    assert!(
        said.ends_with("links were left out: they are too many"),
        "{said}"
    );
}

fn read_as(name: &str, bytes: &[u8]) -> Parsed {
    parse::parse(bytes, &Hints::of_filename(name), &Limits::default()).unwrap()
}

/// The links of a table, which is the only atom there is, and what it looks like.
fn of_table(parsed: &Parsed) -> (Vec<(&str, &str)>, String) {
    for link in links(parsed) {
        assert_eq!(&parsed.text[link.span.bytes()], link.text);
    }
    (shown(parsed), to_markdown(parsed))
}

#[test]
fn words_in_a_cell_of_a_web_page_lead_somewhere() {
    let parsed = html(
        "<table><tr><th>Mill</th><th>Owner</th></tr>\
         <tr><td rowspan=2>The  <a href='https://example.org/u'>upper\n mill</a> | old</td>\
         <td><a href='https://example.org/a'>Ann</a>, <a href='javascript:x'>Bo</a></td></tr>\
         <tr><td><a href='https://example.org/c'>C|D</a></td></tr></table>",
    );
    let (links, markdown) = of_table(&parsed);
    assert_eq!(
        links,
        [
            ("upper mill", "https://example.org/u"),
            ("Ann", "https://example.org/a"),
            ("C\\|D", "https://example.org/c"),
        ]
    );
    assert_eq!(
        markdown,
        "| Mill | Owner |\n| --- | --- |\n\
         | The [upper mill](https://example.org/u) \\| old | [Ann](https://example.org/a), Bo |\n\
         | The upper mill \\| old | C\\|D |\n"
    );
}

#[test]
fn words_in_a_cell_of_a_markdown_table_lead_somewhere() {
    let table = "| a | b |\n|---|---|\n| see  [the mill](https://example.org/m) | [x][] |\n\n\
                 [x]: https://example.org/x\n";
    let parsed = read_as("a.md", table.as_bytes());
    let (links, markdown) = of_table(&parsed);
    assert_eq!(
        links,
        [
            ("the mill", "https://example.org/m"),
            ("x", "https://example.org/x")
        ]
    );
    assert!(
        markdown.contains("| see [the mill](https://example.org/m) | [x](https://example.org/x) |")
    );
}

#[test]
fn words_in_a_cell_of_a_word_document_lead_somewhere() {
    let cell = |content: &str| format!("<w:tc><w:p>{content}</w:p></w:tc>");
    let link = format!(
        r#"<w:hyperlink r:id="r5">{}</w:hyperlink>"#,
        run("the mill ")
    );
    let row = [cell(&(run(" see ") + &link)), cell(&run("x"))].concat();
    let parsed = docx(&format!(
        "<w:tbl><w:tr>{row}</w:tr><w:tr>{row}</w:tr></w:tbl>"
    ));
    let (links, markdown) = of_table(&parsed);
    assert_eq!(links, [("the mill", "https://example.org/mills"); 2]);
    assert!(
        markdown.ends_with("| see [the mill](https://example.org/mills) | x |\n"),
        "{markdown}"
    );
}

#[test]
fn words_of_an_open_document_lead_somewhere_in_paragraphs_cells_and_notes() {
    let link =
        |target: &str, words: &str| format!(r#"<text:a xlink:href="{target}">{words}</text:a>"#);
    let note = format!(
        "<text:note><text:note-body><text:p>By {}.</text:p></text:note-body></text:note>",
        link("https://example.org/n", "her")
    );
    let (good, bad) = (
        link("https://example.org/m", "the mill"),
        link("javascript:x", "this"),
    );
    let cell = |text: &str| format!("<table:table-cell><text:p>{text}</text:p></table:table-cell>");
    let body = format!(
        "<text:p>See {good}, not {bad}.{note}</text:p><table:table><table:table-row>{}{}\
         </table:table-row><table:table-row>{}{}</table:table-row></table:table>",
        cell("a"),
        cell("b"),
        cell("c"),
        cell(&good)
    );
    let parsed = read_as("a.odt", &samples::office::odt_of(&body));
    assert_eq!(
        shown(&parsed),
        [
            ("the mill", "https://example.org/m"),
            ("the mill", "https://example.org/m"),
            ("her", "https://example.org/n"),
        ]
    );
    let markdown = to_markdown(&parsed);
    assert!(markdown.starts_with("See [the mill](https://example.org/m), not this.[^1]\n"));
    assert!(markdown.contains("| c | [the mill](https://example.org/m) |"));
}

#[test]
fn words_on_a_slide_lead_somewhere_in_shapes_and_cells() {
    let run = |properties: &str, text: &str| {
        format!("<a:r><a:rPr>{properties}</a:rPr><a:t>{text}</a:t></a:r>")
    };
    let click = r#"<a:hlinkClick r:id="rId9"/>"#;
    let paragraph = [
        "<a:p>".to_owned(),
        run("", "See "),
        run(click, "the "),
        run(click, "mill"),
        run(r#"<a:hlinkClick r:id="rId8"/>"#, " not this"),
        "</a:p>".to_owned(),
    ]
    .concat();
    let cell = format!("<a:tc><a:txBody>{paragraph}</a:txBody></a:tc>");
    let shapes = format!(
        "<p:sp><p:txBody>{paragraph}</p:txBody></p:sp><p:graphicFrame><a:tbl><a:tr>{cell}{cell}</a:tr>\
         </a:tbl></p:graphicFrame>"
    );
    let links = [
        ("rId9", "hyperlink", "https://example.org/mill"),
        ("rId8", "hyperlink", "file:///etc/passwd"),
    ];
    let parsed = read_as("a.pptx", &samples::office::pptx_of(&shapes, &links));
    assert_eq!(
        shown(&parsed),
        [("the mill", "https://example.org/mill"); 3]
    );
    let markdown = to_markdown(&parsed);
    assert!(markdown.starts_with("See [the mill](https://example.org/mill) not this\n"));
}

#[test]
fn short_words_in_a_cell_of_a_printed_table_lead_somewhere() {
    let word = |x: u16, y: u16, text: &str| format!("BT /F 11 Tf {x} {y} Td ({text}) Tj ET\n");
    let rows = [
        ("Name", "Site", 700),
        ("Ann", "her site", 680),
        ("Bo", "-", 660),
    ];
    let mut drawn: String = rows
        .iter()
        .map(|(name, site, y)| word(80, *y, name) + &word(210, *y, site))
        .collect();
    for y in [715, 695, 675, 655] {
        drawn.push_str(&format!("0.5 w 70 {y} m 330 {y} l S\n"));
    }
    for x in [70, 200, 330] {
        drawn.push_str(&format!("0.5 w {x} 715 m {x} 655 l S\n"));
    }
    let parsed = read(
        &drawn,
        &note("208 676 260 692", &uri("https://example.org/ann")),
    );
    assert_eq!(shown(&parsed), [("her site", "https://example.org/ann")]);
    let markdown = to_markdown(&parsed);
    assert!(
        markdown.contains("| Ann | [her site](https://example.org/ann) |"),
        "{markdown}"
    );
}
