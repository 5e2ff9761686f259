//! What was filled into the fields of a PDF is read where it stands.

use model::Parsed;
use parse::{Hints, Limits};

fn form(content: &str, fields: &[&str]) -> Parsed {
    let stream =
        |content: &str| format!("<</Length {}>>stream\n{content}\nendstream", content.len());
    let drawn = |content: &str| {
        let dict = "/Subtype/Form/BBox[0 0 200 30]/Resources<</Font<</F 5 0 R>>>>";
        let length = content.len();
        format!("<<{dict}/Length {length}>>stream\n{content}\nendstream")
    };
    let bytes = samples::pdf::file(&[
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R\
             /Resources<</Font<</F 5 0 R>>>>/Annots[{}]>>",
            fields.concat()
        ),
        stream(content),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
        drawn("BT /F 20 Tf 2 4 Td (APPROVED) Tj ET"),
    ]);
    let hints = Hints::of_filename("a.pdf");
    parse::parse(&bytes, &hints, &Limits::default()).unwrap()
}

const LABELS: &str = "BT /F 11 Tf 72 700 Td (Name:) Tj 0 -60 Td (Remarks:) Tj \
    0 -100 Td (Signed by hand.) Tj ET";

#[test]
fn words_of_fields_stand_behind_their_labels() {
    let parsed = form(
        LABELS,
        &[
            "<</Subtype/Widget/FT/Tx/V(Anna Miller)/Rect[105 696 300 712]>>",
            "<</Subtype/Widget/Parent<</Parent<</FT/Tx>>/V(First line\\nand a second)>>\
             /Rect[72 580 300 630]>>",
            "<</Subtype/Widget/FT/Ch/V[(rye)(wheat)]/Rect[72 560 300 576]>>",
        ],
    );
    let words: Vec<&str> = parsed.text.split_whitespace().collect();
    assert_eq!(
        words.join(" "),
        "Name: Anna Miller Remarks: First line and a second rye, wheat Signed by hand."
    );
    let page = parsed.atoms[0].boxes[0].page;
    assert_eq!(page, 1);
}

#[test]
fn what_is_typed_or_stamped_on_a_page_is_read_where_it_stands() {
    let stamp = "<</Subtype/Stamp/Contents(a remark)/Rect[300 400 500 430]/AP<</N 6 0 R>>>>";
    let parsed = form(
        LABELS,
        &[
            "<</Subtype/FreeText/Contents(Anna Miller)/Rect[105 696 300 712]>>",
            "<</Subtype/FreeText/F 2/Contents(hidden)/Rect[105 636 300 652]>>",
            stamp,
        ],
    );
    let words: Vec<&str> = parsed.text.split_whitespace().collect();
    assert_eq!(
        words.join(" "),
        "Name: Anna Miller Remarks: Signed by hand. APPROVED"
    );
}

#[test]
fn files_a_document_carries_are_named_as_not_read() {
    let bytes = samples::pdf::file(&[
        "<</Type/Catalog/Pages 2 0 R/Names<</EmbeddedFiles<</Kids[<</Names[(a)<</F(mill.csv)>>\
         (grain.txt)null]>>]>>>>>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]>>",
    ]);
    let parsed = parse::parse(&bytes, &Hints::default(), &Limits::default()).unwrap();
    let said = parsed
        .warnings
        .iter()
        .map(|warning| warning.message.as_str());
    let said: Vec<&str> = said.collect();
    assert!(
        said.contains(&"attachments were not read: mill.csv, grain.txt"),
        "{said:?}"
    );
}

#[test]
fn passwords_hidden_fields_and_buttons_are_not_read() {
    let parsed = form(
        LABELS,
        &[
            "<</Subtype/Widget/FT/Tx/Ff 8192/V(secret)/Rect[105 696 300 712]>>",
            "<</Subtype/Widget/FT/Tx/F 2/V(hidden)/Rect[105 696 300 712]>>",
            "<</Subtype/Widget/FT/Tx/F 32/V(unseen)/Rect[105 696 300 712]>>",
            "<</Subtype/Widget/FT/Btn/V/Yes/Rect[105 696 300 712]>>",
            "<</Subtype/Text/Contents(a comment)/Rect[105 696 300 712]>>",
        ],
    );
    for word in ["secret", "hidden", "unseen", "Yes", "comment"] {
        assert!(!parsed.text.contains(word), "{}", parsed.text);
    }
}

#[test]
fn a_form_made_to_hurt_costs_none_of_the_page() {
    let endless = "<</Subtype/Widget/Parent 3 0 R/FT/Tx/Rect[0 0 0 0]/V(x)\
        /AP<</N 4 0 R>>>>";
    let long = format!(
        "<</Subtype/Widget/FT/Tx/V({})/Rect[72 300 300 320]>>",
        "word ".repeat(100_000)
    );
    let many = "<</Subtype/Widget/FT/Tx/V(again)/Rect[72 200 300 220]/AP<</N null>>>>";
    let many = many.repeat(20_000);
    let parsed = form(LABELS, &[endless, &long, &many]);
    assert!(parsed.text.contains("Signed by hand."));
    assert!(parsed.text.len() < 200_000, "{}", parsed.text.len());
}
