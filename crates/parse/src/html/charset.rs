//! The characters of an HTML file: by its mark, by what it declares, by what it looks like.

use encoding_rs::{Encoding, UTF_8};

use crate::encoding;

/// Declarations count when they stand near the beginning.
const DECLARED_WITHIN: usize = 4096;

pub(crate) fn decode(bytes: &[u8]) -> String {
    if let Some((encoding, mark)) = encoding::bom(bytes) {
        return encoding
            .decode_without_bom_handling(&bytes[mark..])
            .0
            .into_owned();
    }
    let declared = declared(&bytes[..bytes.len().min(DECLARED_WITHIN)]);
    // A page that says UTF-8 and is not is one whose server said otherwise.
    let lies = declared == Some(UTF_8) && std::str::from_utf8(bytes).is_err();
    let sample = &bytes[..bytes.len().min(crate::Format::HEAD_BYTES)];
    let encoding = declared
        .filter(|_| !lies)
        .or_else(|| encoding::detect(sample))
        .unwrap_or(UTF_8);
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

/// `charset=…` in a meta element, or `encoding=…` in an XML declaration.
fn declared(head: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let meta = head
        .match_indices("charset")
        .filter(|(at, _)| {
            head[..*at]
                .rfind('<')
                .is_some_and(|open| head[open..].starts_with("<meta"))
        })
        .find_map(|(at, _)| label(&head[at + "charset".len()..]));
    let xml = || {
        let declaration = head.trim_start().strip_prefix("<?xml")?;
        let declaration = &declaration[..declaration.find("?>")?];
        label(&declaration[declaration.find("encoding")? + "encoding".len()..])
    };
    // UTF-16 cannot be declared in ASCII: whoever wrote so means UTF-8.
    meta.or_else(xml)
        .map(|e| if e.is_ascii_compatible() { e } else { UTF_8 })
}

fn label(after: &str) -> Option<&'static Encoding> {
    let value = after.trim_start().strip_prefix('=')?;
    let value = value.trim_start().trim_start_matches(['"', '\'']);
    let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c)));
    Encoding::for_label(&value.as_bytes()[..end.unwrap_or(value.len())])
}
