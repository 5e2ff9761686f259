//! What stands on a page, told from where it stands.

use model::{AtomKind, Parsed};
use parse::{Hints, Limits};

fn read(name: &str, bytes: &[u8]) -> Parsed {
    parse::parse(bytes, &Hints::of_filename(name), &Limits::default()).unwrap()
}

fn at(x: u16, y: u16, text: &str) -> String {
    format!("BT /F 11 Tf {x} {y} Td ({text}) Tj ET\n")
}

/// Words in columns that begin here, row below row.
fn columns(places: &[u16], rows: &[&[&str]]) -> String {
    let mut drawn = String::new();
    for (row, cells) in rows.iter().enumerate() {
        for (x, cell) in places.iter().zip(*cells) {
            drawn.push_str(&at(*x, 700 - 14 * row as u16, cell));
        }
    }
    drawn
}

fn tables(parsed: &Parsed) -> Vec<&[Vec<String>]> {
    let tables = parsed.atoms.iter().filter_map(|atom| match &atom.kind {
        AtomKind::Table(table) => Some(&table.rows[..]),
        _ => None,
    });
    tables.collect()
}

const GRAIN: &[&[&str]] = &[
    &["Grain", "Sacks", "Price"],
    &["Rye", "12", "3.40"],
    &["Winter wheat", "7", "4.10"],
    &["Malt", "31", "2.95"],
];

#[test]
fn three_columns_without_a_grid_are_a_table() {
    let words = "What follows is the list of last year, as the miller wrote it down himself.";
    let page = at(72, 730, words) + &columns(&[72, 220, 320], GRAIN) + &at(72, 620, words);
    let parsed = read("a.pdf", &samples::pdf::drawn(&page));
    let [rows] = tables(&parsed)[..] else {
        panic!("one table was expected in {:?}", parsed.atoms);
    };
    assert_eq!(rows, GRAIN);
    assert_eq!(parsed.atoms.len(), 3);
}

#[test]
fn two_columns_are_a_table_between_rulings_only() {
    let two: Vec<&[&str]> = GRAIN.iter().map(|row| &row[..2]).collect();
    let page = columns(&[72, 220], &two);
    assert!(tables(&read("a.pdf", &samples::pdf::drawn(&page))).is_empty());
    let ruled = page + "0.5 w 70 714 m 300 714 l S 70 650 m 300 650 l S\n";
    let parsed = read("a.pdf", &samples::pdf::drawn(&ruled));
    assert_eq!(tables(&parsed), [&two[..]]);
}

#[test]
fn a_list_of_contents_is_no_table() {
    let rows: &[&[&str]] = &[
        &["1", "Wheels . . . . . . . . . . . . .", "3"],
        &["2", "Stones . . . . . . . . . . . . .", "9"],
        &["3", "Sluices . . . . . . . . . . . . .", "14"],
    ];
    let page = columns(&[72, 100, 330], rows);
    assert!(tables(&read("a.pdf", &samples::pdf::drawn(&page))).is_empty());
}

const SENTENCE: &str = "What follows is the law of the mill, as the miller wrote it down himself.";

#[test]
fn a_formula_on_its_own_line_is_one_with_what_stands_under_it() {
    let printed = "BT /M 11 Tf 250 700 Td (P) Tj /F 11 Tf ( = ) Tj /M 11 Tf (mv) Tj ET\n";
    let page = at(72, 730, SENTENCE)
        + printed
        + &at(500, 700, "\\(1\\)")
        + &at(262, 687, "2")
        + &at(72, 650, SENTENCE);
    let parsed = read("a.pdf", &samples::pdf::drawn(&page));
    let texts: Vec<_> = parsed
        .atoms
        .iter()
        .map(|atom| (&atom.kind, &parsed.text[atom.span.bytes()]))
        .collect();
    let sentence = (&AtomKind::Paragraph, SENTENCE);
    let formula = (&AtomKind::Formula, "P = mv (1) 2");
    assert_eq!(texts, [sentence, formula, sentence]);
}

#[test]
fn a_formula_within_a_sentence_or_set_in_words_is_text() {
    let math = "/M 11 Tf (P) Tj /F 11 Tf ( = ) Tj /M 11 Tf (mv) Tj /F 11 Tf";
    let page = at(72, 730, SENTENCE)
        + &format!("BT /F 11 Tf 72 700 Td {math} ( is the law of this mill.) Tj ET\n")
        + &format!("BT /F 11 Tf 150 670 Td (where) Tj ( ) Tj {math} ( holds all year) Tj ET\n")
        + &at(72, 640, SENTENCE);
    let parsed = read("a.pdf", &samples::pdf::drawn(&page));
    let formulas = parsed
        .atoms
        .iter()
        .filter(|atom| atom.kind == AtomKind::Formula);
    assert_eq!(formulas.count(), 0, "{:?}", parsed.atoms);
}

