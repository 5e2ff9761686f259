//! The document's own marks around its content: artifacts, optional parts that are
//! off, replacement text.

use std::collections::HashSet;

use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, String as PdfString};
use hayro_syntax::page::Resources;
use hayro_syntax::xref::XRef;

#[derive(Default)]
struct Mark {
    artifact: bool,
    hidden: bool,
    /// Where its glyphs begin, and what they say instead.
    actual: Option<(usize, Vec<u8>)>,
}

pub(super) struct Marks<'h> {
    open: Vec<Mark>,
    off: &'h HashSet<ObjectIdentifier>,
}

impl<'h> Marks<'h> {
    pub(super) fn new(off: &'h HashSet<ObjectIdentifier>) -> Self {
        Self {
            open: Vec::new(),
            off,
        }
    }

    pub(super) fn artifact(&self) -> bool {
        self.open.last().is_some_and(|mark| mark.artifact)
    }

    pub(super) fn visible(&self) -> bool {
        !self.open.last().is_some_and(|mark| mark.hidden)
    }

    pub(super) fn begin(&mut self, tag: &[u8], _at: usize) {
        self.push(tag, false, None);
    }

    pub(super) fn begin_with(
        &mut self,
        tag: &[u8],
        properties: &Object<'_>,
        resources: &Resources<'_>,
        at: usize,
    ) {
        let (dict, id) = match properties {
            Object::Name(name) => (
                resources.properties.get::<Dict<'_>>(name.as_ref()),
                resources.properties.get_ref(name.as_ref()),
            ),
            Object::Dict(dict) => (Some(dict.clone()), None),
            _ => (None, None),
        };
        let off = tag == b"OC" && id.is_some_and(|id| self.off.contains(&id.into()));
        let actual = dict
            .and_then(|dict| dict.get::<PdfString<'_>>(b"ActualText"))
            .map(|text| (at, text.as_bytes().to_vec()));
        self.push(tag, off, actual);
    }

    fn push(&mut self, tag: &[u8], off: bool, actual: Option<(usize, Vec<u8>)>) {
        let mark = Mark {
            artifact: self.artifact() || tag == b"Artifact",
            hidden: !self.visible() || off,
            actual,
        };
        if self.open.len() < 512 {
            self.open.push(mark);
        }
    }

    /// Where glyphs are to be replaced from, and by what.
    pub(super) fn end(&mut self) -> Option<(usize, Vec<u8>)> {
        self.open.pop().and_then(|mark| mark.actual)
    }

    /// Whether a form or image belongs to an optional part that is off.
    pub(super) fn hides(&self, dict: &Dict<'_>) -> bool {
        let group = dict.get_ref(b"OC");
        !self.visible() || group.is_some_and(|id| self.off.contains(&id.into()))
    }
}

/// The optional parts that are off when the document is opened.
pub(super) fn parts_off(xref: &XRef) -> HashSet<ObjectIdentifier> {
    let mut off = HashSet::new();
    let Some(optional) = xref
        .get::<Dict<'_>>(xref.root_id())
        .and_then(|root| root.get::<Dict<'_>>(b"OCProperties"))
    else {
        return off;
    };
    let Some(config) = optional.get::<Dict<'_>>(b"D") else {
        return off;
    };
    let ids = |dict: &Dict<'_>, key: &[u8]| {
        let array = dict.get::<Array<'_>>(key);
        let items = array.iter().flat_map(hayro_syntax::object::Array::raw_iter);
        let ids = items.filter_map(|item| item.as_obj_ref().map(ObjectIdentifier::from));
        ids.collect::<Vec<_>>()
    };
    if config.get::<Name<'_>>(b"BaseState").as_deref() == Some(b"OFF") {
        off.extend(ids(&optional, b"OCGs"));
    }
    for on in ids(&config, b"ON") {
        off.remove(&on);
    }
    off.extend(ids(&config, b"OFF"));
    off
}
