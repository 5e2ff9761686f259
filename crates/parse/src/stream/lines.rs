//! Cuts bytes into lines before decoding them, so every line knows its source range.

use std::borrow::Cow;

use encoding_rs::UTF_8;
use model::hash;

use crate::Error;
use crate::encoding::Charset;

/// A line without its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    /// Source bytes, the line end excluded.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The piece of an overlong line: the next one goes on without a line end between them.
    pub(crate) cut: bool,
    /// Ended by a form feed: the next one begins a page.
    pub(crate) ends_page: bool,
    /// Whether offsets in `text` are offsets in the source too.
    pub(crate) exact: bool,
}

type Sink<'s> = &'s mut dyn FnMut(Line<'_>) -> Result<(), Error>;

pub(crate) struct Lines {
    charset: Charset,
    /// What has arrived of a line whose end has not.
    open: Vec<u8>,
    /// How far `open` has been searched for a line end.
    searched: usize,
    /// Source position of `open`.
    position: u64,
    longest: usize,
    lost: Lost,
    shifts: Shifts,
}

impl Lines {
    pub(crate) fn new(charset: Charset, position: u64, longest: usize) -> Self {
        Self {
            charset,
            open: Vec::new(),
            searched: 0,
            position,
            longest,
            lost: Lost::default(),
            shifts: Shifts::default(),
        }
    }

    /// Goes on where text of an encoding with states stood in this one.
    #[must_use]
    pub(crate) fn shifted(mut self, escape: Option<[u8; 3]>) -> Self {
        self.shifts.now = escape;
        self
    }

    /// Goes on after so many lines with bytes that are no characters.
    #[must_use]
    pub(crate) fn having_lost(mut self, lines: u64) -> Self {
        self.lost.before = lines;
        self
    }

    pub(crate) fn charset(&self) -> Charset {
        self.charset
    }

    /// Goes on in another encoding, in which what came so far is the same.
    pub(crate) fn go_on_in(&mut self, charset: Charset) {
        self.charset = charset;
    }

    /// The end of what has come, within the line that has not ended.
    pub(crate) fn last(&self, most: usize) -> &[u8] {
        &self.open[self.open.len() - self.open.len().min(most)..]
    }

    /// The first source byte not handed on.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The state in which a line or piece of one that was handed on, or is next, begins.
    pub(crate) fn shift_at(&self, position: u64) -> Option<[u8; 3]> {
        match position == self.position {
            true => self.shifts.now,
            false => self.shifts.at(position),
        }
    }

    /// How many lines held bytes that are no characters of the encoding.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.until(self.position)
    }

    /// How many of them began before a place from which on all may be read again.
    pub(crate) fn lost_until(&self, position: u64) -> u64 {
        self.lost.until(position)
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
            self.line(&rest, Ended::Line, sink)?;
            self.position += rest.len() as u64;
        }
        Ok(())
    }

    fn emit(&mut self, last: bool, sink: Sink<'_>) -> Result<(), Error> {
        let open = std::mem::take(&mut self.open);
        let mut from = 0;
        loop {
            let search = from + self.searched;
            let found = self.line_end(&open, from, search, last);
            // An overlong line is cut whether or not its end has come already: how the bytes
            // were pushed decides nothing.
            let within = found.filter(|(end, ..)| end - from <= self.longest);
            if let Some((end, next, ended)) = within {
                self.line(&open[from..end], ended, sink)?;
                self.position += (next - from) as u64;
                from = next;
            } else if open.len() - from > self.longest + if last { 0 } else { LINE_END } {
                let end = from + self.cut_at(&open[from..from + self.longest]);
                self.line(&open[from..end], Ended::Not, sink)?;
                self.position += (end - from) as u64;
                from = end;
            } else {
                break;
            }
            self.searched = 0;
        }
        self.open = open[from..].to_vec();
        // The last few bytes are looked at again: a line end may be cut in two.
        self.searched = self.open.len().saturating_sub(8) & !3;
        Ok(())
    }

    /// The next line end at or after `search`: where it begins and where the next line does.
    /// The line begins at `from`.
    fn line_end(
        &self,
        bytes: &[u8],
        from: usize,
        search: usize,
        last: bool,
    ) -> Option<(usize, usize, Ended)> {
        let (width, unit) = self.charset.unit();
        if width == 1 {
            return narrow_line_end(bytes, search, last);
        }
        let unit = |at: usize| bytes.get(at..at + width).map(unit);
        // Units are counted from the beginning of the line.
        let mut at = search - (search - from) % width;
        while let Some(u) = unit(at) {
            if matches!(u, 0x0a | 0x0c | 0x0d) {
                return ended(at, width, u, unit(at + width), last);
            }
            at += width;
        }
        None
    }

    fn line(&mut self, raw: &[u8], ended: Ended, sink: Sink<'_>) -> Result<(), Error> {
        let bytes = match self.charset.is_stateful() {
            true => self.shifts.pass(raw, self.position),
            false => Cow::Borrowed(raw),
        };
        let (text, lost) = self.charset.decode(&bytes);
        if lost {
            self.lost.note(self.position);
        }
        sink(Line {
            text: &text,
            start: self.position,
            end: self.position + raw.len() as u64,
            cut: ended == Ended::Not,
            ends_page: ended == Ended::Page,
            exact: self.is_exact(raw, lost),
        })
    }

    fn is_exact(&self, raw: &[u8], lost: bool) -> bool {
        let utf8 = self.charset == Charset::Web(UTF_8) && !lost;
        let (width, _) = self.charset.unit();
        utf8 || width == 1 && !self.charset.is_stateful() && raw.is_ascii()
    }

    /// Where an overlong line may be cut: at a word or a sentence if one begins not too near,
    /// between two characters in any case.
    fn cut_at(&self, raw: &[u8]) -> usize {
        let (width, _) = self.charset.unit();
        if width == 1
            && let Some(word) = chosen_word(raw, self.charset == Charset::Web(UTF_8))
        {
            return word;
        }
        if self.charset.is_stateful() {
            return self.shifts.cut_at(raw);
        }
        // A character that is cut decodes to none.
        let ends_whole = |end: &usize| {
            let (text, _) = self.charset.decode(&raw[end - end.min(&64)..*end]);
            !text.ends_with(char::REPLACEMENT_CHARACTER)
        };
        let even = raw.len() / width * width;
        let ends = (0..4).map(|back| even - back * width);
        match self.charset == Charset::Web(UTF_8) || width > 1 {
            true => ends.clone().find(ends_whole).unwrap_or(even),
            false => self.whole_pairs(raw),
        }
    }

    /// In encodings of one byte or two only the beginning tells which bytes belong together.
    fn whole_pairs(&self, raw: &[u8]) -> usize {
        let whole = |end: &usize| {
            let (text, _) = self.charset.decode(&raw[..*end]);
            !text.ends_with(char::REPLACEMENT_CHARACTER)
        };
        let mut ends = (0..4).map(|back| raw.len() - back);
        ends.find(whole).unwrap_or(raw.len())
    }
}

