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

/// A document with these lists instead of its own.
fn with_lists(body: &str, lists: &str) -> Vec<u8> {
    let names = r#"xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main""#;
    let lists = format!("<w:numbering {names}>{lists}</w:numbering>").into_bytes();
    let mut parts = samples::all_parts(&office::docx(body));
    for (name, bytes) in &mut parts {
        if name == "word/numbering.xml" {
            *bytes = lists.clone();
        }
    }
    let parts: Vec<(&str, &[u8])> = parts.iter().map(|(n, b)| (&**n, &**b)).collect();
    samples::archive_of_bytes(&parts)
}

fn item(num: u8, text: &str) -> String {
    format!(
        r#"<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="{num}"/></w:numPr></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"#
    )
}

fn words(text: &str) -> String {
    format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")
}

#[test]
fn numbers_in_cells_are_shown_and_counted() {
    let row = |cells: [String; 2]| {
        let cells = cells.map(|cell| format!("<w:tc>{cell}</w:tc>")).concat();
        format!("<w:tr>{cells}</w:tr>")
    };
    let rows = row([item(1, ""), words("rye")]) + &row([item(1, "wheat"), words("oats")]);
    let body = item(1, "first") + &format!("<w:tbl>{rows}</w:tbl>") + &item(1, "fourth");
    let written = markdown(&office::docx(&body));
    assert_eq!(
        written,
        "1. first\n\n|  |  |\n| --- | --- |\n| 2. | rye |\n| 3. wheat | oats |\n\n4. fourth\n"
    );
}

