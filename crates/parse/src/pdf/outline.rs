//! The document's own table of contents, as its outline has it.

use hayro_syntax::Pdf;
use hayro_syntax::object::{Dict, String as PdfString};

use super::destinations::Destinations;
use super::strings::clean;

/// More entries than this help nobody.
const MAX_ENTRIES: usize = 20_000;
const MAX_DEPTH: u8 = 12;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) title: String,
    /// 1 is the outermost.
    pub(super) level: u8,
    /// Counted from 1, where the entry says.
    pub(super) page: Option<u32>,
}

/// The entries in order.
pub(super) fn entries<'a>(pdf: &'a Pdf, destinations: &Destinations<'a>) -> Vec<Entry> {
    let xref = pdf.xref();
    let root = xref.get::<Dict<'_>>(xref.root_id());
    let first = root.and_then(|root| root.get::<Dict<'_>>(b"Outlines"));
    let first = first.and_then(|outlines| outlines.get::<Dict<'_>>(b"First"));
    let mut walk = Walk {
        destinations,
        found: Vec::new(),
    };
    if let Some(first) = first {
        walk.siblings(first, 1);
    }
    walk.found
}

struct Walk<'d, 'a> {
    destinations: &'d Destinations<'a>,
    found: Vec<Entry>,
}

impl<'a> Walk<'_, 'a> {
    fn siblings(&mut self, first: Dict<'a>, level: u8) {
        let mut next = Some(first);
        while let Some(item) = next.take() {
            // The bound also ends a ring of entries.
            if self.found.len() >= MAX_ENTRIES {
                return;
            }
            let title = item.get::<PdfString<'_>>(b"Title");
            self.found.push(Entry {
                title: title.and_then(|t| clean(t.as_bytes())).unwrap_or_default(),
                level,
                page: self.destinations.page(&item),
            });
            if level < MAX_DEPTH
                && let Some(child) = item.get::<Dict<'a>>(b"First")
            {
                self.siblings(child, level + 1);
            }
            next = item.get::<Dict<'a>>(b"Next");
        }
    }
}
