//! From the events of one segment to pieces.

use std::ops::Range;

use model::{AtomKind, Table};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{Segment, front_matter, html_text};
use crate::builder::{Leads, Piece, TextBuilder};
use crate::cell::{self, Cell};
use crate::prose::prose;
use crate::target::safe_target;
use crate::{Budget, Error, Limits};

/// Links of one block: each of them may repeat one long address.
const MOST_LINKS: usize = 2_000;

pub(super) fn segment(
    segment: &Segment,
    is_first: bool,
    limits: &Limits,
    out: &mut TextBuilder,
) -> Result<(), Error> {
    // A link to a label that is defined nowhere stands as it is written, brackets and all: so
    // does one whose label is defined in another segment, which nothing here can know.
    let parser = Parser::new_ext(&segment.text, options(is_first));
    let mut walk = Walk::new(segment, limits, out);
    for (event, range) in parser.into_offset_iter() {
        walk.event(event, &range)?;
    }
    Ok(())
}

fn options(is_first: bool) -> Options {
    let mut options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_MATH
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_GFM;
    if is_first {
        options |= Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
            | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    }
    options
}

struct Walk<'a> {
    segment: &'a Segment,
    limits: &'a Limits,
    out: &'a mut TextBuilder,
    /// Text of the block being read, and what it is.
    text: String,
    open: Option<(AtomKind, Range<usize>)>,
    anchor: Option<String>,
    quotes: u32,
    /// The next number of each list we are in; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The item whose first paragraph has not come yet.
    item: Option<Option<String>>,
    footnote: Option<String>,
    /// How many rows of the table we are in are its head, and all of them.
    table: Option<(u32, Vec<Vec<Cell>>)>,
    row: Vec<Cell>,
    /// How many more links the cells of this table may have.
    room: usize,
    figures: u32,
    metadata: bool,
    /// Of the text at hand.
    links: Vec<Leads>,
    /// Where the words of the link we are in begin, and where they lead to.
    link: Option<(usize, String)>,
}

impl<'a> Walk<'a> {
    fn new(segment: &'a Segment, limits: &'a Limits, out: &'a mut TextBuilder) -> Self {
        Self {
            segment,
            limits,
            out,
            text: String::new(),
            open: None,
            anchor: None,
            quotes: 0,
            lists: Vec::new(),
            item: None,
            footnote: None,
            table: None,
            row: Vec::new(),
            room: 0,
            figures: 0,
            metadata: false,
            links: Vec::new(),
            link: None,
        }
    }

