//! What a page prints, unpacked under two budgets.
//!
//! A page may unpack so much and no more: beyond that it is lost, and a gap says so. All
//! streams of the file together, each counted once however often it is drawn, keep to the
//! budget of the document. Deflated data is counted while it comes out; what a file says of
//! its own sizes is never believed. The few other packings are counted once they are out.

use std::collections::HashSet;
use std::io::Read;

use flate2::read::{DeflateDecoder, ZlibDecoder};
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, Stream};

use crate::{Budget, Error, Limits};

/// The instructions of a full page of print take kilobytes, those of a map some megabytes.
const PAGE_BYTES: u64 = 64 << 20;
/// Forms drawn by one page. Forms that draw forms double with every level.
const PAGE_FORMS: u32 = 20_000;

#[derive(Debug)]
pub(super) struct Inflater {
    limit: u64,
    left: u64,
    of_page: u64,
    forms: u32,
    counted: HashSet<ObjectIdentifier>,
    spent: bool,
}

impl Inflater {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            limit: limits.inflated_bytes,
            left: limits.inflated_bytes,
            of_page: 0,
            forms: 0,
            counted: HashSet::new(),
            spent: false,
        }
    }

    /// Begins a page.
    pub(super) fn turn(&mut self) {
        self.of_page = PAGE_BYTES.min(self.limit);
        self.forms = PAGE_FORMS;
        self.spent = false;
    }

    /// Whether the page at hand wanted more than it may have.
    pub(super) fn spent(&self) -> bool {
        self.spent
    }

    /// Whether the whole document did.
    pub(super) fn within(&self) -> Result<(), Error> {
        if self.left > 0 {
            return Ok(());
        }
        Err(Error::OverBudget {
            budget: Budget::InflatedBytes,
            limit: self.limit,
        })
    }

    /// A form's instructions.
    pub(super) fn form(&mut self, stream: &Stream<'_>) -> Option<Vec<u8>> {
        self.forms = self.forms.checked_sub(1).or_else(|| self.stop())?;
        self.unpack(stream)
    }

    /// A stream's bytes; none if they are beyond a budget or not to be made out.
    pub(super) fn unpack(&mut self, stream: &Stream<'_>) -> Option<Vec<u8>> {
        let room = self.of_page.min(self.left);
        let bytes = if is_deflated(stream) {
            deflated(stream, room)
        } else {
            stream.decoded_data().ok().map(std::borrow::Cow::into_owned)
        };
        let bytes = bytes?;
        self.count(stream, bytes.len() as u64)?;
        Some(bytes)
    }

    fn count(&mut self, stream: &Stream<'_>, bytes: u64) -> Option<()> {
        self.of_page = self.of_page.checked_sub(bytes).or_else(|| self.stop())?;
        if self.counted.insert(stream.obj_id()) {
            self.left = self.left.saturating_sub(bytes);
        }
        (self.left > 0).then_some(()).or_else(|| self.stop())
    }

    fn stop<T>(&mut self) -> Option<T> {
        self.spent = true;
        None
    }
}

/// Whether it is packed by deflation only, once or several times over.
fn is_deflated(stream: &Stream<'_>) -> bool {
    let dict = stream.dict();
    let plain = |params: Dict<'_>| params.get::<i32>(b"Predictor").is_none_or(|p| p <= 1);
    let one = dict.get::<Dict<'_>>(b"DecodeParms").is_none_or(plain);
    let several = dict.get::<Array<'_>>(b"DecodeParms").is_none_or(|all| {
        let mut all = all.iter::<Object<'_>>();
        all.all(|params| params.into_dict().is_none_or(plain))
    });
    let names = names(stream);
    one && several && !names.is_empty() && names.iter().all(|name| is_flate(name))
}

fn is_flate(name: &[u8]) -> bool {
    matches!(name, b"FlateDecode" | b"Fl")
}

fn names(stream: &Stream<'_>) -> Vec<Vec<u8>> {
    let dict = stream.dict();
    if let Some(name) = dict.get::<Name<'_>>(b"Filter") {
        return vec![name.to_vec()];
    }
    let several = dict.get::<Array<'_>>(b"Filter");
    let several = several.iter().flat_map(Array::iter::<Name<'_>>);
    several.map(|name| name.to_vec()).collect()
}

/// One byte more than there is room for, at most: enough to tell.
fn deflated(stream: &Stream<'_>, room: u64) -> Option<Vec<u8>> {
    let mut bytes = stream.raw_data().into_owned();
    for _ in names(stream) {
        bytes = inflate(&bytes, room + 1);
    }
    Some(bytes)
}

/// As much as can be made out: files with a wrong checksum or a missing end are common.
fn inflate(bytes: &[u8], most: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let zlib = ZlibDecoder::new(bytes).take(most).read_to_end(&mut out);
    if zlib.is_err() && out.is_empty() {
        // An error here leaves what came before it, which is all that is to be had.
        let _ = DeflateDecoder::new(bytes).take(most).read_to_end(&mut out);
    }
    out
}
