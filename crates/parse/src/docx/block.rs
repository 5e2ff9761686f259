//! Blocks of the body to pieces: paragraphs by what their style means, tables, text boxes.

use model::AtomKind;

use crate::Error;
use crate::builder::{Leads, Piece, TextBuilder};
use crate::cell::Cell;
use crate::listing::Listing;
use crate::ooxml::Relations;
use crate::xml::Element;

use super::inline::{self, Cited, Inline, OpenFields};
use super::numbering::{Marker, Numbering};
use super::styles::{self, Role, Styles};
use super::table;

pub(super) struct Body<'a> {
    /// The name of the part it is read from.
    part: &'a str,
    relations: &'a Relations,
    styles: &'a Styles,
    numbering: Numbering,
    out: &'a mut TextBuilder,
    cited: Cited,
    /// Lines of code that follow one another are one listing.
    code: Listing,
    /// A paragraph whose end was deleted: it goes on in the next.
    joined: Option<Joined>,
    /// Fields a paragraph of the body left open.
    fields: OpenFields,
    /// Blocks that came since, if one of them is in its instruction.
    held: Held,
}

/// Blocks that may be part of a field's instruction: that is known once the instruction ends.
#[derive(Debug, Default)]
struct Held {
    blocks: Vec<Element>,
    /// Of the fields open behind the last block, whether their instructions go on.
    instructions: Vec<bool>,
}

/// An instruction that goes on for longer has lost its end, and what follows it is text.
const MOST_HELD: usize = 64;

impl Held {
    /// Takes a block; answers whether the instruction ends in it.
    fn add(&mut self, block: &Element) -> bool {
        self.blocks.push(block.clone());
        let mut marks = Vec::new();
        block.find_all("w:fldChar", &mut marks);
        marks.into_iter().any(|mark| {
            match mark.attribute("fldCharType") {
                Some("begin") => self.instructions.push(true),
                Some("separate") => {
                    if let Some(goes_on) = self.instructions.last_mut() {
                        *goes_on = false;
                    }
                }
                Some("end") => {
                    self.instructions.pop();
                }
                _ => {}
            }
            !self.instructions.contains(&true)
        })
    }
}

#[derive(Debug, Default)]
struct Joined {
    text: String,
    links: Vec<Leads>,
    pictures: Vec<String>,
    source: (u64, u64),
}

impl Joined {
    fn add(&mut self, inline: &mut Inline<'_>, links: Vec<Leads>) {
        let before = self.text.len();
        self.text.push_str(&inline.text);
        self.pictures.append(&mut inline.pictures);
        let room = inline::MOST_LINKS - self.links.len();
        self.links
            .extend(links.into_iter().take(room).map(|link| Leads {
                words: before + link.words.start..before + link.words.end,
                target: link.target,
            }));
    }
}

impl<'a> Body<'a> {
    pub(super) fn new(
        part: &'a str,
        relations: &'a Relations,
        styles: &'a Styles,
        numbering: Numbering,
        out: &'a mut TextBuilder,
    ) -> Self {
        Self {
            part,
            relations,
            styles,
            numbering,
            out,
            cited: Cited::default(),
            code: Listing::default(),
            joined: None,
            fields: OpenFields::default(),
            held: Held::default(),
        }
    }

    /// A block of the body itself, in which a field may go on that began in another.
    pub(super) fn block(&mut self, element: &Element) -> Result<(), Error> {
        if !self.fields.in_instruction() {
            return self.top_block(element);
        }
        if self.held.add(element) {
            return self.release();
        }
        match self.held.blocks.len() < MOST_HELD {
            true => Ok(()),
            false => self.give_up(),
        }
    }

    /// Reads what was held back up to where the instruction ends.
    fn release(&mut self) -> Result<(), Error> {
        let held = std::mem::take(&mut self.held);
        held.blocks
            .iter()
            .try_for_each(|block| self.top_block(block))
    }

    /// Reads what was held back for an end that did not come. A field that begins in it may have
    /// one: what follows is held back anew.
    fn give_up(&mut self) -> Result<(), Error> {
        self.fields = OpenFields::default();
        let held = std::mem::take(&mut self.held);
        held.blocks.iter().try_for_each(|block| self.block(block))
    }

    fn top_block(&mut self, element: &Element) -> Result<(), Error> {
        if element.name != "w:p" {
            return self.inner_block(element);
        }
        let mut fields = std::mem::take(&mut self.fields);
        let read = self.paragraph(element, &mut fields);
        if fields.in_instruction() {
            self.held.instructions = fields.depth();
            self.fields = fields;
        }
        read
    }

