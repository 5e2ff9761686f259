//! Lists within lists, and the numbers of their items.

use crate::numerals;
use crate::xml::Element;

use super::styles::{Level, Styles};

#[derive(Debug, Default)]
pub(super) struct Lists {
    open: Vec<Open>,
    /// Of lists that have ended, by their id, what the next number is: one may go on later.
    ended: Vec<(String, u32)>,
}

#[derive(Debug)]
struct Open {
    style: String,
    id: String,
    level: Level,
    next: u32,
}

impl Lists {
    pub(super) fn open(&mut self, list: &Element, styles: &Styles) {
        let of = |name: &str| list.attribute(name).map(str::to_owned);
        let outer = self.open.last().map(|outer| outer.style.clone());
        let style = of("style-name").or(outer).unwrap_or_default();
        let level = styles.list(&style).get(self.open.len());
        let level = level.cloned().unwrap_or_default();
        let earlier = of("continue-list").and_then(|id| {
            let found = self.ended.iter().rfind(|(ended, _)| *ended == id);
            found.map(|(_, next)| *next)
        });
        let goes_on = list.attribute("continue-numbering") == Some("true");
        let last = self.ended.last().filter(|_| goes_on).map(|(_, next)| *next);
        self.open.push(Open {
            style,
            id: of("id").unwrap_or_default(),
            next: earlier.or(last).unwrap_or(level.start),
            level,
        });
    }

    pub(super) fn close(&mut self) {
        if let Some(open) = self.open.pop()
            && self.open.is_empty()
        {
            self.ended.push((open.id, open.next));
        }
    }

    /// 0 in the outermost list.
    pub(super) fn depth(&self) -> u8 {
        u8::try_from(self.open.len().saturating_sub(1)).unwrap_or(u8::MAX)
    }

    /// Counts an item and renders its number; `None` for a bullet.
    pub(super) fn next(&mut self, item: &Element) -> Option<String> {
        let open = self.open.last_mut()?;
        if open.level.format.is_empty() || item.name == "text:list-header" {
            return None;
        }
        let given = item.attribute("start-value").and_then(|n| n.parse().ok());
        let number = given.unwrap_or(open.next);
        open.next = number.saturating_add(1);
        let Level { before, after, .. } = &open.level;
        let number = match open.level.format.as_str() {
            "a" => numerals::letters(number).to_lowercase(),
            "A" => numerals::letters(number),
            "i" => numerals::roman(number).to_lowercase(),
            "I" => numerals::roman(number),
            _ => number.to_string(),
        };
        Some(format!("{before}{number}{after}").trim().to_owned())
    }
}
