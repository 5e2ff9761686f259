//! XML, read as a stream of elements; small trees are built where a block begins.
//!
//! Only the five predefined entities and character references mean anything:
//! document types are skipped, whatever they declare. Nesting and the size of
//! one tree are bounded while reading.

mod utf8;

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use quick_xml::NsReader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;

use crate::archive::from_io;
use crate::{Budget, Error, Format, Limits};

pub(crate) use utf8::Utf8;

#[derive(Debug, Default, Clone)]
pub(crate) struct Element {
    /// Local name after the usual prefix of its namespace, such as `w:p`.
    pub(crate) name: String,
    /// By local name; where two differ in their namespace only, the first counts.
    attributes: Vec<(String, String)>,
    pub(crate) nodes: Vec<Node>,
    /// From the beginning of its first tag to the end of its last, in the bytes of its part.
    pub(crate) source: (u64, u64),
}

#[derive(Debug, Clone)]
pub(crate) enum Node {
    Element(Element),
    Text(String),
}

impl Element {
    pub(crate) fn attribute(&self, local: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(name, _)| name == local);
        found.map(|(_, value)| value.as_str())
    }

    /// The relation an element points to: `r:id`, whatever prefix it is written with.
    pub(crate) fn related(&self) -> Option<&str> {
        let ids = self.attributes.iter().filter(|(name, _)| name == "id");
        ids.map(|(_, value)| value.as_str())
            .find(|value| value.starts_with(|c: char| c.is_alphabetic()))
    }

    pub(crate) fn elements(&self) -> impl Iterator<Item = &Element> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    pub(crate) fn children<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.elements().filter(move |element| element.name == name)
    }

    pub(crate) fn child(&self, name: &str) -> Option<&Element> {
        self.elements().find(|element| element.name == name)
    }

    /// The child at the end of a path of names.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Element> {
        path.iter()
            .try_fold(self, |element, name| element.child(name))
    }

    /// The attribute `val` of a child, as office formats like to write a property.
    pub(crate) fn value(&self, child: &str) -> Option<&str> {
        self.child(child)?.attribute("val")
    }

    /// A property that is there or not; `val` may take it back.
    pub(crate) fn flag(&self, child: &str) -> bool {
        self.child(child)
            .is_some_and(|e| !matches!(e.attribute("val"), Some("0" | "false" | "off" | "none")))
    }

    /// All text below.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        self.collect_text(&mut out);
        out
    }

    fn collect_text(&self, out: &mut String) {
        for node in &self.nodes {
            match node {
                Node::Text(text) => out.push_str(text),
                Node::Element(element) => element.collect_text(out),
            }
        }
    }

    pub(crate) fn find_all<'a>(&'a self, name: &str, found: &mut Vec<&'a Element>) {
        for element in self.elements() {
            if element.name == name {
                found.push(element);
            }
            element.find_all(name, found);
        }
    }
}

pub(crate) enum Token {
    /// An element, without what is in it.
    Start(Element),
    End,
    Text(String),
}

pub(crate) struct Xml<R> {
    reader: NsReader<BufReader<Metered<Utf8<R>>>>,
    buffer: Vec<u8>,
    format: Format,
    limits: Limits,
    depth: u32,
    /// An empty element's end, still to be told.
    pending_end: bool,
    token_bytes: Rc<Cell<u64>>,
    /// Where the last token stood in what was read.
    token: (u64, u64),
    /// Met while a tree was read, still to be told.
    damage: Option<Error>,
}

/// Ends in an error when a single token grows beyond a limit: the reader above
/// keeps one token in memory, however long.
struct Metered<R> {
    inner: R,
    token_bytes: Rc<Cell<u64>>,
    limit: u64,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.token_bytes.get() > self.limit {
            return Err(io::Error::other(over(Budget::TextBytes, self.limit)));
        }
        let read = self.inner.read(buffer)?;
        self.token_bytes.set(self.token_bytes.get() + read as u64);
        Ok(read)
    }
}

