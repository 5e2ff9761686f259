//! Citations that can be checked.
//!
//! A citation names everything needed to find a passage again without us: which version of
//! which document, the characters of its normalised text, the pages and rectangles it is printed
//! on, and the hash of its text. [`verify_quote`] says whether a quote really stands there.

use model::{Chunk, ChunkId, ContentHash, DocumentId, PageBox, SourceUri, Span};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Citation {
    pub document: DocumentId,
    pub source_uri: SourceUri,
    /// Holds the version.
    pub chunk: ChunkId,
    pub heading_path: Vec<String>,
    pub span: Span,
    pub pages: Vec<u32>,
    pub boxes: Vec<PageBox>,
    /// Of the chunk's text: the text cut at `span` must hash to it.
    pub text_hash: ContentHash,
}

pub fn cite(document: DocumentId, source_uri: SourceUri, id: ChunkId, chunk: &Chunk) -> Citation {
    Citation {
        document,
        source_uri,
        chunk: id,
        heading_path: chunk.heading_path.clone(),
        span: chunk.span,
        pages: chunk.pages.clone(),
        boxes: chunk.boxes.clone(),
        text_hash: chunk.text_hash(),
    }
}

impl Citation {
    /// Whether the version's text still has, at this place, what was cited.
    pub fn holds(&self, text: &str) -> bool {
        let cited = text.get(self.span.bytes());
        cited.is_some_and(|cited| ContentHash::of(cited.as_bytes()) == self.text_hash)
    }
}

/// What became of a quote held against the text it was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It stands there, character by character.
    Exact { at: Span },
    /// It stands there but for white space: line ends, double spaces.
    Spaced { at: Span },
    /// It does not stand in the cited part of the text.
    Absent,
    /// The text has no such part: the span is not of this version.
    NoSuchPlace,
}

impl Verdict {
    pub fn is_confirmed(&self) -> bool {
        matches!(self, Self::Exact { .. } | Self::Spaced { .. })
    }
}

/// Holds a quote against the part of a version's normalised text that is cited for it.
pub fn verify_quote(text: &str, span: &Span, quote: &str) -> Verdict {
    let Some(cited) = text.get(span.bytes()) else {
        return Verdict::NoSuchPlace;
    };
    let quote = quote.trim();
    if quote.is_empty() {
        return Verdict::Absent;
    }
    let place = |from: usize, to: usize| within(span, cited, from, to);
    if let Some(at) = cited.find(quote) {
        let at = place(at, at + quote.len());
        return Verdict::Exact { at };
    }
    match find_spaced(cited, quote) {
        Some((from, to)) => Verdict::Spaced {
            at: place(from, to),
        },
        None => Verdict::Absent,
    }
}

fn within(span: &Span, cited: &str, from: usize, to: usize) -> Span {
    let chars = |to: usize| cited[..to].chars().count() as u64;
    let inner = Span {
        byte_start: from as u64,
        byte_end: to as u64,
        char_start: chars(from),
        char_end: chars(to),
    };
    inner.shifted(span.byte_start, span.char_start)
}

/// Finds the quote where any run of white space equals any other.
fn find_spaced(cited: &str, quote: &str) -> Option<(usize, usize)> {
    let mut single = String::with_capacity(cited.len());
    let mut places = Vec::with_capacity(cited.len());
    for (at, char) in cited.char_indices() {
        let char = if char.is_whitespace() { ' ' } else { char };
        if char == ' ' && single.ends_with(' ') {
            continue;
        }
        places.extend((0..char.len_utf8()).map(|_| at));
        single.push(char);
    }
    places.push(cited.len());
    let quote = crate::structure::one_line(quote);
    let at = single.find(&quote)?;
    let last = single[at..at + quote.len()].chars().next_back()?;
    let last_at = places[at + quote.len() - last.len_utf8()];
    Some((places[at], last_at + last.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Zuerst dies. Dann käme das\nnächste Wort. Zuletzt jenes.";

    fn span(part: &str) -> Span {
        let at = TEXT.find(part).unwrap();
        let whole = Span {
            byte_start: 0,
            byte_end: 0,
            char_start: 0,
            char_end: 0,
        };
        within(&whole, TEXT, at, at + part.len())
    }

    #[test]
    fn a_quote_is_confirmed_where_it_stands_and_nowhere_else() {
        let cited = span("Dann käme das\nnächste Wort.");
        assert_eq!(
            verify_quote(TEXT, &cited, "käme das"),
            Verdict::Exact {
                at: span("käme das")
            }
        );
        assert_eq!(
            verify_quote(TEXT, &cited, "das  nächste Wort"),
            Verdict::Spaced {
                at: span("das\nnächste Wort")
            }
        );
        assert_eq!(verify_quote(TEXT, &cited, "Zuletzt jenes"), Verdict::Absent);
        assert_eq!(verify_quote(TEXT, &cited, "kam das"), Verdict::Absent);
        assert_eq!(verify_quote(TEXT, &cited, "  "), Verdict::Absent);
        assert_eq!(verify_quote("short", &cited, "käme"), Verdict::NoSuchPlace);
    }
}
