//! One slide to pieces, shapes in the order they are kept.

use model::AtomKind;

use crate::Error;
use crate::builder::{Leads, Piece, TextBuilder};
use crate::cell::Cell;
use crate::math;
use crate::ooxml::Relations;
use crate::xml::Element;

use super::bullet::Bullets;
use super::table;

/// Links of one paragraph or table: each of them may repeat one long address.
pub(super) const MOST_LINKS: usize = 2_000;

/// A slide, or the notes to one, and where what it says goes.
pub(super) struct Slide<'a> {
    /// The name of its part.
    part: &'a str,
    relations: &'a Relations,
    out: &'a mut TextBuilder,
}

impl<'a> Slide<'a> {
    pub(super) fn new(part: &'a str, relations: &'a Relations, out: &'a mut TextBuilder) -> Self {
        Self {
            part,
            relations,
            out,
        }
    }

    pub(super) fn write(&mut self, root: &Element) -> Result<(), Error> {
        let Some(tree) = root.at(&["p:cSld", "p:spTree"]) else {
            return Ok(());
        };
        // The title may be kept anywhere; it is read first.
        let mut shapes = Vec::new();
        tree.find_all("p:sp", &mut shapes);
        for shape in shapes.iter().filter(|shape| is_title(shape)) {
            let mut title = Cell::default();
            for paragraph in paragraphs(shape) {
                title.add_line(&words(paragraph, self.relations));
            }
            title.text = title.text.replace('\n', " ");
            self.say(AtomKind::Heading { level: 1 }, title, shape)?;
        }
        self.shapes_of(tree)
    }

    pub(super) fn write_notes(&mut self, root: &Element) -> Result<(), Error> {
        let mut shapes = Vec::new();
        root.find_all("p:sp", &mut shapes);
        for shape in shapes
            .into_iter()
            .filter(|shape| placeholder(shape) == Some("body"))
        {
            for paragraph in paragraphs(shape) {
                let said = words(paragraph, self.relations);
                self.say(AtomKind::Paragraph, said, paragraph)?;
            }
        }
        Ok(())
    }

    fn say(&mut self, kind: AtomKind, said: Cell, from: &Element) -> Result<(), Error> {
        self.push(Piece::new(kind, said.text).with_links(said.links), from)
    }

    fn push(&mut self, piece: Piece, from: &Element) -> Result<(), Error> {
        self.out.push(piece.from_part(self.part, from.source))
    }

    fn shapes_of(&mut self, parent: &Element) -> Result<(), Error> {
        for element in parent.elements() {
            match element.name.as_str() {
                "p:sp" if !is_title(element) => self.shape(element)?,
                "p:grpSp" => self.shapes_of(element)?,
                "p:graphicFrame" => self.frame(element)?,
                "p:pic" => self.picture(element)?,
                "mc:AlternateContent" => {
                    let told = element.child("mc:Choice").or(element.child("mc:Fallback"));
                    told.map_or(Ok(()), |told| self.shapes_of(told))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn shape(&mut self, shape: &Element) -> Result<(), Error> {
        let holder = placeholder(shape);
        let mut bullets = Bullets::default();
        for paragraph in paragraphs(shape) {
            let kind = match holder {
                Some("ftr" | "sldNum" | "dt" | "hdr") => AtomKind::Furniture,
                Some("obj" | "body") if !is_bare(paragraph) => bullets.item(paragraph),
                _ if has_bullet(paragraph) => bullets.item(paragraph),
                _ => AtomKind::Paragraph,
            };
            self.say(kind, words(paragraph, self.relations), paragraph)?;
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Element) -> Result<(), Error> {
        let mut tables = Vec::new();
        frame.find_all("a:tbl", &mut tables);
        for element in tables {
            if let Some(table) = table::read(element, self.relations) {
                self.push(table, element)?;
            }
        }
        Ok(())
    }

    fn picture(&mut self, picture: &Element) -> Result<(), Error> {
        let said = picture
            .at(&["p:nvPicPr", "p:cNvPr"])
            .and_then(|p| p.attribute("descr"));
        self.push(
            Piece::new(AtomKind::Figure, said.unwrap_or_default()),
            picture,
        )
    }
}

fn placeholder(shape: &Element) -> Option<&str> {
    let placeholder = shape.at(&["p:nvSpPr", "p:nvPr", "p:ph"])?;
    Some(placeholder.attribute("type").unwrap_or("obj"))
}

fn is_title(shape: &Element) -> bool {
    matches!(placeholder(shape), Some("title" | "ctrTitle"))
}

pub(super) fn paragraphs(shape: &Element) -> Vec<&Element> {
    let body = shape.child("p:txBody").or(shape.child("a:txBody"));
    body.into_iter()
        .flat_map(|body| body.children("a:p"))
        .collect()
}

fn has_bullet(paragraph: &Element) -> bool {
    let of = |name: &str| paragraph.at(&["a:pPr", name]).is_some();
    of("a:buChar") || of("a:buAutoNum")
}

fn is_bare(paragraph: &Element) -> bool {
    paragraph.at(&["a:pPr", "a:buNone"]).is_some()
}

/// The words of a paragraph, and where they lead: a run has its link with its properties.
pub(super) fn words(paragraph: &Element, relations: &Relations) -> Cell {
    let mut out = Cell::default();
    for element in paragraph.elements() {
        let from = out.text.len();
        match element.name.as_str() {
            "a:r" | "a:fld" => {
                let said = element.child("a:t").map(Element::text);
                out.text.push_str(&said.unwrap_or_default());
            }
            "a:br" => out.text.push('\n'),
            "a14:m" => out.text.push_str(&formula(element)),
            "mc:AlternateContent" => {
                let mut formulas = Vec::new();
                element.find_all("a14:m", &mut formulas);
                out.text.extend(formulas.into_iter().map(formula));
            }
            _ => {}
        }
        let link = element.at(&["a:rPr", "a:hlinkClick"]);
        let address = link.and_then(|link| relations.address(link.related()?));
        if let Some(address) = address {
            lead(&mut out, from, address);
        }
    }
    out
}

/// As Markdown writes a formula in a line.
fn formula(element: &Element) -> String {
    match math::linear(element).trim() {
        "" => String::new(),
        formula => format!("${formula}$"),
    }
}

/// Words from here on lead there, with those before them that do, too.
fn lead(out: &mut Cell, from: usize, address: &str) {
    let words = from..out.text.len();
    if let Some(last) = out.links.last_mut()
        && last.words.end == from
        && last.target == address
    {
        last.words.end = words.end;
    } else if !words.is_empty() && out.links.len() < MOST_LINKS {
        let target = address.to_owned();
        out.links.push(Leads { words, target });
    }
}
