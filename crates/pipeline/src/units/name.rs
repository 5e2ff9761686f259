//! What a unit is called: after the section it begins with, so that it keeps its
//! name while others are edited.

use std::collections::HashMap;

use model::{Atom, ContentHash, UnitName};

use crate::structure::one_line;
use crate::units::places::level;

const SLUG_BYTES: usize = 60;

/// Names given so far in a document: the second of a kind gets `~2`.
#[derive(Default)]
pub(super) struct Names {
    given: HashMap<String, u32>,
}

impl Names {
    /// `before` is the heading path in force where the unit begins.
    pub fn name(
        &mut self,
        index: usize,
        before: &[String],
        atoms: &[Atom],
        text: &str,
    ) -> UnitName {
        let base = base(index, before, atoms, text);
        let count = self.given.entry(base.clone()).or_default();
        *count += 1;
        let name = match count {
            1 => base,
            n => format!("{base}~{n}"),
        };
        UnitName::new(name).expect("a slug, a hash and a number are of a name's alphabet")
    }
}

fn base(index: usize, before: &[String], atoms: &[Atom], text: &str) -> String {
    let first = atoms.iter().find(|atom| atom.kind.is_indexed());
    let opening = first.map_or("", |atom| &text[atom.span.bytes()]);
    match first.and_then(level) {
        Some(_) => {
            let heading = one_line(opening);
            let path = before.iter().map(String::as_str).chain([heading.as_str()]);
            format!("{}{}", slug(&heading), digest(path))
        }
        // Whatever the document begins with, its beginning stays its beginning.
        None if index == 0 => "start".to_owned(),
        None => {
            let section = before.last().map_or("", String::as_str);
            let path = before.iter().map(String::as_str).chain([opening]);
            format!("{}{}", slug(section), digest(path))
        }
    }
}

fn digest<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    let hash = ContentHash::of_fields(fields.map(str::as_bytes)).to_string();
    hash[..12].to_owned()
}

/// What a person recognises of a heading, ready to have a digest put behind it.
fn slug(heading: &str) -> String {
    let mut slug = String::new();
    for char in heading.chars().flat_map(char::to_lowercase) {
        if slug.len() >= SLUG_BYTES {
            break;
        }
        if char.is_ascii_alphanumeric() {
            slug.push(char);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    if !slug.is_empty() && !slug.ends_with('-') {
        slug.push('-');
    }
    slug
}
