//! What a page prints, unpacked under two budgets, and how much text it may come to.
//!
//! A page may unpack so much and no more: beyond that it is lost, and a gap says so. All
//! streams of the file together, each counted once however often it is drawn, keep to the
//! budget of the document. Data is counted while it comes out; what a file says of its own
//! sizes is never believed. The few packings hayro undoes are counted once they are out.

use std::collections::HashSet;

use flate2::{Decompress, FlushDecompress, Status};
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, Stream};

use super::packing::{self, Ended};
use crate::{Budget, Error, Limits};

/// The instructions of a full page of print take kilobytes, those of a map some megabytes.
const PAGE_BYTES: u64 = 64 << 20;
/// A full page of print is some kilobytes of text. A font may claim that a letter is a book.
const PAGE_TEXT: u64 = 4 << 20;
/// Forms drawn by one page. Forms that draw forms double with every level.
const PAGE_FORMS: u32 = 20_000;

#[derive(Debug)]
pub(super) struct Inflater {
    limit: u64,
    left: u64,
    of_page: u64,
    forms: u32,
    text: u64,
    counted: HashSet<ObjectIdentifier>,
    spent: bool,
    damaged: bool,
}

impl Inflater {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            limit: limits.inflated_bytes,
            left: limits.inflated_bytes,
            of_page: 0,
            forms: 0,
            text: 0,
            counted: HashSet::new(),
            spent: false,
            damaged: false,
        }
    }

    /// Begins a page.
    pub(super) fn turn(&mut self) {
        self.of_page = PAGE_BYTES.min(self.limit);
        self.forms = PAGE_FORMS;
        self.text = PAGE_TEXT;
        self.spent = false;
        self.damaged = false;
    }

    /// Whether the page at hand wanted more than it may have.
    pub(super) fn spent(&self) -> bool {
        self.spent
    }

    /// Notes that something of the page at hand is not there.
    pub(super) fn miss(&mut self) {
        self.damaged = true;
    }

    /// Whether something of the page at hand could not be unpacked, or not to its end.
    pub(super) fn damaged(&self) -> bool {
        self.damaged
    }

    /// Whether the whole document wanted more than it may have.
    pub(super) fn within(&self) -> Result<(), Error> {
        if self.left > 0 {
            return Ok(());
        }
        Err(Error::OverBudget {
            budget: Budget::InflatedBytes,
            limit: self.limit,
        })
    }

    /// Whether the page at hand may print so many bytes of text more.
    pub(super) fn prints(&mut self, bytes: usize) -> bool {
        let left = self.text.checked_sub(bytes as u64);
        self.text = left.or_else(|| self.stop()).unwrap_or(0);
        left.is_some()
    }

    /// A form's instructions.
    pub(super) fn form(&mut self, stream: &Stream<'_>) -> Option<Vec<u8>> {
        self.forms = self.forms.checked_sub(1).or_else(|| self.stop())?;
        self.unpack(stream)
    }

    /// A stream's bytes; none if they are beyond a budget or not to be made out.
    pub(super) fn unpack(&mut self, stream: &Stream<'_>) -> Option<Vec<u8>> {
        let room = self.of_page.min(self.left);
        let (bytes, whole) = match packings(stream) {
            Some(packings) => unpacked(stream, &packings, room),
            None => {
                let bytes = stream.decoded_data().map(std::borrow::Cow::into_owned);
                // A packing that is unknown is passed over, and its bytes are taken for plain ones.
                let whole = bytes.is_ok() && names(stream).iter().all(|name| is_known(name));
                (bytes.unwrap_or_default(), whole)
            }
        };
        self.damaged |= !whole;
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

/// Undoes one packing, up to so many bytes and perhaps a few more.
type Packing = fn(&[u8], u64) -> (Vec<u8>, Ended);

/// What the stream is packed by, if all of it is undone here.
fn packings(stream: &Stream<'_>) -> Option<Vec<Packing>> {
    let dict = stream.dict();
    let plain = |params: Dict<'_>| params.get::<i32>(b"Predictor").is_none_or(|p| p <= 1);
    let one = dict.get::<Dict<'_>>(b"DecodeParms").is_none_or(plain);
    let several = dict.get::<Array<'_>>(b"DecodeParms").is_none_or(|all| {
        let mut all = all.iter::<Object<'_>>();
        all.all(|params| params.into_dict().is_none_or(plain))
    });
    let names = names(stream).into_iter().filter(|_| one && several);
    let packings: Option<Vec<Packing>> = names.map(|name| packing(&name)).collect();
    packings.filter(|packings| !packings.is_empty())
}

