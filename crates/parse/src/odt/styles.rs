//! What a style means, by the name of the one it comes from, and how lists number.

use std::collections::BTreeMap;

use crate::xml::Element;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Title,
    Code,
    Quote,
    Caption,
    Body,
}

/// How one level of a list marks its items.
#[derive(Debug, Clone, Default)]
pub(super) struct Level {
    /// `1`, `a`, `A`, `i` or `I`; empty for a bullet.
    pub(super) format: String,
    pub(super) before: String,
    pub(super) after: String,
    pub(super) start: u32,
}

#[derive(Debug, Default)]
pub(super) struct Styles {
    /// Of paragraph styles, the one each is derived from.
    parents: BTreeMap<String, String>,
    lists: BTreeMap<String, Vec<Level>>,
}

/// A chain of styles longer than this goes in a circle.
const LONGEST_CHAIN: usize = 24;
/// A list goes ten levels deep.
const LEVELS: usize = 10;

impl Styles {
    /// Takes in the styles below an element: those of the document, then those of its own.
    pub(super) fn read(&mut self, root: &Element) {
        let mut found = Vec::new();
        root.find_all("style:style", &mut found);
        for style in found {
            let of = |name: &str| style.attribute(name).map(str::to_owned);
            if let (Some(name), Some(parent)) = (of("name"), of("parent-style-name")) {
                self.parents.insert(name, parent);
            }
        }
        let mut found = Vec::new();
        root.find_all("text:list-style", &mut found);
        for style in found {
            let levels = style.elements().take(LEVELS).map(level).collect();
            let name = style.attribute("name").unwrap_or_default();
            self.lists.insert(name.to_owned(), levels);
        }
    }

    /// The nearest style on the chain whose name means something decides.
    pub(super) fn role(&self, style: Option<&str>) -> Role {
        let mut roles = self.chain(style).filter_map(named_role);
        roles.next().unwrap_or(Role::Body)
    }

    /// Whether a style is the one for the heads of columns, or comes from it.
    pub(super) fn heads_column(&self, style: Option<&str>) -> bool {
        self.chain(style).any(|name| name == "Table_20_Heading")
    }

    fn chain<'s>(&'s self, style: Option<&'s str>) -> impl Iterator<Item = &'s str> {
        let parent = |name: &&str| self.parents.get(*name).map(String::as_str);
        std::iter::successors(style, parent).take(LONGEST_CHAIN)
    }

    /// The levels of a list style; none for one that is not known.
    pub(super) fn list(&self, style: &str) -> &[Level] {
        self.lists.get(style).map_or(&[], Vec::as_slice)
    }
}

/// Names as the format writes them, blanks as `_20_`.
fn named_role(name: &str) -> Option<Role> {
    Some(match name {
        "Title" => Role::Title,
        "Preformatted_20_Text" | "Source_20_Text" | "Source_20_Code" => Role::Code,
        "Quotations" | "Quote" => Role::Quote,
        "Caption" | "Illustration" | "Figure" | "Drawing" => Role::Caption,
        _ => return None,
    })
}

fn level(element: &Element) -> Level {
    let of = |name: &str| element.attribute(name).unwrap_or_default().to_owned();
    match element.name.as_str() {
        "text:list-level-style-number" => Level {
            format: of("num-format"),
            before: of("num-prefix"),
            after: of("num-suffix"),
            start: of("start-value").parse().unwrap_or(1),
        },
        _ => Level::default(),
    }
}
