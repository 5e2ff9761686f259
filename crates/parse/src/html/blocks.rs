//! From the document to pieces, in one walk over what is not dropped.

use std::collections::BTreeSet;

use model::AtomKind;

use super::Source;
use super::dom::{Dom, Id};
use super::table;
use crate::Error;
use crate::builder::{Leads, Piece, TextBuilder};
use crate::normal::collapsed;
use crate::prose::prose;
use crate::target::safe_target;

/// Nodes of a block that is there for one picture.
const MOST_AROUND: usize = 16;

pub(super) fn write(dom: &Dom, source: &Source<'_>, out: &mut TextBuilder) -> Result<(), Error> {
    let mut walk = Walk::new(dom, source, out);
    let mut skip_to = 0;
    for id in dom.subtree(0) {
        if id < skip_to {
            continue;
        }
        walk.close_before(id)?;
        match dom.own_text(id) {
            Some(text) => walk.text(text, dom.source(id)),
            None => skip_to = walk.open(id)?,
        }
    }
    walk.close_before(usize::MAX)?;
    walk.flush()
}

struct Walk<'a> {
    dom: &'a Dom,
    source: &'a Source<'a>,
    out: &'a mut TextBuilder,
    text: String,
    /// The bytes of the page the text stands in.
    place: Option<(usize, usize)>,
    anchor: Option<String>,
    /// Elements we are in that matter, with where they end.
    open: Vec<Open>,
    /// The item whose first text has not come yet.
    item: Option<Option<String>>,
    /// Of the text at hand.
    links: Vec<Leads>,
    /// The link we are in.
    link: Option<OpenLink>,
    /// What pictures that stand alone were said to show.
    shown: BTreeSet<String>,
}

struct OpenLink {
    end: Id,
    /// Where its words begin in the text at hand.
    from: usize,
    target: String,
}

struct Open {
    end: Id,
    is: Is,
}

#[derive(Debug, PartialEq)]
enum Is {
    Block,
    Heading(u8),
    List { next: Option<u64> },
    Quote,
    Code { language: Option<String> },
    Caption,
    Term,
    Head,
}

impl<'a> Walk<'a> {
    fn new(dom: &'a Dom, source: &'a Source<'a>, out: &'a mut TextBuilder) -> Self {
        Self {
            dom,
            source,
            out,
            text: String::new(),
            place: None,
            anchor: None,
            open: Vec::new(),
            item: None,
            links: Vec::new(),
            link: None,
            shown: BTreeSet::new(),
        }
    }

