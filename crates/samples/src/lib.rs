//! Documents made by this project: one small file of every format, and ways to damage them.
//!
//! Tests, the mutation run and the fuzz targets share them, so what one finds the others
//! can repeat.

mod damage;
pub mod office;
pub mod pdf;
pub mod text;

use std::io::{Cursor, Read, Write};

use zip::write::SimpleFileOptions;

pub use damage::{Dice, damaged};

/// A file as somebody might hand it in.
#[derive(Debug, Clone)]
pub struct Sample {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// One document of every format.
pub fn all() -> Vec<Sample> {
    let text = |text: &str| text.as_bytes().to_vec();
    let files = [
        ("mill.md", text(text::MARKDOWN)),
        ("mill.txt", text(text::TEXT)),
        ("grain.csv", text(text::CSV)),
        ("mill.json", text(text::JSON)),
        ("mill.jsonl", text(text::JSON_LINES)),
        ("mills.html", text(text::PAGE)),
        ("letter.eml", text(text::MAIL)),
        ("mill.rtf", text(text::RTF)),
        ("mill.docx", office::docx(&office::docx_body())),
        ("mill.pptx", office::pptx()),
        ("yield.xlsx", office::xlsx()),
        ("mill.odt", office::odt()),
        ("book.epub", office::epub()),
        ("leaflet.pdf", pdf::leaflet()),
    ];
    let sample = |(name, bytes): (&str, Vec<u8>)| Sample {
        name: name.to_owned(),
        bytes,
    };
    files.into_iter().map(sample).collect()
}

/// A ZIP archive of these parts.
pub fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
    let parts = parts.iter().map(|(name, text)| (*name, text.as_bytes()));
    archive_of_bytes(&parts.collect::<Vec<_>>())
}

pub fn archive_of_bytes(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        let begun = zip.start_file(*name, SimpleFileOptions::default());
        begun.expect("a name of our own");
        let written = zip.write_all(content);
        written.expect("memory takes everything");
    }
    let done = zip.finish().expect("memory takes everything");
    done.into_inner()
}

/// Every part of an archive with its name, in the order they are kept.
pub fn all_parts(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut zip = zip::ZipArchive::new(Cursor::new(archive)).expect("an archive of ours");
    let count = zip.len();
    let read = |at: usize| {
        let mut part = zip.by_index(at).expect("one of its parts");
        let name = part.name().expect("a name of our own").into_owned();
        let mut bytes = Vec::new();
        part.read_to_end(&mut bytes).expect("memory gives it all");
        (name, bytes)
    };
    (0..count).map(read).collect()
}

/// The parts of an archive of ours as one text, with form feeds between them.
pub fn unpacked(sample: &Sample) -> Option<String> {
    let names = office::parts(&sample.name)?;
    let mut zip = zip::ZipArchive::new(Cursor::new(&sample.bytes)).ok()?;
    let texts = names.iter().map(|name| {
        let mut text = String::new();
        let mut part = zip.by_name(name).ok()?;
        part.read_to_string(&mut text).ok()?;
        Some(text)
    });
    Some(texts.collect::<Option<Vec<_>>>()?.join("\u{c}"))
}
