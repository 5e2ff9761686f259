//! OpenDocument texts as their writers meant them: cells in their places, lists with their
//! numbers, notes once.

use model::{AtomKind, Parsed, Table};
use parse::{Hints, Limits};
use samples::{archive_of_bytes, office};

fn read(body: &str) -> Parsed {
    read_styled("", body)
}

fn read_styled(styles: &str, body: &str) -> Parsed {
    let content = office::odt_content(body);
    let styles = format!(
        r#"<office:document-styles xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0">{styles}</office:document-styles>"#
    );
    let parts: [(&str, &[u8]); 3] = [
        office::ODT_MIMETYPE,
        ("content.xml", content.as_bytes()),
        ("styles.xml", styles.as_bytes()),
    ];
    parse::parse(
        &archive_of_bytes(&parts),
        &Hints::default(),
        &Limits::default(),
    )
    .unwrap()
}

fn table(body: &str) -> Table {
    let parsed = read(&format!("<table:table>{body}</table:table>"));
    let tables = parsed.atoms.into_iter().filter_map(|atom| match atom.kind {
        AtomKind::Table(table) => Some(table),
        _ => None,
    });
    let mut tables: Vec<Table> = tables.collect();
    assert_eq!(tables.len(), 1, "{}", parsed.text);
    tables.remove(0)
}

fn row(cells: &str) -> String {
    format!("<table:table-row>{cells}</table:table-row>")
}

fn cell(attributes: &str, text: &str) -> String {
    format!("<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>")
}

const COVERED: &str = "<table:covered-table-cell/>";

