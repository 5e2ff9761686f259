//! What parent and child say to each other over the pipe.
//!
//! ```text
//! frame    = length u64 LE | kind u8 | payload
//! parent   : Setup, then for each document Request, Document
//! child    : Hello, then for each document Page*, one of Parsed | Refused | Image | Panicked, Done
//! ```
//!
//! A frame longer than the receiver allows is refused before it is read.

use std::io::{self, Read, Write};
use std::time::Duration;

use bytes::Bytes;
use model::Parsed;
use parse::{Checkpoint, Hints, Limits, Options};
use serde::{Deserialize, Serialize};

use crate::allowance::Time;
use crate::error::Death;
use crate::settings::Settings;
use crate::tool::Tool;

pub(crate) const HEAD: usize = 9;

/// As much as a pipe holds.
pub(crate) const ONE_PIECE: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Setup = 1,
    Request = 2,
    Document = 3,
    Piece = 4,
    End = 5,
    Hello = 10,
    Page = 11,
    Parsed = 12,
    Refused = 13,
    Image = 14,
    Panicked = 15,
    TooLarge = 16,
    Done = 17,
    Streams = 18,
    Whole = 19,
    Slice = 20,
}

impl Kind {
    fn of(byte: u8) -> io::Result<Self> {
        const ALL: [Kind; 16] = [
            Kind::Setup,
            Kind::Request,
            Kind::Document,
            Kind::Piece,
            Kind::End,
            Kind::Hello,
            Kind::Page,
            Kind::Parsed,
            Kind::Refused,
            Kind::Image,
            Kind::Panicked,
            Kind::TooLarge,
            Kind::Done,
            Kind::Streams,
            Kind::Whole,
            Kind::Slice,
        ];
        let known = ALL.into_iter().find(|kind| *kind as u8 == byte);
        known.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a frame of no known kind"))
    }
}

/// The first thing a child is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    pub(crate) memory_bytes: u64,
    /// How far it stands back for others, up to 19.
    #[serde(default)]
    pub(crate) niceness: i32,
    /// Read no documents but become this, after the hello.
    #[serde(default)]
    pub(crate) tool: Option<Tool>,
}

/// Which of its protections a child could put up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holds {
    pub memory: bool,
    /// No file can be opened.
    pub landlock: bool,
    /// System calls beyond reading, writing and memory fail.
    pub seccomp: bool,
}

impl Holds {
    pub(crate) const fn all(&self) -> bool {
        self.memory && self.landlock && self.seccomp
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) want: Want,
    pub(crate) hints: Hints,
    pub(crate) limits: Limits,
    pub(crate) cpu_seconds: u64,
    /// The parent's to keep.
    #[serde(skip)]
    pub(crate) wall: Duration,
    pub(crate) output_bytes: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Want {
    Parse(Options),
    Render {
        page: u32,
        scale: f32,
    },
    /// In pieces, of which the document is only the beginning.
    Stream,
    /// The same from there on; the document is empty.
    Resume(Checkpoint),
}

impl Request {
    pub(crate) fn parse(hints: Hints, settings: &Settings) -> Self {
        Self {
            want: Want::Parse(Options::default()),
            hints,
            limits: settings.limits,
            cpu_seconds: settings.cpu.as_secs().max(1),
            wall: settings.wall,
            output_bytes: settings.output_bytes,
        }
    }

    pub(crate) fn within(self, time: Time) -> Self {
        // To the nearest: a moment short of two seconds is not one.
        let cpu = time.cpu + Duration::from_millis(500);
        Self {
            cpu_seconds: cpu.as_secs().max(1),
            wall: time.wall,
            ..self
        }
    }
}

/// How a document ended, as the parent sees it.
#[derive(Debug)]
pub(crate) enum Answer {
    Parsed(Box<Parsed>),
    Image(Bytes),
    Refused(parse::Error),
    Died {
        death: Death,
        reached: Reached,
        used: Time,
    },
}

/// How far a child had come when it died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    NoPage,
    /// It was at this page, counted from 1, and most of its time had gone there, or had not.
    Page {
        page: u32,
        most: bool,
    },
    /// It had read all it was to read, up to this page, and was putting them together.
    End {
        last: u32,
    },
}

/// A page that a child begins, counted from 1, or 0 after the last; and the processor time it
/// had used by then, since it began to exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) page: u32,
    pub(crate) cpu: Duration,
}

impl Note {
    const BYTES: usize = 12;

    pub(crate) fn encoded(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.page.to_le_bytes());
        bytes[4..].copy_from_slice(&(self.cpu.as_micros() as u64).to_le_bytes());
        bytes
    }

    pub(crate) fn decoded(bytes: &[u8]) -> Option<Self> {
        let (page, cpu) = bytes.split_first_chunk()?;
        let cpu = u64::from_le_bytes(cpu.try_into().ok()?);
        Some(Self {
            page: u32::from_le_bytes(*page),
            cpu: Duration::from_micros(cpu),
        })
    }
}

/// Reads a frame's head: its kind, and how long the rest is.
pub(crate) fn head(bytes: [u8; HEAD], limit: u64) -> io::Result<(Kind, usize)> {
    let (length, kind) = (&bytes[..8], bytes[8]);
    let length = u64::from_le_bytes(length.try_into().expect("eight bytes"));
    let kind = Kind::of(kind)?;
    if length > limit {
        let what = format!("a {kind:?} frame of {length} bytes, {limit} are allowed");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok((kind, length as usize))
}

pub(crate) fn head_of(kind: Kind, length: usize) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(&(length as u64).to_le_bytes());
    head[8] = kind as u8;
    head
}

pub(crate) fn write_frame(to: &mut impl Write, kind: Kind, payload: &[u8]) -> io::Result<()> {
    put_frame(to, kind, payload)?;
    to.flush()
}

/// Leaves it to the next frame to be sent.
pub(crate) fn put_frame(to: &mut impl Write, kind: Kind, payload: &[u8]) -> io::Result<()> {
    to.write_all(&head_of(kind, payload.len()))?;
    to.write_all(payload)
}

/// The next frame; `None` when the other side has closed.
pub(crate) fn read_frame(from: &mut impl Read) -> io::Result<Option<(Kind, Vec<u8>)>> {
    let mut bytes = [0; HEAD];
    match from.read_exact(&mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    // The parent is trusted: its documents may be as large as memory allows.
    let (kind, length) = head(bytes, u64::MAX)?;
    let mut payload = vec![0; length];
    from.read_exact(&mut payload)?;
    Ok(Some((kind, payload)))
}
