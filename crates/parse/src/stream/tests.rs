//! Streams give what whole files give, however they are cut and wherever they resume.

use super::*;

fn slices(stream: Stream, bytes: &[u8], push: usize) -> Vec<Slice> {
    let mut stream = stream;
    let mut slices = Vec::new();
    for bytes in bytes.chunks(push) {
        slices.extend(stream.push(bytes).unwrap());
    }
    slices.push(stream.finish().unwrap());
    slices
}

fn joined(slices: &[Slice]) -> (String, Vec<Atom>) {
    let text = slices.iter().map(|slice| slice.text.as_str()).collect();
    let atoms = slices
        .iter()
        .flat_map(|slice| slice.atoms.clone())
        .collect();
    (text, atoms)
}

fn sample(format: Format) -> String {
    let mut text = String::new();
    for n in 0..9_000 {
        text.push_str(&match format {
            Format::Markdown => format!(
                "## Part {n}\n\nSome *words* on {n}.\n\n- one\n- two\n\n```\ncode {n}\n```\n\n"
            ),
            Format::Csv => format!("{n},\"name, of {n}\",\u{e4}{n}\r\n"),
            Format::JsonLines => {
                format!("{{\"n\":{n},\"of\":{{\"name\":\"the name of row {n}\"}}}}\n")
            }
            _ => format!("Paragraph {n} of a long text,\r\nin two lines.\r\n\r\n"),
        });
    }
    text
}

const STREAMED: [Format; 4] = [
    Format::Text,
    Format::Markdown,
    Format::Csv,
    Format::JsonLines,
];

#[test]
fn a_stream_in_any_pushes_gives_the_atoms_of_the_whole_file() {
    for format in STREAMED {
        let bytes = sample(format).into_bytes();
        let limits = Limits::default();
        let whole = whole(format, &bytes, &limits).unwrap();
        for push in [61, 4096, 1 << 20] {
            let streamed = joined(&slices(Stream::new(format, &limits), &bytes, push));
            assert!(streamed.0 == whole.text, "text of {format} by {push}");
            assert!(streamed.1 == whole.atoms, "atoms of {format} by {push}");
        }
    }
}

#[test]
fn a_stream_resumed_at_any_slice_emits_the_rest_and_nothing_twice() {
    for format in STREAMED {
        let bytes = sample(format).into_bytes();
        let limits = Limits::default();
        let all = slices(Stream::new(format, &limits), &bytes, 10_000);
        assert!(all.len() > 1, "{format} comes in several slices");
        for done in 1..all.len() {
            let from = all[done - 1].resume.clone();
            let rest = &bytes[from.source_byte as usize..];
            let resumed = slices(Stream::resume(from, &limits), rest, 7_777);
            let mut together = all[..done].to_vec();
            together.extend(resumed);
            assert!(
                joined(&together) == joined(&all),
                "{format} resumed after {done}"
            );
        }
    }
}

#[test]
fn source_ranges_cut_the_line_they_came_from() {
    let text = "First paragraph.\r\n\r\n\u{4f60}\u{597d}, second.\r\n";
    let parsed = whole(Format::Text, text.as_bytes(), &Limits::default()).unwrap();
    let source = parsed.atoms[1].source.unwrap();
    assert_eq!(
        &text[source.start as usize..source.end as usize],
        "\u{4f60}\u{597d}, second."
    );
}

#[test]
fn utf_16_is_cut_into_lines_by_its_own_units() {
    let mut bytes = vec![0xfe, 0xff];
    bytes.extend(
        "hello \u{4e16}\u{754c}\n\nsecond \u{0a0d}\n"
            .encode_utf16()
            .flat_map(u16::to_be_bytes),
    );
    let parsed = whole(Format::Text, &bytes, &Limits::default()).unwrap();
    assert_eq!(parsed.text, "hello \u{4e16}\u{754c}\n\nsecond \u{0a0d}");
}

#[test]
fn a_line_without_end_is_read_in_pieces_of_bounded_size() {
    let line = "\u{6f22}".repeat(200_000);
    let parsed = whole(Format::Text, line.as_bytes(), &Limits::default()).unwrap();
    assert!(parsed.atoms.len() > 5);
    assert_eq!(
        parsed.text.chars().filter(|c| *c == '\u{6f22}').count(),
        200_000
    );
}