impl<R: Read> Xml<R> {
    pub(crate) fn new(source: R, format: Format, limits: &Limits) -> Self {
        let token_bytes = Rc::new(Cell::new(0));
        let source = Metered {
            inner: Utf8::new(source),
            token_bytes: Rc::clone(&token_bytes),
            limit: limits.text_bytes,
        };
        let mut reader = NsReader::from_reader(BufReader::with_capacity(64 << 10, source));
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        Self {
            reader,
            buffer: Vec::new(),
            format,
            limits: *limits,
            depth: 0,
            pending_end: false,
            token_bytes,
            token: (0, 0),
            damage: None,
        }
    }

    pub(crate) fn next(&mut self) -> Result<Option<Token>, Error> {
        if let Some(damage) = self.damage.take() {
            return Err(damage);
        }
        if std::mem::take(&mut self.pending_end) {
            return Ok(Some(Token::End));
        }
        loop {
            self.buffer.clear();
            self.token_bytes.set(0);
            let start = self.reader.buffer_position();
            let event = match self.reader.read_event_into(&mut self.buffer) {
                Ok(event) => event.into_owned(),
                Err(cause) => return Err(xml_error(self.format, &cause)),
            };
            self.token = (start, self.reader.buffer_position());
            match event {
                Event::Start(start) => {
                    self.deeper()?;
                    return Ok(Some(Token::Start(self.element(&start))));
                }
                Event::Empty(start) => {
                    self.pending_end = true;
                    return Ok(Some(Token::Start(self.element(&start))));
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(Some(Token::End));
                }
                Event::Text(text) => return Ok(Some(Token::Text(text.into_inner().into_owned()))),
                Event::CData(text) => return Ok(Some(Token::Text(text.into_inner().into_owned()))),
                Event::GeneralRef(name) => match resolved(&name) {
                    Some(c) => return Ok(Some(Token::Text(c.to_string()))),
                    None => continue,
                },
                Event::Eof => return Ok(None),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
    }

    /// The next element that begins, whatever its depth.
    pub(crate) fn next_start(&mut self) -> Result<Option<Element>, Error> {
        loop {
            match self.next()? {
                Some(Token::Start(element)) => return Ok(Some(element)),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// Reads what is in an element that has just begun, up to its end.
    pub(crate) fn tree(&mut self, root: Element) -> Result<Element, Error> {
        let mut open = vec![root];
        self.fill(&mut open)?;
        Ok(open.pop().expect("never empty"))
    }

    /// As [`Self::tree`], but of what is damaged further in it tells what stood before. The
    /// damage is the next token.
    pub(crate) fn tree_so_far(&mut self, root: Element) -> Result<Element, Error> {
        let mut open = vec![root];
        if let Err(cause) = self.fill(&mut open) {
            let Error::Damaged { .. } = cause else {
                return Err(cause);
            };
            self.damage = Some(cause);
            while !self.close(&mut open) {}
        }
        Ok(open.pop().expect("never empty"))
    }

    /// Everything that began has ended.
    pub(crate) fn ended(&self) -> Result<(), Error> {
        match self.depth {
            0 => Ok(()),
            _ => Err(Error::damaged(self.format, "its XML ends too early")),
        }
    }

    /// Reads on until the first of the open elements, the only one left, has ended.
    fn fill(&mut self, open: &mut Vec<Element>) -> Result<(), Error> {
        let mut bytes = 0u64;
        loop {
            match self.next()? {
                Some(Token::Start(element)) => {
                    bytes += 64 + element.name.len() as u64;
                    open.push(element);
                }
                Some(Token::Text(text)) => {
                    bytes += text.len() as u64;
                    add_text(open.last_mut().expect("never empty"), text);
                }
                Some(Token::End) | None => {
                    if self.close(open) {
                        return Ok(());
                    }
                }
            }
            // A tree costs several times its text.
            if bytes > self.limits.text_bytes * 2 {
                return Err(over(Budget::TextBytes, self.limits.text_bytes));
            }
        }
    }

    /// Ends the innermost element; whether it is the last, which stays.
    fn close(&self, open: &mut Vec<Element>) -> bool {
        let mut done = open.pop().expect("never empty");
        done.source.1 = self.source().1;
        match open.last_mut() {
            Some(parent) => {
                parent.nodes.push(Node::Element(done));
                false
            }
            None => {
                open.push(done);
                true
            }
        }
    }

    /// The bytes of the part the last token was read from.
    pub(crate) fn source(&self) -> (u64, u64) {
        let (start, end) = self.token;
        let utf8 = &self.reader.get_ref().get_ref().inner;
        utf8.source(start, end)
    }

    fn deeper(&mut self) -> Result<(), Error> {
        self.depth += 1;
        match self.depth > self.limits.nesting {
            true => Err(over(Budget::Nesting, u64::from(self.limits.nesting))),
            false => Ok(()),
        }
    }

    fn element(&self, start: &BytesStart<'_>) -> Element {
        let (namespace, local) = self.reader.resolver().resolve_element(start.name());
        let prefix = match namespace {
            ResolveResult::Bound(namespace) => usual_prefix(namespace.0),
            _ => None,
        };
        let name = match (prefix, start.name().prefix()) {
            (Some(prefix), _) => format!("{prefix}:{}", local.into_inner()),
            (None, Some(_)) => start.name().into_inner().to_owned(),
            (None, None) => local.into_inner().to_owned(),
        };
        Element {
            name,
            attributes: attributes(start),
            nodes: Vec::new(),
            source: self.source(),
        }
    }
}

fn attributes(start: &BytesStart<'_>) -> Vec<(String, String)> {
    let mut all = start.attributes();
    let readable = all.with_checks(false).filter_map(Result::ok);
    readable
        .take(256)
        .filter_map(|attribute| {
            let value = attribute
                .normalized_value(quick_xml::XmlVersion::Implicit1_0)
                .ok()?;
            let local = attribute.key.local_name().into_inner().to_owned();
            Some((local, value.into_owned()))
        })
        .collect()
}

fn add_text(element: &mut Element, text: String) {
    match element.nodes.last_mut() {
        Some(Node::Text(before)) => before.push_str(&text),
        _ => element.nodes.push(Node::Text(text)),
    }
}

fn resolved(name: &BytesRef<'_>) -> Option<char> {
    if let Ok(Some(c)) = name.resolve_char_ref() {
        return Some(c);
    }
    match name.xml10_content().as_ref() {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

fn over(budget: Budget, limit: u64) -> Error {
    Error::OverBudget { budget, limit }
}

fn xml_error(format: Format, cause: &quick_xml::Error) -> Error {
    match cause {
        quick_xml::Error::Io(cause) => from_io(format, cause),
        other => Error::damaged(format, other),
    }
}

/// Prefixes are the writer's choice; names in this crate use the usual ones.
fn usual_prefix(namespace: &str) -> Option<&'static str> {
    Some(match namespace {
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
        | "http://purl.oclc.org/ooxml/wordprocessingml/main" => "w",
        "http://schemas.openxmlformats.org/drawingml/2006/main"
        | "http://purl.oclc.org/ooxml/drawingml/main" => "a",
        "http://schemas.microsoft.com/office/drawing/2010/main" => "a14",
        "http://schemas.openxmlformats.org/presentationml/2006/main"
        | "http://purl.oclc.org/ooxml/presentationml/main" => "p",
        "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        | "http://purl.oclc.org/ooxml/spreadsheetml/main" => "x",
        "http://schemas.openxmlformats.org/officeDocument/2006/math"
        | "http://purl.oclc.org/ooxml/officeDocument/math" => "m",
        "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"
        | "http://purl.oclc.org/ooxml/drawingml/wordprocessingDrawing" => "wp",
        "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"
        | "http://purl.oclc.org/ooxml/drawingml/spreadsheetDrawing" => "xdr",
        "http://schemas.openxmlformats.org/markup-compatibility/2006" => "mc",
        "urn:schemas-microsoft-com:vml" => "v",
        "urn:oasis:names:tc:opendocument:xmlns:office:1.0" => "office",
        "urn:oasis:names:tc:opendocument:xmlns:text:1.0" => "text",
        "urn:oasis:names:tc:opendocument:xmlns:table:1.0" => "table",
        "urn:oasis:names:tc:opendocument:xmlns:style:1.0" => "style",
        "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" => "draw",
        "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" => "svg",
        "http://purl.org/dc/elements/1.1/" => "dc",
        "http://purl.org/dc/terms/" => "dcterms",
        _ => return None,
    })
}
