//! Cells of a workbook say what the sheet shows.

use model::{AtomKind, Parsed};
use parse::{Hints, Limits};
use samples::archive;

const X: &str = r#"xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships""#;

/// A book of one row, each cell a style and a value, and a hidden sheet.
fn book(cells: &[(u8, &str)]) -> Parsed {
    let cell = |(style, value): &(u8, &str)| format!(r#"<c s="{style}"><v>{value}</v></c>"#);
    let cells: String = cells.iter().map(cell).collect();
    book_of(&format!("<row>{cells}</row>"))
}

fn book_of(rows: &str) -> Parsed {
    let bytes = archive(&[
        (
            "xl/workbook.xml",
            &format!(
                r#"<workbook {X}><sheets><sheet name="Seen" r:id="r1"/><sheet name="Unseen" state="hidden" r:id="r1"/></sheets></workbook>"#
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            r#"<Relationships><Relationship Id="r1" Type="x/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="x/styles" Target="styles.xml"/></Relationships>"#,
        ),
        (
            "xl/styles.xml",
            &format!(
                r#"<styleSheet {X}><numFmts><numFmt numFmtId="164" formatCode="[h]:mm"/><numFmt numFmtId="165" formatCode="0\h"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="46"/><xf numFmtId="14"/></cellXfs></styleSheet>"#
            ),
        ),
        (
            "xl/worksheets/sheet1.xml",
            &format!("<worksheet {X}><sheetData>{rows}</sheetData></worksheet>"),
        ),
    ]);
    parse::parse(&bytes, &Hints::default(), &Limits::default()).unwrap()
}

fn shown(cells: &[(u8, &str)]) -> Vec<String> {
    let parsed = book(cells);
    let rows = parsed.atoms.iter().find_map(|atom| match &atom.kind {
        AtomKind::Table(table) => Some(table.rows.concat()),
        _ => None,
    });
    rows.unwrap()
}

#[test]
fn numbers_keep_what_the_sheet_keeps_of_them() {
    let numbers = [
        (0, "1.2345678901234E-12"),
        (0, "0.30000000000000004"),
        (0, "12345678901234567"),
        (0, "1.0000000000000002E-5"),
    ];
    let expected = ["1.2345678901234E-12", "0.3", "12345678901234567", "1E-5"];
    assert_eq!(shown(&numbers), expected);
}

#[test]
fn time_that_has_passed_is_no_date_and_an_escaped_letter_is_no_hour() {
    let cells = [(1, "1.5"), (2, "45000"), (3, "2.25"), (4, "45000")];
    assert_eq!(
        shown(&cells),
        ["36:00:00", "45000", "54:00:00", "2023-03-15"]
    );
}

#[test]
fn a_hidden_sheet_is_named_as_left_out() {
    let parsed = book(&[(0, "1")]);
    let said: Vec<&str> = parsed.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(said, ["hidden sheets were not read: `Unseen`"]);
}

#[test]
fn a_cell_merged_over_rows_stands_in_each_that_says_something() {
    let cell = |place: &str, text: &str| {
        format!(r#"<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>"#)
    };
    let rows = [
        vec![cell("A1", "mill"), cell("B1", "year"), cell("C1", "sacks")],
        vec![cell("A2", "upper"), cell("B2", "1820"), cell("C2", "30")],
        vec![cell("B3", "1821"), cell("C3", "31")],
        vec![cell("A4", " ")],
        vec![cell("A5", "note"), cell("B5", "over columns")],
    ];
    let rows: String = rows
        .iter()
        .enumerate()
        .map(|(n, cells)| format!(r#"<row r="{}">{}</row>"#, n + 1, cells.concat()))
        .collect();
    let merged = r#"<mergeCells><mergeCell ref="A2:A4"/><mergeCell ref="B5:C5"/><mergeCell ref="C3:C1048576"/></mergeCells>"#;
    let bytes = archive(&[
        (
            "xl/workbook.xml",
            &format!(r#"<workbook {X}><sheets><sheet name="S" r:id="r1"/></sheets></workbook>"#),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            r#"<Relationships><Relationship Id="r1" Type="x/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#,
        ),
        (
            "xl/worksheets/sheet1.xml",
            &format!("<worksheet {X}><sheetData>{rows}</sheetData>{merged}</worksheet>"),
        ),
    ]);
    let parsed = parse::parse(&bytes, &Hints::default(), &Limits::default()).unwrap();
    let markdown = parse::to_markdown(&parsed);
    let expected = "# S\n\n\
        | mill | year | sacks |\n| --- | --- | --- |\n\
        | upper | 1820 | 30 |\n| upper | 1821 | 31 |\n\n\
        | note | over columns | 31 |\n| --- | --- | --- |\n";
    assert_eq!(markdown, expected);
}

#[test]
fn rows_that_are_not_written_part_tables() {
    let row = |n: u8, value: u8| format!(r#"<row r="{n}"><c><v>{value}</v></c></row>"#);
    let parsed = book_of(&[row(2, 1), row(3, 2), row(6, 3), row(7, 4)].concat());
    let tables = parsed.atoms.iter().filter_map(|atom| match &atom.kind {
        AtomKind::Table(table) => Some(table.rows.concat()),
        _ => None,
    });
    assert_eq!(tables.collect::<Vec<_>>(), [["1", "2"], ["3", "4"]]);
}

#[test]
fn what_a_sheet_shows_besides_its_cells_is_told_as_left_out() {
    let names = r#"xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006""#;
    let text = "<xdr:sp><xdr:txBody><a:p><a:r><a:t>boxed</a:t></a:r></a:p></xdr:txBody></xdr:sp>";
    let blank = "<xdr:sp><xdr:txBody><a:p/></xdr:txBody></xdr:sp>";
    let chart = r#"<a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/chart"/>"#;
    let told = format!(
        "<mc:AlternateContent><mc:Choice>{chart}</mc:Choice><mc:Fallback>{text}</mc:Fallback></mc:AlternateContent>"
    );
    let cells = "<c><f>B1*2</f></c><c><f>B1*2</f><v/></c><c><f>2*2</f><v>4</v></c><c t=\"str\"><f>T(A1)</f><v></v></c>";
    let bytes = archive(&[
        (
            "xl/workbook.xml",
            &format!(r#"<workbook {X}><sheets><sheet name="S" r:id="r1"/></sheets></workbook>"#),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            r#"<Relationships><Relationship Id="r1" Type="x/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#,
        ),
        (
            "xl/worksheets/sheet1.xml",
            &format!("<worksheet {X}><sheetData><row>{cells}</row></sheetData></worksheet>"),
        ),
        (
            "xl/worksheets/_rels/sheet1.xml.rels",
            r#"<Relationships><Relationship Id="r1" Type="x/drawing" Target="../drawings/d.xml"/><Relationship Id="r2" Type="x/comments" Target="../comments.xml"/></Relationships>"#,
        ),
        (
            "xl/drawings/d.xml",
            &format!("<xdr:wsDr {names}>{text}{blank}{text}{told}</xdr:wsDr>"),
        ),
        (
            "xl/comments.xml",
            &format!("<comments {X}><commentList><comment/></commentList></comments>"),
        ),
    ]);
    let parsed = parse::parse(&bytes, &Hints::default(), &Limits::default()).unwrap();
    let said: Vec<&str> = parsed.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(
        said,
        [
            "charts were not read: 1",
            "text boxes were not read: 2",
            "comments were not read: 1",
            "formulas without a value were not read: 2",
        ]
    );
}