fn packing(name: &[u8]) -> Option<Packing> {
    match name {
        b"FlateDecode" | b"Fl" => Some(inflate),
        b"ASCII85Decode" | b"A85" => Some(packing::base85),
        b"ASCIIHexDecode" | b"AHx" => Some(packing::hex),
        b"RunLengthDecode" | b"RL" => Some(packing::runs),
        _ => None,
    }
}

fn is_known(name: &[u8]) -> bool {
    packing(name).is_some() || matches!(name, b"LZWDecode" | b"LZW" | b"Crypt")
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

/// A few bytes more than there is room for, at most: enough to tell. And whether that is all.
fn unpacked(stream: &Stream<'_>, packings: &[Packing], room: u64) -> (Vec<u8>, bool) {
    let mut bytes = stream.raw_data().into_owned();
    if bytes.is_empty() {
        let is_blank = stream.dict().get::<u32>(b"Length") == Some(0);
        return (bytes, is_blank);
    }
    let mut all = Ended::Well;
    for packing in packings {
        let (inner, ended) = packing(&bytes, room + 1);
        bytes = inner;
        // What came to its own end lacks nothing, though what it was packed in has none.
        all = if all == Ended::Wrong { all } else { ended };
    }
    let whole = all == Ended::Well || all == Ended::Early && is_tidy(&bytes);
    (bytes, whole)
}

/// What stands before the data itself, to say of what kind it is.
const HEAD: usize = 2;

/// As much as can be made out: files with a wrong checksum or a missing end are common.
fn inflate(bytes: &[u8], most: u64) -> (Vec<u8>, Ended) {
    let (out, ended) = run(Decompress::new(true), bytes, most);
    if ended != Ended::Wrong {
        return (out, ended);
    }
    // Without the checksum, or without a head if it is that which is wrong.
    let bare = if out.is_empty() {
        bytes
    } else {
        &bytes[HEAD.min(bytes.len())..]
    };
    let again = run(Decompress::new(false), bare, most);
    if again.0.len() >= out.len() {
        again
    } else {
        (out, ended)
    }
}

fn run(mut machine: Decompress, bytes: &[u8], most: u64) -> (Vec<u8>, Ended) {
    const STEP: usize = 64 << 10;
    let mut out = Vec::new();
    loop {
        let before = (machine.total_in(), machine.total_out());
        let room = most.saturating_sub(out.len() as u64).min(STEP as u64);
        if room == 0 {
            return (out, Ended::Well);
        }
        out.reserve(room as usize);
        let rest = &bytes[before.0 as usize..];
        let status = machine.decompress_vec(rest, &mut out, FlushDecompress::None);
        let stands = before == (machine.total_in(), machine.total_out());
        match status {
            Ok(Status::StreamEnd) => return (out, Ended::Well),
            Ok(_) if stands => return (out, Ended::Early),
            Ok(_) => {}
            Err(_) => return (out, Ended::Wrong),
        }
    }
}

/// Whether instructions end where a page's may: what lacks its last bytes seldom lacks a word.
fn is_tidy(instructions: &[u8]) -> bool {
    let end = instructions.trim_ascii_end();
    [&b"ET"[..], b"Q", b"EMC"]
        .iter()
        .any(|last| end.ends_with(last))
}
