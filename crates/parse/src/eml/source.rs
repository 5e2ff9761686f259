//! Where the text of a mail stands in its file.

use std::borrow::Cow;

use mail_parser::{Encoding, HeaderName, Message, MessagePart, MimeHeaders};
use model::atom::SourceRange;

use crate::encoding::{Charset, Decoding, Places};

use super::quoted::{self, Steps};

/// The bytes a message was read from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'a> {
    File(&'a [u8]),
    /// Somewhere in this range of the file, perhaps behind an encoding of its own.
    Within(u64, u64),
}

impl Origin<'_> {
    /// Of a message that is a part of this one.
    pub(super) fn within(self, part: &MessagePart<'_>) -> Self {
        match self {
            Self::File(_) => Self::Within(part.offset_body.into(), part.offset_end.into()),
            within @ Self::Within(..) => within,
        }
    }

    /// The header fields of these names, from the first to the last.
    pub(super) fn field(
        self,
        message: &Message<'_>,
        names: &[HeaderName<'_>],
    ) -> Option<SourceRange> {
        if let Self::Within(start, end) = self {
            return Some(range(start, end));
        }
        let headers = message.parts.first()?.headers.iter();
        let places = headers
            .filter(|header| names.contains(&header.name))
            .map(|header| (header.offset_field, header.offset_end));
        let (start, end) = places.reduce(|(start, end), (s, e)| (start.min(s), end.max(e)))?;
        Some(range(start.into(), end.into()))
    }

    pub(super) fn body(self, part: &MessagePart<'_>, text: &str) -> Body {
        let (start, end) = (u64::from(part.offset_body), u64::from(part.offset_end));
        match self {
            Self::Within(start, end) => Body::Somewhere(start, end),
            Self::File(bytes) => match told(bytes, part, text) {
                Some((places, steps)) => Body::Told(start, Box::new(places), steps),
                None => Body::Somewhere(start, end),
            },
        }
    }
}

/// Where the text of one part stands.
pub(super) enum Body {
    /// From there on, as it is or quoted.
    Told(u64, Box<Places>, Option<Steps>),
    /// Behind an encoding that leaves no word as it is.
    Somewhere(u64, u64),
}

impl Body {
    pub(super) fn range(&self, text: &str, start: usize, end: usize) -> SourceRange {
        match self {
            Self::Somewhere(start, end) => range(*start, *end),
            Self::Told(base, places, steps) => {
                let (start, end) = places.range(text, start, end);
                let quoted = steps.as_ref().map(|steps| steps.range(start, end));
                let (start, end) = quoted.unwrap_or((start, end));
                range(base + start, base + end)
            }
        }
    }
}

/// How the text of a part lies in its bytes, if those are it in some encoding of characters,
/// quoted or not.
fn told(bytes: &[u8], part: &MessagePart<'_>, text: &str) -> Option<(Places, Option<Steps>)> {
    let raw = bytes.get(part.offset_body as usize..part.offset_end as usize)?;
    let (raw, steps) = match part.encoding {
        Encoding::None => (Cow::Borrowed(raw), None),
        Encoding::QuotedPrintable => {
            let (decoded, steps) = quoted::decode(raw)?;
            (Cow::Owned(decoded), Some(steps))
        }
        Encoding::Base64 => return None,
    };
    let named = part
        .content_type()
        .and_then(|kind| kind.attribute("charset"));
    let charset = named.and_then(Charset::named).unwrap_or(Charset::utf_8());
    let (read, places) = Decoding::whole(charset, &raw, 0);
    (read == text).then_some((places, steps))
}

fn range(start: u64, end: u64) -> SourceRange {
    SourceRange {
        part: None,
        start,
        end,
    }
}
