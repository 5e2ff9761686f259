//! Characters of symbol fonts, by what they look like.

/// The Symbol font from 0x22 on, as far as it differs from Latin letters and digits.
const SYMBOL_LOW: &str = "\u{2200}#\u{2203}%&\u{220d}()\u{2217}+,\u{2212}./0123456789:;<=>?\u{2245}\
\u{391}\u{392}\u{3a7}\u{394}\u{395}\u{3a6}\u{393}\u{397}\u{399}\u{3d1}\u{39a}\u{39b}\u{39c}\u{39d}\
\u{39f}\u{3a0}\u{398}\u{3a1}\u{3a3}\u{3a4}\u{3a5}\u{3c2}\u{3a9}\u{39e}\u{3a8}\u{396}[\u{2234}]\u{22a5}_\u{203e}\
\u{3b1}\u{3b2}\u{3c7}\u{3b4}\u{3b5}\u{3c6}\u{3b3}\u{3b7}\u{3b9}\u{3d5}\u{3ba}\u{3bb}\u{3bc}\u{3bd}\
\u{3bf}\u{3c0}\u{3b8}\u{3c1}\u{3c3}\u{3c4}\u{3c5}\u{3d6}\u{3c9}\u{3be}\u{3c8}\u{3b6}{|}\u{223c}";

/// The Symbol font from 0xa1 to 0xe1.
const SYMBOL_HIGH: &str = "\u{3d2}\u{2032}\u{2264}\u{2044}\u{221e}\u{192}\u{2663}\u{2666}\u{2665}\u{2660}\
\u{2194}\u{2190}\u{2191}\u{2192}\u{2193}\u{b0}\u{b1}\u{2033}\u{2265}\u{d7}\u{221d}\u{2202}\u{2022}\u{f7}\
\u{2260}\u{2261}\u{2248}\u{2026}|\u{2014}\u{21b5}\u{2135}\u{2111}\u{211c}\u{2118}\u{2297}\u{2295}\u{2205}\
\u{2229}\u{222a}\u{2283}\u{2287}\u{2284}\u{2282}\u{2286}\u{2208}\u{2209}\u{2220}\u{2207}\u{ae}\u{a9}\u{2122}\
\u{220f}\u{221a}\u{22c5}\u{ac}\u{2227}\u{2228}\u{21d4}\u{21d0}\u{21d1}\u{21d2}\u{21d3}\u{25ca}\u{2329}";

pub(super) fn meaning(code: u32, font: &str) -> Option<char> {
    let in_private_area = (0xf000..=0xf0ff).contains(&code);
    let byte = if in_private_area { code - 0xf000 } else { code } as usize;
    if font.eq_ignore_ascii_case("symbol") {
        return match byte {
            0x22..=0x7e => SYMBOL_LOW.chars().nth(byte - 0x22),
            0xa1..=0xe1 => SYMBOL_HIGH.chars().nth(byte - 0xa1),
            _ => None,
        };
    }
    match byte {
        _ if !in_private_area => char::from_u32(code),
        0xfc => Some('\u{2713}'),
        0xfe => Some('\u{2612}'),
        0xa8 => Some('\u{2610}'),
        0xe0 => Some('\u{2192}'),
        0xb7 | 0xa7 => Some('\u{2022}'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greek_letters_of_the_symbol_font_are_greek() {
        let read = |code| meaning(code, "Symbol");
        assert_eq!(read(0xf061), Some('\u{3b1}'));
        assert_eq!(read(0xf07a), Some('\u{3b6}'));
        assert_eq!(read(0xf0da), Some('\u{2228}'));
        assert_eq!(read(0xf0b7), Some('\u{2022}'));
    }
}
