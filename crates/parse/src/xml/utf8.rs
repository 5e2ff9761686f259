//! A part as UTF-8, whatever its XML is written in.

use std::io::{self, Read};

use crate::encoding::{Charset, Decoding, declared};

/// A declaration stands within this many bytes.
const HEAD: usize = 256;
const PIECE: usize = 16 << 10;

pub(crate) struct Utf8<R> {
    inner: R,
    written: Written,
    /// To be handed out before more is read.
    ready: Vec<u8>,
    taken: usize,
}

enum Written {
    /// Nothing has been seen yet.
    Unknown,
    /// As it is, after a mark of so many bytes.
    Utf8(u64),
    Otherwise(Box<Decoding>),
    /// Otherwise, and all of it has been read.
    Ended(Box<Decoding>),
}

impl<R: Read> Utf8<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            written: Written::Unknown,
            ready: Vec::new(),
            taken: 0,
        }
    }

    /// The bytes of the part behind a range of what was read.
    pub(super) fn source(&self, start: u64, end: u64) -> (u64, u64) {
        match &self.written {
            Written::Unknown => (start, end),
            Written::Utf8(mark) => (start + mark, end + mark),
            Written::Otherwise(decoding) | Written::Ended(decoding) => {
                decoding.places.around(start, end)
            }
        }
    }

    fn look(&mut self) -> io::Result<()> {
        let mut head = Vec::with_capacity(HEAD);
        self.inner
            .by_ref()
            .take(HEAD as u64)
            .read_to_end(&mut head)?;
        let (charset, mark) = declared::of_xml(&head);
        head.drain(..mark);
        if charset == Charset::utf_8() {
            self.written = Written::Utf8(mark as u64);
            self.ready = head;
            return Ok(());
        }
        let mut decoding = Box::new(Decoding::new(charset, mark));
        let mut text = String::new();
        decoding.push(&head, false, &mut text);
        self.ready = text.into_bytes();
        self.written = Written::Otherwise(decoding);
        Ok(())
    }

    /// Decodes until there is something to hand out, or nothing left.
    fn decode(&mut self) -> io::Result<()> {
        while self.taken == self.ready.len() {
            let Written::Otherwise(decoding) = &mut self.written else {
                return Ok(());
            };
            let mut piece = vec![0; PIECE];
            let read = self.inner.read(&mut piece)?;
            let mut text = String::new();
            decoding.push(&piece[..read], read == 0, &mut text);
            self.ready = text.into_bytes();
            self.taken = 0;
            if read == 0
                && let Written::Otherwise(decoding) =
                    std::mem::replace(&mut self.written, Written::Unknown)
            {
                self.written = Written::Ended(decoding);
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if matches!(self.written, Written::Unknown) {
            self.look()?;
        }
        self.decode()?;
        let left = &self.ready[self.taken..];
        if left.is_empty() && matches!(self.written, Written::Utf8(_)) {
            return self.inner.read(buffer);
        }
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.taken += count;
        Ok(count)
    }
}