/// As long as the longest line end: with so much behind it the last place a line may end at is
/// certain.
const LINE_END: usize = 8;

/// Pieces whose state is kept: more than any format holds back.
const REMEMBERED: usize = 1 << 16;

/// Lines with bytes that are no characters of the encoding.
#[derive(Default)]
struct Lost {
    /// How many came before those of `at`.
    before: u64,
    at: Vec<u64>,
}

impl Lost {
    fn note(&mut self, position: u64) {
        if self.at.len() == REMEMBERED {
            self.at.drain(..REMEMBERED / 2);
            self.before += REMEMBERED as u64 / 2;
        }
        self.at.push(position);
    }

    fn until(&self, position: u64) -> u64 {
        self.before + self.at.partition_point(|at| *at < position) as u64
    }
}

/// The state of ISO-2022-JP, which outlives a piece of an overlong line.
#[derive(Default)]
struct Shifts {
    /// The escape in force; none in ASCII.
    now: Option<[u8; 3]>,
    /// Where pieces began that did not begin in ASCII.
    before: Vec<(u64, [u8; 3])>,
}

impl Shifts {
    /// The bytes with the escape in force before them; then the last one in them is.
    fn pass<'r>(&mut self, raw: &'r [u8], position: u64) -> Cow<'r, [u8]> {
        let shift = self.now;
        if let Some(last) = raw.windows(3).rfind(|escape| is_escape(escape)) {
            let escape = [last[0], last[1], last[2]];
            self.now = Some(escape).filter(|escape| escape != b"\x1b(B");
        }
        let Some(shift) = shift else {
            return Cow::Borrowed(raw);
        };
        if self.before.len() == REMEMBERED {
            self.before.drain(..REMEMBERED / 2);
        }
        self.before.push((position, shift));
        Cow::Owned([&shift[..], raw].concat())
    }

    fn at(&self, position: u64) -> Option<[u8; 3]> {
        let found = self.before.iter().rfind(|(at, _)| *at == position);
        found.map(|(_, shift)| *shift)
    }

    /// Before the last escape, or between two characters of the last run.
    fn cut_at(&self, raw: &[u8]) -> usize {
        match raw.windows(3).rposition(is_escape) {
            Some(at) if at > raw.len() / 2 => at,
            Some(at) => at + 3 + (raw.len() - at - 3) / 2 * 2,
            None => raw.len() / 2 * 2,
        }
    }
}

