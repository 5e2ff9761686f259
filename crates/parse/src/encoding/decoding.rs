//! Decodes a text and remembers where its characters stood.

use encoding_rs::{Decoder, UTF_8};

use super::Charset;

/// Which source bytes a place in a decoded text came from.
#[derive(Debug)]
pub(crate) struct Places {
    charset: Charset,
    /// Places that are known, in the text and in the source, both rising. Between them text and
    /// source go in step where they are the same bytes.
    known: Vec<(u64, u64)>,
    same_bytes: bool,
    lost: LostLines,
}

/// How many lines of a text held bytes that are no characters of its encoding.
#[derive(Debug, Default)]
struct LostLines {
    count: u64,
    /// How many lines have ended, and which was the last to be counted.
    ended: u64,
    last: Option<u64>,
}

impl LostLines {
    /// Looks at what was decoded next, with bytes `missing` in it or not.
    fn pass(&mut self, text: &str, missing: bool) {
        for (nth, part) in text.split('\n').enumerate() {
            self.ended += u64::from(nth > 0);
            let is_lost = missing && part.contains(char::REPLACEMENT_CHARACTER);
            if is_lost && self.last.replace(self.ended) != Some(self.ended) {
                self.count += 1;
            }
        }
    }
}

impl Places {
    /// Of a text that is the source's own bytes from `mark` on.
    fn same(mark: usize) -> Self {
        Self {
            charset: Charset::utf_8(),
            known: vec![(0, mark as u64)],
            same_bytes: true,
            lost: LostLines::default(),
        }
    }

    /// What is to be said of bytes that are no characters of the encoding, if there were any.
    pub(crate) fn warning(&self) -> Option<String> {
        self.charset.warning(self.lost.count)
    }

    /// The source range that holds a range of the text, and a little more where the encoding
    /// does not tell closer.
    pub(crate) fn range(&self, text: &str, start: usize, end: usize) -> (u64, u64) {
        let (start, end) = (start as u64, end.max(start) as u64);
        match self.same_bytes {
            true => self.around(start, end),
            false => (
                self.exact(text, start)
                    .unwrap_or_else(|| self.before(start)),
                self.exact(text, end).unwrap_or_else(|| self.after(end)),
            ),
        }
    }

    /// The same without the text at hand.
    pub(crate) fn around(&self, start: u64, end: u64) -> (u64, u64) {
        if self.same_bytes {
            let shift = self.known[0].1;
            return (start + shift, end + shift);
        }
        (self.before(start), self.after(end))
    }

    fn before(&self, at: u64) -> u64 {
        let after = self.known.partition_point(|(text, _)| *text <= at);
        self.known[after.max(1) - 1].1
    }

    fn after(&self, at: u64) -> u64 {
        let next = self.known.partition_point(|(text, _)| *text < at);
        let known = self.known.get(next).or(self.known.last());
        known.map_or(at, |(_, source)| *source)
    }

    /// By the characters from the last known place on, where each takes a known number of bytes.
    fn exact(&self, text: &str, at: u64) -> Option<u64> {
        let after = self.known.partition_point(|(text, _)| *text <= at);
        let (from, source) = self.known[after.max(1) - 1];
        let between = text.get(from as usize..at as usize)?;
        let bytes = between.chars().map(|c| match c {
            char::REPLACEMENT_CHARACTER => None,
            c => self.charset.bytes_of(c),
        });
        Some(source + bytes.sum::<Option<u64>>()?)
    }
}

/// Between known places lie at least this many bytes of the source.
const STEP: usize = 64;

/// A text that comes in pieces.
pub(crate) struct Decoding {
    charset: Charset,
    /// Keeps the state of an encoding that has one.
    decoder: Option<Decoder>,
    /// What has come since the last place that is known.
    pending: Vec<u8>,
    written: u64,
    pub(crate) places: Places,
}

impl Decoding {
    /// `mark` bytes of the source stand before what will be pushed.
    pub(crate) fn new(charset: Charset, mark: usize) -> Self {
        let decoder = match charset {
            Charset::Web(encoding) if !encoding.is_single_byte() => {
                Some(encoding.new_decoder_without_bom_handling())
            }
            _ => None,
        };
        Self {
            charset,
            decoder,
            pending: Vec::new(),
            written: 0,
            places: Places {
                charset,
                known: vec![(0, mark as u64)],
                same_bytes: false,
                lost: LostLines::default(),
            },
        }
    }

    /// A whole text whose first `mark` bytes are its mark.
    pub(crate) fn whole(charset: Charset, bytes: &[u8], mark: usize) -> (String, Places) {
        if charset == Charset::Web(UTF_8)
            && let Ok(text) = std::str::from_utf8(&bytes[mark..])
        {
            return (text.to_owned(), Places::same(mark));
        }
        let mut decoding = Self::new(charset, mark);
        let mut text = String::with_capacity(bytes.len());
        decoding.push(&bytes[mark..], true, &mut text);
        (text, decoding.places)
    }

    /// Decodes what can be; with the last piece, everything.
    pub(crate) fn push(&mut self, bytes: &[u8], last: bool, out: &mut String) {
        self.pending.extend_from_slice(bytes);
        let pending = std::mem::take(&mut self.pending);
        let mut from = 0;
        while let Some(to) = self.charset.boundary(&pending, from + STEP) {
            self.step(&pending[from..to], false, out);
            from = to;
        }
        if last {
            self.step(&pending[from..], true, out);
        } else {
            self.pending = pending[from..].to_vec();
        }
    }

    fn step(&mut self, bytes: &[u8], last: bool, out: &mut String) {
        let before = out.len();
        let missing = match &mut self.decoder {
            None => {
                let (text, missing) = self.charset.decode(bytes);
                out.push_str(&text);
                missing
            }
            Some(decoder) => {
                let most = decoder.max_utf8_buffer_length(bytes.len());
                out.reserve(most.expect("a piece of a text in memory"));
                let (_, read, missing) = decoder.decode_to_string(bytes, out, last);
                debug_assert_eq!(read, bytes.len(), "there is room for all of it");
                missing
            }
        };
        self.places.lost.pass(&out[before..], missing);
        self.written += (out.len() - before) as u64;
        let source = self.places.known.last().expect("the beginning is known").1;
        let place = (self.written, source + bytes.len() as u64);
        self.places.known.push(place);
    }
}
