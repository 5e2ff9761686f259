//! Files made to hurt: each is refused with its reason, or read within its budget.

use std::io::Read;

use parse::{Budget, Error, Format, Hints, Limits};

use samples::office;

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
    let bytes = samples::archive(&[("word/document.xml", part)]);
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

fn deflated(instructions: &str) -> Vec<u8> {
    let level = flate2::Compression::fast();
    let mut packed = flate2::read::ZlibEncoder::new(instructions.as_bytes(), level);
    let mut bytes = Vec::new();
    packed.read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_page_that_unpacks_without_end_costs_that_page() {
    let limits = Limits {
        inflated_bytes: 1 << 20,
        ..Limits::default()
    };
    let text = "BT /F 12 Tf 72 700 Td (Plain words) Tj ET";
    let bomb = deflated(&" ".repeat(2 << 20));
    let file = samples::pdf::packed(&[bomb, deflated(text)]);
    let parsed = parse::parse(&file, &Hints::default(), &limits).unwrap();
    assert_eq!(parsed.text, "Plain words");
    let gaps: Vec<_> = parsed.gaps.iter().map(|gap| gap.pages).collect();
    assert_eq!(gaps, [Some((1, 1))]);
}

#[test]
fn a_page_that_is_damaged_is_read_as_far_as_it_goes_and_disclosed() {
    let line = |n| {
        format!(
            "BT /F 9 Tf 72 {} Td (Line {n} of these.) Tj ET\n",
            750 - 12 * n
        )
    };
    let lines: String = (0..60).map(line).collect();
    let whole = deflated(&lines);
    let mut flipped = whole.clone();
    flipped[whole.len() / 2..][..8].fill(0xff);
    let cut = whole[..whole.len() / 2].to_vec();
    let mut unchecked = whole.clone();
    *unchecked.last_mut().unwrap() ^= 0xff;
    let endless = whole[..whole.len() - 4].to_vec();
    let garbage = b"no such packing".to_vec();
    let pages = [whole, flipped, cut, garbage, unchecked, endless];
    let parsed = parse_as("a.pdf", &samples::pdf::packed(&pages)).unwrap();
    let gaps: Vec<_> = parsed.gaps.iter().filter_map(|gap| gap.pages).collect();
    assert_eq!(gaps, [(2, 2), (3, 3), (4, 4)]);
    assert!(parsed.gaps.iter().all(|gap| gap.reason.contains("damaged")));
    let first_lines = parsed.text.matches("Line 0 of").count();
    let last_lines = parsed.text.matches("Line 59 of").count();
    assert_eq!((first_lines, last_lines), (5, 3));
}

/// A page of this stream, packed as the filters say.
fn page_of(filters: &str, stream: &[u8]) -> Vec<u8> {
    let head = format!("<</Filter[{filters}]/Length {}>>stream\n", stream.len());
    let text = |text: &str| text.as_bytes().to_vec();
    samples::pdf::file(&[
        text("<</Type/Catalog/Pages 2 0 R>>"),
        text("<</Type/Pages/Kids[3 0 R]/Count 1>>"),
        text(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R\
             /Resources<</Font<</F 5 0 R>>>>>>",
        ),
        [head.as_bytes(), stream, b"\nendstream"].concat(),
        text("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"),
    ])
}

#[test]
fn a_page_cut_short_in_a_packing_of_letters_is_disclosed() {
    let lines = (0..60).map(|n| format!("BT /F 9 Tf 72 {} Td (Line {n}.) Tj ET\n", 750 - 12 * n));
    let packed = deflated(&lines.collect::<String>());
    let letters: String = packed.iter().map(|byte| format!("{byte:02x}")).collect();
    let letters = letters + ">";
    let runs: Vec<u8> = packed
        .chunks(100)
        .flat_map(|run| [&[run.len() as u8 - 1], run].concat())
        .collect();
    for (filters, stream) in [
        ("/ASCIIHexDecode/FlateDecode", letters.as_bytes()),
        ("/RunLengthDecode/FlateDecode", &runs[..]),
    ] {
        let whole = parse_as("a.pdf", &page_of(filters, stream)).unwrap();
        assert_eq!(whole.gaps, [], "{filters}");
        assert!(whole.text.contains("Line 59."));
        let cut = parse_as("a.pdf", &page_of(filters, &stream[..stream.len() / 2])).unwrap();
        assert_eq!(cut.gaps.len(), 1, "{filters}");
        assert!(cut.text.contains("Line 1."));
    }
}

#[test]
fn a_page_of_which_nothing_is_written_is_blank_and_not_damaged() {
    let parsed = parse_as("a.pdf", &page_of("/FlateDecode", b"")).unwrap();
    assert_eq!(parsed.gaps, []);
}

#[test]
fn a_page_whose_packing_or_instructions_are_unknown_is_disclosed() {
    let page = |contents: &str| {
        format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents {contents}>>")
    };
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R 4 0 R 5 0 R]/Count 3>>".to_owned(),
        page("6 0 R"),
        page("[7 0 R 6 0 R]"),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>".to_owned(),
        "<</Filter/NoSuchDecode/Length 3>>stream\nabc\nendstream".to_owned(),
        "<</Length 3>>stream\nq Q\nendstream".to_owned(),
    ];
    let parsed = parse_as("a.pdf", &samples::pdf::file(&objects)).unwrap();
    let gaps: Vec<_> = parsed.gaps.iter().filter_map(|gap| gap.pages).collect();
    assert_eq!(gaps, [(1, 1), (2, 2)]);
}

