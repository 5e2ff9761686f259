//! The document's own table of contents, as its outline has it.

use std::collections::HashMap;

use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, String as PdfString};

use super::strings::clean;

/// More entries than this help nobody.
const MAX_ENTRIES: usize = 20_000;
const MAX_DEPTH: u8 = 12;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) title: String,
    /// 1 is the outermost.
    pub(super) level: u8,
    /// Counted from 1, where the entry says.
    pub(super) page: Option<u32>,
}

/// The entries in order.
pub(super) fn entries(pdf: &Pdf) -> Vec<Entry> {
    let xref = pdf.xref();
    let Some(root) = xref.get::<Dict<'_>>(xref.root_id()) else {
        return Vec::new();
    };
    let pages = pdf.pages().iter().zip(1..);
    let pages = pages.filter_map(|(page, number)| Some((page.raw().obj_id()?, number)));
    let mut walk = Walk {
        named: Named::of(&root),
        pages: pages.collect(),
        found: Vec::new(),
    };
    let first = root.get::<Dict<'_>>(b"Outlines");
    let first = first.and_then(|outlines| outlines.get::<Dict<'_>>(b"First"));
    if let Some(first) = first {
        walk.siblings(first, 1);
    }
    walk.found
}

struct Walk<'a> {
    named: Named<'a>,
    pages: HashMap<ObjectIdentifier, u32>,
    found: Vec<Entry>,
}

impl<'a> Walk<'a> {
    fn siblings(&mut self, first: Dict<'a>, level: u8) {
        let mut next = Some(first);
        while let Some(item) = next.take() {
            // The bound also ends a ring of entries.
            if self.found.len() >= MAX_ENTRIES {
                return;
            }
            let title = item.get::<PdfString<'_>>(b"Title");
            self.found.push(Entry {
                title: title.and_then(|t| clean(t.as_bytes())).unwrap_or_default(),
                level,
                page: self.destination(&item),
            });
            if level < MAX_DEPTH
                && let Some(child) = item.get::<Dict<'a>>(b"First")
            {
                self.siblings(child, level + 1);
            }
            next = item.get::<Dict<'a>>(b"Next");
        }
    }

    fn destination(&self, item: &Dict<'a>) -> Option<u32> {
        let target = item.get::<Object<'a>>(b"Dest").or_else(|| {
            let action = item.get::<Dict<'a>>(b"A")?;
            action.get::<Object<'a>>(b"D")
        })?;
        let array = match target {
            Object::Array(array) => array,
            Object::Name(name) => self.named.find(&name)?,
            Object::String(name) => self.named.find(name.as_bytes())?,
            _ => return None,
        };
        let page = array.raw_iter().next()?.as_obj_ref()?;
        self.pages.get(&page.into()).copied()
    }
}

/// Destinations the document gives names to.
#[derive(Default)]
struct Named<'a> {
    all: HashMap<Vec<u8>, Object<'a>>,
}

impl<'a> Named<'a> {
    fn of(root: &Dict<'a>) -> Self {
        let mut named = Self::default();
        if let Some(old) = root.get::<Dict<'a>>(b"Dests") {
            let entries: Vec<Name<'_>> = old.keys().collect();
            for key in entries.into_iter().take(MAX_ENTRIES) {
                if let Some(value) = old.get::<Object<'a>>(key.as_ref()) {
                    named.all.insert(key.to_vec(), value);
                }
            }
        }
        let names = root.get::<Dict<'a>>(b"Names");
        if let Some(tree) = names.and_then(|names| names.get::<Dict<'a>>(b"Dests")) {
            named.add_tree(&tree, 0);
        }
        named
    }

    fn add_tree(&mut self, node: &Dict<'a>, depth: usize) {
        if depth > 32 || self.all.len() > MAX_ENTRIES * 4 {
            return;
        }
        if let Some(pairs) = node.get::<Array<'a>>(b"Names") {
            let mut items = pairs.iter::<Object<'a>>();
            while let (Some(key), Some(value)) = (items.next(), items.next()) {
                if let Object::String(key) = key {
                    self.all.insert(key.as_bytes().to_vec(), value);
                }
            }
        }
        let kids = node.get::<Array<'a>>(b"Kids");
        for kid in kids
            .iter()
            .flat_map(hayro_syntax::object::Array::iter::<Dict<'a>>)
        {
            self.add_tree(&kid, depth + 1);
        }
    }

    fn find(&self, name: &[u8]) -> Option<Array<'a>> {
        match self.all.get(name)? {
            Object::Array(array) => Some(array.clone()),
            Object::Dict(dict) => dict.get::<Array<'a>>(b"D"),
            _ => None,
        }
    }
}