    fn inner_block(&mut self, element: &Element) -> Result<(), Error> {
        match element.name.as_str() {
            "w:p" => self.paragraph(element, &mut OpenFields::default()),
            "w:tbl" => {
                self.end_joined()?;
                self.table(element)
            }
            "w:sectPr" | "w:del" | "w:moveFrom" | "w:sdtPr" | "w:sdtEndPr" => Ok(()),
            "mc:AlternateContent" => match element.child("mc:Choice") {
                Some(choice) => self.blocks(choice),
                None => self.blocks(element),
            },
            "m:oMathPara" | "m:oMath" => {
                self.end_joined()?;
                let formula = crate::math::linear(element);
                self.push(Piece::new(AtomKind::Formula, formula), element.source)
            }
            _ => self.blocks(element),
        }
    }

    fn blocks(&mut self, parent: &Element) -> Result<(), Error> {
        parent
            .elements()
            .try_for_each(|element| self.inner_block(element))
    }

    pub(super) fn finish(mut self) -> Result<Cited, Error> {
        // Each time at least one block is read.
        while self.fields.in_instruction() {
            self.give_up()?;
        }
        self.code.flush(self.part, self.out)?;
        self.end_joined()?;
        Ok(self.cited)
    }

    /// What is no paragraph cannot go on with one: what waits for that ends here.
    fn end_joined(&mut self) -> Result<(), Error> {
        let Some(rest) = self.joined.take() else {
            return Ok(());
        };
        let piece = Piece::new(AtomKind::Paragraph, rest.text).with_links(rest.links);
        self.push(piece, rest.source)?;
        self.pictures(&rest.pictures, rest.source)
    }

    fn pictures(&mut self, said: &[String], source: (u64, u64)) -> Result<(), Error> {
        said.iter().try_for_each(|picture| {
            self.push(Piece::new(AtomKind::Figure, picture.as_str()), source)
        })
    }

    fn paragraph(&mut self, paragraph: &Element, fields: &mut OpenFields) -> Result<(), Error> {
        let mut inline = inline::read_on(paragraph, &mut self.cited, fields);
        let properties = paragraph.child("w:pPr");
        let mut whole = self.joined.take().unwrap_or_else(|| Joined {
            source: paragraph.source,
            ..Joined::default()
        });
        let links = inline.links(self.relations);
        whole.add(&mut inline, links);
        whole.source.1 = paragraph.source.1;
        if properties.is_some_and(|p| p.at(&["w:rPr", "w:del"]).is_some()) {
            self.joined = Some(whole);
            return self.boxes(&inline);
        }
        let Joined {
            text,
            links,
            pictures,
            source,
        } = whole;
        (inline.text, inline.pictures) = (text, pictures);
        let style = properties.and_then(|p| p.value("w:pStyle"));
        let role = self.role(properties, style);
        let marker = self.marker(properties, style, &inline);
        if role == Role::Code && self.is_line_of_code(&inline) {
            self.code.add(&inline.text, source);
            return self.boxes(&inline);
        }
        let piece = self.piece(role, marker, properties, &inline);
        let links = moved(links, &inline.text, &piece.text);
        let piece = piece.with_links(links);
        self.push(piece.with_anchor(inline.anchor.clone()), source)?;
        self.pictures(&inline.pictures, source)?;
        self.boxes(&inline)
    }

    /// A blank line is one within a listing, and nothing elsewhere.
    fn is_line_of_code(&self, inline: &Inline<'_>) -> bool {
        !inline.text.trim().is_empty() || inline.pictures.is_empty() && !self.code.is_empty()
    }

    /// An outline level on the paragraph itself outdoes its style; the last one is none.
    fn role(&self, properties: Option<&Element>, style: Option<&str>) -> Role {
        let own = properties.and_then(|p| p.value("w:outlineLvl"));
        let own = own.and_then(|level| level.parse::<u8>().ok());
        match (own, self.styles.role(style)) {
            (Some(level @ 0..=8), _) => Role::Heading(level + 1),
            (Some(9), Role::Heading(_)) => Role::Body,
            (_, of_style) => of_style,
        }
    }

    fn marker(
        &mut self,
        properties: Option<&Element>,
        style: Option<&str>,
        inline: &Inline<'_>,
    ) -> Marker {
        let Some((num, level)) = self.place(properties, style) else {
            return Marker::None;
        };
        // An empty paragraph shows its number in Word too, but means nothing.
        if inline.text.trim().is_empty() && inline.pictures.is_empty() {
            return self.count_empty(&num, level, style);
        }
        self.numbering.next(&num, level)
    }

    /// The list a paragraph is in, and its level there.
    fn place(&self, properties: Option<&Element>, style: Option<&str>) -> Option<(String, u8)> {
        let own = properties.map(styles::list_place).unwrap_or_default();
        let of_style = self.styles.list_place(style);
        let num = own.num.or(of_style.num).filter(|num| num != "0")?;
        Some((num, own.level.or(of_style.level).unwrap_or(0)))
    }

    /// An empty paragraph counts where its number is a label others build on, such as a chapter's.
    fn count_empty(&mut self, num: &str, level: u8, style: Option<&str>) -> Marker {
        if style.and_then(|id| self.styles.name(id)).is_some()
            && self.styles.list_place(style).num.is_some()
        {
            self.numbering.next(num, level);
        }
        Marker::None
    }

