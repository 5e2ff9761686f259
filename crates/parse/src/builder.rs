//! Builds the normalised text and its atoms together.
//!
//! In: pieces in reading order. Out: a text and atoms whose spans cut it, in
//! bytes and in characters; between two atoms stands a blank line. The budgets
//! for text and atoms are checked before anything is appended.

use std::ops::Range;

use model::atom::SourceRange;
use model::{Atom, AtomKind, Link, PageBox, PageSize, Parsed, Span, Table, Warning};

use crate::normal::normal;
use crate::{Budget, Error, Format, Limits, language, render};

/// Of all targets of a document together, and once more as much as this for each byte of text:
/// one address may be given to any number of words.
const TARGET_BYTES: u64 = 4 << 20;
const TARGET_BYTES_FOR_BYTE: u64 = 4;

/// What a parser found, before it has a place in the text.
#[derive(Debug, Clone)]
pub struct Piece {
    pub kind: AtomKind,
    pub text: String,
    pub boxes: Vec<PageBox>,
    pub source: Option<SourceRange>,
    pub anchor: Option<String>,
    pub links: Vec<Leads>,
}

/// Words of a piece that lead somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leads {
    /// In bytes of the piece's text, behind those of the link before.
    pub words: Range<usize>,
    /// As [`safe_target`](crate::target::safe_target) lets it pass.
    pub target: String,
}

impl Piece {
    pub fn new(kind: AtomKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            boxes: Vec::new(),
            source: None,
            anchor: None,
            links: Vec::new(),
        }
    }

    /// The text of a table is its Markdown form.
    pub fn table(table: Table) -> Self {
        let text = render::table(&table);
        Self::new(AtomKind::Table(table), text)
    }

    #[must_use]
    pub fn from_source(mut self, start: u64, end: u64) -> Self {
        self.source = Some(SourceRange {
            part: None,
            start,
            end,
        });
        self
    }

    /// The same in a part of an archive.
    #[must_use]
    pub fn from_part(mut self, part: &str, (start, end): (u64, u64)) -> Self {
        self.source = Some(SourceRange {
            part: Some(part.to_owned()),
            start,
            end,
        });
        self
    }

    #[must_use]
    pub fn with_source(mut self, source: Option<SourceRange>) -> Self {
        self.source = source;
        self
    }

    #[must_use]
    pub fn with_boxes(mut self, boxes: Vec<PageBox>) -> Self {
        self.boxes = boxes;
        self
    }

    #[must_use]
    pub fn with_links(mut self, links: Vec<Leads>) -> Self {
        self.links = links;
        self
    }

    #[must_use]
    pub fn with_anchor(mut self, anchor: Option<String>) -> Self {
        self.anchor = anchor;
        self
    }
}

/// Where the next atom begins, in the text of the whole version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Position {
    pub bytes: u64,
    pub chars: u64,
}

#[derive(Debug)]
pub struct TextBuilder {
    limits: Limits,
    /// Where `text` begins in the version: not at 0 once a stream has handed on its first slice.
    base: Position,
    end: Position,
    pub(crate) text: String,
    pub(crate) atoms: Vec<Atom>,
    pub(crate) parsed: Parsed,
    target_bytes: u64,
    links_left_out: usize,
}

impl TextBuilder {
    pub fn new(limits: &Limits) -> Self {
        Self::at(limits, Position::default())
    }

    /// Goes on where an earlier builder stopped.
    pub fn at(limits: &Limits, base: Position) -> Self {
        Self {
            limits: *limits,
            base,
            end: base,
            text: String::new(),
            atoms: Vec::new(),
            parsed: Parsed::default(),
            target_bytes: 0,
            links_left_out: 0,
        }
    }

    /// Goes on after links whose addresses have taken so many bytes.
    #[must_use]
    pub(crate) fn having_linked(mut self, target_bytes: u64) -> Self {
        self.target_bytes = target_bytes;
        self
    }

    pub(crate) fn target_bytes(&self) -> u64 {
        self.target_bytes
    }

    /// Appends a piece; one that has no visible text leaves no trace.
    pub fn push(&mut self, piece: Piece) -> Result<(), Error> {
        let text = normal(&piece.text);
        let text = match piece.kind {
            AtomKind::Code { .. } => text.trim_end().trim_start_matches('\n'),
            _ => text.trim(),
        };
        if text.trim().is_empty() {
            return Ok(());
        }
        self.check(text)?;
        let mut links = placed(&piece.text, text, piece.links);
        links.retain(|link| self.has_room_for(&link.target));
        let span = self.append(text);
        self.atoms.push(Atom {
            kind: normal_cells(piece.kind),
            span,
            boxes: piece.boxes,
            source: piece.source,
            anchor: piece.anchor,
            links: in_text(text, span, links),
        });
        Ok(())
    }

