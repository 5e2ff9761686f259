//! Numbers of lists and headings, counted as Word counts them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::numerals::{letters, roman};
use crate::xml::Element;

/// A list goes nine levels deep.
const LEVELS: usize = 9;

#[derive(Debug, Clone, Default)]
struct Level {
    format: String,
    /// Such as `%1.%2.`
    text: String,
    start: u32,
    legal: bool,
}

#[derive(Debug, Default)]
struct Instance {
    definition: String,
    /// Levels at which this list starts anew, with another number.
    overrides: BTreeMap<usize, u32>,
    /// Levels it writes in another way than its definition.
    levels: BTreeMap<usize, Level>,
}

#[derive(Debug, Default)]
pub(super) struct Numbering {
    definitions: BTreeMap<String, Vec<Level>>,
    instances: BTreeMap<String, Instance>,
    /// Lists of one definition count on together.
    counters: BTreeMap<String, [Option<u32>; LEVELS]>,
    started: Vec<String>,
}

/// How a numbered paragraph begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Bullet,
    /// A bullet that is a box, ticked or not.
    Box(bool),
    /// Such as `2.` or `(a)`.
    Number(String),
    /// A number with words to it, such as `Listing 4-1:`, which belongs to the text.
    Label(String),
    None,
}

impl Numbering {
    pub(super) fn read(root: Option<&Element>) -> Self {
        let mut numbering = Self::default();
        let Some(root) = root else {
            return numbering;
        };
        let mut of_styles = BTreeMap::new();
        for element in root.children("w:abstractNum") {
            let levels = element.children("w:lvl").map(level).take(LEVELS).collect();
            let id = element.attribute("abstractNumId").unwrap_or_default();
            numbering.definitions.insert(id.to_owned(), levels);
            if let Some(style) = element.value("w:styleLink") {
                of_styles.insert(style, id);
            }
        }
        // A definition may name a list style, whose own definition stands elsewhere.
        let linked = root.children("w:abstractNum").filter_map(|element| {
            let defined = of_styles.get(element.value("w:numStyleLink")?)?;
            Some((element.attribute("abstractNumId")?, *defined))
        });
        let linked: BTreeMap<&str, &str> = linked.collect();
        for element in root.children("w:num") {
            let id = element.attribute("numId").unwrap_or_default();
            let instance = instance(element, &linked);
            numbering.instances.insert(id.to_owned(), instance);
        }
        numbering
    }

    /// Counts one paragraph at `level` of the list `num` and renders its number.
    pub(super) fn next(&mut self, num: &str, level: u8) -> Marker {
        let at = usize::from(level).min(LEVELS - 1);
        let Some(instance) = self.instances.get(num) else {
            return Marker::None;
        };
        let Some(levels) = self.definitions.get(&instance.definition) else {
            return Marker::None;
        };
        let levels = &*instance.written(levels);
        let Some(this) = levels.get(at) else {
            return Marker::None;
        };
        let counters = self
            .counters
            .entry(instance.definition.clone())
            .or_default();
        if !self.started.iter().any(|n| n == num) {
            self.started.push(num.to_owned());
            for level in instance.overrides.keys() {
                counters[*level] = None;
            }
        }
        let start = |n: usize| {
            let given = levels.get(n).map_or(1, |level| level.start);
            instance.overrides.get(&n).copied().unwrap_or(given)
        };
        counters[at] = Some(counters[at].map_or(start(at), |n| n.saturating_add(1)));
        counters[at + 1..].fill(None);
        let values: Vec<u32> = (0..=at).map(|n| counters[n].unwrap_or(start(n))).collect();
        marker(this, levels, &values)
    }
}

impl Instance {
    /// The levels of its definition as this list writes them.
    fn written<'a>(&self, levels: &'a [Level]) -> Cow<'a, [Level]> {
        if self.levels.is_empty() {
            return Cow::Borrowed(levels);
        }
        let mut levels = levels.to_vec();
        for (at, level) in &self.levels {
            levels.resize(levels.len().max(at + 1), Level::default());
            levels[*at] = level.clone();
        }
        Cow::Owned(levels)
    }
}

fn level(element: &Element) -> Level {
    Level {
        format: element.value("w:numFmt").unwrap_or("decimal").to_owned(),
        text: element.value("w:lvlText").unwrap_or_default().to_owned(),
        start: element
            .value("w:start")
            .and_then(|s| s.parse().ok())
            .unwrap_or(1),
        legal: element.flag("w:isLgl"),
    }
}

fn instance(element: &Element, linked: &BTreeMap<&str, &str>) -> Instance {
    let overrides = || {
        element.children("w:lvlOverride").filter_map(|given| {
            let level: usize = given.attribute("ilvl")?.parse().ok()?;
            (level < LEVELS).then_some((level, given))
        })
    };
    let starts = overrides().filter_map(|(at, given)| {
        let start = given.value("w:startOverride")?.parse().ok()?;
        Some((at, start))
    });
    let levels = overrides().filter_map(|(at, given)| Some((at, level(given.child("w:lvl")?))));
    let definition = element.value("w:abstractNumId").unwrap_or_default();
    Instance {
        definition: (*linked.get(definition).unwrap_or(&definition)).to_owned(),
        overrides: starts.collect(),
        levels: levels.collect(),
    }
}

fn marker(level: &Level, levels: &[Level], values: &[u32]) -> Marker {
    if level.format == "bullet" {
        return match level.text.as_str() {
            "\u{2610}" => Marker::Box(false),
            "\u{2611}" | "\u{2612}" => Marker::Box(true),
            // Without a bullet to see it goes on with the item before.
            blank if !blank.is_empty() && blank.trim().is_empty() => Marker::None,
            _ => Marker::Bullet,
        };
    }
    if level.format == "none" && !level.text.contains('%') {
        return match level.text.trim() {
            "" => Marker::None,
            text => Marker::Label(text.to_owned()),
        };
    }
    let text = rendered(level, levels, values);
    let has_words = words_in(&level.text) > 1;
    match text.trim() {
        "" => Marker::None,
        text if has_words => Marker::Label(text.to_owned()),
        text => Marker::Number(text.to_owned()),
    }
}

fn words_in(template: &str) -> usize {
    template.chars().filter(|c| c.is_alphabetic()).count()
}

fn rendered(level: &Level, levels: &[Level], values: &[u32]) -> String {
    let mut out = String::new();
    let mut chars = level.text.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let Some(n) = chars.next().and_then(|d| d.to_digit(10)) else {
            continue;
        };
        let at = (n as usize).saturating_sub(1);
        let value = values.get(at).copied().unwrap_or(1);
        let format = levels.get(at).map_or("decimal", |l| l.format.as_str());
        let format = if level.legal { "decimal" } else { format };
        out.push_str(&number(value, format));
    }
    out
}

fn number(value: u32, format: &str) -> String {
    match format {
        "lowerLetter" => letters(value).to_lowercase(),
        "upperLetter" => letters(value),
        "lowerRoman" => roman(value).to_lowercase(),
        "upperRoman" => roman(value),
        "decimalZero" => format!("{value:02}"),
        "ordinal" => format!("{value}."),
        "none" | "bullet" => String::new(),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_word_writes_them() {
        assert_eq!(number(28, "upperLetter"), "BB");
        assert_eq!(number(1994, "lowerRoman"), "mcmxciv");
        assert_eq!(number(7, "decimalZero"), "07");
    }
}
