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

/// Every format that streams, and a text that is one paragraph.
fn samples() -> Vec<(Format, Vec<u8>)> {
    let streamed = Format::ALL.iter().filter(|format| format.streams());
    let mut samples: Vec<(Format, Vec<u8>)> = streamed
        .map(|format| (*format, sample(*format).into_bytes()))
        .collect();
    let lines = (0..12_000).map(|n| format!("{n} the stone was turned and the water let in\n"));
    samples.push((Format::Text, lines.collect::<String>().into_bytes()));
    samples.extend(awkward());
    samples
}

/// Files that leave something to be remembered beyond a slice.
fn awkward() -> [(Format, Vec<u8>); 7] {
    let lost: Vec<u8> = (0..9_000)
        .flat_map(|n| match n % 7 {
            0 => b"A line that was \xff lost, in one\n\n\n".to_vec(),
            _ => format!("Paragraph {n} of a long text,\nin two \u{e4} lines.\n\n").into_bytes(),
        })
        .collect();
    let broken = |n: usize| match n % 1_000 {
        3 => "{ no record\n".to_owned(),
        4 => "\n".to_owned(),
        _ => format!("{{\"n\":{n},\"name\":\"the name of row {n}, and more of it\"}}\n"),
    };
    let endless = |n: usize| match n {
        1_000 => "```\n".to_owned(),
        _ => {
            format!("# Line {n}\n\nof a [file](https://example.org/{n}) whose code has no end\n\n")
        }
    };
    let rows = |n: usize| match n {
        0 => "| Row | Of |\n|---|---|\n".to_owned(),
        _ => format!("| row {n} | a table that has *no* end |\n"),
    };
    // Told by what comes long after the beginning.
    let late = |n: usize| match n {
        ..30_000 => format!("Paragraph {n} of a plain text,\r\nin two lines.\r\n\r\n"),
        _ => format!("Mu\u{308}hle {n} am Flu\u{df}\n\n"),
    };
    let late: String = (0..40_000).map(late).collect();
    let late = crate::normal(&late);
    // Their lengths are about as much as is read in one piece.
    let long = |n: usize| format!("{}\n", "a sack of rye ".repeat(4_600 + n * 9));
    [
        (Format::Text, lost),
        (
            Format::JsonLines,
            (0..20_000).map(broken).collect::<String>().into_bytes(),
        ),
        (
            Format::Markdown,
            (0..24_000).map(endless).collect::<String>().into_bytes(),
        ),
        (
            Format::Markdown,
            (0..60_000).map(rows).collect::<String>().into_bytes(),
        ),
        (
            Format::Text,
            (0..24).map(long).collect::<String>().into_bytes(),
        ),
        (
            Format::Text,
            encoding_rs::WINDOWS_1252.encode(&late).0.into_owned(),
        ),
        (Format::Text, in_dos(&late)),
    ]
}

fn in_dos(text: &str) -> Vec<u8> {
    let byte = |c: char| match c {
        '\u{fc}' => 0x81,
        '\u{df}' => 0xe1,
        c => u8::try_from(c).unwrap(),
    };
    text.chars().map(byte).collect()
}

#[test]
fn letters_that_come_late_are_read_in_their_encoding() {
    let [.., (_, western), (_, dos)] = awkward();
    for bytes in [western, dos] {
        let parsed = whole(Format::Text, &bytes, &Limits::default()).unwrap();
        assert!(parsed.text.ends_with("M\u{fc}hle 39999 am Flu\u{df}"));
        assert_eq!(parsed.warnings, []);
    }
}

#[test]
fn a_byte_that_means_nothing_is_told_of() {
    let parsed = whole(Format::Text, b"caf\xe9 \x81 caf\xe9s\n", &Limits::default()).unwrap();
    assert_eq!(parsed.text, "caf\u{e9} \u{fffd} caf\u{e9}s");
    assert_eq!(parsed.warnings.len(), 1);
}

/// All that is said on the way.
fn warnings(slices: &[Slice]) -> Vec<&str> {
    let warnings = slices.iter().flat_map(|slice| &slice.warnings);
    warnings.map(|warning| warning.message.as_str()).collect()
}

#[test]
fn a_stream_in_any_pushes_gives_the_atoms_of_the_whole_file() {
    for (format, bytes) in samples() {
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
    for (format, bytes) in samples() {
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
            assert_eq!(warnings(&together), warnings(&all), "{format}");
        }
    }
}

