//! Text read in pieces gives what it gives as a whole, however it is cut. The first two bytes
//! choose the format and the size of the pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use parse::{Format, Hints, Limits, Stream};

const FORMATS: [(Format, &str); 4] = [
    (Format::Text, "a.txt"),
    (Format::Markdown, "a.md"),
    (Format::Csv, "a.csv"),
    (Format::JsonLines, "a.jsonl"),
];

fuzz_target!(|bytes: &[u8]| {
    let [first, size, bytes @ ..] = bytes else {
        return;
    };
    let (format, name) = FORMATS[usize::from(*first) % FORMATS.len()];
    let (hints, limits) = (Hints::of_filename(name), Limits::default());
    if bytes.is_empty() || Format::detect(bytes, &hints) != Ok(format) {
        return;
    }
    let whole = parse::parse(bytes, &hints, &limits);
    let pieces = in_pieces(format, bytes, usize::from(*size) + 1, &limits);
    match (whole, pieces) {
        (Ok(whole), Ok((text, atoms))) => {
            assert_eq!(whole.text, text);
            assert_eq!(whole.atoms.len(), atoms);
        }
        (whole, pieces) => assert_eq!(whole.is_ok(), pieces.is_ok()),
    }
});

fn in_pieces(
    format: Format,
    bytes: &[u8],
    size: usize,
    limits: &Limits,
) -> Result<(String, usize), parse::Error> {
    let (mut text, mut atoms) = (String::new(), 0);
    let mut stream = Stream::new(format, limits);
    for piece in bytes.chunks(size) {
        if let Some(slice) = stream.push(piece)? {
            text.push_str(&slice.text);
            atoms += slice.atoms.len();
        }
    }
    let last = stream.finish()?;
    text.push_str(&last.text);
    Ok((text, atoms + last.atoms.len()))
}