    fn event(&mut self, event: Event<'_>, range: &Range<usize>) -> Result<(), Error> {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.inline(&text, range),
            Event::Code(code) => self.inline(&code, range),
            Event::InlineMath(math) => self.inline(&format!("${math}$"), range),
            Event::DisplayMath(math) => self.display_math(&math, range),
            Event::Html(html) => self.inline(&html, range),
            Event::InlineHtml(html) => self.inline(&html_text::words(&html), range),
            Event::FootnoteReference(name) => self.inline(&format!("[^{name}]"), range),
            Event::SoftBreak => self.inline(" ", range),
            Event::HardBreak => self.inline("\n", range),
            Event::TaskListMarker(done) => self.inline(if done { "[x] " } else { "[ ] " }, range),
            Event::Rule => Ok(()),
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: &Range<usize>) -> Result<(), Error> {
        match tag {
            Tag::Paragraph | Tag::DefinitionListTitle => self.open(self.prose(), range),
            Tag::DefinitionListDefinition => {
                self.lists.push(None);
                self.item = Some(None);
                Ok(())
            }
            Tag::Heading { level, id, .. } => {
                self.anchor = id.map(CowStr::into_string);
                self.open(
                    AtomKind::Heading {
                        level: depth(level),
                    },
                    range,
                )
            }
            Tag::BlockQuote(_) => self.deeper(|walk| walk.quotes += 1),
            Tag::CodeBlock(kind) => self.open(
                AtomKind::Code {
                    language: language(&kind),
                },
                range,
            ),
            Tag::HtmlBlock => self.open(self.prose(), range),
            Tag::List(first) => self.deeper(|walk| walk.lists.push(first)),
            Tag::Item => self.start_item(),
            Tag::FootnoteDefinition(name) => {
                self.flush()?;
                self.footnote = Some(name.into_string());
                Ok(())
            }
            Tag::Table(_) => {
                self.open(AtomKind::Table(Table::default()), range)?;
                self.table = Some((0, Vec::new()));
                self.room = MOST_LINKS;
                Ok(())
            }
            Tag::Link { dest_url, .. } => {
                let target = safe_target(&dest_url);
                self.link = target.map(|target| (self.text.len(), target));
                Ok(())
            }
            Tag::Image { .. } => {
                self.figures += 1;
                Ok(())
            }
            Tag::MetadataBlock(_) => {
                self.metadata = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, tag: TagEnd) -> Result<(), Error> {
        match tag {
            TagEnd::Link => {
                self.end_link();
                Ok(())
            }
            TagEnd::HtmlBlock => {
                self.text = html_text::words(&self.text);
                self.links.clear();
                self.flush()
            }
            TagEnd::BlockQuote(_) => {
                self.flush()?;
                self.quotes -= 1;
                Ok(())
            }
            TagEnd::List(_) | TagEnd::DefinitionListDefinition => {
                self.flush()?;
                self.lists.pop();
                self.item = None;
                Ok(())
            }
            TagEnd::FootnoteDefinition => {
                self.flush()?;
                self.footnote = None;
                Ok(())
            }
            TagEnd::TableCell => {
                self.end_cell();
                Ok(())
            }
            TagEnd::TableHead | TagEnd::TableRow => self.end_row(tag == TagEnd::TableHead),
            TagEnd::MetadataBlock(_) => {
                front_matter::read(&std::mem::take(&mut self.text), self.out);
                self.metadata = false;
                self.open = None;
                Ok(())
            }
            TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::CodeBlock
            | TagEnd::Item
            | TagEnd::DefinitionListTitle
            | TagEnd::Table => self.flush(),
            _ => Ok(()),
        }
    }

    fn end_link(&mut self) {
        let Some((from, target)) = self.link.take() else {
            return;
        };
        let words = from..self.text.len();
        if from < words.end && self.links.len() < MOST_LINKS {
            self.links.push(Leads { words, target });
        }
    }

    /// Nesting of lists and quotes is bounded, as it is by their readers.
    fn deeper(&mut self, step: impl FnOnce(&mut Self)) -> Result<(), Error> {
        self.flush()?;
        step(self);
        let limit = u64::from(self.limits.nesting).max(2_000);
        if self.lists.len() as u64 + u64::from(self.quotes) > limit * 40 {
            return Err(Error::OverBudget {
                budget: Budget::Nesting,
                limit,
            });
        }
        Ok(())
    }

    fn start_item(&mut self) -> Result<(), Error> {
        self.flush()?;
        let number = self.lists.last_mut().and_then(Option::as_mut);
        self.item = Some(number.map(|next| {
            let marker = format!("{next}.");
            *next += 1;
            marker
        }));
        Ok(())
    }

    /// What a paragraph is here: an item, a footnote, a quote or itself.
    fn prose(&self) -> AtomKind {
        if let Some(marker) = &self.footnote {
            return AtomKind::Footnote {
                marker: marker.clone(),
            };
        }
        if let Some(marker) = &self.item {
            return AtomKind::ListItem {
                depth: u8::try_from(self.lists.len().saturating_sub(1)).unwrap_or(u8::MAX),
                marker: marker.clone(),
            };
        }
        match self.quotes {
            0 => AtomKind::Paragraph,
            _ => AtomKind::Quote,
        }
    }

    fn open(&mut self, kind: AtomKind, range: &Range<usize>) -> Result<(), Error> {
        self.flush()?;
        self.open = Some((kind, range.clone()));
        Ok(())
    }

    /// Text outside a paragraph belongs to a tight list's item.
    fn inline(&mut self, text: &str, range: &Range<usize>) -> Result<(), Error> {
        if self.open.is_none() && !self.metadata {
            self.open(self.prose(), range)?;
        }
        if let Some((_, open)) = &mut self.open {
            open.end = open.end.max(range.end);
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Alone in its paragraph it is a formula, in a sentence a part of it.
    fn display_math(&mut self, math: &str, range: &Range<usize>) -> Result<(), Error> {
        let alone = self.text.trim().is_empty()
            && self
                .open
                .as_ref()
                .is_some_and(|(_, open)| self.segment.text[range.end..open.end].trim().is_empty());
        if alone {
            self.open(AtomKind::Formula, range)?;
            self.text.push_str(math.trim());
            return self.flush();
        }
        self.inline(&format!("$${math}$$"), range)
    }

    fn end_cell(&mut self) {
        let text = std::mem::take(&mut self.text).replace('\n', " ");
        let (text, mut links) = prose(&text, std::mem::take(&mut self.links));
        links.truncate(self.room);
        self.room -= links.len();
        self.row.push(Cell::new(text, links));
    }

    fn end_row(&mut self, is_head: bool) -> Result<(), Error> {
        let row = std::mem::take(&mut self.row);
        if let Some((header_rows, rows)) = &mut self.table {
            *header_rows += u32::from(is_head);
            rows.push(row);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        let text = std::mem::take(&mut self.text);
        let links = std::mem::take(&mut self.links);
        let figures = std::mem::take(&mut self.figures);
        let Some((kind, range)) = self.open.take() else {
            return Ok(());
        };
        let (start, end) = self.segment.source(&range);
        let piece = match self.table.take() {
            Some((header_rows, rows)) => cell::piece(header_rows, rows),
            None if is_picture(&kind, figures, &self.segment.text[range]) => {
                Piece::new(AtomKind::Figure, text).with_links(links)
            }
            None => Piece::new(kind, text).with_links(links),
        };
        if matches!(piece.kind, AtomKind::ListItem { .. }) {
            self.item = None;
        }
        let anchor = self.anchor.take();
        let piece = piece.from_source(start, end).with_anchor(anchor);
        self.out.push(piece)
    }
}

/// A paragraph that is nothing but one picture.
fn is_picture(kind: &AtomKind, figures: u32, source: &str) -> bool {
    let source = source.trim();
    *kind == AtomKind::Paragraph
        && figures == 1
        && source.starts_with("![")
        && source.ends_with([')', ']'])
}

fn depth(level: HeadingLevel) -> u8 {
    level as u8
}

fn language(kind: &CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(info) = kind else {
        return None;
    };
    let name = info.split([' ', ',', '{']).next()?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
