//! PDF: print to text.
//!
//! In: the bytes of a file. Out: its atoms in reading order, each with its boxes on
//! its pages. A PDF holds no words, only glyphs at places, so this is the flow from one
//! to the other:
//!
//! ```text
//! sheets ► page ► content (glyphs, rulings) ► fragment (links) ► line ► columns ► order
//!               ► folded, until the last page is read            (scan, for a picture)
//! pages ► furniture (edge, running, text_area)
//!       ► each page: table, aligned (wrapped) ► block ► formula ► passage (heading, figure)
//!       ► assemble (pieces)
//! ```
//!
//! A page that cannot be read, or is not there, is a gap. What hayro cannot survive (endless
//! allocation, endless loops) is the sandbox's business.

mod glyph;

mod strings;

mod script;

mod bidi;

mod font;

mod marks;

mod path;

mod packing;

mod inflate;

mod fields;

mod spacing;

mod content;

mod fragment;

mod line;

mod columns;

mod order;

mod scan;

mod sheets;

mod page;

mod folded;

mod page_number;

mod edge;

mod running;

mod text_area;

mod furniture;

mod table;

mod underscore;
mod wrapped;

mod aligned;

mod block;

mod marker;

mod formula;

mod destinations;

mod links;

mod outline;

mod heading;

mod figure;

mod prose;

mod passage;

mod assemble;

mod xmp;

mod attached;

mod meta;

mod image;

use std::collections::BTreeSet;
use std::sync::Arc;

use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use model::{PageSize, Parsed};

use crate::{Budget, Error, Format, Input, Limits, Options, TextBuilder};
use destinations::Destinations;
use folded::Folded;
use furniture::Edges;
use heading::Named;
use links::Links;
use page::Reader;
use sheets::Sheets;

pub use image::{Image, render_page};
pub use scan::{Recognised, is_picture, pictures};

/// Told before each page is read, and again before it is laid out, by its number from 1, and 0
/// after the last: whoever runs this under a watch learns which page it was that never ended.
pub type OnPage<'p> = &'p mut dyn FnMut(u32);

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let bytes = Arc::new(input.bytes.to_vec());
    parse_shared(bytes, input.limits, input.options, &mut |_| {})
}

/// Reads a PDF it shares with its caller, telling `on_page` where it is.
pub fn parse_shared(
    bytes: Arc<Vec<u8>>,
    limits: &Limits,
    options: &Options,
    on_page: OnPage<'_>,
) -> Result<Parsed, Error> {
    let pdf = open(bytes)?;
    let sheets = Sheets::of(&pdf);
    let count = sheets.count();
    if count > limits.pages {
        return Err(Error::OverBudget {
            budget: Budget::Pages,
            limit: u64::from(limits.pages),
        });
    }
    let mut builder = TextBuilder::new(limits);
    let mut inflater = inflate::Inflater::new(limits);
    meta::describe(&pdf, limits, &mut inflater, &mut builder);
    sheets.sizes().for_each(|size| builder.page(size));
    let wanted = options.pages.clone().unwrap_or(0..count);
    if wanted.contains(&0) {
        attached::disclose(&pdf, &mut builder);
    }
    let skipped: BTreeSet<u32> = options.skip.iter().copied().collect();
    let destinations = Destinations::of(&pdf, &sheets);
    let mut reader = Reader {
        fonts: font::Fonts::new(),
        inflater,
        hidden: marks::parts_off(pdf.xref()),
        links: Links::new(&destinations),
    };
    let (mut pages, mut edges) = (Vec::new(), Edges::default());
    for (number, page) in sheets.numbered() {
        if !wanted.contains(&(number - 1)) || skipped.contains(&(number - 1)) {
            continue;
        }
        let Some(page) = page else {
            builder.gap(Some((number, number)), sheets::LOST);
            continue;
        };
        on_page(number);
        let mut page = reader.read(page, number);
        reader.inflater.within()?;
        page.take_recognised(&options.recognised);
        edges.take(&page);
        pages.push(Folded::of(page));
    }
    on_page(0);
    let outline = outline::entries(&pdf, &destinations);
    edges.mark(&mut pages, &Named::of(&outline));
    let targets = reader.links.into_targets();
    targets.disclose(&mut builder);
    assemble::assemble(pages, &outline, &targets, &mut builder, on_page)?;
    Ok(builder.finish(Format::Pdf))
}

/// How many pages there are, and how large each is.
pub fn page_sizes(bytes: &[u8]) -> Result<Vec<PageSize>, Error> {
    let pdf = open(Arc::new(bytes.to_vec()))?;
    Ok(Sheets::of(&pdf).sizes().collect())
}

fn open(bytes: Arc<Vec<u8>>) -> Result<Pdf, Error> {
    let format = Format::Pdf;
    Pdf::new(bytes).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => Error::Encrypted { format },
        LoadPdfError::Decryption(_) => Error::damaged(format, "its encryption is of no known kind"),
        LoadPdfError::Invalid => Error::damaged(format, "it has no readable table of its objects"),
    })
}