#[test]
fn a_stream_resumed_between_two_pushes_gives_the_same_slices() {
    const PUSH: usize = 300_000;
    for (format, bytes) in samples() {
        let limits = Limits::default();
        let (mut calm, mut stream) = (Stream::new(format, &limits), Stream::new(format, &limits));
        for (nth, push) in bytes.chunks(PUSH).enumerate() {
            let (slice, expected) = (stream.push(push).unwrap(), calm.push(push).unwrap());
            assert!(slice == expected, "{format}, push {nth}");
            let Some(slice) = slice else { continue };
            // As it is stored meanwhile.
            let stored = serde_json::to_string(&slice.resume).unwrap();
            let from: Checkpoint = serde_json::from_str(&stored).unwrap();
            let held = &bytes[from.source_byte as usize..nth * PUSH + push.len()];
            stream = Stream::resume(from, &limits);
            assert_eq!(stream.push(held).unwrap(), None, "{format}: nothing twice");
        }
        let (slice, expected) = (stream.finish().unwrap(), calm.finish().unwrap());
        assert!(slice == expected, "{format}, at its end");
    }
}

#[test]
fn source_ranges_cut_the_line_they_came_from() {
    let text = "First paragraph.\r\n\r\n\u{4f60}\u{597d}, second.\r\n";
    let parsed = whole(Format::Text, text.as_bytes(), &Limits::default()).unwrap();
    let source = parsed.atoms[1].source.clone().unwrap();
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

const WORDS: &str = "\u{6c34}\u{8eca}\u{304c}\u{56de}\u{308b}\u{3002}";

fn in_iso_2022_jp(text: &str) -> Vec<u8> {
    let (bytes, _, lost) = encoding_rs::ISO_2022_JP.encode(text);
    assert!(!lost);
    bytes.into_owned()
}

#[test]
fn a_text_with_escapes_is_cut_between_characters_and_resumed_in_its_state() {
    // Lines far beyond the longest that is read in one piece.
    let text = format!("{}\n\nlast {WORDS}\n", WORDS.repeat(60_000)).repeat(3);
    let bytes = in_iso_2022_jp(&text);
    let limits = Limits::default();
    let all = slices(Stream::new(Format::Text, &limits), &bytes, 10_000);
    let (read, atoms) = joined(&all);
    let visible = |text: &str| {
        text.chars()
            .filter(|c| !c.is_whitespace())
            .collect::<String>()
    };
    assert!(visible(&read) == visible(&text));
    assert!(atoms.len() > 12 && all.len() > 2);
    for done in 1..all.len() {
        let from = all[done - 1].resume.clone();
        let rest = &bytes[from.source_byte as usize..];
        let resumed = slices(Stream::resume(from, &limits), rest, 7_777);
        let mut together = all[..done].to_vec();
        together.extend(resumed);
        assert!(joined(&together) == joined(&all), "resumed after {done}");
    }
}

#[test]
fn an_overlong_line_is_cut_between_characters_in_every_encoding() {
    let text = WORDS.repeat(40_000);
    let wide = |units: Vec<u8>| [b"\xff\xfe".to_vec(), units].concat();
    let files = [
        encoding_rs::SHIFT_JIS.encode(&text).0.into_owned(),
        encoding_rs::EUC_JP.encode(&text).0.into_owned(),
        encoding_rs::GB18030.encode(&text).0.into_owned(),
        wide(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        wide(
            [0, 0]
                .into_iter()
                .chain(text.chars().flat_map(|c| (c as u32).to_le_bytes()))
                .collect(),
        ),
        text.clone().into_bytes(),
    ];
    for file in files {
        let parsed = whole(Format::Text, &file, &Limits::default()).unwrap();
        assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
        let read: String = parsed.text.split_whitespace().collect();
        assert!(read == text);
    }
}

#[test]
fn a_range_in_another_encoding_is_of_its_own_bytes() {
    // As long in UTF-16 as in UTF-8, but not at the same places.
    let line = "# a\u{6c34} b\u{8eca} c d";
    let text = format!("{line}\n\n{line}\n");
    let bytes: Vec<u8> = format!("\u{feff}{text}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let parsed = whole(Format::Markdown, &bytes, &Limits::default()).unwrap();
    for atom in &parsed.atoms {
        let source = atom.source.as_ref().unwrap();
        let cut = &bytes[source.start as usize..source.end as usize];
        let (cut, _) = encoding_rs::UTF_16LE.decode_without_bom_handling(cut);
        assert!(cut.contains(&parsed.text[atom.span.bytes()]), "{cut}");
    }
}

#[test]
fn every_line_end_and_page_end_parts_paragraphs() {
    for text in [
        "one\rgoes on\r\rtwo\r",
        "one\ngoes on\u{c}two\n",
        "one\ngoes on\n\u{c}\ntwo",
        "o\0ne\ngoes on\n\0\ntwo\n",
    ] {
        let parsed = whole(Format::Text, text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(parsed.text, "one\ngoes on\n\ntwo", "{text:?}");
        assert_eq!(parsed.atoms.len(), 2, "{text:?}");
    }
}