#[test]
fn labels_printed_before_all_texts_are_read_each_with_its_own() {
    let labels = [("[One]", 700), ("[Two]", 660), ("[Three]", 620)];
    let mut page = at(72, 740, SENTENCE);
    for (label, y) in labels {
        page.push_str(&at(72, y, label));
    }
    for (label, y) in labels {
        page.push_str(&at(
            130,
            y,
            &format!("The text that belongs to {label} and goes on"),
        ));
        page.push_str(&at(130, y - 13, "with a second line below the first one."));
    }
    let parsed = read("a.pdf", &samples::pdf::drawn(&page));
    let mut from = 0;
    for (label, _) in labels {
        let label_at = parsed.text[from..].find(label).expect(label) + from;
        let text_at = parsed
            .text
            .find(&format!("belongs to {label}"))
            .expect(label);
        assert!(label_at < text_at, "{}", parsed.text);
        from = text_at;
    }
    let headings = parsed.atoms.iter();
    let headings = headings.filter(|atom| matches!(atom.kind, AtomKind::Heading { .. }));
    assert_eq!(headings.count(), 0, "{:?}", parsed.atoms);
}

#[test]
fn remarks_beside_running_text_do_not_tear_it() {
    let mut page = at(72, 740, SENTENCE);
    for (y, remark) in [(700, "Sluices"), (687, "and weirs,"), (674, "mostly")] {
        page.push_str(&at(72, y, remark));
    }
    for y in [700, 687, 674] {
        page.push_str(&at(160, y, SENTENCE));
    }
    let parsed = read("a.pdf", &samples::pdf::drawn(&page));
    let paragraph = [SENTENCE; 3].join(" ");
    assert!(parsed.text.contains(&paragraph), "{}", parsed.text);
}

#[test]
fn a_caption_and_its_picture_are_one_figure() {
    let picture = "q 200 0 0 150 72 500 cm BI /W 1 /H 1 /BPC 8 /CS /G ID \u{7f} EI Q\n";
    let page = picture.to_owned() + &at(72, 480, "Figure 1. The mill from the west");
    let parsed = read("a.pdf", &samples::pdf::drawn(&page));
    let [figure] = &parsed.atoms[..] else {
        panic!("one atom was expected, not {:?}", parsed.atoms);
    };
    assert_eq!(figure.kind, AtomKind::Figure);
    let boxes: Vec<_> = figure.boxes.iter().map(|b| (b.left, b.right)).collect();
    assert_eq!(boxes.len(), 2);
    assert_eq!(boxes[1], (72.0, 272.0));
}

#[test]
fn a_formula_of_a_web_page_is_read_once() {
    let page = "<html><body><h1>Flow</h1><p>Where <math><mi>v</mi><mo>=</mo><mn>2</mn></math> holds:</p>\
        <math display='block'><semantics><mrow><mi>P</mi><mo>=</mo><mi>v</mi></mrow>\
        <annotation encoding='application/x-tex'>P = v</annotation></semantics></math></body></html>";
    let parsed = read("a.html", page.as_bytes());
    let texts: Vec<_> = parsed
        .atoms
        .iter()
        .map(|atom| (&atom.kind, &parsed.text[atom.span.bytes()]))
        .collect();
    assert_eq!(
        texts[1..],
        [
            (&AtomKind::Paragraph, "Where v = 2 holds:"),
            (&AtomKind::Formula, "P = v"),
        ]
    );
}

#[test]
fn an_underscore_that_is_drawn_holds_its_word_together() {
    let drawn = |lines: &str| {
        let words = |x: f32, text: &str| format!("BT /F 11 Tf {x} 700 Td ({text}) Tj ET\n");
        let page = words(72.0, "Call glp") + &format!("0.4 w {lines}") + &words(112.7, "add.");
        read("a.pdf", &samples::pdf::drawn(&page)).text
    };
    // `Call glp` ends at 108.7.
    assert_eq!(drawn("109.3 700.2 m 112.6 700.2 l S\n"), "Call glp_add.");
    assert_eq!(drawn("109.3 700 3.3 0.4 re f\n"), "Call glp_add.");
    // Above the letters, or under them, it is something else.
    assert!(!drawn("109.3 706 m 112.6 706 l S\n").contains('_'));
    assert!(!drawn("102.6 699 m 108.7 699 l S\n").contains('_'));
}

#[test]
fn the_number_of_a_chapter_over_its_name_is_one_heading_with_it() {
    let large = |y: u16, text: &str| format!("BT /F 20 Tf 72 {y} Td ({text}) Tj ET\n");
    let page = large(740, "Chapter 1")
        + &large(690, "Of mills")
        + &at(72, 640, SENTENCE)
        + &large(590, "Part B")
        + &at(72, 540, SENTENCE);
    let parsed = read("a.pdf", &samples::pdf::drawn(&page));
    let markdown = parse::to_markdown(&parsed);
    assert!(markdown.starts_with("# Chapter 1 Of mills\n"), "{markdown}");
    assert!(markdown.contains("\n# Part B\n"), "{markdown}");
}

