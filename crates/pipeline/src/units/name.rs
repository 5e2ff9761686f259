//! What a unit is called: after the section it begins with, so that it keeps its
//! name while others are edited.

use std::collections::BTreeMap;

use model::{ContentHash, UnitName};
use serde::{Deserialize, Serialize};

use crate::structure::one_line;

const SLUG_BYTES: usize = 60;

/// Names given so far in a document: the second of a kind gets `~2`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Names {
    given: BTreeMap<String, u32>,
}

impl Names {
    /// `before` is the heading path in force where the unit begins, `opening` the first thing in
    /// it that is indexed, with its level if it is a heading.
    pub fn name(
        &mut self,
        first: bool,
        before: &[String],
        opening: Option<(Option<u8>, &str)>,
    ) -> UnitName {
        let base = base(first, before, opening);
        let count = self.given.entry(base.clone()).or_default();
        *count += 1;
        let name = match count {
            1 => base,
            n => format!("{base}~{n}"),
        };
        UnitName::new(name).expect("a slug, a hash and a number are of a name's alphabet")
    }
}

fn base(first: bool, before: &[String], opening: Option<(Option<u8>, &str)>) -> String {
    let path = before.iter().map(String::as_str);
    match opening {
        Some((Some(_), heading)) => {
            let heading = one_line(heading);
            format!(
                "{}{}",
                slug(&heading),
                digest(path.chain([heading.as_str()]))
            )
        }
        // Whatever the document begins with, its beginning stays its beginning.
        _ if first => "start".to_owned(),
        Some((None, text)) => {
            let section = before.last().map_or("", String::as_str);
            format!("{}{}", slug(section), digest(path.chain([text])))
        }
        None => "apart".to_owned(),
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
