//! The encoding a file names within itself, in ASCII.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::{Charset, bom};

/// `encoding=…` in an XML declaration at the beginning, in lower case.
pub(crate) fn in_xml(head: &str) -> Option<&'static Encoding> {
    let declaration = head.trim_start().strip_prefix("<?xml")?;
    let declaration = &declaration[..declaration.find("?>")?];
    label(&declaration[declaration.find("encoding")? + "encoding".len()..])
}

/// The value after a name such as `charset`.
pub(crate) fn label(after: &str) -> Option<&'static Encoding> {
    let value = after.trim_start().strip_prefix('=')?;
    let value = value.trim_start().trim_start_matches(['"', '\'']);
    let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c)));
    let encoding = Encoding::for_label(&value.as_bytes()[..end.unwrap_or(value.len())])?;
    // UTF-16 cannot be declared in ASCII: whoever wrote so means UTF-8.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else {
        encoding
    })
}

/// What an XML document that begins so is written in, and how many bytes its mark takes.
pub(crate) fn of_xml(head: &[u8]) -> (Charset, usize) {
    if let Some(marked) = bom(head) {
        return marked;
    }
    let charset = match head {
        [b'<', 0, 0, 0, ..] => Charset::Utf32Le,
        [0, 0, 0, b'<', ..] => Charset::Utf32Be,
        [b'<', 0, _, 0, ..] => Charset::Web(UTF_16LE),
        [0, b'<', 0, _, ..] => Charset::Web(UTF_16BE),
        _ => {
            let head = String::from_utf8_lossy(head).to_ascii_lowercase();
            in_xml(&head).map_or(Charset::utf_8(), Charset::Web)
        }
    };
    (charset, 0)
}
