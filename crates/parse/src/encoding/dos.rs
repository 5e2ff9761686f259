//! Code page 850 of DOS, which neither the web nor the guesser of encodings knows. Its letters are
//! those of code page 437 too.

use encoding_rs::Encoding;

/// Its upper half.
const HIGH: &str = "\
    \u{c7}\u{fc}\u{e9}\u{e2}\u{e4}\u{e0}\u{e5}\u{e7}\u{ea}\u{eb}\u{e8}\u{ef}\u{ee}\u{ec}\u{c4}\u{c5}\
    \u{c9}\u{e6}\u{c6}\u{f4}\u{f6}\u{f2}\u{fb}\u{f9}\u{ff}\u{d6}\u{dc}\u{f8}\u{a3}\u{d8}\u{d7}\u{192}\
    \u{e1}\u{ed}\u{f3}\u{fa}\u{f1}\u{d1}\u{aa}\u{ba}\u{bf}\u{ae}\u{ac}\u{bd}\u{bc}\u{a1}\u{ab}\u{bb}\
    \u{2591}\u{2592}\u{2593}\u{2502}\u{2524}\u{c1}\u{c2}\u{c0}\u{a9}\u{2563}\u{2551}\u{2557}\u{255d}\u{a2}\u{a5}\u{2510}\
    \u{2514}\u{2534}\u{252c}\u{251c}\u{2500}\u{253c}\u{e3}\u{c3}\u{255a}\u{2554}\u{2569}\u{2566}\u{2560}\u{2550}\u{256c}\u{a4}\
    \u{f0}\u{d0}\u{ca}\u{cb}\u{c8}\u{131}\u{cd}\u{ce}\u{cf}\u{2518}\u{250c}\u{2588}\u{2584}\u{a6}\u{cc}\u{2580}\
    \u{d3}\u{df}\u{d4}\u{d2}\u{f5}\u{d5}\u{b5}\u{fe}\u{de}\u{da}\u{db}\u{d9}\u{fd}\u{dd}\u{af}\u{b4}\
    \u{ad}\u{b1}\u{2017}\u{be}\u{b6}\u{a7}\u{f7}\u{b8}\u{b0}\u{a8}\u{b7}\u{b9}\u{b3}\u{b2}\u{25a0}\u{a0}\
    ";

pub(super) fn decode(bytes: &[u8]) -> String {
    let high: Vec<char> = HIGH.chars().collect();
    let read = |byte: &u8| match byte.checked_sub(0x80) {
        Some(at) => high[usize::from(at)],
        None => char::from(*byte),
    };
    bytes.iter().map(read).collect()
}

/// Whether a text is in it: the guess finds control characters within words, where this reads
/// letters.
pub(super) fn rather_than(guess: &'static Encoding, sample: &[u8]) -> bool {
    let inner: Vec<u8> = within_words(sample).collect();
    let (guessed, _) = guess.decode_without_bom_handling(&inner);
    let letters = decode(&inner).chars().filter(|c| c.is_lowercase()).count();
    guess.is_single_byte()
        && guessed.chars().any(char::is_control)
        && letters * 20 >= inner.len() * 19
}

/// Bytes beyond ASCII between Latin letters, the second of them small.
fn within_words(sample: &[u8]) -> impl Iterator<Item = u8> {
    let threes = sample.windows(3);
    threes
        .filter(|three| {
            three[0].is_ascii_alphabetic() && three[1] >= 0x80 && three[2].is_ascii_lowercase()
        })
        .map(|three| three[1])
}