fn is_escape(three: &[u8]) -> bool {
    three[0] == 0x1b && matches!(three[1], b'(' | b'$')
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Line,
    Page,
    /// It goes on in the next piece.
    Not,
}

/// The beginning of a word that what follows it chooses, at a sentence rather than elsewhere: how
/// much came before does not matter, and a line that has grown is cut where it was.
fn chosen_word(raw: &[u8], utf8: bool) -> Option<usize> {
    // As much as tells words apart; nearer to the end there is less of it.
    const AHEAD: usize = 32;
    let sentence = |before: &[u8]| match before {
        [.., b'.' | b'!' | b'?', b' '] => true,
        _ => {
            utf8 && ["。", "！", "？"]
                .iter()
                .any(|stop| before.ends_with(stop.as_bytes()))
        }
    };
    let places = raw.len() / 4..raw.len().saturating_sub(AHEAD);
    let places = places.filter_map(|at| {
        let before = &raw[..at];
        let sentence = sentence(before);
        (sentence || before.ends_with(b" ")).then_some((at, !sentence))
    });
    let chosen = places.min_by_key(|(at, within)| (*within, hash::short([&raw[*at..at + AHEAD]])));
    chosen.map(|(at, _)| at)
}

/// In every encoding of single bytes and pairs the bytes of line ends stand for nothing else.
fn narrow_line_end(bytes: &[u8], from: usize, last: bool) -> Option<(usize, usize, Ended)> {
    let is_end = |b: &u8| matches!(b, b'\n' | b'\r' | 0x0c);
    let at = from + bytes[from..].iter().position(is_end)?;
    let unit = |at: usize| bytes.get(at).map(|b| u32::from(*b));
    ended(at, 1, unit(at)?, unit(at + 1), last)
}

/// What ends at `at`, and where the next line begins; `None` if that is still to be seen.
fn ended(
    at: usize,
    width: usize,
    unit: u32,
    next: Option<u32>,
    last: bool,
) -> Option<(usize, usize, Ended)> {
    match (unit, next) {
        (0x0c, _) => Some((at, at + width, Ended::Page)),
        (0x0d, Some(0x0a)) => Some((at, at + 2 * width, Ended::Line)),
        (0x0d, None) if !last => None,
        _ => Some((at, at + width, Ended::Line)),
    }
}