    fn piece(
        &mut self,
        role: Role,
        marker: Marker,
        properties: Option<&Element>,
        inline: &Inline<'_>,
    ) -> Piece {
        let text = inline.text.trim();
        if inline.formula_bytes > 0 && inline.formula_bytes == text.len() {
            return Piece::new(AtomKind::Formula, text.trim_matches('$'));
        }
        let labelled = |marker: &Marker| labelled(marker, text);
        match role {
            Role::Heading(level) => Piece::new(
                AtomKind::Heading {
                    level: level.min(9),
                },
                labelled(&marker),
            ),
            Role::Title => {
                self.out.title(text);
                Piece::new(AtomKind::Heading { level: 1 }, labelled(&marker))
            }
            Role::Caption => Piece::new(AtomKind::Caption, labelled(&marker)),
            Role::Contents => Piece::new(AtomKind::Furniture, text),
            Role::Quote if marker == Marker::None => Piece::new(AtomKind::Quote, text),
            Role::Quote | Role::Code | Role::Body => match marker {
                Marker::None => Piece::new(AtomKind::Paragraph, text),
                Marker::Label(_) => Piece::new(AtomKind::Paragraph, labelled(&marker)),
                Marker::Bullet | Marker::Box(_) => {
                    Piece::new(self.item(properties, None), labelled(&marker))
                }
                Marker::Number(number) => Piece::new(self.item(properties, Some(number)), text),
            },
        }
    }

    fn item(&self, properties: Option<&Element>, marker: Option<String>) -> AtomKind {
        let style = properties.and_then(|p| p.value("w:pStyle"));
        let own = properties.map(styles::list_place).unwrap_or_default();
        let level = own.level.or(self.styles.list_place(style).level);
        AtomKind::ListItem {
            depth: level.unwrap_or(0),
            marker,
        }
    }

    fn boxes(&mut self, inline: &Inline<'_>) -> Result<(), Error> {
        inline
            .boxes
            .iter()
            .try_for_each(|content| self.framed(content))
    }

    /// Blocks in a frame: paragraphs neither come in from before it nor go on behind it.
    fn framed(&mut self, content: &Element) -> Result<(), Error> {
        self.end_joined()?;
        self.blocks(content)?;
        self.end_joined()
    }

    fn table(&mut self, table: &Element) -> Result<(), Error> {
        if let Some(cells) = table::boxed(table) {
            return cells.into_iter().try_for_each(|cell| self.framed(cell));
        }
        let mut room = inline::MOST_LINKS;
        let read = table::read(table, self.styles, &mut |paragraph| {
            let mut line = self.line_of_cell(paragraph);
            line.links.truncate(room);
            room -= line.links.len();
            line
        });
        read.map_or(Ok(()), |read| self.push(read, table.source))
    }

    /// A numbered row may hold its number and nothing else, so here an empty paragraph counts.
    fn line_of_cell(&mut self, paragraph: &Element) -> Cell {
        let inline = inline::read(paragraph, &mut self.cited);
        let properties = paragraph.child("w:pPr");
        let style = properties.and_then(|p| p.value("w:pStyle"));
        let marker = match self.place(properties, style) {
            Some((num, level)) => self.numbering.next(&num, level),
            None => Marker::None,
        };
        let text = labelled(&marker, inline.text.trim());
        let links = moved(inline.links(self.relations), &inline.text, &text);
        let mut cell = Cell::new(text, links);
        for said in inline.pictures {
            cell.add_line(&Cell::new(said, Vec::new()));
        }
        cell
    }

    fn push(&mut self, piece: Piece, source: (u64, u64)) -> Result<(), Error> {
        self.code.flush(self.part, self.out)?;
        self.out.push(piece.from_part(self.part, source))
    }
}

/// A text with its number before it, as far as that says anything.
fn labelled(marker: &Marker, text: &str) -> String {
    match marker {
        Marker::Number(number) | Marker::Label(number) => format!("{number} {text}"),
        Marker::Box(true) => format!("[x] {text}"),
        Marker::Box(false) => format!("[ ] {text}"),
        Marker::Bullet | Marker::None => text.to_owned(),
    }
}

/// Links of a paragraph in the text that was made of it: trimmed, perhaps behind a number.
fn moved(links: Vec<Leads>, written: &str, text: &str) -> Vec<Leads> {
    let body = written.trim();
    let Some(label) = text.strip_suffix(body).map(str::len) else {
        return Vec::new();
    };
    let before = written.len() - written.trim_start().len();
    let place = |at: usize| label + at.saturating_sub(before).min(body.len());
    let moved = links.into_iter().map(|link| Leads {
        words: place(link.words.start)..place(link.words.end),
        target: link.target,
    });
    moved.filter(|link| !link.words.is_empty()).collect()
}
