//! Tells formats apart by what is in the file.

use std::collections::BTreeSet;

use crate::encoding::{self, Decoded};
use crate::{Error, Format, Hints, archive};

/// PDF readers accept junk before the header; so do we, within the first kilobyte or so.
const PDF_HEADER_WITHIN: usize = 1100;

pub(crate) fn whole(bytes: &[u8], hints: &Hints) -> Result<Format, Error> {
    match head(bytes, hints)? {
        Some(format) => Ok(format),
        None => archive::format_of(bytes, hints),
    }
}

pub(crate) fn head(bytes: &[u8], hints: &Hints) -> Result<Option<Format>, Error> {
    if bytes.is_empty() {
        return of_nothing(hints).map(Some);
    }
    let bytes = &bytes[..bytes.len().min(Format::HEAD_BYTES)];
    if let Some(format) = by_magic(bytes, hints) {
        return Ok(Some(format));
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return Ok(None);
    }
    if let Some(what) = known_binary(bytes) {
        return Err(unsupported(what));
    }
    match encoding::decode_sample(bytes) {
        Some(sample) => Ok(Some(of_text(&sample, hints))),
        None => Err(unsupported("a binary file of unknown kind")),
    }
}

fn unsupported(what: impl Into<String>) -> Error {
    Error::Unsupported { what: what.into() }
}

/// An empty text is a text; an empty archive or PDF is broken.
fn of_nothing(hints: &Hints) -> Result<Format, Error> {
    match hints.suggested() {
        Some(format @ (Format::Html | Format::Markdown | Format::Text | Format::Csv)) => Ok(format),
        Some(format) => Err(Error::Empty { format }),
        None => Ok(Format::Text),
    }
}

fn by_magic(bytes: &[u8], hints: &Hints) -> Option<Format> {
    if bytes.starts_with(b"{\\rtf") {
        return Some(Format::Rtf);
    }
    let start = &bytes[..bytes.len().min(PDF_HEADER_WITHIN)];
    let header = start.windows(5).position(|window| window == b"%PDF-")?;
    // Further in, it may as well be a text that speaks of PDF or a mail that carries one.
    let is_pdf = header == 0
        || match hints.suggested() {
            Some(suggested) => suggested == Format::Pdf,
            None => bytes
                .windows(5)
                .any(|window| window == b" obj\n" || window == b" obj\r"),
        };
    is_pdf.then_some(Format::Pdf)
}

fn known_binary(bytes: &[u8]) -> Option<&'static str> {
    const MAGIC: &[(&[u8], &str)] = &[
        (b"\x7fELF", "an ELF program"),
        (b"MZ\x90", "a Windows program"),
        (b"\x89PNG\r\n", "a PNG picture"),
        (b"\xff\xd8\xff", "a JPEG picture"),
        (b"GIF8", "a GIF picture"),
        (b"BM", "a BMP picture"),
        (b"II*\0", "a TIFF picture"),
        (b"MM\0*", "a TIFF picture"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"\xfd7zXZ\0", "an xz archive"),
        (b"\x28\xb5\x2f\xfd", "a zstd archive"),
        (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
        (b"Rar!\x1a\x07", "a RAR archive"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            "an old Office file (DOC, XLS, PPT) or an encrypted Office file",
        ),
        (b"OggS", "an Ogg recording"),
        (b"ID3", "an MP3 recording"),
        (b"fLaC", "a FLAC recording"),
        (b"SQLite format 3\0", "a SQLite database"),
        (b"\0asm", "a WebAssembly module"),
        (b"wOFF", "a font"),
        (b"wOF2", "a font"),
        (b"RIFF", "a RIFF file (WebP, WAV, AVI)"),
    ];
    if bytes.starts_with(b"%!PS") {
        return Some("a PostScript file");
    }
    if bytes.starts_with(b"BZh") && bytes.get(4..10) == Some(b"1AY&SY") {
        return Some("a bzip2 archive");
    }
    // Letters also begin words; these files have a NUL soon after theirs.
    let has_nul = bytes.iter().take(32).any(|b| *b == 0);
    if bytes.get(4..8) == Some(b"ftyp") && has_nul {
        return Some("an MP4 or HEIF file");
    }
    let found = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic));
    let (magic, what) = found?;
    let is_a_word = magic.iter().all(u8::is_ascii_graphic);
    (!is_a_word || has_nul).then_some(*what)
}

