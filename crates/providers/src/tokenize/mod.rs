//! Text to the token ids a BERT-like model was trained on.
//!
//! In: text, and the `tokenizer.json` of a model folder. Out: ids, or only how
//! many there are. The answer is the reference tokenizer's, token for token:
//! `tests/local.rs` holds it to that. Truncation and padding in the file are
//! left out on purpose; what does not fit is for the embedder to refuse.
//!
//! Text is walked once: ASCII by a table of bytes, the rest by character class,
//! and each word is matched against a trie. Counting allocates next to nothing.

mod classes;
mod file;
mod trie;
mod words;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use model::TokenCounter;

use crate::Error;
use trie::Trie;
use words::Words;

/// WordPiece with BERT's normalisation, as one `tokenizer.json` describes it.
pub struct Tokenizer {
    /// Text is put in lower case before anything else sees it.
    lowers: bool,
    words: Words,
    pieces: Pieces,
    /// Ids put before and after every input.
    before: Vec<u32>,
    after: Vec<u32>,
    vocabulary: usize,
}

impl Tokenizer {
    pub fn open(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(|source| Error::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::read(path, &bytes)
    }

    /// `path` is where the bytes are from, for errors.
    pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        file::read(path, bytes)
    }

    /// As the folder around the file says. Not the normaliser's lower case: this one reaches
    /// tokens written out in the text, and leaves accents alone.
    pub(crate) fn lowering(self, lowers: bool) -> Self {
        Self { lowers, ..self }
    }

    /// Appends the ids of `text`, special tokens around it included.
    pub fn encode_into(&self, text: &str, ids: &mut Vec<u32>) {
        ids.extend(&self.before);
        self.split(text, ids);
        ids.extend(&self.after);
    }

    fn split(&self, text: &str, out: &mut impl Sink) {
        let text = if self.lowers {
            Cow::Owned(text.to_lowercase())
        } else {
            Cow::Borrowed(text)
        };
        self.words
            .split(&text, &mut Encoding::of(&self.pieces, out));
    }

    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::with_capacity(text.len() / 4 + 2);
        self.encode_into(text, &mut ids);
        ids
    }

    /// How many ids surround every input.
    pub fn special_tokens(&self) -> usize {
        self.before.len() + self.after.len()
    }

    /// One more than the largest id this can produce.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }
}

impl TokenCounter for Tokenizer {
    fn count(&self, text: &str) -> usize {
        let mut count = Count(0);
        self.split(text, &mut count);
        count.0
    }

    /// White space always ends a word, and no token reaches over it.
    fn adds_up(&self) -> bool {
        true
    }
}

/// The vocabulary, and how a word is put together from it.
struct Pieces {
    trie: Trie,
    /// Where in the trie the pieces that continue a word begin.
    continuation: u32,
    unknown: u32,
    longest_word: usize,
}

impl Pieces {
    /// The longest piece first, then the longest that continues it; a word that cannot
    /// be put together this way is one unknown token.
    fn word<S: Sink>(&self, word: &[u8], out: &mut S) {
        let start = out.mark();
        let mut rest = word;
        let mut root = trie::ROOT;
        if too_long(word, self.longest_word) {
            return out.push(self.unknown);
        }
        while !rest.is_empty() {
            let Some((id, length)) = self.trie.longest(root, rest) else {
                out.reset(start);
                return out.push(self.unknown);
            };
            out.push(id);
            rest = &rest[length..];
            root = self.continuation;
        }
    }
}

fn too_long(word: &[u8], limit: usize) -> bool {
    let starts_a_char = |b: &&u8| (**b as i8) >= -0x40;
    word.len() > limit && word.iter().filter(starts_a_char).count() > limit
}

/// Where tokens go: a list of ids, or a count.
trait Sink {
    fn mark(&self) -> usize;
    fn reset(&mut self, mark: usize);
    fn push(&mut self, id: u32);
}

impl Sink for Vec<u32> {
    fn mark(&self) -> usize {
        self.len()
    }

    fn reset(&mut self, mark: usize) {
        self.truncate(mark);
    }

    fn push(&mut self, id: u32) {
        Vec::push(self, id);
    }
}

struct Count(usize);

impl Sink for Count {
    fn mark(&self) -> usize {
        self.0
    }

    fn reset(&mut self, mark: usize) {
        self.0 = mark;
    }

    fn push(&mut self, _: u32) {
        self.0 += 1;
    }
}

/// Receives words and turns them into tokens.
struct Encoding<'a, S> {
    pieces: &'a Pieces,
    out: &'a mut S,
}

impl<'a, S: Sink> Encoding<'a, S> {
    fn of(pieces: &'a Pieces, out: &'a mut S) -> Self {
        Self { pieces, out }
    }
}

impl<S: Sink> words::Receiver for Encoding<'_, S> {
    fn word(&mut self, word: &[u8]) {
        self.pieces.word(word, self.out);
    }

    fn added_token(&mut self, id: u32) {
        self.out.push(id);
    }
}

/// The counter handed to whoever cuts text.
pub(crate) fn counter(tokenizer: &Arc<Tokenizer>) -> Arc<dyn TokenCounter> {
    Arc::clone(tokenizer) as Arc<dyn TokenCounter>
}
