//! Figures about subtrees, answered from running sums: how much text, how much of
//! it in links, how many commas, paragraphs, pictures.

use super::dom::{Dom, Id};

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Figures {
    /// Characters, runs of white space as one.
    pub(super) chars: usize,
    pub(super) link_chars: f64,
    pub(super) commas: usize,
    pub(super) paragraphs: usize,
    pub(super) pictures: usize,
    pub(super) items: usize,
    pub(super) item_chars: usize,
    pub(super) inputs: usize,
    pub(super) heading_chars: usize,
}

/// Sums over the document as it stands; measured anew after nodes were dropped.
pub(super) struct Measure {
    before: Vec<Figures>,
}

impl Measure {
    pub(super) fn of(dom: &Dom) -> Self {
        let mut before = Vec::with_capacity(dom.len() + 1);
        let mut sum = Figures::default();
        let mut inside = Inside::default();
        let mut skip_to = 0;
        for id in dom.all() {
            before.push(sum);
            if id < skip_to {
                continue;
            }
            if dom.node(id).dropped {
                skip_to = dom.node(id).end;
                continue;
            }
            inside.enter(dom, id);
            inside.add(dom, id, &mut sum);
        }
        before.push(sum);
        Self { before }
    }

    pub(super) fn figures(&self, dom: &Dom, id: Id) -> Figures {
        let (a, b) = (&self.before[id], &self.before[dom.node(id).end]);
        Figures {
            chars: b.chars - a.chars,
            link_chars: b.link_chars - a.link_chars,
            commas: b.commas - a.commas,
            paragraphs: b.paragraphs - a.paragraphs,
            pictures: b.pictures - a.pictures,
            items: b.items - a.items,
            item_chars: b.item_chars - a.item_chars,
            inputs: b.inputs - a.inputs,
            heading_chars: b.heading_chars - a.heading_chars,
        }
    }

    pub(super) fn chars(&self, dom: &Dom, id: Id) -> usize {
        self.before[dom.node(id).end].chars - self.before[id].chars
    }

    /// The share of text that stands in links.
    pub(super) fn link_density(&self, dom: &Dom, id: Id) -> f64 {
        let figures = self.figures(dom, id);
        match figures.chars {
            0 => 0.0,
            chars => figures.link_chars / chars as f64,
        }
    }
}

/// What we are inside of, by where it ends.
#[derive(Default)]
struct Inside {
    link: (Id, f64),
    list: Id,
    heading: Id,
}

impl Inside {
    fn enter(&mut self, dom: &Dom, id: Id) {
        let end = dom.node(id).end;
        match dom.tag(id) {
            // A link into the page itself is no way out of it.
            "a" => {
                let local = dom
                    .attribute(id, "href")
                    .is_some_and(|href| href.starts_with('#'));
                self.link = (end, if local { 0.3 } else { 1.0 });
            }
            "ul" | "ol" => self.list = self.list.max(end),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading = end,
            _ => {}
        }
    }

    fn add(&self, dom: &Dom, id: Id, sum: &mut Figures) {
        match dom.tag(id) {
            "p" => sum.paragraphs += 1,
            "img" | "picture" => sum.pictures += 1,
            "li" => sum.items += 1,
            "input" => sum.inputs += usize::from(dom.attribute(id, "type") != Some("hidden")),
            _ => {}
        }
        let Some(text) = dom.own_text(id) else {
            return;
        };
        let chars = visible_chars(text);
        sum.chars += chars;
        sum.commas += text.chars().filter(|c| is_comma(*c)).count();
        if id < self.link.0 {
            sum.link_chars += chars as f64 * self.link.1;
        }
        if id < self.list {
            sum.item_chars += chars;
        }
        if id < self.heading {
            sum.heading_chars += chars;
        }
    }
}

fn is_comma(c: char) -> bool {
    matches!(
        c,
        ',' | '\u{60c}'
            | '\u{fe50}'
            | '\u{fe10}'
            | '\u{fe11}'
            | '\u{2e41}'
            | '\u{2e34}'
            | '\u{2e32}'
            | '\u{ff0c}'
            | '\u{3001}'
    )
}

fn visible_chars(text: &str) -> usize {
    let mut chars = 0;
    let mut blank = true;
    for c in text.chars() {
        let is_blank = c.is_whitespace();
        chars += usize::from(!is_blank || !blank);
        blank = is_blank;
    }
    chars
}