#[test]
fn a_scan_in_strips_or_with_a_stamp_is_told_from_a_page_with_a_picture() {
    let strips: String = (0..4)
        .map(|n| format!("q 612 0 0 198 0 {} cm /I Do Q ", n * 198))
        .collect();
    let stamp = "BT /F 7 Tf 72 20 Td (Handed on by the library of the mill on a Monday) Tj ET";
    let print: String = (0..40)
        .map(|n| {
            format!(
                "BT /F 10 Tf 72 {} Td (Words over the picture of it) Tj ET ",
                700 - 14 * n
            )
        })
        .collect();
    let contents = [
        strips.clone(),
        strips.clone() + stamp,
        strips + &print,
        print,
    ];
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[5 0 R 7 0 R 9 0 R 11 0 R]/Count 4>>".to_owned(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
        "<</Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray\
         /Length 1>>stream\na\nendstream"
            .to_owned(),
    ];
    for content in contents {
        let number = objects.len() + 2;
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {number} 0 R\
             /Resources<</Font<</F 3 0 R>>/XObject<</I 4 0 R>>>>>>"
        ));
        let length = content.len();
        objects.push(format!("<</Length {length}>>stream\n{content}\nendstream"));
    }
    let parsed = parse_as("a.pdf", &samples::pdf::file(&objects)).unwrap();
    let gaps: Vec<_> = parsed.gaps.iter().filter_map(|gap| gap.pages).collect();
    assert_eq!(gaps, [(1, 1), (2, 2)]);
}

#[test]
fn pages_that_unpack_to_too_much_together_are_refused() {
    let limits = Limits {
        inflated_bytes: 1 << 20,
        ..Limits::default()
    };
    let page = deflated(&" ".repeat(400 << 10));
    let file = samples::pdf::packed(&[page.clone(), page.clone(), page]);
    assert_eq!(
        parse::parse(&file, &Hints::default(), &limits),
        Err(Error::OverBudget {
            budget: Budget::InflatedBytes,
            limit: 1 << 20
        })
    );
}

#[test]
fn a_page_whose_letters_are_books_costs_that_page() {
    let page = |content: &str| {
        format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {content} 0 R\
             /Resources<</Font<</F 7 0 R/G 8 0 R>>>>>>"
        )
    };
    let stream = |content: &str| {
        let length = content.len();
        format!("<</Length {length}>>stream\n{content}\nendstream")
    };
    let meaning = format!(
        "1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfchar <61> <{}> endbfchar",
        "0041".repeat(250)
    );
    let books = format!("BT /G 1 Tf 72 700 Td ({}) Tj ET", "a".repeat(400_000));
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2>>".to_owned(),
        page("5"),
        page("6"),
        stream("BT /F 12 Tf 72 700 Td (Plain words) Tj ET"),
        stream(&books),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/FirstChar 97/LastChar 97/Widths[0]\
         /ToUnicode 9 0 R>>"
            .to_owned(),
        stream(&meaning),
    ];
    let parsed = parse_as("a.pdf", &samples::pdf::file(&objects)).unwrap();
    assert!(parsed.text.starts_with("Plain words"));
    let gaps: Vec<_> = parsed.gaps.iter().map(|gap| gap.pages).collect();
    assert_eq!(gaps, [Some((2, 2))]);
}

#[test]
fn forms_that_double_with_every_level_come_to_an_end() {
    let draws = |next: usize, content: &str| {
        let length = content.len();
        format!(
            "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X {next} 0 R>>>>\
             /Length {length}>>stream\n{content}\nendstream"
        )
    };
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R\
         /Resources<</XObject<</X 5 0 R>>>>>>"
            .to_owned(),
        draws(5, "/X Do"),
    ];
    objects.extend((6..30).map(|next| draws(next, "/X Do /X Do")));
    let parsed = parse_as("a.pdf", &samples::pdf::file(&objects)).unwrap();
    let gaps: Vec<_> = parsed.gaps.iter().map(|gap| gap.pages).collect();
    assert_eq!(gaps, [Some((1, 1))]);
}
