//! Text to normalised words, the way BERT cuts it.
//!
//! Control characters go, white space parts, punctuation and ideographs stand
//! alone; accents and case go where the model says so. Decomposition never
//! reaches across an ASCII character, so text is taken in alternating stretches of
//! ASCII and the rest.

use unicode_normalization::UnicodeNormalization;

use super::classes::{Classes, IDEOGRAPH, MARK, PUNCTUATION, REMOVED, UNSTABLE, classes};

/// Takes words in reading order.
pub trait Receiver {
    fn word(&mut self, word: &[u8]);
    fn added_token(&mut self, id: u32);
}

/// What a model's normaliser does.
#[derive(Debug, Clone, Copy)]
pub struct Normaliser {
    pub clean: bool,
    pub part_ideographs: bool,
    pub strip_accents: bool,
    pub lowercase: bool,
}

/// A token written out in the text itself, such as `[SEP]`.
pub struct AddedToken {
    pub text: String,
    pub id: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Byte {
    Space,
    Removed,
    Punctuation,
    /// Might begin an added token.
    Added,
    Letter(u8),
    Beyond,
}

pub struct Words {
    normaliser: Normaliser,
    bytes: [Byte; 256],
    /// Longest first.
    added: Vec<AddedToken>,
    classes: &'static Classes,
}

impl Words {
    /// Added tokens begin with ASCII.
    pub fn new(normaliser: Normaliser, mut added: Vec<AddedToken>) -> Self {
        added.sort_by_key(|token| std::cmp::Reverse(token.text.len()));
        let mut bytes = [Byte::Beyond; 256];
        for (byte, slot) in (0..128u8).zip(&mut bytes) {
            *slot = ascii(byte, normaliser);
        }
        for token in &added {
            bytes[usize::from(token.text.as_bytes()[0])] = Byte::Added;
        }
        Self {
            normaliser,
            bytes,
            added,
            classes: classes(),
        }
    }

    pub fn split(&self, text: &str, out: &mut impl Receiver) {
        let mut word = Word::new(out);
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match self.bytes[usize::from(*byte)] {
                Byte::Letter(letter) => word.bytes.push(letter),
                Byte::Space => word.end(),
                Byte::Punctuation => word.alone(&[*byte]),
                Byte::Removed => {}
                Byte::Added => at += self.added_or_plain(&text[at..], &mut word) - 1,
                Byte::Beyond => {
                    let stretch = beyond_ascii(&text[at..]);
                    self.stretch(stretch, &mut word);
                    at += stretch.len() - 1;
                }
            }
            at += 1;
        }
        word.end();
    }

    /// How many bytes were taken.
    fn added_or_plain(&self, text: &str, word: &mut Word<'_, impl Receiver>) -> usize {
        let found = self
            .added
            .iter()
            .find(|token| text.starts_with(&token.text));
        if let Some(token) = found {
            word.end();
            word.out.added_token(token.id);
            return token.text.len();
        }
        let byte = text.as_bytes()[0];
        match ascii(byte, self.normaliser) {
            Byte::Punctuation => word.alone(&[byte]),
            Byte::Letter(letter) => word.bytes.push(letter),
            Byte::Space => word.end(),
            Byte::Removed | Byte::Added | Byte::Beyond => {}
        }
        1
    }

    /// Only characters beyond ASCII. Those that decomposition leaves alone, most of
    /// them, are also where it starts afresh, so the others go to it by the run.
    fn stretch(&self, mut text: &str, word: &mut Word<'_, impl Receiver>) {
        let stable = |c: char| self.classes.of(c) & UNSTABLE == 0;
        while !text.is_empty() {
            let end = text.find(|c| !stable(c)).unwrap_or(text.len());
            for c in text[..end].chars() {
                self.clean(c, |c| self.finish(c, word));
            }
            text = &text[end..];
            let end = text.find(stable).unwrap_or(text.len());
            self.decompose(&text[..end], word);
            text = &text[end..];
        }
    }

    fn decompose(&self, text: &str, word: &mut Word<'_, impl Receiver>) {
        let mut kept = String::new();
        text.chars().for_each(|c| self.clean(c, |c| kept.push(c)));
        if self.normaliser.strip_accents {
            kept.nfd().for_each(|c| self.finish(c, word));
        } else {
            kept.chars().for_each(|c| self.finish(c, word));
        }
    }

    /// What comes before decomposition.
    fn clean(&self, c: char, mut out: impl FnMut(char)) {
        let class = self.classes.of(c);
        if self.normaliser.clean && class & REMOVED != 0 {
            return;
        }
        if self.normaliser.part_ideographs && class & IDEOGRAPH != 0 {
            [' ', c, ' '].into_iter().for_each(out);
        } else {
            out(c);
        }
    }

    /// What comes after decomposition.
    fn finish(&self, c: char, word: &mut Word<'_, impl Receiver>) {
        if self.normaliser.strip_accents && self.classes.of(c) & MARK != 0 {
            return;
        }
        if self.normaliser.lowercase {
            c.to_lowercase().for_each(|c| self.place(c, word));
        } else {
            self.place(c, word);
        }
    }

    fn place(&self, c: char, word: &mut Word<'_, impl Receiver>) {
        let mut buffer = [0; 4];
        let bytes = c.encode_utf8(&mut buffer).as_bytes();
        if c.is_whitespace() {
            word.end();
        } else if self.classes.of(c) & PUNCTUATION != 0 {
            word.alone(bytes);
        } else {
            word.bytes.extend_from_slice(bytes);
        }
    }
}

fn beyond_ascii(text: &str) -> &str {
    let ascii = text.bytes().position(|b| b.is_ascii());
    &text[..ascii.unwrap_or(text.len())]
}

fn ascii(byte: u8, normaliser: Normaliser) -> Byte {
    let c = char::from(byte);
    let kept = matches!(c, '\t' | '\n' | '\r');
    if normaliser.clean && c.is_ascii_control() && !kept {
        Byte::Removed
    } else if c.is_whitespace() {
        Byte::Space
    } else if c.is_ascii_punctuation() {
        Byte::Punctuation
    } else if normaliser.lowercase {
        Byte::Letter(byte.to_ascii_lowercase())
    } else {
        Byte::Letter(byte)
    }
}

/// The word being read.
struct Word<'a, R> {
    bytes: Vec<u8>,
    out: &'a mut R,
}

impl<'a, R: Receiver> Word<'a, R> {
    fn new(out: &'a mut R) -> Self {
        Self {
            bytes: Vec::with_capacity(64),
            out,
        }
    }

    fn end(&mut self) {
        if !self.bytes.is_empty() {
            self.out.word(&self.bytes);
            self.bytes.clear();
        }
    }

    fn alone(&mut self, word: &[u8]) {
        self.end();
        self.out.word(word);
    }
}
