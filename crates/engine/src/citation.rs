//! Does a quote really stand in the document, as its bytes were taken in?
//!
//! Fails closed: the original must still be there and hash to what the ledger says, it is
//! read again by the parser, and the quote must stand in what the parser reads now and in
//! the text the index was made of, at the cited place. Anything else is not a proof.

use index::StoredChunk;
use model::{ContentHash, PageBox, Span, TenantId, VersionId};
use parse::Hints;
use pipeline::cite::{Verdict, verify_quote};

use crate::objects::{self, Key};
use crate::{Disposition, Engine, Error};

/// What is claimed to stand in a version.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub version: VersionId,
    pub quote: String,
    /// Characters of the version's text; the whole of it when left out.
    pub chars: Option<(u64, u64)>,
    /// Of the text at `chars`.
    pub hash: Option<ContentHash>,
}

/// Why a quote is not proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The original is gone.
    OriginalMissing,
    /// The original's bytes are not those that were taken in.
    OriginalChanged,
    /// The original cannot be read now.
    OriginalUnreadable,
    /// The original reads differently now from how it was indexed.
    ReadsDifferently,
    /// The text that was indexed is gone.
    TextMissing,
    /// There is no such place in the text.
    NoSuchPlace,
    /// The text at the place does not have the hash that was cited.
    OtherText,
    /// The quote does not stand there.
    Absent,
}

/// Where a quote was found to stand.
#[derive(Debug, Clone)]
pub struct Proof {
    /// The quote, but for white space.
    pub spaced: bool,
    pub at: Span,
    pub text: String,
    pub pages: Vec<u32>,
    pub boxes: Vec<PageBox>,
    pub content_hash: ContentHash,
    /// The ledger's root over the version's chunks.
    pub root_hash: Option<ContentHash>,
}

impl Engine {
    pub async fn verify_citation(
        &self,
        tenant: TenantId,
        claimed: &Claimed,
    ) -> Result<Result<Proof, Doubt>, Error> {
        let version = self.parts.catalog.version(tenant, claimed.version).await?;
        let original = Key::original(tenant, &version.content_hash);
        let bytes = match self.parts.objects.get(&original).await {
            Ok(bytes) => bytes,
            Err(objects::Error::Missing { .. }) => return Ok(Err(Doubt::OriginalMissing)),
            Err(error) => return Err(error.into()),
        };
        if ContentHash::of(&bytes) != version.content_hash {
            return Ok(Err(Doubt::OriginalChanged));
        }
        let stored = match self.text(tenant, claimed.version).await {
            Ok(text) => text,
            Err(Error::Objects(objects::Error::Missing { .. })) => {
                return Ok(Err(Doubt::TextMissing));
            }
            Err(error) => return Err(error),
        };
        let (span, verdict) = match placed(&stored, claimed) {
            Ok(found) => found,
            Err(doubt) => return Ok(Err(doubt)),
        };
        let hints = Hints {
            filename: Some(version.filename.clone()),
            media_type: version.media_type.clone(),
        };
        let read = match self.parts.sandbox.parse(bytes, hints).await {
            Ok(parsed) => parsed.text,
            Err(error) => return unreadable(error.into()),
        };
        if read.get(span.bytes()) != stored.get(span.bytes()) {
            return Ok(Err(Doubt::ReadsDifferently));
        }
        let (spaced, at) = verdict;
        let (pages, boxes) = printed(&self.chunks(tenant, claimed.version).await?, &at);
        Ok(Ok(Proof {
            spaced,
            text: stored[at.bytes()].to_owned(),
            at,
            pages,
            boxes,
            content_hash: version.content_hash,
            root_hash: version.root_hash,
        }))
    }
}

fn unreadable(error: Error) -> Result<Result<Proof, Doubt>, Error> {
    match error.disposition() {
        Disposition::Reject => Ok(Err(Doubt::OriginalUnreadable)),
        _ => Err(error),
    }
}

/// The cited part of the text, and where in it the quote stands.
fn placed(text: &str, claimed: &Claimed) -> Result<(Span, (bool, Span)), Doubt> {
    let span = span_of(text, claimed.chars).ok_or(Doubt::NoSuchPlace)?;
    let cited = &text[span.bytes()];
    let other = |hash| ContentHash::of(cited.as_bytes()) != hash;
    if claimed.hash.is_some_and(other) {
        return Err(Doubt::OtherText);
    }
    match verify_quote(text, &span, &claimed.quote) {
        Verdict::Exact { at } => Ok((span, (false, at))),
        Verdict::Spaced { at } => Ok((span, (true, at))),
        Verdict::Absent => Err(Doubt::Absent),
        Verdict::NoSuchPlace => Err(Doubt::NoSuchPlace),
    }
}

/// Characters as a span; `None` where the text has no such characters.
fn span_of(text: &str, chars: Option<(u64, u64)>) -> Option<Span> {
    let Some((from, to)) = chars else {
        return Some(Span {
            byte_start: 0,
            byte_end: text.len() as u64,
            char_start: 0,
            char_end: text.chars().count() as u64,
        });
    };
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let mut ends = ends.skip(usize::try_from(from).ok()?);
    let byte_start = ends.next()?;
    let byte_end = match to.checked_sub(from)? {
        0 => byte_start,
        length => ends.nth(usize::try_from(length - 1).ok()?)?,
    };
    Some(Span {
        byte_start: byte_start as u64,
        byte_end: byte_end as u64,
        char_start: from,
        char_end: to,
    })
}

/// Pages and boxes of the chunks the quote touches.
fn printed(chunks: &[StoredChunk], at: &Span) -> (Vec<u32>, Vec<PageBox>) {
    let mut pages = Vec::new();
    let mut boxes = Vec::new();
    for stored in chunks {
        let span = stored.chunk.span;
        if span.byte_start < at.byte_end && at.byte_start < span.byte_end {
            pages.extend(&stored.chunk.pages);
            boxes.extend(stored.chunk.boxes.iter().cloned());
        }
    }
    pages.sort_unstable();
    pages.dedup();
    (pages, boxes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(quote: &str, chars: Option<(u64, u64)>, hash: Option<&str>) -> Claimed {
        Claimed {
            version: VersionId::from_uuid(uuid::Uuid::nil()),
            quote: quote.to_owned(),
            chars,
            hash: hash.map(|text| ContentHash::of(text.as_bytes())),
        }
    }

    #[test]
    fn a_quote_is_placed_by_characters_and_every_doubt_has_its_name() {
        let text = "Käme das Wort. Dann nicht.";
        let check = |quote, chars, hash| {
            let found = placed(text, &claim(quote, chars, hash));
            found.map(|(_, (_, at))| (at.char_start, at.byte_start))
        };
        assert_eq!(check("das Wort", Some((0, 14)), None), Ok((5, 6)));
        assert_eq!(
            check("das Wort", None, Some(text)),
            Ok((5, 6)),
            "the whole text is a place too"
        );
        assert_eq!(check("Dann", Some((0, 14)), None), Err(Doubt::Absent));
        assert_eq!(check("das", Some((0, 99)), None), Err(Doubt::NoSuchPlace));
        assert_eq!(check("das", Some((9, 4)), None), Err(Doubt::NoSuchPlace));
        assert_eq!(
            check("das", Some((0, 14)), Some("other")),
            Err(Doubt::OtherText)
        );
    }
}
