//! One parser, named by `GRISTMILL_FUZZ_FILE` (a file name such as `a.docx`), on any bytes.
//!
//! Archives are packed here, out of text whose parts are separated by form feeds, so that what
//! is fuzzed is the reader of the parts and not the checksums of the archive.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use parse::{Hints, Limits};

static NAME: LazyLock<String> =
    LazyLock::new(|| std::env::var("GRISTMILL_FUZZ_FILE").unwrap_or_else(|_| "a.txt".to_owned()));

/// Budgets small enough that what keeps to them is quick.
fn limits() -> Limits {
    Limits {
        pages: 64,
        inflated_bytes: 4 << 20,
        text_bytes: 4 << 20,
        atoms: 100_000,
        ..Limits::default()
    }
}

fuzz_target!(|bytes: &[u8]| {
    let file = repacked(bytes);
    let bytes = file.as_deref().unwrap_or(bytes);
    let parsed = parse::parse(bytes, &Hints::of_filename(NAME.as_str()), &limits());
    if let Ok(parsed) = parsed {
        holds(&parsed, bytes);
    }
});

/// What is true of everything read: spans cut the text, in order, without overlap; sources cut
/// the file.
fn holds(parsed: &model::Parsed, bytes: &[u8]) {
    let mut end = 0;
    for atom in &parsed.atoms {
        assert!(atom.span.byte_start >= end, "atoms overlap");
        let text = &parsed.text[atom.span.bytes()];
        assert_eq!(
            text.chars().count() as u64,
            atom.span.char_end - atom.span.char_start
        );
        end = atom.span.byte_end;
        if let Some(source) = &atom.source {
            assert!(source.start <= source.end, "a source ends before it begins");
            let inside = source.end <= bytes.len() as u64;
            assert!(source.part.is_some() || inside, "a source beyond the file");
        }
    }
    parse::to_markdown(parsed);
}

/// Text between form feeds as the parts of an archive, by the names the format looks for.
fn repacked(bytes: &[u8]) -> Option<Vec<u8>> {
    let names = samples::office::parts(&NAME)?;
    // An archive itself goes in as it is.
    if bytes.starts_with(b"PK") {
        return None;
    }
    let text = String::from_utf8_lossy(bytes);
    let parts: Vec<(&str, &str)> = names.iter().copied().zip(text.split('\u{c}')).collect();
    Some(samples::archive(&parts))
}
