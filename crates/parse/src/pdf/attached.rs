//! Files a document carries along: named, not read.

use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, Object, String as PdfString};

use super::strings::clean;
use crate::TextBuilder;

/// More than these are not named.
const MOST: usize = 100;
/// Branches within branches; deeper ones are a loop.
const MAX_DEPTH: usize = 16;

/// Says that they were not read.
pub(super) fn disclose(pdf: &Pdf, builder: &mut TextBuilder) {
    let names = names(pdf);
    if !names.is_empty() {
        builder.warn(format!("attachments were not read: {}", names.join(", ")));
    }
}

/// Their names, in the order of the document.
fn names(pdf: &Pdf) -> Vec<String> {
    let xref = pdf.xref();
    let root = xref.get::<Dict<'_>>(xref.root_id());
    let names = root.and_then(|root| root.get::<Dict<'_>>(b"Names"));
    let tree = names.and_then(|names| names.get::<Dict<'_>>(b"EmbeddedFiles"));
    let mut found = Vec::new();
    if let Some(tree) = tree {
        collect(&tree, 0, &mut found);
    }
    found
}

fn collect(node: &Dict<'_>, depth: usize, found: &mut Vec<String>) {
    let pairs = node.get::<Array<'_>>(b"Names");
    let mut items = pairs.iter().flat_map(Array::iter::<Object<'_>>);
    while let (Some(key), Some(file)) = (items.next(), items.next()) {
        if found.len() < MOST {
            found.push(name(key, file));
        }
    }
    let kids = node.get::<Array<'_>>(b"Kids");
    for kid in kids.iter().flat_map(Array::iter::<Dict<'_>>) {
        if depth < MAX_DEPTH && found.len() < MOST {
            collect(&kid, depth + 1, found);
        }
    }
}

/// As the file is called, or else as the document calls it.
fn name(key: Object<'_>, file: Object<'_>) -> String {
    let file = file.into_dict();
    let said = |entry: &[u8]| file.as_ref()?.get::<PdfString<'_>>(entry);
    let name = said(b"UF").or_else(|| said(b"F"));
    let name = name.or_else(|| key.into_string());
    let name = name.and_then(|name| clean(name.as_bytes()));
    name.unwrap_or_else(|| "without a name".to_owned())
}
