//! The characters of an HTML file: by its mark, by what it declares, by what it looks like.

use encoding_rs::{Encoding, UTF_8};

use crate::encoding::declared::{in_xml, label};
use crate::encoding::{self, Charset, Decoding, Places};

/// Declarations count when they stand near the beginning.
const DECLARED_WITHIN: usize = 4096;

/// The text of a file, and where its characters stood.
pub(crate) fn decode(bytes: &[u8]) -> (String, Places) {
    let (charset, mark) = encoding::bom(bytes).unwrap_or_else(|| (unmarked(bytes), 0));
    Decoding::whole(charset, bytes, mark)
}

fn unmarked(bytes: &[u8]) -> Charset {
    let declared = declared(&bytes[..bytes.len().min(DECLARED_WITHIN)]);
    let is_utf_8 = std::str::from_utf8(bytes).is_ok();
    // A page that says UTF-8 and is not is one whose server said otherwise.
    let lies = declared == Some(UTF_8) && !is_utf_8;
    // Text with a byte for each letter is UTF-8 by chance only if it is plain ASCII.
    if is_utf_8 && !bytes.is_ascii() && declared.is_some_and(Encoding::is_single_byte) {
        return Charset::utf_8();
    }
    declared
        .filter(|_| !lies)
        .map(Charset::Web)
        .or_else(|| encoding::detect_in(bytes).map(|(charset, _)| charset))
        .unwrap_or(Charset::utf_8())
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
    meta.or_else(|| in_xml(&head))
}