fn of_text(sample: &Decoded, hints: &Hints) -> Format {
    let text = sample
        .text
        .trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    if looks_like_html(text) {
        return Format::Html;
    }
    let suggested = hints.suggested();
    let is_mail = match suggested {
        Some(Format::Markdown | Format::Csv) => false,
        // A memo has a sender and a subject as well.
        Some(Format::Text) => looks_like_mail(text) && has_field_of_mails_only(text),
        _ => looks_like_mail(text),
    };
    if is_mail {
        return Format::Eml;
    }
    if let Some(json) = looks_like_json(text, suggested) {
        return json;
    }
    match suggested {
        Some(format @ (Format::Markdown | Format::Csv | Format::Text | Format::Html)) => format,
        // What claims to be something else but is text is read as the text it is.
        None if looks_like_fragment(text) => Format::Html,
        _ if looks_like_csv(text) => Format::Csv,
        // A source or a configuration has comments that look like titles.
        _ if !hints.has_extension() && looks_like_markdown(text) => Format::Markdown,
        _ => Format::Text,
    }
}

fn looks_like_html(text: &str) -> bool {
    let mut rest = text;
    // Declarations, comments and processing instructions may stand before the root.
    for _ in 0..16 {
        rest = rest.trim_start();
        let end = if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<?") {
            "?>"
        } else {
            break;
        };
        match rest.find(end) {
            Some(at) => rest = &rest[at + end.len()..],
            None => return false,
        }
    }
    let start: String = rest
        .chars()
        .take(200)
        .collect::<String>()
        .to_ascii_lowercase();
    let tag = |name: &str| {
        start
            .strip_prefix('<')
            .and_then(|s| s.strip_prefix(name))
            .is_some_and(|s| s.starts_with(['>', ' ', '\n', '\t', '\r', '/']))
    };
    start.starts_with("<!doctype html")
        || (start.starts_with("<!doctype") && rest.contains("<html"))
        || ["html", "head", "body", "meta", "title"]
            .into_iter()
            .any(tag)
}

/// A piece of a page: it begins with a block that ends, and nothing in it is Markdown, in which
/// blocks of HTML may stand as well.
fn looks_like_fragment(text: &str) -> bool {
    const BLOCKS: &[&str] = &[
        "article",
        "blockquote",
        "div",
        "dl",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "ul",
    ];
    let Some(tag) = text.strip_prefix('<') else {
        return false;
    };
    let name = tag.split(|c: char| !c.is_ascii_alphanumeric()).next();
    let name = name.unwrap_or_default().to_ascii_lowercase();
    let is_tag = tag[name.len()..].starts_with(['>', ' ', '\n', '\t', '\r']);
    let ends = || text.to_ascii_lowercase().contains(&format!("</{name}>"));
    is_tag && BLOCKS.contains(&&*name) && ends() && !looks_like_markdown(text)
}

/// Fields of mails and of other letters, …
const LETTER_FIELDS: &[&str] = &["from", "to", "date", "subject"];
/// … and those that only mails have.
const MAIL_FIELDS: &[&str] = &[
    "message-id",
    "received",
    "mime-version",
    "return-path",
    "delivered-to",
    "content-type",
];

/// A mail begins with header fields, some of which tell it.
fn looks_like_mail(text: &str) -> bool {
    let mut telling = 0;
    for line in text.lines().take(60) {
        if line.is_empty() {
            break;
        }
        if line.starts_with([' ', '\t']) {
            continue;
        }
        let Some((name, _)) = line.split_once(':') else {
            // mbox separators and the like may open a mail, prose may not.
            if line.starts_with("From ") {
                continue;
            }
            return false;
        };
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return false;
        }
        let is_one = |field: &&str| name.eq_ignore_ascii_case(field);
        telling += usize::from(LETTER_FIELDS.iter().chain(MAIL_FIELDS).any(is_one));
    }
    telling >= 3
}

