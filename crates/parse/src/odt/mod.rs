//! OpenDocument texts: headings, paragraphs, lists, tables and notes of the content part.

mod inline;

use model::{AtomKind, Parsed, Table};

use crate::archive::Archive;
use crate::builder::{Piece, TextBuilder};
use crate::ooxml::whole_part;
use crate::xml::{Element, Token, Xml};
use crate::{Error, Format, Input};

use inline::Inline;

const FORMAT: Format = Format::Odt;
const CONTENT: &str = "content.xml";

pub(crate) fn parse(input: &Input<'_>) -> Result<Parsed, Error> {
    let mut archive = Archive::open(input.bytes, FORMAT, input.limits)?;
    let manifest = whole_part(&mut archive, "META-INF/manifest.xml", FORMAT, input.limits)?;
    if manifest.is_some_and(|manifest| is_encrypted(&manifest)) {
        return Err(Error::Encrypted { format: FORMAT });
    }
    let mut body = Body {
        out: TextBuilder::new(input.limits),
        notes: Vec::new(),
    };
    if let Some(meta) = whole_part(&mut archive, "meta.xml", FORMAT, input.limits)? {
        about(&meta, &mut body.out);
    }
    let Some(part) = archive.part(CONTENT)? else {
        return Err(Error::damaged(FORMAT, "it has no content part"));
    };
    let mut xml = Xml::new(part, FORMAT, input.limits);
    while let Some(token) = xml.next()? {
        if let Token::Start(element) = token
            && !is_wrapper(&element.name)
        {
            let tree = xml.tree(element)?;
            body.block(&tree)?;
        }
    }
    body.finish()
}

fn is_wrapper(name: &str) -> bool {
    matches!(
        name,
        "office:document-content" | "office:body" | "office:text" | "text:section"
    )
}

fn is_encrypted(manifest: &Element) -> bool {
    let mut found = Vec::new();
    manifest.find_all("manifest:encryption-data", &mut found);
    !found.is_empty()
}

fn about(meta: &Element, out: &mut TextBuilder) {
    let mut stack: Vec<&Element> = vec![meta];
    while let Some(element) = stack.pop() {
        stack.extend(element.elements());
        match element.name.as_str() {
            "dc:title" => out.title(&element.text()),
            "dc:creator" => out.property("author", &element.text()),
            "dc:language" => out.claimed_language(&element.text()),
            "dc:date" => out.property("modified", &element.text()),
            "dc:subject" => out.property("subject", &element.text()),
            _ => {}
        }
    }
}

struct Body {
    out: TextBuilder,
    notes: Vec<(String, String)>,
}

impl Body {
    fn block(&mut self, element: &Element) -> Result<(), Error> {
        match element.name.as_str() {
            "text:h" => {
                let level = element
                    .attribute("outline-level")
                    .and_then(|l| l.parse().ok());
                let kind = AtomKind::Heading {
                    level: level.unwrap_or(1).clamp(1, 10),
                };
                self.text(kind, element)
            }
            "text:p" => self.text(AtomKind::Paragraph, element),
            "text:list" => self.list(element, 0),
            "table:table" => self.table(element),
            "text:table-of-content" | "text:alphabetical-index" => {
                let text = inline::lines(element);
                self.out.push(Piece::new(AtomKind::Furniture, text))
            }
            "text:tracked-changes"
            | "office:automatic-styles"
            | "office:font-face-decls"
            | "office:scripts"
            | "text:sequence-decls"
            | "office:forms"
            | "office:annotation" => Ok(()),
            _ => element.elements().try_for_each(|inner| self.block(inner)),
        }
    }

    fn text(&mut self, kind: AtomKind, element: &Element) -> Result<(), Error> {
        let inline = Inline::read(element, &mut self.notes);
        self.out.push(Piece::new(kind, inline.text))?;
        for inner in inline.boxes {
            inner.elements().try_for_each(|block| self.block(block))?;
        }
        Ok(())
    }

    fn list(&mut self, list: &Element, depth: u8) -> Result<(), Error> {
        for item in list.elements() {
            let mut is_first = true;
            for block in item.elements() {
                match block.name.as_str() {
                    "text:list" => self.list(block, depth.saturating_add(1))?,
                    "text:p" if std::mem::take(&mut is_first) => {
                        let kind = AtomKind::ListItem {
                            depth,
                            marker: None,
                        };
                        self.text(kind, block)?;
                    }
                    _ => self.block(block)?,
                }
            }
        }
        Ok(())
    }

    fn table(&mut self, table: &Element) -> Result<(), Error> {
        let mut rows = Vec::new();
        let mut headers = 0;
        collect_rows(table, false, &mut rows, &mut headers);
        let cells: Vec<Vec<String>> = rows.into_iter().map(row).collect();
        if cells.iter().flatten().all(String::is_empty) {
            return Ok(());
        }
        self.out.push(Piece::table(Table {
            header_rows: headers.min(1),
            rows: cells,
        }))
    }

    fn finish(mut self) -> Result<Parsed, Error> {
        for (marker, text) in std::mem::take(&mut self.notes) {
            self.out
                .push(Piece::new(AtomKind::Footnote { marker }, text))?;
        }
        Ok(self.out.finish(FORMAT))
    }
}

fn collect_rows<'a>(
    parent: &'a Element,
    in_header: bool,
    rows: &mut Vec<&'a Element>,
    headers: &mut u32,
) {
    for element in parent.elements() {
        match element.name.as_str() {
            "table:table-row" => {
                rows.push(element);
                *headers += u32::from(in_header);
            }
            "table:table-header-rows" => collect_rows(element, true, rows, headers),
            "table:table-rows" | "table:table-row-group" => {
                collect_rows(element, in_header, rows, headers);
            }
            _ => {}
        }
    }
}

/// Cells by column; what another cell covers is empty. Claimed repetitions of nothing are not kept.
fn row(row: &Element) -> Vec<String> {
    let cells = row.elements().filter(|cell| {
        matches!(
            cell.name.as_str(),
            "table:table-cell" | "table:covered-table-cell"
        )
    });
    cells.map(inline::lines).collect()
}
