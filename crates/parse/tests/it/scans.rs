//! What is said of pages that are pictures, wholly or for the most part.

use model::Parsed;
use parse::{Hints, Limits, Options, pdf::Recognised};

/// A page of these instructions, with a picture as `/I`.
fn page(content: &str) -> Vec<u8> {
    let length = content.len();
    samples::pdf::file(&[
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R\
         /Resources<</Font<</F 5 0 R>>/XObject<</I 6 0 R>>>>>>"
            .to_owned(),
        format!("<</Length {length}>>stream\n{content}\nendstream"),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
        "<</Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray\
         /Length 1>>stream\na\nendstream"
            .to_owned(),
    ])
}

fn read(content: &str, options: &Options) -> Parsed {
    let hints = Hints::of_filename("a.pdf");
    parse::parse_part(&page(content), &hints, &Limits::default(), options).unwrap()
}

fn warnings(parsed: &Parsed) -> String {
    let said = parsed.warnings.iter();
    said.map(|warning| format!("{}\n", warning.message))
        .collect()
}

const STAMP: &str = "BT /F 7 Tf 72 20 Td (Handed on by the library of the mill) Tj ET";

#[test]
fn a_scan_with_a_stamp_is_told_as_recognised() {
    let word =
        |n: u32, text: &str| format!("5\t1\t1\t1\t1\t{n}\t{}\t100\t80\t30\t96\t{text}\n", n * 90);
    let words = [
        "Scanned", "words", "of", "the", "copper", "kettle", "and", "more",
    ];
    let words = words.into_iter().zip(1..).map(|(text, n)| word(n, text));
    let mut table = String::from(
        "1\t1\t0\t0\t0\t0\t0\t0\t1000\t1300\t-1\t\n4\t1\t1\t1\t1\t0\t90\t100\t800\t30\t-1\t\n",
    );
    table.extend(words);
    let options = Options {
        recognised: vec![Recognised { page: 1, table }],
        ..Options::default()
    };
    let parsed = read(&format!("q 612 0 0 792 0 0 cm /I Do Q {STAMP}"), &options);
    assert_eq!(parsed.text, "Scanned words of the copper kettle and more");
    assert!(warnings(&parsed).contains("were recognised"));
}

#[test]
fn pictures_that_leave_room_for_a_few_lines_are_told_as_not_read() {
    let scan = "q 552 0 0 491 30 60 cm /I Do Q ";
    let lines = |count: u16| -> String {
        let line = |n| {
            format!(
                "BT /F 11 Tf 72 {} Td (Typed above the scan) Tj ET ",
                760 - 16 * n
            )
        };
        (0..count).map(line).collect()
    };
    let few = read(&(scan.to_owned() + &lines(2)), &Options::default());
    assert!(few.text.contains("Typed above the scan"));
    let said = "pictures fill most of 1 pages (1 to 1); words in them were not read\n";
    assert_eq!(warnings(&few), said);
    let many = read(&(scan.to_owned() + &lines(12)), &Options::default());
    assert_eq!(warnings(&many), "");
}
