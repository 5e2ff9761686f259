//! What a paragraph style means: a heading of some level, code, a quote, a caption…

use std::collections::BTreeMap;

use crate::xml::Element;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Heading(u8),
    Title,
    Code,
    Quote,
    Caption,
    /// An entry of a table of contents.
    Contents,
    Body,
}

/// A place in a list that a style assigns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ListPlace {
    pub(super) num: Option<String>,
    pub(super) level: Option<u8>,
}

#[derive(Debug, Default)]
struct Style {
    name: String,
    based_on: Option<String>,
    outline: Option<u8>,
    list: ListPlace,
    monospaced: bool,
}

#[derive(Debug, Default)]
pub(super) struct Styles {
    by_id: BTreeMap<String, Style>,
    default: Option<String>,
    /// Whether plain text is monospaced, so that nothing else is told by it.
    typewritten: bool,
    /// Whether some style is a chapter's title, which the lettered headings stand under.
    has_chapter_title: bool,
}

/// A chain of styles longer than this goes in a circle.
const LONGEST_CHAIN: usize = 24;

impl Styles {
    pub(super) fn read(root: Option<&Element>) -> Self {
        let mut styles = Self::default();
        let Some(root) = root else {
            return styles;
        };
        for element in root.children("w:style") {
            let Some(id) = element.attribute("styleId") else {
                continue;
            };
            let is_paragraph = element.attribute("type") == Some("paragraph");
            if is_paragraph && matches!(element.attribute("default"), Some("1" | "true")) {
                styles.default = Some(id.to_owned());
            }
            let style = Style::read(element);
            styles.has_chapter_title |= is_chapter_title(&squeezed(&style.name));
            styles.by_id.insert(id.to_owned(), style);
        }
        let defaults = root.at(&["w:docDefaults", "w:rPrDefault"]);
        styles.typewritten = defaults.is_some_and(sets_monospaced)
            || styles.chain(None).any(|style| style.monospaced);
        styles
    }

    fn chain<'a>(&'a self, id: Option<&'a str>) -> impl Iterator<Item = &'a Style> {
        let first = id
            .or(self.default.as_deref())
            .and_then(|id| self.by_id.get(id));
        let next = |style: &&Style| self.by_id.get(style.based_on.as_deref()?);
        std::iter::successors(first, next).take(LONGEST_CHAIN)
    }

    /// The nearest style on the chain that means something decides.
    pub(super) fn role(&self, id: Option<&str>) -> Role {
        for style in self.chain(id) {
            if let Some(role) = self.own_role(style) {
                return role;
            }
        }
        match !self.typewritten && self.chain(id).any(|style| style.monospaced) {
            true => Role::Code,
            false => Role::Body,
        }
    }

    fn own_role(&self, style: &Style) -> Option<Role> {
        if let Some(level) = style.outline {
            // Level 9 of the outline is body text, said outright.
            return Some(if level < 9 {
                Role::Heading(level + 1)
            } else {
                Role::Body
            });
        }
        let name = squeezed(&style.name);
        named_role(&name).or_else(|| self.publisher_heading(&name).map(Role::Heading))
    }

    /// Publishers' templates name headings `HeadA`, `Head 1`, `ChapterTitle`, `BoxTitle`
    /// without saying so in the outline.
    fn publisher_heading(&self, name: &str) -> Option<u8> {
        if is_chapter_title(name) {
            return Some(1);
        }
        if let Some(rest) = name.strip_prefix("head") {
            let rest = rest.strip_prefix("ing").unwrap_or(rest);
            let rest = rest.trim_start_matches(['-', '_']);
            let mut chars = rest.chars();
            let rank = match (chars.next()?, chars.next()) {
                (c @ 'a'..='f', None) => c as u8 - b'a' + 1,
                (c @ '1'..='9', None) => c as u8 - b'0',
                _ => return None,
            };
            return Some(rank + u8::from(self.has_chapter_title));
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => Some(name.as_bytes()[1] - b'0'),
            _ if name.strip_suffix("title").is_some_and(is_part) => Some(3),
            _ => None,
        }
    }

