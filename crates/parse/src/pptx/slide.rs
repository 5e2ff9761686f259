//! One slide to pieces, shapes in the order they are kept.

use model::AtomKind;

use crate::Error;
use crate::builder::{Piece, TextBuilder};
use crate::xml::Element;

use super::bullet::Bullets;
use super::table;

/// A slide, or the notes to one, and where what it says goes.
pub(super) struct Slide<'a> {
    /// The name of its part.
    part: &'a str,
    out: &'a mut TextBuilder,
}

impl<'a> Slide<'a> {
    pub(super) fn new(part: &'a str, out: &'a mut TextBuilder) -> Self {
        Self { part, out }
    }

    pub(super) fn write(&mut self, root: &Element) -> Result<(), Error> {
        let Some(tree) = root.at(&["p:cSld", "p:spTree"]) else {
            return Ok(());
        };
        // The title may be kept anywhere; it is read first.
        let mut shapes = Vec::new();
        tree.find_all("p:sp", &mut shapes);
        for shape in shapes.iter().filter(|shape| is_title(shape)) {
            let lines: Vec<String> = paragraphs(shape).into_iter().map(text).collect();
            let kind = AtomKind::Heading { level: 1 };
            self.push(Piece::new(kind, lines.join(" ")), shape)?;
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
                let piece = Piece::new(AtomKind::Paragraph, text(paragraph));
                self.push(piece, paragraph)?;
            }
        }
        Ok(())
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
        let kind = placeholder(shape);
        let mut bullets = Bullets::default();
        for paragraph in paragraphs(shape) {
            let piece = match kind {
                Some("ftr" | "sldNum" | "dt" | "hdr") => AtomKind::Furniture,
                Some("obj" | "body") if !is_bare(paragraph) => bullets.item(paragraph),
                _ if has_bullet(paragraph) => bullets.item(paragraph),
                _ => AtomKind::Paragraph,
            };
            self.push(Piece::new(piece, text(paragraph)), paragraph)?;
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Element) -> Result<(), Error> {
        let mut tables = Vec::new();
        frame.find_all("a:tbl", &mut tables);
        for element in tables {
            let table = table::read(element);
            if !table.rows.is_empty() {
                self.push(Piece::table(table), element)?;
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

pub(super) fn text(paragraph: &Element) -> String {
    let mut out = String::new();
    for element in paragraph.elements() {
        match element.name.as_str() {
            "a:r" | "a:fld" => {
                out.push_str(&element.child("a:t").map(Element::text).unwrap_or_default());
            }
            "a:br" => out.push('\n'),
            _ => {}
        }
    }
    out
}