    fn has_room_for(&mut self, target: &str) -> bool {
        let bytes = self.target_bytes + target.len() as u64;
        let fits = bytes <= TARGET_BYTES + TARGET_BYTES_FOR_BYTE * self.end.bytes;
        match fits {
            true => self.target_bytes = bytes,
            false => self.links_left_out += 1,
        }
        fits
    }

    fn check(&self, text: &str) -> Result<(), Error> {
        let over = |budget, limit| Err(Error::OverBudget { budget, limit });
        if (self.text.len() + text.len() + 2) as u64 > self.limits.text_bytes {
            return over(Budget::TextBytes, self.limits.text_bytes);
        }
        if self.atoms.len() as u64 >= self.limits.atoms {
            return over(Budget::Atoms, self.limits.atoms);
        }
        Ok(())
    }

    fn append(&mut self, text: &str) -> Span {
        if self.end.bytes > 0 {
            self.write("\n\n");
        }
        let start = self.end;
        self.write(text);
        Span {
            byte_start: start.bytes,
            byte_end: self.end.bytes,
            char_start: start.chars,
            char_end: self.end.chars,
        }
    }

    fn write(&mut self, text: &str) {
        self.text.push_str(text);
        self.end.bytes += text.len() as u64;
        self.end.chars += text.chars().count() as u64;
    }

    /// How much text there is in the version so far.
    pub fn position(&self) -> Position {
        self.end
    }

    pub fn is_empty(&self) -> bool {
        self.atoms.is_empty()
    }

    /// The text of the last atom appended by this builder.
    pub fn last_text(&self) -> Option<&str> {
        let span = self.atoms.last()?.span;
        let from = |at: u64| (at - self.base.bytes) as usize;
        Some(&self.text[from(span.byte_start)..from(span.byte_end)])
    }

    pub fn warn(&mut self, message: impl Into<String>) {
        self.parsed.warnings.push(Warning {
            message: message.into(),
        });
    }

    pub fn gap(&mut self, pages: Option<(u32, u32)>, reason: impl Into<String>) {
        self.parsed.gaps.push(model::Gap {
            pages,
            reason: reason.into(),
        });
    }

    pub fn page(&mut self, size: PageSize) {
        self.parsed.pages.push(size);
    }

    pub fn title(&mut self, title: &str) {
        let title = crate::normal::collapsed(&normal(title));
        if !title.is_empty() {
            self.parsed.title = Some(title);
        }
    }

    pub fn property(&mut self, name: &str, value: &str) {
        let value = crate::normal::collapsed(&normal(value));
        if !value.is_empty() {
            self.parsed.properties.insert(name.to_owned(), value);
        }
    }

    /// What the document claims to be written in; believed only when its text is too short to tell.
    pub fn claimed_language(&mut self, tag: &str) {
        self.parsed.language = language::of_tag(tag);
    }

    /// Hands out what has been built and goes on after it, holding nothing.
    pub(crate) fn take(&mut self) -> (String, Vec<Atom>) {
        self.base = self.end;
        (
            std::mem::take(&mut self.text),
            std::mem::take(&mut self.atoms),
        )
    }

    pub fn finish(self, format: Format) -> Parsed {
        let mut parsed = self.parsed;
        if self.links_left_out > 0 {
            let left_out = self.links_left_out;
            let message = format!("{left_out} links were left out: they are too many");
            parsed.warnings.push(Warning { message });
        }
        parsed.media_type = format.media_type().to_owned();
        parsed.language = language::of_text(&self.text, &self.atoms).or(parsed.language);
        parsed.text = self.text;
        parsed.atoms = self.atoms;
        // The names of fields are headings of a kind, but no titles.
        if parsed.title.is_none() && format != Format::Json {
            parsed.title = first_heading(&parsed);
        }
        if let Some(message) = lack_of_text(&parsed) {
            let message = message.to_owned();
            parsed.warnings.push(Warning { message });
        }
        parsed
    }
}