    /// Numbering may come from a style; the nearest one on the chain that says so counts.
    pub(super) fn list_place(&self, id: Option<&str>) -> ListPlace {
        let mut place = ListPlace::default();
        for style in self.chain(id) {
            place.num = place.num.or_else(|| style.list.num.clone());
            place.level = place.level.or(style.list.level);
        }
        place
    }

    pub(super) fn name(&self, id: &str) -> Option<&str> {
        self.by_id.get(id).map(|style| style.name.as_str())
    }
}

impl Style {
    fn read(element: &Element) -> Self {
        let properties = element.child("w:pPr");
        let of = |name: &str| properties.and_then(|p| p.value(name));
        Self {
            name: element.value("w:name").unwrap_or_default().to_owned(),
            based_on: element.value("w:basedOn").map(str::to_owned),
            outline: of("w:outlineLvl").and_then(|level| level.parse().ok()),
            list: properties.map(list_place).unwrap_or_default(),
            monospaced: sets_monospaced(element),
        }
    }
}

/// Where paragraph properties put a paragraph in a list.
pub(super) fn list_place(properties: &Element) -> ListPlace {
    let of = |name: &str| properties.child("w:numPr").and_then(|n| n.value(name));
    ListPlace {
        num: of("w:numId").map(str::to_owned),
        level: of("w:ilvl").and_then(|level| level.parse().ok()),
    }
}

fn squeezed(name: &str) -> String {
    let letters = name.chars().filter(|c| !c.is_whitespace());
    letters.flat_map(char::to_lowercase).collect()
}

fn is_chapter_title(name: &str) -> bool {
    matches!(name, "chaptertitle" | "parttitle" | "chaptertitleline")
}

/// Whether it is the title of a part that a style is named for: persons have titles too, and what
/// stands below a title or beside a table is none.
fn is_part(name: &str) -> bool {
    const OTHERS: &[&str] = &[
        "sub", "job", "person", "personal", "position", "employee", "chart", "column", "row",
    ];
    !OTHERS.iter().any(|other| name.ends_with(other))
}

fn named_role(name: &str) -> Option<Role> {
    if let Some(level) = name
        .strip_prefix("heading")
        .and_then(|n| n.parse::<u8>().ok())
    {
        return Some(Role::Heading(level.clamp(1, 9)));
    }
    Some(match name {
        "title" => Role::Title,
        "caption" | "tablecaption" | "imagecaption" | "figurecaption" | "captionedfigure" => {
            Role::Caption
        }
        "tabletitle" | "figuretitle" | "imagetitle" | "listingtitle" => Role::Caption,
        _ if name.ends_with("captionline") => Role::Caption,
        _ if name.ends_with("caption") => Role::Caption,
        "quote" | "intensequote" | "blocktext" | "blockquote" | "quotations" => Role::Quote,
        _ if name.starts_with("toc") && name[3..].chars().all(|c| c.is_ascii_digit()) => {
            Role::Contents
        }
        _ if is_code(name) => Role::Code,
        _ => return None,
    })
}

fn is_code(name: &str) -> bool {
    let says_code =
        name.contains("code") || name.contains("preformatted") || name.contains("verbatim");
    let about_code = ["label", "caption", "head", "title", "char", "inline"];
    // Codes that nobody runs.
    let other_code = [
        "postcode",
        "postalcode",
        "zipcode",
        "barcode",
        "areacode",
        "qrcode",
    ];
    let mut others = about_code.iter().chain(&other_code);
    says_code && !others.any(|word| name.contains(word))
}

/// Whether the properties of an element's runs name such a font.
fn sets_monospaced(element: &Element) -> bool {
    let fonts = element.at(&["w:rPr", "w:rFonts"]);
    let font = fonts.and_then(|fonts| fonts.attribute("ascii"));
    font.is_some_and(is_monospaced)
}

fn is_monospaced(font: &str) -> bool {
    let font = font.to_lowercase();
    let known = [
        "courier",
        "consolas",
        "menlo",
        "monaco",
        "lucida console",
        "inconsolata",
    ];
    font.contains("mono") && !font.contains("monotype")
        || known.iter().any(|name| font.contains(name))
}
