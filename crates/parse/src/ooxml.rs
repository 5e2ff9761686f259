//! What Word, PowerPoint and Excel files share: parts, relationships, properties.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use crate::archive::Archive;
use crate::builder::{Position, TextBuilder};
use crate::target::safe_target;
use crate::xml::{Element, Token, Xml};
use crate::{Error, Format, Limits};

/// Relationships of one part. Of those that point outside the file only the addresses of links
/// are kept, as words: nothing there is ever opened.
#[derive(Debug, Default)]
pub(crate) struct Relations {
    by_id: BTreeMap<String, Relation>,
    addresses: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(crate) struct Relation {
    /// The last word of its type, such as `header`.
    pub(crate) kind: String,
    /// A name in the archive.
    pub(crate) target: String,
}

impl Relations {
    pub(crate) fn of(
        archive: &mut Archive<'_>,
        part: &str,
        format: Format,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
        let name = match folder {
            "" => format!("_rels/{file}.rels"),
            folder => format!("{folder}/_rels/{file}.rels"),
        };
        let Some(root) = whole_part(archive, &name, format, limits)? else {
            return Ok(Self::default());
        };
        let (outside, inside): (Vec<&Element>, Vec<&Element>) = root
            .elements()
            .partition(|e| e.attribute("TargetMode") == Some("External"));
        let id = |e: &Element| e.attribute("Id").map(str::to_owned);
        let addresses = outside.iter().filter_map(|e| Some((id(e)?, address(e)?)));
        let by_id = inside
            .iter()
            .filter_map(|e| Some((id(e)?, relation(e, folder)?)));
        Ok(Self {
            by_id: by_id.collect(),
            addresses: addresses.collect(),
        })
    }

    /// Where a link leads to, if it may be shown.
    pub(crate) fn address(&self, id: &str) -> Option<&str> {
        self.addresses.get(id).map(String::as_str)
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Relation> {
        self.by_id.get(id)
    }

    /// The target of the first relation of a kind.
    pub(crate) fn first(&self, kind: &str) -> Option<&str> {
        let of_kind = |relation: &&Relation| relation.kind == kind;
        let first = self.by_id.values().find(of_kind);
        first.map(|relation| relation.target.as_str())
    }

    pub(crate) fn all<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a str> {
        let of_kind = self.by_id.values().filter(move |r| r.kind == kind);
        of_kind.map(|r| r.target.as_str())
    }
}

fn relation(element: &Element, folder: &str) -> Option<Relation> {
    let kind = element.attribute("Type")?.rsplit('/').next()?.to_owned();
    let target = resolve(folder, element.attribute("Target")?);
    Some(Relation { kind, target })
}

fn address(element: &Element) -> Option<String> {
    let is_link = element.attribute("Type")?.ends_with("/hyperlink");
    safe_target(element.attribute("Target").filter(|_| is_link)?)
}

/// A target relative to a folder of the archive; it cannot leave the archive.
pub(crate) fn resolve(folder: &str, target: &str) -> String {
    let (base, target) = match target.strip_prefix('/') {
        Some(absolute) => ("", absolute),
        None => (folder, target),
    };
    let mut path: Vec<&str> = base.split('/').filter(|s| !s.is_empty()).collect();
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                path.pop();
            }
            step => path.push(step),
        }
    }
    path.join("/")
}

/// A small part as one tree; `None` where the archive lacks it.
pub(crate) fn whole_part(
    archive: &mut Archive<'_>,
    name: &str,
    format: Format,
    limits: &Limits,
) -> Result<Option<Element>, Error> {
    let Some(bytes) = archive.read(name)? else {
        return Ok(None);
    };
    let mut xml = Xml::new(Cursor::new(bytes), format, limits);
    match xml.next_start()? {
        Some(root) => xml.tree(root).map(Some),
        None => Ok(None),
    }
}

/// A part its document can be read without: a damaged one is a gap.
pub(crate) fn part_or_gap(
    archive: &mut Archive<'_>,
    name: &str,
    format: Format,
    limits: &Limits,
    out: &mut TextBuilder,
) -> Result<Option<Element>, Error> {
    whole_part(archive, name, format, limits).or_else(|cause| {
        gap(name, cause, out)?;
        Ok(None)
    })
}

/// Damage to a part costs that part; what fails for another reason fails the document.
pub(crate) fn gap(name: &str, cause: Error, out: &mut TextBuilder) -> Result<(), Error> {
    let Error::Damaged { detail, .. } = cause else {
        return Err(cause);
    };
    out.gap(None, format!("the part `{name}` is damaged: {detail}"));
    Ok(())
}

/// Reads the part a document consists of, block by block: only one is ever a tree in memory.
/// Blocks are told up to damage, which is told last.
pub(crate) fn blocks<R: Read>(
    xml: &mut Xml<R>,
    is_wrapper: impl Fn(&str) -> bool,
    mut block: impl FnMut(&Element) -> Result<(), Error>,
) -> Result<(), Error> {
    while let Some(token) = xml.next()? {
        if let Token::Start(element) = token
            && !is_wrapper(&element.name)
        {
            block(&xml.tree_so_far(element)?)?;
        }
    }
    xml.ended()
}

/// What a document shows that is not read, most of it kept in parts of its own.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    charts: usize,
    diagrams: usize,
    documents: usize,
    pub(crate) text_boxes: usize,
    pub(crate) comments: usize,
    /// Formulas whose value was never kept.
    pub(crate) formulas: usize,
}

impl LeftOut {
    pub(crate) fn note(&mut self, element: &Element) {
        match element.name.as_str() {
            "w:altChunk" => self.documents += 1,
            "a:graphicData" => match element.attribute("uri").and_then(|u| u.rsplit('/').next()) {
                Some("chart" | "chartex") => self.charts += 1,
                Some("diagram") => self.diagrams += 1,
                _ => {}
            },
            _ => {}
        }
        element.elements().for_each(|inner| self.note(inner));
    }

    pub(crate) fn warn(&self, out: &mut TextBuilder) {
        let said = [
            ("charts", self.charts),
            ("SmartArt diagrams", self.diagrams),
            ("embedded documents", self.documents),
            ("text boxes", self.text_boxes),
            ("comments", self.comments),
            ("formulas without a value", self.formulas),
        ];
        for (what, count) in said.into_iter().filter(|(_, count)| *count > 0) {
            out.warn(format!("{what} were not read: {count}"));
        }
    }
}

/// Damage to the part a document consists of costs what stands behind it, unless that is all.
pub(crate) fn gap_unless_all(
    name: &str,
    read: Result<(), Error>,
    before: Position,
    out: &mut TextBuilder,
) -> Result<(), Error> {
    match read {
        Err(cause) if out.position() != before => gap(name, cause, out),
        read => read,
    }
}

/// Title, author and dates from `docProps/core.xml`. A broken one costs nothing but a warning.
pub(crate) fn properties(
    archive: &mut Archive<'_>,
    format: Format,
    limits: &Limits,
    out: &mut TextBuilder,
) {
    let core = match whole_part(archive, "docProps/core.xml", format, limits) {
        Ok(Some(core)) => core,
        Ok(None) => return,
        Err(cause) => return out.warn(format!("its properties could not be read: {cause}")),
    };
    for element in core.elements() {
        let value = element.text();
        let name = element.name.rsplit(':').next().unwrap_or_default();
        match name {
            "title" => out.title(&value),
            "creator" => out.property("author", &value),
            "language" => out.claimed_language(&value),
            "subject" | "description" | "keywords" | "created" | "modified" => {
                out.property(name, &value);
            }
            _ => {}
        }
    }
}
