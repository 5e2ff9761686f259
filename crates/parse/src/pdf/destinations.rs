//! The places of a document that its outline and its links lead to.

use std::collections::HashMap;

use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier};

use super::sheets::Sheets;

/// More names than this help nobody.
const MAX_NAMES: usize = 80_000;

/// Which page a destination is on.
pub(super) struct Destinations<'a> {
    named: Named<'a>,
    pages: HashMap<ObjectIdentifier, u32>,
}

impl<'a> Destinations<'a> {
    pub(super) fn of(pdf: &'a Pdf, sheets: &Sheets<'a>) -> Self {
        let xref = pdf.xref();
        let root = xref.get::<Dict<'a>>(xref.root_id());
        let pages = sheets.numbered();
        let pages = pages.filter_map(|(number, page)| Some((page?.raw().obj_id()?, number)));
        Self {
            named: root.as_ref().map(Named::of).unwrap_or_default(),
            pages: pages.collect(),
        }
    }

    /// The page, counted from 1, that an entry of the outline or a link leads to.
    pub(super) fn page(&self, from: &Dict<'a>) -> Option<u32> {
        let target = from.get::<Object<'a>>(b"Dest").or_else(|| {
            let action = from.get::<Dict<'a>>(b"A")?;
            // In another file the same name means another place.
            let kind = action.get::<Name<'a>>(b"S");
            let here = kind.is_none() || kind.as_deref() == Some(b"GoTo");
            action.get::<Object<'a>>(b"D").filter(|_| here)
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
            for key in entries.into_iter().take(MAX_NAMES) {
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
        if depth > 32 || self.all.len() > MAX_NAMES {
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