#[test]
fn repeated_cells_stand_in_every_column_they_are_said_to() {
    let rows = [
        row(&(cell("", "a") + &cell(r#"table:number-columns-repeated="3""#, "x") + &cell("", "b"))),
        row(&(cell(r#"table:number-columns-repeated="4""#, "") + &cell("", "last"))),
        row(&(cell("", "first") + r#"<table:table-cell table:number-columns-repeated="16000"/>"#)),
    ];
    let expected: [&[&str]; 3] = [
        &["a", "x", "x", "x", "b"],
        &["", "", "", "", "last"],
        &["first"],
    ];
    assert_eq!(table(&rows.concat()).rows, expected);
}

#[test]
fn repeated_rows_stand_as_often_as_they_are_said_to_within_reason() {
    let repeated = |times: u32, cells: &str| {
        format!(
            r#"<table:table-row table:number-rows-repeated="{times}">{cells}</table:table-row>"#
        )
    };
    let rows = repeated(2, &(cell("", "a") + &cell("", "b")))
        + &repeated(1_000_000, &(cell("", "") + &cell("", "")))
        + &row(&(cell("", "c") + &cell("", "d")));
    let expected: [&[&str]; 3] = [&["a", "b"], &["a", "b"], &["c", "d"]];
    assert_eq!(table(&rows).rows, expected);
    let bomb = repeated(4_000_000_000, &(cell("", "a") + &cell("", "b")));
    assert!(table(&bomb).rows.len() < 20_000);
}

#[test]
fn a_cell_over_rows_stands_in_each_and_one_over_columns_once() {
    let rows = [
        row(&(cell(
            r#"table:number-columns-spanned="2" table:number-rows-spanned="2""#,
            "big",
        ) + COVERED
            + &cell("", "1"))),
        row(&(COVERED.repeat(2) + &cell("", "2"))),
        row(&(cell("", "p") + &cell(r#"table:number-columns-spanned="2""#, "wide") + COVERED)),
    ];
    let expected: [&[&str]; 3] = [&["big", "", "1"], &["big", "", "2"], &["p", "wide"]];
    assert_eq!(table(&rows.concat()).rows, expected);
}

#[test]
fn lists_and_tables_in_a_cell_are_its_lines_in_their_order() {
    let inner = format!(
        "<table:table>{}</table:table>",
        row(&(cell("", "in") + &cell("", "ner")))
    );
    let rich = format!(
        "<table:table-cell><text:h>Head</text:h><text:list><text:list-item><text:p>one</text:p></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list>{inner}<text:p>end</text:p></table:table-cell>"
    );
    let rows = row(&(rich + &cell("", "b")));
    assert_eq!(table(&rows).rows, [["Head\none\ntwo\nin\nner\nend", "b"]]);
}

#[test]
fn notes_and_comments_in_a_cell_are_no_lines_of_it() {
    let note = |text: &str| {
        format!(
            "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>{text}</text:p></text:note-body></text:note>"
        )
    };
    let comment = "<office:annotation><text:p>never</text:p></office:annotation>";
    let rows = row(&(cell("", &format!("a{}", note("Of a."))) + &cell("", &format!("b{comment}"))));
    let body = format!(
        "<text:p>Before{}</text:p><table:table>{rows}</table:table>",
        note("First.")
    );
    let parsed = read(&body);
    assert_eq!(
        parse::to_markdown(&parsed),
        "Before[^1]\n\n|  |  |\n| --- | --- |\n| a[^2] | b |\n\n[^1]: First.\n\n[^2]: Of a.\n"
    );
}

#[test]
fn lists_are_numbered_as_their_style_says() {
    let styles = r#"<office:automatic-styles><text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"/></text:list-style></office:automatic-styles>"#;
    let item = |content: &str| format!("<text:list-item>{content}</text:list-item>");
    let inner = format!("<text:list>{}</text:list>", item("<text:p>inner</text:p>"));
    let items = item(&format!("<text:p>one</text:p>{inner}")) + &item("<text:p>two</text:p>");
    let numbered = format!(r#"<text:list xml:id="x" text:style-name="L1">{items}</text:list>"#);
    let further = item("<text:p>three</text:p>");
    let body = format!(
        r#"{numbered}<text:p>Between.</text:p><text:list text:continue-list="x" text:style-name="L1">{further}</text:list><text:list>{}</text:list>"#,
        item("<text:p>bullet</text:p>")
    );
    assert_eq!(
        parse::to_markdown(&read_styled(styles, &body)),
        "1. one\n    a) inner\n2. two\n\nBetween.\n\n3. three\n- bullet\n"
    );
}

#[test]
fn styles_tell_titles_code_quotes_and_captions_and_pages_have_furniture() {
    let styles = r#"<office:automatic-styles><style:style style:name="P1" style:parent-style-name="Title"/><style:style style:name="P2" style:parent-style-name="Preformatted_20_Text"/></office:automatic-styles><office:master-styles><style:master-page><style:header><text:p>Head</text:p></style:header><style:footer><text:p>Foot</text:p></style:footer></style:master-page></office:master-styles>"#;
    let body = r#"<text:p text:style-name="P1">The mill</text:p><text:p text:style-name="P2">let a = 1;</text:p><text:p text:style-name="P2">let b = 2;</text:p><text:p text:style-name="Quotations">Said so.</text:p><text:p>A <draw:frame><draw:image/><svg:desc>A wheel</svg:desc></draw:frame></text:p>"#;
    let parsed = read_styled(styles, body);
    assert_eq!(parsed.title.as_deref(), Some("The mill"));
    assert_eq!(
        parse::to_markdown(&parsed),
        "# The mill\n\n```\nlet a = 1;\nlet b = 2;\n```\n\n> Said so.\n\nA\n\nA wheel\n"
    );
    let furniture = parsed.atoms.iter().filter(|atom| !atom.kind.is_indexed());
    let furniture: Vec<&str> = furniture
        .map(|atom| &parsed.text[atom.span.bytes()])
        .collect();
    assert_eq!(furniture, ["Head", "Foot"]);
}

#[test]
fn a_row_set_as_heads_of_columns_is_the_header() {
    let cell = |style: &str, text: &str| {
        format!(
            r#"<table:table-cell><text:p text:style-name="{style}">{text}</text:p></table:table-cell>"#
        )
    };
    let row = |style: &str, a: &str, b: &str| {
        let cells = cell(style, a) + &cell(style, b);
        format!("<table:table-row>{cells}</table:table-row>")
    };
    let styles = r#"<style:style style:name="P1" style:parent-style-name="Table_20_Heading"/>"#;
    let rows = row("P1", "Mill", "Owner") + &row("P2", "Upper", "Ann");
    let parsed = read_styled(styles, &format!("<table:table>{rows}</table:table>"));
    assert_eq!(
        parsed.text,
        "| Mill | Owner |\n| --- | --- |\n| Upper | Ann |"
    );
}

#[test]
fn words_in_a_shape_are_no_part_of_the_paragraph_it_stands_in() {
    let shape = |words: &str| {
        format!(
            "<draw:custom-shape><text:p>{words}</text:p><text:p>More.</text:p></draw:custom-shape>"
        )
    };
    let group = format!(
        "<draw:g>{}<draw:frame><draw:image/><svg:desc>A wheel</svg:desc></draw:frame></draw:g>",
        shape("Third.")
    );
    let body = format!(
        "<text:p>Host {}goes on.</text:p><text:p>{}<draw:rect><text:p>Second.</text:p></draw:rect>{group}</text:p>",
        shape("First."),
        "Next."
    );
    assert_eq!(
        parse::to_markdown(&read(&body)),
        "Host goes on.\n\nFirst.\n\nMore.\n\nNext.\n\nA wheel\n\nSecond.\n\nThird.\n\nMore.\n"
    );
}

#[test]
fn blanks_that_only_lay_out_the_file_are_one() {
    let body = "<text:p>\n   Pretty\n   <text:span> printed </text:span>  words<text:s text:c=\"2\"/>a<text:tab/>b<text:line-break/>c\n</text:p>";
    assert_eq!(read(body).text, "Pretty printed words  a\tb\nc");
}