#[test]
fn signs_that_nobody_knows_are_no_text() {
    let meanings = "begincmap 1 begincodespacerange <00> <ff> endcodespacerange \
                    2 beginbfchar <61> <fffd> <62> <fffd> endbfchar endcmap";
    let content = format!(
        "{}BT /U 11 Tf 72 500 Td (ab ba) Tj ET",
        at(72, 700, SENTENCE)
    );
    let file = samples::pdf::file(&[
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R\
         /Resources<</Font<</F 5 0 R/U 6 0 R>>>>>>"
            .to_owned(),
        format!("<</Length {}>>stream\n{content}\nendstream", content.len()),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 7 0 R>>".to_owned(),
        format!(
            "<</Length {}>>stream\n{meanings}\nendstream",
            meanings.len()
        ),
    ]);
    let parsed = read("a.pdf", &file);
    assert_eq!(parse::to_markdown(&parsed), format!("{SENTENCE}\n"));
    let kinds: Vec<_> = parsed.atoms.iter().map(|atom| &atom.kind).collect();
    assert_eq!(kinds, [&AtomKind::Paragraph, &AtomKind::Furniture]);
}

fn lines_of(content: &str) -> Vec<String> {
    let parsed = read("a.pdf", &samples::pdf::drawn(content));
    let texts = parsed
        .atoms
        .iter()
        .map(|atom| &parsed.text[atom.span.bytes()]);
    texts.map(str::to_owned).collect()
}

#[test]
fn gaps_between_words_are_told_from_letters_set_apart() {
    let over_two = "BT /F 10 Tf 72 700 Td (no conflicts with an) Tj 4 Tc [(yo)400] TJ \
        0 Tc (ther package) Tj 4 Tc [(,a)400(st)400] TJ 0 Tc (he wheel) Tj ET";
    assert_eq!(
        lines_of(over_two),
        ["no conflicts with any other package, as the wheel"]
    );
    let over_three = "BT /F 10 Tf 72 700 Td (o) Tj 4 Tc [(fam)400] TJ 0 Tc (ill) Tj ET";
    assert_eq!(lines_of(over_three), ["of a mill"]);
    let title = "BT /F 10 Tf 72 700 Td 5 Tc (LETTERSPACED TITLE) Tj ET \
        BT /F 10 Tf 0 Tc 72 500 Td (Reach us by ) Tj 4 Tc (FAX) Tj ET";
    assert_eq!(lines_of(title), ["LETTERSPACED TITLE", "Reach us by FAX"]);
}

/// The rulings of a table whose rows and columns end here.
fn grid(rows: &[u16], columns: &[u16]) -> String {
    let ends = |edges: &[u16]| (edges[0], edges[edges.len() - 1]);
    let ((top, bottom), (left, right)) = (ends(rows), ends(columns));
    let level = rows
        .iter()
        .map(|y| format!("{left} {y} m {right} {y} l S "));
    let upright = columns
        .iter()
        .map(|x| format!("{x} {top} m {x} {bottom} l S "));
    level.chain(upright).collect()
}

#[test]
fn a_word_broken_in_a_cell_is_one() {
    let words = at(76, 705, "Key") + &at(156, 705, "Meaning") + &at(76, 685, "alpha");
    let cell = at(156, 685, "a respect-") + &at(156, 671, "able miller") + &at(76, 645, "end");
    let page =
        words + &cell + &at(156, 645, "of it") + &grid(&[720, 700, 660, 640], &[70, 150, 300]);
    let parsed = read("a.pdf", &samples::pdf::drawn(&page));
    assert_eq!(tables(&parsed)[0][1], ["alpha", "a respectable miller"]);
}

#[test]
fn a_cell_merged_over_columns_keeps_its_sentence_together() {
    let rows = columns(
        &[76, 156, 236],
        &[&["Key", "Count", "Sort"], &[], &["a", "b", "c"]],
    );
    let ruled = grid(&[715, 690, 665], &[70, 150, 230, 310])
        + "70 665 m 70 640 l S 310 665 m 310 640 l S 70 640 m 310 640 l S ";
    let merged = at(76, 648, "Note: all of this row is one sentence");
    let parsed = read(
        "a.pdf",
        &samples::pdf::drawn(&(rows.clone() + &merged + &ruled)),
    );
    let note = ["Note: all of this row is one sentence", "", ""];
    assert_eq!(tables(&parsed)[0][2], note);
    let apart = at(76, 648, "d") + &at(156, 648, "e") + &at(236, 648, "f");
    let parsed = read("a.pdf", &samples::pdf::drawn(&(rows + &apart + &ruled)));
    assert_eq!(tables(&parsed)[0][2], ["d", "e", "f"]);
}
