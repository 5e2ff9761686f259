//! Blocks of the body to pieces.

use model::AtomKind;

use crate::Error;
use crate::builder::{Piece, TextBuilder};
use crate::listing::Listing;
use crate::xml::Element;

use super::CONTENT;
use super::inline::{Inline, Note, lines};
use super::list::Lists;
use super::styles::{Role, Styles};
use super::table;

pub(super) struct Body<'a> {
    styles: Styles,
    lists: Lists,
    out: &'a mut TextBuilder,
    notes: Vec<Note>,
    /// Lines of code that follow one another are one listing.
    code: Listing,
}

impl<'a> Body<'a> {
    pub(super) fn new(styles: Styles, out: &'a mut TextBuilder) -> Self {
        Self {
            styles,
            lists: Lists::default(),
            out,
            notes: Vec::new(),
            code: Listing::default(),
        }
    }

    pub(super) fn block(&mut self, element: &Element) -> Result<(), Error> {
        match element.name.as_str() {
            "text:h" => self.heading(element),
            "text:p" => self.paragraph(element),
            "text:list" => self.list(element),
            "table:table" => self.table(element),
            "text:table-of-content"
            | "text:alphabetical-index"
            | "text:illustration-index"
            | "text:table-index" => {
                let piece = Piece::new(AtomKind::Furniture, lines(element));
                self.push(piece, element.source)
            }
            "office:automatic-styles" => {
                self.styles.read(element);
                Ok(())
            }
            "text:tracked-changes"
            | "office:font-face-decls"
            | "office:scripts"
            | "text:sequence-decls"
            | "office:forms"
            | "office:annotation" => Ok(()),
            _ => self.blocks(element),
        }
    }

    fn blocks(&mut self, parent: &Element) -> Result<(), Error> {
        parent.elements().try_for_each(|inner| self.block(inner))
    }

    fn heading(&mut self, element: &Element) -> Result<(), Error> {
        let level = element.attribute("outline-level");
        let level = level.and_then(|l| l.parse().ok()).unwrap_or(1);
        let level = level.clamp(1, 10);
        self.text(AtomKind::Heading { level }, element)
    }

    fn paragraph(&mut self, element: &Element) -> Result<(), Error> {
        let kind = match self.styles.role(element.attribute("style-name")) {
            Role::Title => {
                self.out.title(&lines_of_one(element));
                AtomKind::Heading { level: 1 }
            }
            Role::Code => AtomKind::Code { language: None },
            Role::Quote => AtomKind::Quote,
            Role::Caption => AtomKind::Caption,
            Role::Body => AtomKind::Paragraph,
        };
        self.text(kind, element)
    }

    fn text(&mut self, kind: AtomKind, element: &Element) -> Result<(), Error> {
        let inline = Inline::read(element, &mut self.notes);
        if matches!(kind, AtomKind::Code { .. }) {
            // Blank lines before the first are trimmed when the listing is handed on.
            self.code.add(&inline.text, element.source);
        } else {
            let piece = Piece::new(kind, inline.text).with_anchor(inline.anchor);
            self.push(piece.with_links(inline.links), element.source)?;
        }
        for (said, source) in inline.pictures {
            self.push(Piece::new(AtomKind::Figure, said), source)?;
        }
        inline.boxes.into_iter().try_for_each(|b| self.blocks(b))
    }

    fn list(&mut self, list: &Element) -> Result<(), Error> {
        self.lists.open(list, &self.styles);
        for item in list.elements() {
            let marker = self.lists.next(item);
            let mut first = Some(AtomKind::ListItem {
                depth: self.lists.depth(),
                marker,
            });
            let is_header = item.name == "text:list-header";
            for block in item.elements() {
                match (block.name.as_str(), first.take()) {
                    ("text:p", Some(kind)) if !is_header => self.text(kind, block)?,
                    (_, rest) => {
                        first = rest;
                        self.block(block)?;
                    }
                }
            }
        }
        self.lists.close();
        Ok(())
    }

    fn table(&mut self, element: &Element) -> Result<(), Error> {
        if let Some(cell) = table::boxed(element) {
            return self.blocks(cell);
        }
        let table = table::read(element, &self.styles, &mut self.notes);
        table.map_or(Ok(()), |table| self.push(table, element.source))
    }

    fn push(&mut self, piece: Piece, source: (u64, u64)) -> Result<(), Error> {
        self.code.flush(CONTENT, self.out)?;
        self.out.push(piece.from_part(CONTENT, source))
    }

    pub(super) fn finish(mut self) -> Result<(), Error> {
        self.code.flush(CONTENT, self.out)?;
        for note in std::mem::take(&mut self.notes) {
            let marker = note.marker;
            let piece = Piece::new(AtomKind::Footnote { marker }, note.said.text);
            self.push(piece.with_links(note.said.links), note.source)?;
        }
        Ok(())
    }
}

fn lines_of_one(paragraph: &Element) -> String {
    Inline::read(paragraph, &mut Vec::new()).text
}
