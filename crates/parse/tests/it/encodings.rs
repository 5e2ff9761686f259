//! Files in other encodings than most: read as if they were in UTF-8.

use parse::{Hints, Limits};
use samples::{Sample, archive_of_bytes};

fn text_of(bytes: &[u8]) -> String {
    let parsed = parse::parse(bytes, &Hints::default(), &Limits::default()).unwrap();
    assert_eq!(parsed.gaps, []);
    parsed.text
}

/// The same archive with every part that is XML written otherwise.
fn rewritten(sample: &Sample, otherwise: impl Fn(&str) -> Vec<u8>) -> Vec<u8> {
    let parts = samples::all_parts(&sample.bytes);
    let parts = parts.into_iter().map(|(name, bytes)| {
        let bytes = match name == "mimetype" {
            true => bytes,
            false => otherwise(&String::from_utf8(bytes).unwrap()),
        };
        (name, bytes)
    });
    let parts: Vec<(String, Vec<u8>)> = parts.collect();
    let parts: Vec<(&str, &[u8])> = parts
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
        .collect();
    archive_of_bytes(&parts)
}

/// A way to write a part down.
type Writing<'a> = &'a dyn Fn(&str) -> Vec<u8>;

fn utf16(text: &str, of: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(of).collect()
}

fn declared(text: &str, encoding: &str) -> String {
    let rest = text.split_once("?>").map_or(text, |(_, rest)| rest);
    format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>{rest}")
}

#[test]
fn parts_of_an_archive_may_be_in_any_encoding_of_xml() {
    let archives = samples::all().into_iter().filter(|sample| {
        let archives = [".docx", ".pptx", ".xlsx", ".odt", ".epub"];
        archives.iter().any(|end| sample.name.ends_with(end))
    });
    for sample in archives {
        let expected = text_of(&sample.bytes);
        let marked = |text: &str| {
            utf16(
                &format!("\u{feff}{}", declared(text, "UTF-16")),
                u16::to_le_bytes,
            )
        };
        let big = |text: &str| {
            utf16(
                &format!("\u{feff}{}", declared(text, "UTF-16")),
                u16::to_be_bytes,
            )
        };
        let unmarked = |text: &str| utf16(&declared(text, "UTF-16LE"), u16::to_le_bytes);
        let utf8 = |text: &str| format!("\u{feff}{}", declared(text, "UTF-8")).into_bytes();
        let western = |text: &str| {
            let text = declared(text, "windows-1252");
            encoding_rs::WINDOWS_1252.encode(&text).0.into_owned()
        };
        let eastern = |text: &str| {
            let text = declared(text, "Shift_JIS");
            encoding_rs::SHIFT_JIS.encode(&text).0.into_owned()
        };
        let ways: [Writing<'_>; 6] = [&marked, &big, &unmarked, &utf8, &western, &eastern];
        for (n, way) in ways.into_iter().enumerate() {
            assert_eq!(
                text_of(&rewritten(&sample, way)),
                expected,
                "{} {n}",
                sample.name
            );
        }
    }
}

#[test]
fn an_office_part_keeps_its_letters_and_its_places_in_any_encoding() {
    let words = "M\u{fc}hle \u{6c34}\u{8eca} \u{1f33e}";
    let body =
        format!("<w:p><w:r><w:t>first</w:t></w:r></w:p><w:p><w:r><w:t>{words}</w:t></w:r></w:p>")
            .repeat(40);
    let file = Sample {
        name: "a.docx".to_owned(),
        bytes: samples::office::docx(&body),
    };
    let wide = rewritten(&file, |text| {
        utf16(&format!("\u{feff}{text}"), u16::to_be_bytes)
    });
    let parsed = parse::parse(&wide, &Hints::default(), &Limits::default()).unwrap();
    assert_eq!(parsed.text, text_of(&file.bytes));
    let parts = samples::all_parts(&wide);
    let (_, part) = parts
        .iter()
        .find(|(name, _)| name == "word/document.xml")
        .unwrap();
    let mut seen = 0;
    for atom in parsed
        .atoms
        .iter()
        .filter(|atom| parsed.text[atom.span.bytes()] == *words)
    {
        let source = atom.source.as_ref().unwrap();
        let cut = &part[source.start as usize..source.end as usize];
        let (cut, _) = encoding_rs::UTF_16BE.decode_without_bom_handling(cut);
        assert!(cut.contains(words), "{cut}");
        assert!(cut.len() < 400, "{cut}");
        seen += 1;
    }
    assert_eq!(seen, 40);
}

#[test]
fn a_page_may_declare_an_encoding_with_escapes() {
    let page = "<html><meta charset=iso-2022-jp><body><p>\u{6c34}\u{8eca}</p></body></html>";
    let (bytes, _, _) = encoding_rs::ISO_2022_JP.encode(page);
    assert_eq!(text_of(&bytes), "\u{6c34}\u{8eca}");
}

#[test]
fn bytes_that_mean_nothing_are_warned_of_in_pages_and_json_as_in_text() {
    let broken = |before: &str, behind: &str| {
        let words = "Die Mühle am Fluß mahlt täglich für die Dörfer. ".repeat(3);
        let first = format!("{before}{words}");
        let lines = [
            first.as_bytes(),
            b" Here \xff it broke, \xfe\n".as_slice(),
            b" and here \xff",
            behind.as_bytes(),
        ];
        lines.concat()
    };
    for (name, bytes) in [
        ("a.txt", broken("", "\n")),
        ("a.html", broken("<html><body><p>", "</p></body></html>")),
        ("a.json", in_one_line(broken("{\"a\": \"", "\"}"))),
    ] {
        let parsed = parse::parse(&bytes, &Hints::of_filename(name), &Limits::default());
        let parsed = parsed.unwrap();
        assert!(parsed.text.contains('\u{fffd}'), "{name}: {}", parsed.text);
        let said: Vec<_> = parsed.warnings.iter().map(|w| &*w.message).collect();
        let lines = if name == "a.json" { 1 } else { 2 };
        let expected = format!("{lines} lines hold bytes that are not UTF-8");
        assert_eq!(said, [expected], "{name}");
    }
    let whole = "<p>A sign of its own: \u{fffd}</p>".as_bytes();
    let parsed = parse::parse(whole, &Hints::of_filename("a.html"), &Limits::default());
    assert_eq!(parsed.unwrap().warnings, []);
}

/// Strings in JSON go over no line end.
fn in_one_line(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.retain(|byte| *byte != b'\n');
    bytes
}
