//! Cuts bytes into lines before decoding them, so every line knows its source range.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

use crate::Error;

/// A line without its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    /// Source bytes, the line end excluded.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The piece of an overlong line: the next one goes on without a line end between them.
    pub(crate) cut: bool,
    /// Whether offsets in `text` are offsets in the source too.
    pub(crate) exact: bool,
}

type Sink<'s> = &'s mut dyn FnMut(Line<'_>) -> Result<(), Error>;

pub(crate) struct Lines {
    encoding: &'static Encoding,
    /// What has arrived of a line whose end has not.
    open: Vec<u8>,
    /// How far `open` has been searched for a line end.
    searched: usize,
    /// Source position of `open`.
    position: u64,
    longest: usize,
    lost: u64,
}

impl Lines {
    pub(crate) fn new(encoding: &'static Encoding, position: u64, longest: usize) -> Self {
        Self {
            encoding,
            open: Vec::new(),
            searched: 0,
            position,
            longest,
            lost: 0,
        }
    }

    pub(crate) fn encoding(&self) -> &'static Encoding {
        self.encoding
    }

    /// The first source byte not handed on.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// How many lines held bytes that are no characters of the encoding.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    pub(crate) fn push(&mut self, bytes: &[u8], sink: Sink<'_>) -> Result<(), Error> {
        for bytes in bytes.chunks(1 << 16) {
            self.open.extend_from_slice(bytes);
            self.emit(false, sink)?;
        }
        Ok(())
    }

    pub(crate) fn end(&mut self, sink: Sink<'_>) -> Result<(), Error> {
        self.emit(true, sink)?;
        if !self.open.is_empty() {
            let rest = std::mem::take(&mut self.open);
            self.line(&rest, false, sink)?;
            self.position += rest.len() as u64;
        }
        Ok(())
    }

    fn emit(&mut self, last: bool, sink: Sink<'_>) -> Result<(), Error> {
        let open = std::mem::take(&mut self.open);
        let mut from = 0;
        loop {
            let search = from + self.searched;
            if let Some((end, next)) = self.line_end(&open, search, last) {
                self.line(&open[from..end], false, sink)?;
                self.position += (next - from) as u64;
                from = next;
            } else if open.len() - from > self.longest {
                let end = from + cut_at(self.encoding, &open[from..from + self.longest]);
                self.line(&open[from..end], true, sink)?;
                self.position += (end - from) as u64;
                from = end;
            } else {
                break;
            }
            self.searched = 0;
        }
        self.open = open[from..].to_vec();
        // The last few bytes are looked at again: a line end may be cut in two.
        self.searched = self.open.len().saturating_sub(4) & !1;
        Ok(())
    }

    /// The next line end at or after `from`: where it begins and where the next line does.
    fn line_end(&self, bytes: &[u8], from: usize, last: bool) -> Option<(usize, usize)> {
        let (wide, high) = match self.encoding {
            e if e == UTF_16LE => (2, 1),
            e if e == UTF_16BE => (2, 0),
            _ => return narrow_line_end(bytes, from, last),
        };
        let unit = |at: usize| {
            let pair = bytes.get(at..at + wide)?;
            Some(if high == 1 {
                u16::from_le_bytes([pair[0], pair[1]])
            } else {
                u16::from_be_bytes([pair[0], pair[1]])
            })
        };
        let mut at = from;
        while let Some(u) = unit(at) {
            match (u, unit(at + wide)) {
                (0x0a, _) => return Some((at, at + wide)),
                (0x0d, Some(0x0a)) => return Some((at, at + 2 * wide)),
                (0x0d, None) if !last => return None,
                (0x0d, _) => return Some((at, at + wide)),
                _ => at += wide,
            }
        }
        None
    }

    fn line(&mut self, raw: &[u8], cut: bool, sink: Sink<'_>) -> Result<(), Error> {
        let (text, lost) = self.encoding.decode_without_bom_handling(raw);
        self.lost += u64::from(lost);
        sink(Line {
            text: &text,
            start: self.position,
            end: self.position + raw.len() as u64,
            cut,
            exact: text.len() == raw.len() && !lost,
        })
    }
}

/// In every encoding but UTF-16 the bytes of line ends stand for nothing else.
fn narrow_line_end(bytes: &[u8], from: usize, last: bool) -> Option<(usize, usize)> {
    let found = bytes[from..]
        .iter()
        .position(|b| matches!(b, b'\n' | b'\r'));
    let at = from + found?;
    match (bytes[at], bytes.get(at + 1)) {
        (b'\n', _) => Some((at, at + 1)),
        (_, Some(b'\n')) => Some((at, at + 2)),
        (_, None) if !last => None,
        _ => Some((at, at + 1)),
    }
}

/// Where an overlong line may be cut: at a blank if there is one in its second
/// half, between two characters in any case.
fn cut_at(encoding: &'static Encoding, raw: &[u8]) -> usize {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        return cut_utf16(encoding, raw);
    }
    let half = raw.len() / 2;
    if let Some(blank) = raw[half..].iter().rposition(|b| *b == b' ') {
        return half + blank + 1;
    }
    let back = raw.iter().rev().take(4).position(|b| b & 0xc0 != 0x80);
    match back {
        Some(back) if encoding == encoding_rs::UTF_8 => raw.len() - back - 1,
        _ => raw.len(),
    }
}

fn cut_utf16(encoding: &'static Encoding, raw: &[u8]) -> usize {
    let even = raw.len() & !1;
    let high = if encoding == UTF_16LE {
        even - 1
    } else {
        even - 2
    };
    // A high surrogate stays with its second half.
    if matches!(raw[high], 0xd8..=0xdb) {
        even - 2
    } else {
        even
    }
}
