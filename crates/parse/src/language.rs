//! Which language a text is written in, as far as a sample tells.

use model::{Atom, AtomKind};
use whatlang::Lang;

const SAMPLE_BYTES: usize = 8 << 10;

/// Judged from running text only: code and tables mislead.
pub(crate) fn of_text(text: &str, atoms: &[Atom]) -> Option<String> {
    let mut sample = String::new();
    let prose = atoms.iter().filter(|atom| is_prose(&atom.kind));
    for atom in prose {
        let room = SAMPLE_BYTES.saturating_sub(sample.len());
        if room == 0 {
            break;
        }
        let whole = &text[atom.span.bytes()];
        sample.push_str(&whole[..whole.floor_char_boundary(room)]);
        sample.push('\n');
    }
    let info = whatlang::detect(&sample)?;
    info.is_reliable().then(|| iso(info.lang()))?
}

fn is_prose(kind: &AtomKind) -> bool {
    matches!(
        kind,
        AtomKind::Heading { .. }
            | AtomKind::Paragraph
            | AtomKind::ListItem { .. }
            | AtomKind::Quote
            | AtomKind::Footnote { .. }
    )
}

/// The language of a tag such as `de-CH`.
pub(crate) fn of_tag(tag: &str) -> Option<String> {
    let primary = tag.trim().split(['-', '_']).next()?.to_ascii_lowercase();
    match primary.len() {
        2 => Some(primary),
        3 => Lang::from_code(&primary).and_then(iso),
        _ => None,
    }
}

/// ISO 639-1 for the ISO 639-3 codes `whatlang` speaks.
fn iso(lang: Lang) -> Option<String> {
    let code = match lang.code() {
        "epo" => "eo",
        "eng" => "en",
        "rus" => "ru",
        "cmn" => "zh",
        "spa" => "es",
        "por" => "pt",
        "ita" => "it",
        "ben" => "bn",
        "fra" => "fr",
        "deu" => "de",
        "ukr" => "uk",
        "kat" => "ka",
        "ara" => "ar",
        "hin" => "hi",
        "jpn" => "ja",
        "heb" => "he",
        "yid" => "yi",
        "pol" => "pl",
        "amh" => "am",
        "jav" => "jv",
        "kor" => "ko",
        "nob" => "nb",
        "dan" => "da",
        "swe" => "sv",
        "fin" => "fi",
        "tur" => "tr",
        "nld" => "nl",
        "hun" => "hu",
        "ces" => "cs",
        "ell" => "el",
        "bul" => "bg",
        "bel" => "be",
        "mar" => "mr",
        "kan" => "kn",
        "ron" => "ro",
        "slv" => "sl",
        "hrv" => "hr",
        "srp" => "sr",
        "mkd" => "mk",
        "lit" => "lt",
        "lav" => "lv",
        "est" => "et",
        "tam" => "ta",
        "vie" => "vi",
        "urd" => "ur",
        "tha" => "th",
        "guj" => "gu",
        "uzb" => "uz",
        "pan" => "pa",
        "aze" => "az",
        "ind" => "id",
        "tel" => "te",
        "pes" => "fa",
        "mal" => "ml",
        "ori" => "or",
        "mya" => "my",
        "nep" => "ne",
        "sin" => "si",
        "khm" => "km",
        "tuk" => "tk",
        "aka" => "ak",
        "zul" => "zu",
        "sna" => "sn",
        "afr" => "af",
        "lat" => "la",
        "slk" => "sk",
        "cat" => "ca",
        "tgl" => "tl",
        "hye" => "hy",
        "cym" => "cy",
        _ => return None,
    };
    Some(code.to_owned())
}