fn has_field_of_mails_only(text: &str) -> bool {
    let header = text.lines().take_while(|line| !line.is_empty());
    let mut names = header.filter_map(|line| Some(line.split_once(':')?.0));
    names.any(|name| MAIL_FIELDS.iter().any(|f| name.eq_ignore_ascii_case(f)))
}

fn looks_like_json(text: &str, suggested: Option<Format>) -> Option<Format> {
    if !text.starts_with(['{', '[']) {
        return match suggested {
            Some(format @ (Format::Json | Format::JsonLines)) if is_json_scalar(text) => {
                Some(format)
            }
            _ => None,
        };
    }
    let claims_lines = suggested == Some(Format::JsonLines);
    if claims_lines && !text.contains('\n') || looks_like_json_lines(text, suggested) {
        return Some(Format::JsonLines);
    }
    (suggested == Some(Format::Json) || opens_like_json(text)).then_some(Format::Json)
}

/// A record, and where there are more lines than one, another after it. Lists in brackets need a
/// file that does not claim to be prose: a line of it may be no more than `[1]`.
fn looks_like_json_lines(text: &str, suggested: Option<Format>) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    if serde_json::from_str::<serde::de::IgnoredAny>(first).is_err() {
        return false;
    }
    let is_prose = matches!(suggested, Some(Format::Markdown | Format::Text));
    match (suggested, lines.next().map(str::trim_start)) {
        (Some(Format::JsonLines), _) => true,
        (_, Some(second)) if first.starts_with('{') => second.starts_with('{'),
        (_, Some(second)) => !is_prose && second.starts_with('[') && opens_like_json(second),
        (_, None) => false,
    }
}

fn is_json_scalar(text: &str) -> bool {
    text.starts_with(['"', '-', 't', 'f', 'n']) || text.starts_with(|c: char| c.is_ascii_digit())
}

/// Reads into the file until the sample ends: an error before that means it is not JSON.
fn opens_like_json(text: &str) -> bool {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => true,
        Err(error) => error.is_eof() && text.len() > 2,
    }
}

/// Only a clear table counts: the same number of separators on line after line.
fn looks_like_csv(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().take(8).collect();
    let Some((first, rest)) = lines.split_first() else {
        return false;
    };
    [',', '\t', ';'].into_iter().any(|separator| {
        let count = |line: &str| line.matches(separator).count();
        let columns = count(first);
        let dense = first
            .split(separator)
            .all(|cell| cell.len() < 40 && !cell.trim().is_empty());
        columns >= 2 && rest.len() >= 2 && dense && rest.iter().all(|line| count(line) == columns)
    })
}

/// Signs enough, of two kinds at least: `# ` alone is how scripts begin their comments.
fn looks_like_markdown(text: &str) -> bool {
    let (mut signs, mut lines) = (0, 0);
    let mut kinds = BTreeSet::new();
    let mut all = text.lines().take(400).peekable();
    while let Some(line) = all.next() {
        lines += 1;
        let is_alone = all.peek().is_none_or(|next| next.trim().is_empty());
        if let Some((kind, weight)) = sign(line, is_alone) {
            signs += weight;
            kinds.insert(kind);
        }
    }
    !text.starts_with("#!") && kinds.len() >= 2 && signs >= 4 && signs * 25 >= lines
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    Title,
    Section,
    Fence,
    Task,
    Link,
    Item,
    Bold,
}

fn sign(line: &str, is_alone: bool) -> Option<(Sign, usize)> {
    let is_section = line.starts_with("## ") || line.starts_with("### ");
    if line.starts_with("```") {
        Some((Sign::Fence, 2))
    } else if line.starts_with("# ") {
        Some((Sign::Title, 2))
    } else if is_section && is_alone {
        Some((Sign::Section, 2))
    } else if line.starts_with("- [") {
        Some((Sign::Task, 2))
    } else if line.contains("](http") {
        Some((Sign::Link, 2))
    } else if line.starts_with("- ") {
        Some((Sign::Item, 1))
    } else {
        line.contains("**").then_some((Sign::Bold, 1))
    }
}
