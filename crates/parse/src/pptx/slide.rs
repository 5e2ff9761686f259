//! One slide to pieces, shapes in the order they are kept.

use model::{AtomKind, Table};

use crate::Error;
use crate::builder::{Piece, TextBuilder};
use crate::xml::Element;

pub(super) fn write(root: &Element, out: &mut TextBuilder) -> Result<(), Error> {
    let Some(tree) = root.at(&["p:cSld", "p:spTree"]) else {
        return Ok(());
    };
    // The title may be kept anywhere; it is read first.
    let mut shapes = Vec::new();
    tree.find_all("p:sp", &mut shapes);
    for shape in shapes.iter().filter(|shape| is_title(shape)) {
        let text = paragraphs(shape)
            .iter()
            .map(|p| text(p))
            .collect::<Vec<_>>()
            .join(" ");
        out.push(Piece::new(AtomKind::Heading { level: 1 }, text))?;
    }
    shapes_of(tree, out)
}

pub(super) fn write_notes(root: &Element, out: &mut TextBuilder) -> Result<(), Error> {
    let mut shapes = Vec::new();
    root.find_all("p:sp", &mut shapes);
    for shape in shapes
        .into_iter()
        .filter(|shape| placeholder(shape) == Some("body"))
    {
        for paragraph in paragraphs(shape) {
            out.push(Piece::new(AtomKind::Paragraph, text(paragraph)))?;
        }
    }
    Ok(())
}

fn shapes_of(parent: &Element, out: &mut TextBuilder) -> Result<(), Error> {
    for element in parent.elements() {
        match element.name.as_str() {
            "p:sp" if !is_title(element) => shape(element, out)?,
            "p:grpSp" => shapes_of(element, out)?,
            "p:graphicFrame" => frame(element, out)?,
            "p:pic" => picture(element, out)?,
            "mc:AlternateContent" => {
                let told = element.child("mc:Choice").or(element.child("mc:Fallback"));
                told.map_or(Ok(()), |told| shapes_of(told, out))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn placeholder(shape: &Element) -> Option<&str> {
    let placeholder = shape.at(&["p:nvSpPr", "p:nvPr", "p:ph"])?;
    Some(placeholder.attribute("type").unwrap_or("obj"))
}

fn is_title(shape: &Element) -> bool {
    matches!(placeholder(shape), Some("title" | "ctrTitle"))
}

fn paragraphs(shape: &Element) -> Vec<&Element> {
    let body = shape.child("p:txBody").or(shape.child("a:txBody"));
    body.into_iter()
        .flat_map(|body| body.children("a:p"))
        .collect()
}

fn shape(shape: &Element, out: &mut TextBuilder) -> Result<(), Error> {
    let kind = placeholder(shape);
    for paragraph in paragraphs(shape) {
        let piece = match kind {
            Some("ftr" | "sldNum" | "dt" | "hdr") => AtomKind::Furniture,
            Some("obj" | "body") if !is_bare(paragraph) => item(paragraph),
            _ if has_bullet(paragraph) => item(paragraph),
            _ => AtomKind::Paragraph,
        };
        out.push(Piece::new(piece, text(paragraph)))?;
    }
    Ok(())
}

fn item(paragraph: &Element) -> AtomKind {
    let level = paragraph.child("a:pPr").and_then(|p| p.attribute("lvl"));
    AtomKind::ListItem {
        depth: level.and_then(|l| l.parse().ok()).unwrap_or(0),
        marker: None,
    }
}

fn has_bullet(paragraph: &Element) -> bool {
    let of = |name: &str| paragraph.at(&["a:pPr", name]).is_some();
    of("a:buChar") || of("a:buAutoNum")
}

fn is_bare(paragraph: &Element) -> bool {
    paragraph.at(&["a:pPr", "a:buNone"]).is_some()
}

fn text(paragraph: &Element) -> String {
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

fn frame(frame: &Element, out: &mut TextBuilder) -> Result<(), Error> {
    let mut tables = Vec::new();
    frame.find_all("a:tbl", &mut tables);
    for table in tables {
        let rows: Vec<Vec<String>> = table.children("a:tr").map(row).collect();
        let first_row = table.child("a:tblPr").and_then(|p| p.attribute("firstRow"));
        if !rows.is_empty() {
            out.push(Piece::table(Table {
                header_rows: u32::from(first_row == Some("1")),
                rows,
            }))?;
        }
    }
    Ok(())
}

fn row(row: &Element) -> Vec<String> {
    let cell = |cell: &Element| {
        let lines = paragraphs(cell).into_iter().map(text);
        lines.collect::<Vec<_>>().join("\n")
    };
    row.children("a:tc").map(cell).collect()
}

fn picture(picture: &Element, out: &mut TextBuilder) -> Result<(), Error> {
    let said = picture
        .at(&["p:nvPicPr", "p:cNvPr"])
        .and_then(|p| p.attribute("descr"));
    out.push(Piece::new(AtomKind::Figure, said.unwrap_or_default()))
}
