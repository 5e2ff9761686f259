//! What is written as Markdown is read again as what it was.

use model::AtomKind;
use parse::{Hints, Limits};

fn read(name: &str, text: &str) -> model::Parsed {
    let hints = Hints::of_filename(name);
    parse::parse(text.as_bytes(), &hints, &Limits::default()).unwrap()
}

#[test]
fn prose_that_looks_like_markup_is_still_prose_when_read_again() {
    let paragraphs = [
        "- no item",
        "1. Smith writes",
        "2) of two",
        "* a star",
        "+ and more",
        "# no heading",
        "> no quote",
        "``` no code",
        "~~~ nor this",
        "* * *",
        "___",
        "goes on\n- with a dash",
        "goes on\n1. with a one",
        "goes on\n=======\nand on",
        "1820 was a year",
        "-x is a switch",
        "**bold** it is not",
    ];
    let parsed = read("a.txt", &paragraphs.join("\n\n"));
    assert!(parsed.atoms.iter().all(|a| a.kind == AtomKind::Paragraph));
    let again = read("a.md", &parse::to_markdown(&parsed));
    for atom in &again.atoms {
        let text = &again.text[atom.span.bytes()];
        assert_eq!(atom.kind, AtomKind::Paragraph, "{text}");
    }
    assert_eq!(again.atoms.len(), paragraphs.len());
}

#[test]
fn prose_that_looks_like_prose_is_written_as_it_is() {
    let text = "In 1820. Then\n1821. Later\n-x is a switch\n";
    let written = parse::to_markdown(&read("a.txt", text));
    assert_eq!(written, text);
}

#[test]
fn an_item_of_an_inner_list_is_no_code_where_no_item_stands_above_it() {
    let page = "<dl><dt>Term</dt><dd><ul><li>one<ul><li>inner</ul><li>two</ul></dd></dl>";
    let written = parse::to_markdown(&read("a.html", page));
    assert_eq!(written, "Term\n\n- one\n    - inner\n- two\n");
    let again = read("a.md", &written);
    let is_code = |atom: &model::Atom| matches!(atom.kind, AtomKind::Code { .. });
    assert!(!again.atoms.iter().any(is_code));
}

#[test]
fn tags_within_a_word_do_not_divide_it() {
    let text = "H<sub>2</sub>O is un<b>believ</b>able<br>wet<!-- no -->ness\n";
    assert_eq!(read("a.md", text).text, "H2O is unbelievable wetness");
}

#[test]
fn brackets_that_lead_nowhere_keep_both_their_halves() {
    let text = "Of matrix[i][j], [1][2] and arr[0][].\nSee [words][none], ![alt][none] and [here][k].\n\n[k]: https://example.org/k\n";
    let parsed = read("a.md", text);
    let expected =
        "Of matrix[i][j], [1][2] and arr[0][]. See [words][none], ![alt][none] and here.";
    assert_eq!(parsed.text, expected);
    assert_eq!(parsed.atoms[0].links.len(), 1);
}

#[test]
fn code_and_tables_longer_than_a_segment_stay_what_they_are() {
    let rows: String = (0..60_000)
        .map(|n| format!("| row {n} | *{n}* |\n"))
        .collect();
    let table = read(
        "a.md",
        &format!("| Name | Count |\n|---|---|\n{rows}\nAfter the table.\n"),
    );
    let code: String = (0..60_000)
        .map(|n| format!("# step {n} of *all*\n"))
        .collect();
    let code = read("a.md", &format!("```sh\n{code}```\n\nAfter the code.\n"));
    let is_table =
        |atom: &model::Atom| matches!(&atom.kind, AtomKind::Table(t) if t.header_rows == 1);
    let shell = AtomKind::Code {
        language: Some("sh".to_owned()),
    };
    for (parsed, last) in [(&table, "row 59999"), (&code, "# step 59999 of *all*")] {
        let (after, blocks) = parsed.atoms.split_last().unwrap();
        assert_eq!(after.kind, AtomKind::Paragraph);
        assert!(
            blocks
                .iter()
                .all(|atom| atom.kind == shell || is_table(atom))
        );
        assert!(blocks.len() > 1 && parsed.text.contains(last));
    }
    let total = |atom: &model::Atom| match &atom.kind {
        AtomKind::Table(table) => table.rows.len() - 1,
        _ => 0,
    };
    assert_eq!(table.atoms.iter().map(total).sum::<usize>(), 60_000);
}