#[test]
fn lists_by_a_style_and_with_levels_of_their_own_are_numbered() {
    let level = |start: u8, format: &str, text: &str| {
        format!(
            r#"<w:lvl w:ilvl="0"><w:start w:val="{start}"/><w:numFmt w:val="{format}"/><w:lvlText w:val="{text}"/></w:lvl>"#
        )
    };
    let definition = |id: u8, content: &str| {
        format!(r#"<w:abstractNum w:abstractNumId="{id}">{content}</w:abstractNum>"#)
    };
    let list = |id: u8, content: &str| {
        format!(r#"<w:num w:numId="{id}"><w:abstractNumId w:val="{id}"/>{content}</w:num>"#)
    };
    let own = format!(
        r#"<w:lvlOverride w:ilvl="0">{}</w:lvlOverride>"#,
        level(5, "upperRoman", "%1)")
    );
    let linked = r#"<w:numStyleLink w:val="Legal"/>"#;
    let linking = r#"<w:styleLink w:val="Legal"/>"#.to_owned() + &level(1, "decimal", "%1.");
    let lists = definition(1, linked)
        + &definition(2, &linking)
        + &definition(3, &level(1, "decimal", "%1."))
        + &list(1, "")
        + &list(3, &own);
    let body = item(1, "by a style") + &item(3, "five") + &item(3, "six");
    let written = markdown(&with_lists(&body, &lists));
    assert_eq!(written, "1. by a style\nV) five\nVI) six\n");
}

#[test]
fn a_cell_whose_deletion_was_tracked_is_gone() {
    let cell = |properties: &str, text: &str| {
        format!("<w:tc><w:tcPr>{properties}</w:tcPr>{}</w:tc>", words(text))
    };
    let cells = [cell("", "a"), cell("<w:cellDel/>", "gone"), cell("", "c")].concat();
    let written = markdown(&office::docx(&format!(
        "<w:tbl><w:tr>{cells}</w:tr></w:tbl>"
    )));
    assert_eq!(written, "|  |  |\n| --- | --- |\n| a | c |\n");
}

fn mark(kind: &str, form: &str) -> String {
    format!(r#"<w:r><w:fldChar w:fldCharType="{kind}">{form}</w:fldChar></w:r>"#)
}

#[test]
fn the_choices_of_a_form_are_shown() {
    let field = |form: &str| {
        let form = format!("<w:ffData>{form}</w:ffData>");
        mark("begin", &form) + "<w:r><w:instrText>FORM</w:instrText></w:r>" + &mark("end", "")
    };
    let list = r#"<w:ddList><w:result w:val="1"/><w:listEntry w:val="rye"/><w:listEntry w:val="oats"/></w:ddList>"#;
    let ticked = r#"<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>"#;
    let by_default = r#"<w:checkBox><w:default w:val="1"/></w:checkBox>"#;
    let unticked = r#"<w:checkBox><w:default w:val="0"/></w:checkBox>"#;
    let fields = [list, ticked, by_default, unticked].map(field);
    let paragraph = format!("<w:p>{}<w:r><w:t> all</w:t></w:r></w:p>", fields.concat());
    assert_eq!(markdown(&office::docx(&paragraph)), "oats[x][x][ ] all\n");
}

#[test]
fn an_instruction_that_goes_over_paragraphs_is_no_text() {
    let opening = format!(
        "<w:p><w:r><w:t>Before</w:t></w:r>{}</w:p>",
        mark("begin", "")
    );
    let result = format!(
        "<w:p>{}<w:r><w:t>result</w:t></w:r>{}</w:p>",
        mark("separate", ""),
        mark("end", "")
    );
    let body = format!("{opening}{}{result}{}", words("hidden"), words("after"));
    assert_eq!(
        markdown(&office::docx(&body)),
        "Before\n\nresult\n\nafter\n"
    );
    // Without its end it hides nothing.
    let body = format!("{opening}{}", words("shown"));
    assert_eq!(markdown(&office::docx(&body)), "Before\n\nshown\n");
    let body = format!("{opening}{}{}", words("shown").repeat(100), words("last"));
    let written = markdown(&office::docx(&body));
    assert_eq!(written.matches("shown").count(), 100);
    assert!(written.ends_with("last\n"));
}

#[test]
fn a_style_of_rich_text_may_be_based_on_a_heading() {
    let file = br"{\rtf1\ansi{\stylesheet{\s0 Normal;}{\s15\sbasedon1 Own;}{\s1\b heading 1;}{\s16\sbasedon16 Loop;}}\pard\s15 Head\par\pard\s16 Body.\par}";
    assert_eq!(markdown(file), "# Head\n\nBody.\n");
}

#[test]
fn a_number_or_note_of_its_own_paragraph_leaves_the_one_it_stands_in_as_it_is() {
    let file = br"{\rtf1\ansi{\stylesheet{\s0 Normal;}{\s1 heading 1;}{\s2\outlinelevel1 Part;}}\pard\plain First.\par\pard\plain\s1{\listtext\pard\plain  1.\tab}Head\par\pard\s2 Inner{\footnote\pard\plain\s9 A note.}\par\pard\intbl one{\footnote\pard\plain\s9 Another.}\par more\cell two\cell\row\pard Last.\par}";
    let parsed = parse::parse(file, &Hints::default(), &Limits::default()).unwrap();
    assert_eq!(
        parse::to_markdown(&parsed),
        "First.\n\n# Head\n\n## Inner[^1]\n\n|  |  |\n| --- | --- |\n| one[^2] more | two |\n\nLast.\n\n\
         [^1]: A note.\n\n[^2]: Another.\n"
    );
}

#[test]
fn a_cell_of_rich_text_over_two_rows_stands_in_both() {
    let file = br"{\rtf1\ansi\trowd\clvmgf\cellx1\cellx2\pard\intbl Bo\cell x\cell\row\trowd\clvmrg\cellx1\cellx2\pard\intbl\cell y\cell\row\trowd\cellx1\cellx2\pard\intbl\cell z\cell\row\pard}";
    let rows = "| Bo | x |\n| Bo | y |\n|  | z |\n";
    assert_eq!(markdown(file), format!("|  |  |\n| --- | --- |\n{rows}"));
}

#[test]
fn a_row_of_a_word_document_set_as_heads_of_columns_is_the_header() {
    let cell = |style: &str, text: &str| {
        format!(
            r#"<w:tc><w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"#
        )
    };
    let row = |style: &str, a: &str, b: &str| {
        format!("<w:tr>{}{}</w:tr>", cell(style, a), cell(style, b))
    };
    let rows = row("TH", "Mill", "Owner") + &row("Normal", "Upper", "Ann");
    assert_eq!(
        markdown(&office::docx(&format!("<w:tbl>{rows}</w:tbl>"))),
        "| Mill | Owner |\n| --- | --- |\n| Upper | Ann |\n"
    );
}

#[test]
fn a_long_text_over_many_rows_stands_once() {
    let cell = |merge: &str, text: &str| {
        format!(
            "<w:tc><w:tcPr><w:vMerge{merge}/></w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"
        )
    };
    let other = "<w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc>";
    let first = cell(r#" w:val="restart""#, &"long ".repeat(20_000));
    let rest = format!("<w:tr>{}{other}</w:tr>", cell("", "")).repeat(2_000);
    let body = format!("<w:tbl><w:tr>{first}{other}</w:tr>{rest}</w:tbl>");
    let written = markdown(&office::docx(&body));
    assert_eq!(written.matches("long").count(), 20_000);
    assert_eq!(written.matches("x |").count(), 2_001);
}

#[test]
fn text_without_a_font_of_its_own_is_in_the_default_one() {
    let file = br"{\rtf1\ansi\ansicpg1252\deff1{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial;}}\pard \'cc\'e8\'f0 {\f0 caf\'e9 \plain\'cc}\par}";
    assert_eq!(markdown(file), "\u{41c}\u{438}\u{440} caf\u{e9} \u{41c}\n");
}

#[test]
fn wide_blanks_of_rich_text_keep_words_apart() {
    let file = br"{\rtf1\ansi\pard a\emspace b\enspace c\qmspace d\par}";
    assert_eq!(markdown(file), "a b c d\n");
}

#[test]
fn cells_of_rich_text_stand_in_the_columns_they_end_at() {
    let row = |cells: &[(&str, i32, &str)]| {
        let ends: String = cells
            .iter()
            .map(|(merge, end, _)| format!(r"{merge}\cellx{end}"))
            .collect();
        let words: String = cells
            .iter()
            .map(|(_, _, w)| format!(r"{w}\cell "))
            .collect();
        format!(r"\trowd{ends}\pard\intbl {words}\row")
    };
    let rows = row(&[(r"\clvmgf", 2000, "wide"), ("", 3000, "02")])
        + &row(&[(r"\clvmrg", 2005, ""), ("", 3000, "12")])
        + &row(&[("", 1000, "20"), ("", 2000, "21"), ("", 3000, "22")]);
    let file = format!(r"{{\rtf1\ansi{rows}\pard}}");
    assert_eq!(
        markdown(file.as_bytes()),
        "|  |  |  |\n| --- | --- | --- |\n| wide |  | 02 |\n| wide |  | 12 |\n| 20 | 21 | 22 |\n"
    );
}

#[test]
fn a_formula_on_a_slide_is_read_in_its_place() {
    let formula = r#"<a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:oMathPara><m:oMath><m:r><m:t>E=m</m:t></m:r><m:sSup><m:e><m:r><m:t>c</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath></m:oMathPara></a14:m>"#;
    let line = format!("<a:p><a:r><a:t>Energy: </a:t></a:r>{formula}<a:r><a:t>.</a:t></a:r></a:p>");
    let shape = format!("<p:sp><p:txBody>{line}</p:txBody></p:sp>");
    assert_eq!(markdown(&deck(&shape)), "Energy: $E=mc^{2}$.\n");
}