    /// Closes every element that ends before `id`.
    fn close_before(&mut self, id: Id) -> Result<(), Error> {
        if self.link.as_ref().is_some_and(|link| link.end <= id) {
            self.note_link();
            self.link = None;
        }
        while self.open.last().is_some_and(|open| open.end <= id) {
            self.flush()?;
            let closed = self.open.pop().expect("just looked at");
            if matches!(closed.is, Is::List { .. }) {
                self.item = None;
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &str, place: Option<(usize, usize)>) {
        if self.open.iter().any(|open| open.is == Is::Head) {
            return;
        }
        let places = self.place.into_iter().chain(place);
        self.place = places.reduce(|(start, end), (s, e)| (start.min(s), end.max(e)));
        if self.in_code() {
            self.text.push_str(text);
            return;
        }
        // Line ends of the source are blanks; those that count were written by `br`.
        for c in text.chars() {
            self.text.push(if c == '\n' || c == '\r' { ' ' } else { c });
        }
    }

    fn in_code(&self) -> bool {
        self.open
            .iter()
            .any(|open| matches!(open.is, Is::Code { .. }))
    }

    /// Opens an element and answers where to go on: behind it, if it has been read whole.
    fn open(&mut self, id: Id) -> Result<Id, Error> {
        self.note_anchor(id);
        let end = self.dom.node(id).end;
        let is = match self.dom.tag(id) {
            "head" => Is::Head,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                Is::Heading(self.dom.tag(id).as_bytes()[1] - b'0')
            }
            "ul" | "menu" | "dir" => Is::List { next: None },
            "ol" => Is::List {
                next: Some(self.first_number(id)),
            },
            "blockquote" => Is::Quote,
            "pre" | "listing" | "xmp" => Is::Code {
                language: self.language(id),
            },
            "figcaption" | "caption" => Is::Caption,
            "dt" => Is::Term,
            "li" => return self.open_item(id),
            "dd" => return self.open_definition(id),
            "table" if table::is_data(self.dom, id) => return self.table(id),
            "br" => {
                self.line_break()?;
                return Ok(id + 1);
            }
            "hr" => {
                self.flush()?;
                return Ok(end);
            }
            "img" => return self.picture(id),
            "math" => return self.formula(id),
            "a" if self.is_permalink(id) => return Ok(end),
            "a" => {
                self.open_link(id);
                return Ok(id + 1);
            }
            "td" | "th" => {
                self.flush()?;
                Is::Block
            }
            tag if is_block(tag) => Is::Block,
            _ => return Ok(id + 1),
        };
        self.flush()?;
        self.open.push(Open { end, is });
        self.note_anchor(id);
        Ok(id + 1)
    }

    fn note_anchor(&mut self, id: Id) {
        let name = self.dom.attribute(id, "id");
        let name = name.or_else(|| match self.dom.tag(id) {
            "a" => self.dom.attribute(id, "name"),
            _ => None,
        });
        if let Some(name) = name.filter(|name| !name.is_empty())
            && self.text.trim().is_empty()
        {
            self.anchor = Some(name.to_owned());
        }
    }

    /// An address within the site says nothing without the site's own, which nobody knows here.
    fn open_link(&mut self, id: Id) {
        let target = self.dom.attribute(id, "href").and_then(safe_target);
        if let (None, Some(target)) = (&self.link, target) {
            self.link = Some(OpenLink {
                end: self.dom.node(id).end,
                from: self.text.len(),
                target,
            });
        }
    }

    /// The words of the open link so far; what follows of it stands in the next piece.
    fn note_link(&mut self) {
        let Some(link) = &mut self.link else {
            return;
        };
        if link.from < self.text.len() {
            self.links.push(Leads {
                words: link.from..self.text.len(),
                target: link.target.clone(),
            });
        }
        link.from = 0;
    }

    fn first_number(&self, id: Id) -> u64 {
        let start = self.dom.attribute(id, "start");
        start.and_then(|n| n.trim().parse().ok()).unwrap_or(1)
    }

    fn open_item(&mut self, id: Id) -> Result<Id, Error> {
        self.flush()?;
        let given = self
            .dom
            .attribute(id, "value")
            .and_then(|n| n.trim().parse().ok());
        let list = self
            .open
            .iter_mut()
            .rev()
            .find_map(|open| match &mut open.is {
                Is::List { next } => Some(next),
                _ => None,
            });
        let number = list.and_then(Option::as_mut).map(|next| {
            let number = given.unwrap_or(*next);
            *next = number.saturating_add(1);
            format!("{number}.")
        });
        self.item = Some(number);
        let end = self.dom.node(id).end;
        self.open.push(Open { end, is: Is::Block });
        Ok(id + 1)
    }

    fn open_definition(&mut self, id: Id) -> Result<Id, Error> {
        self.flush()?;
        let end = self.dom.node(id).end;
        self.open.push(Open {
            end,
            is: Is::List { next: None },
        });
        self.item = Some(None);
        Ok(id + 1)
    }

    fn language(&self, id: Id) -> Option<String> {
        let holders = self.dom.subtree(id).take(3).chain(self.dom.parent(id));
        holders
            .filter_map(|id| self.dom.attribute(id, "class"))
            .flat_map(str::split_whitespace)
            .find_map(|class| {
                class
                    .strip_prefix("language-")
                    .or_else(|| class.strip_prefix("lang-"))
                    .or_else(|| class.strip_prefix("highlight-"))
            })
            .map(str::to_owned)
    }

    fn table(&mut self, id: Id) -> Result<Id, Error> {
        self.flush()?;
        if let Some(caption) = table::caption(self.dom, id) {
            let said = collapsed(&self.dom.text(caption));
            self.push(
                Piece::new(AtomKind::Caption, said),
                self.dom.source(caption),
            )?;
        }
        let anchor = self.anchor.take();
        if let Some(table) = table::read(self.dom, id) {
            self.push(table.with_anchor(anchor), self.dom.source(id))?;
        }
        Ok(self.dom.node(id).end)
    }

    /// One break ends a line, two end a paragraph.
    fn line_break(&mut self) -> Result<(), Error> {
        if !self.in_code() && self.text.trim_end_matches([' ', '\t']).ends_with('\n') {
            return self.flush();
        }
        self.text.push('\n');
        Ok(())
    }

    fn picture(&mut self, id: Id) -> Result<Id, Error> {
        let in_figure = self.dom.has_ancestor(id, &["figure"]);
        let alternative = self
            .dom
            .attribute(id, "alt")
            .map(collapsed)
            .unwrap_or_default();
        // Some sites give all their pictures the title of the page.
        let shows = in_figure
            || describes(&alternative)
                && self.stands_alone(id)
                && self.shown.insert(alternative.clone());
        if shows && !alternative.is_empty() {
            self.flush()?;
            let piece = Piece::new(AtomKind::Figure, alternative);
            self.push(piece, self.dom.source(id))?;
        }
        Ok(id + 1)
    }

    /// Whether a block holds nothing but this picture, perhaps in a link.
    fn stands_alone(&self, id: Id) -> bool {
        let mut holders = self.dom.ancestors(id).take(MOST_AROUND);
        let block = holders.find(|holder| is_block(self.dom.tag(*holder)));
        let block = block.filter(|block| self.dom.node(*block).end - block <= MOST_AROUND);
        let is_around = |node: Id| match self.dom.own_text(node) {
            Some(text) => text.trim().is_empty(),
            None => matches!(self.dom.tag(node), "a" | "span" | "picture" | "source"),
        };
        block.is_some_and(|block| {
            let mut inner = self.dom.subtree(block).skip(1);
            inner.all(|node| node == id || is_around(node))
        })
    }

    /// What its author wrote, where the page says so; else its letters, without notes on them.
    fn formula(&mut self, id: Id) -> Result<Id, Error> {
        let notes = |node: Id| self.dom.tag(node).starts_with("annotation");
        let written = self
            .dom
            .attribute(id, "alttext")
            .map(collapsed)
            .or_else(|| {
                let mut notes = self.dom.subtree(id).filter(|node| notes(*node));
                let tex = notes.find(|n| self.dom.attribute(*n, "encoding").is_some_and(is_tex))?;
                Some(collapsed(&self.dom.text(tex)))
            });
        let formula = written.unwrap_or_else(|| {
            let nodes = self
                .dom
                .subtree(id)
                .filter(|node| self.dom.is_element(*node));
            let leaves = nodes.filter(|node| is_math_leaf(self.dom.tag(*node)));
            leaves
                .map(|node| self.dom.text(node))
                .collect::<Vec<_>>()
                .join(" ")
        });
        if self.dom.attribute(id, "display") == Some("block") {
            self.flush()?;
            let piece = Piece::new(AtomKind::Formula, formula);
            self.push(piece, self.dom.source(id))?;
        } else {
            self.text(&formula, self.dom.source(id));
        }
        Ok(self.dom.node(id).end)
    }

    /// The sign beside a heading that links to the heading itself.
    fn is_permalink(&self, id: Id) -> bool {
        let local = self
            .dom
            .attribute(id, "href")
            .is_some_and(|href| href.starts_with('#'));
        let text = self.dom.text(id);
        local && matches!(text.trim(), "\u{b6}" | "#" | "\u{a7}" | "\u{1f517}")
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.note_link();
        let links = std::mem::take(&mut self.links);
        let text = std::mem::take(&mut self.text);
        let place = self.place.take();
        if text.trim().is_empty() {
            return Ok(());
        }
        let kind = self.kind();
        let (text, links) = match kind {
            AtomKind::Code { .. } => (text, links),
            _ => prose(&text, links),
        };
        if matches!(kind, AtomKind::ListItem { .. }) {
            self.item = None;
        }
        let anchor = self.anchor.take();
        let piece = Piece::new(kind, text).with_anchor(anchor);
        self.push(piece.with_links(links), place)
    }

    fn push(&mut self, piece: Piece, place: Option<(usize, usize)>) -> Result<(), Error> {
        let source = place.map(|(start, end)| (self.source)(start, end));
        self.out.push(piece.with_source(source))
    }

    /// What the text at hand is, by the innermost element that says so.
    fn kind(&self) -> AtomKind {
        for open in self.open.iter().rev() {
            match &open.is {
                Is::Heading(level) => return AtomKind::Heading { level: *level },
                Is::Code { language } => {
                    return AtomKind::Code {
                        language: language.clone(),
                    };
                }
                Is::Caption => return AtomKind::Caption,
                Is::Quote => return AtomKind::Quote,
                Is::Term => return AtomKind::Paragraph,
                Is::List { .. } => return self.item_kind(),
                Is::Block | Is::Head => {}
            }
        }
        AtomKind::Paragraph
    }

    /// The first text of an item is the item, what follows are paragraphs of it.
    fn item_kind(&self) -> AtomKind {
        let Some(marker) = &self.item else {
            return AtomKind::Paragraph;
        };
        let lists = self
            .open
            .iter()
            .filter(|open| matches!(open.is, Is::List { .. }));
        AtomKind::ListItem {
            depth: u8::try_from(lists.count() - 1).unwrap_or(u8::MAX),
            marker: marker.clone(),
        }
    }
}

/// Whether words were written for a picture: the name of its file or one word is no description.
fn describes(alternative: &str) -> bool {
    let is_file = |ending: &str| alternative.to_ascii_lowercase().ends_with(ending);
    let is_file = [".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg"]
        .into_iter()
        .any(is_file);
    (alternative.contains(' ') || !alternative.is_ascii()) && !is_file
}

fn is_tex(encoding: &str) -> bool {
    encoding.to_ascii_lowercase().contains("tex")
}

fn is_math_leaf(tag: &str) -> bool {
    matches!(tag, "mi" | "mn" | "mo" | "mtext" | "ms")
}

pub(super) fn is_block(tag: &str) -> bool {
    const BLOCKS: &[&str] = &[
        "address", "article", "aside", "body", "center", "details", "div", "dl", "fieldset",
        "figure", "footer", "form", "header", "hgroup", "html", "legend", "main", "nav", "p",
        "search", "section", "summary", "table", "tbody", "tfoot", "thead", "tr",
    ];
    BLOCKS.contains(&tag)
}