/// The same words in the text as it came to be: composed, and without what stood around it.
fn placed(written: &str, text: &str, links: Vec<Leads>) -> Vec<Leads> {
    if links.is_empty() {
        return links;
    }
    let trimmed = normal(written).find(text).unwrap_or(0);
    let (mut seen, mut at) = (0, 0);
    let mut map = |to: usize| {
        let to = written.floor_char_boundary(to).max(seen);
        at += normal(&written[seen..to]).len();
        seen = to;
        text.floor_char_boundary(at.saturating_sub(trimmed))
    };
    let mut found = Vec::with_capacity(links.len());
    for Leads { words, target } in links {
        let words = map(words.start)..map(words.end);
        if !text[words.clone()].trim().is_empty() {
            found.push(Leads { words, target });
        }
    }
    found
}

/// Places in the whole text, counted on from one link to the next.
fn in_text(text: &str, atom: Span, links: Vec<Leads>) -> Vec<Link> {
    let (mut seen, mut chars) = (0, atom.char_start);
    let mut count = |to: usize| {
        chars += text[seen..to].chars().count() as u64;
        seen = to;
        (atom.byte_start + to as u64, chars)
    };
    let place = |Leads { words, target }: Leads| {
        let (byte_start, char_start) = count(words.start);
        let (byte_end, char_end) = count(words.end);
        Link {
            span: Span {
                byte_start,
                byte_end,
                char_start,
                char_end,
            },
            text: text[words].to_owned(),
            target,
        }
    };
    links.into_iter().map(place).collect()
}

/// What to say of a document from which nothing can be searched, unless its gaps say it all.
fn lack_of_text(parsed: &Parsed) -> Option<&'static str> {
    let is_furniture = |atom: &Atom| matches!(atom.kind, AtomKind::Furniture);
    match parsed.atoms.as_slice() {
        [] if parsed.gaps.is_empty() => Some("the document holds no text"),
        [] => None,
        atoms if atoms.iter().all(is_furniture) => {
            Some("the document holds no text but headers, footers and page numbers")
        }
        _ => None,
    }
}

/// The title of a document that names none: its first outermost heading.
fn first_heading(parsed: &Parsed) -> Option<String> {
    let headings = || {
        parsed.atoms.iter().filter_map(|atom| match atom.kind {
            AtomKind::Heading { level } => Some((level, atom)),
            _ => None,
        })
    };
    let outermost = headings().map(|(level, _)| level).min()?;
    let (_, atom) = headings().find(|(level, _)| *level == outermost)?;
    Some(crate::normal::collapsed(&parsed.text[atom.span.bytes()]))
}

/// Cells are text too: they take the same form as what stands in the text.
fn normal_cells(kind: AtomKind) -> AtomKind {
    let AtomKind::Table(mut table) = kind else {
        return kind;
    };
    for cell in table.rows.iter_mut().flatten() {
        *cell = normal(cell).trim().to_owned();
    }
    AtomKind::Table(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(texts: &[&str]) -> Parsed {
        let mut builder = TextBuilder::new(&Limits::default());
        for text in texts {
            builder
                .push(Piece::new(AtomKind::Paragraph, *text))
                .unwrap();
        }
        builder.finish(Format::Text)
    }

    #[test]
    fn spans_cut_the_text_in_bytes_and_in_characters() {
        let parsed = built(&["Gru\u{308}\u{df}e", "  ", "\u{4f60}\u{597d} \r\n there "]);
        let by_bytes: Vec<&str> = parsed
            .atoms
            .iter()
            .map(|a| &parsed.text[a.span.bytes()])
            .collect();
        let chars: Vec<char> = parsed.text.chars().collect();
        let by_chars: Vec<String> = parsed
            .atoms
            .iter()
            .map(|a| {
                chars[a.span.char_start as usize..a.span.char_end as usize]
                    .iter()
                    .collect()
            })
            .collect();
        assert_eq!(by_bytes, ["Gr\u{fc}\u{df}e", "\u{4f60}\u{597d} \n there"]);
        assert_eq!(by_bytes, by_chars);
    }

    #[test]
    fn text_beyond_the_budget_is_refused_before_it_is_kept() {
        let limits = Limits {
            text_bytes: 10,
            ..Limits::default()
        };
        let mut builder = TextBuilder::new(&limits);
        let refused = builder.push(Piece::new(AtomKind::Paragraph, "x".repeat(11)));
        assert_eq!(
            refused,
            Err(Error::OverBudget {
                budget: Budget::TextBytes,
                limit: 10
            })
        );
        assert!(builder.is_empty());
    }
}
