//! Text strings of the document's own dictionaries: titles, authors, outline entries.

/// What the bytes 0x80 to 0x9f of PDFDocEncoding mean, and 0xa0 after them.
const UPPER: &str = "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž\u{fffd}€";
/// What the bytes 0x18 to 0x1f mean.
const ACCENTS: &str = "˘ˇˆ˙˝˛˚˜";

/// Reads a text string in whichever of its three encodings it is.
pub(super) fn decode(bytes: &[u8]) -> String {
    match bytes {
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        bytes if !bytes.is_ascii() && std::str::from_utf8(bytes).is_ok() => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        bytes => bytes.iter().map(|b| pdf_doc(*b)).collect(),
    }
}

/// One line, without controls and without a byte that says nothing; `None` when nothing is left.
pub(super) fn clean(bytes: &[u8]) -> Option<String> {
    let text = decode(bytes);
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|c| *c != '\u{feff}')
        .collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair));
    let mut out = String::new();
    let mut in_escape = false;
    for char in char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')) {
        // An escaped language code between two of these.
        if char == '\u{1b}' {
            in_escape = !in_escape;
        } else if !in_escape {
            out.push(char);
        }
    }
    out
}

fn pdf_doc(byte: u8) -> char {
    let nth = |table: &str, at: u8| table.chars().nth(at as usize).unwrap_or('\u{fffd}');
    match byte {
        0x18..=0x1f => nth(ACCENTS, byte - 0x18),
        0x80..=0xa0 => nth(UPPER, byte - 0x80),
        byte => byte as char,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_read_in_each_of_its_encodings() {
        assert_eq!(decode(b"Plain"), "Plain");
        assert_eq!(decode(b"\xfe\xff\x00\xc9t\x00"), "É琀");
        assert_eq!(decode("\u{feff}Über".as_bytes()), "Über");
        assert_eq!(decode(b"\x8dquoted\x8e \x80 \xe4 \x85"), "“quoted” • ä –");
        assert_eq!(clean(b"  two\r\n words\0 ").as_deref(), Some("two words"));
        assert_eq!(clean(b" \0"), None);
    }
}
