//! Text of a paragraph: spans, blanks, breaks, notes, pictures and text boxes.

use crate::builder::Leads;
use crate::cell::Cell;
use crate::target::safe_target;
use crate::xml::{Element, Node};

#[derive(Default)]
pub(super) struct Inline<'a> {
    pub(super) text: String,
    pub(super) boxes: Vec<&'a Element>,
    /// What pictures show, where it is said, and where.
    pub(super) pictures: Vec<(String, (u64, u64))>,
    pub(super) anchor: Option<String>,
    /// Words that lead somewhere, in their order.
    pub(super) links: Vec<Leads>,
    /// Whether a blank would add nothing: there is one already that only lays out the file.
    after_blank: bool,
}

/// A note in the order of the places that cite them.
pub(super) struct Note {
    pub(super) marker: String,
    pub(super) said: Cell,
    pub(super) source: (u64, u64),
}

/// A run of blanks is written as a count, which is not believed beyond this.
const MOST_BLANKS: usize = 64;

impl<'a> Inline<'a> {
    pub(super) fn read(element: &'a Element, notes: &mut Vec<Note>) -> Self {
        let mut inline = Self {
            after_blank: true,
            ..Self::default()
        };
        inline.content(element, notes);
        inline
    }

    fn content(&mut self, parent: &'a Element, notes: &mut Vec<Note>) {
        for node in &parent.nodes {
            match node {
                Node::Text(text) => self.words(text),
                Node::Element(element) => self.element(element, notes),
            }
        }
    }

    /// Blanks and line ends as they are written are one; those that count have elements.
    fn words(&mut self, text: &str) {
        for c in text.chars() {
            let is_blank = matches!(c, ' ' | '\t' | '\r' | '\n');
            match is_blank {
                true if self.after_blank => {}
                true => self.text.push(' '),
                false => self.text.push(c),
            }
            self.after_blank = is_blank;
        }
    }

    /// What stands in the text whatever stands before it.
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
        self.after_blank = false;
    }

    fn element(&mut self, element: &'a Element, notes: &mut Vec<Note>) {
        match element.name.as_str() {
            "text:s" => {
                let count = element.attribute("c").and_then(|c| c.parse().ok());
                let count: usize = count.unwrap_or(1).min(MOST_BLANKS);
                self.put(&" ".repeat(count));
            }
            "text:tab" => self.put("\t"),
            "text:line-break" => self.put("\n"),
            "text:a" => self.link(element, notes),
            "text:note" => self.note(element, notes),
            "text:bookmark" | "text:bookmark-start" => self.bookmark(element),
            name if holds_blocks(name) => self.boxes.push(element),
            "draw:frame" => {
                self.picture(element);
                self.content(element, notes);
            }
            "office:annotation" | "office:annotation-end" | "text:ruby-text" => {}
            "svg:desc" | "svg:title" | "draw:object" | "draw:object-ole" => {}
            _ => self.content(element, notes),
        }
    }

    fn link(&mut self, element: &'a Element, notes: &mut Vec<Note>) {
        let (from, within) = (self.text.len(), self.links.len());
        self.content(element, notes);
        let words = from..self.text.len();
        let target = element.attribute("href").and_then(safe_target);
        if let Some(target) = target.filter(|_| !words.is_empty()) {
            // Of nested ones the outer one.
            self.links.truncate(within);
            self.links.push(Leads { words, target });
        }
    }

    fn note(&mut self, element: &Element, notes: &mut Vec<Note>) {
        let marker = (notes.len() + 1).to_string();
        self.put(&format!("[^{marker}]"));
        let body = element.child("text:note-body");
        notes.push(Note {
            marker,
            said: body.map(told).unwrap_or_default(),
            source: element.source,
        });
    }

    fn bookmark(&mut self, element: &Element) {
        let name = element.attribute("name");
        let name = name.filter(|name| !name.starts_with('_'));
        self.anchor = self.anchor.take().or(name.map(str::to_owned));
    }

    fn picture(&mut self, frame: &Element) {
        let of = |name: &str| frame.child(name).map(Element::text);
        let said = of("svg:desc").or_else(|| of("svg:title"));
        if let Some(said) = said.filter(|said| !said.trim().is_empty()) {
            self.pictures.push((said, frame.source));
        }
    }
}

/// Text boxes, and shapes with words in them.
fn holds_blocks(name: &str) -> bool {
    matches!(
        name,
        "draw:text-box"
            | "draw:custom-shape"
            | "draw:rect"
            | "draw:ellipse"
            | "draw:circle"
            | "draw:line"
            | "draw:connector"
            | "draw:measure"
            | "draw:caption"
            | "draw:path"
            | "draw:polygon"
            | "draw:polyline"
            | "draw:regular-polygon"
    )
}

/// The text below an element that is told apart from the body, such as a header or a note.
pub(super) fn lines(root: &Element) -> String {
    told(root).text
}

fn told(root: &Element) -> Cell {
    lines_citing(root, &mut Vec::new())
}

/// The text below an element, paragraphs on lines of their own, in their order; what stands in
/// a text box after the paragraph it hangs on.
pub(super) fn lines_citing(root: &Element, notes: &mut Vec<Note>) -> Cell {
    let mut lines = Cell::default();
    collect(root, notes, &mut lines);
    lines
}

fn collect(parent: &Element, notes: &mut Vec<Note>, lines: &mut Cell) {
    for element in parent.elements() {
        match element.name.as_str() {
            "text:p" | "text:h" => {
                let inline = Inline::read(element, notes);
                lines.add_line(&Cell::new(inline.text, inline.links));
                for (said, _) in inline.pictures {
                    lines.add_line(&Cell::new(said, Vec::new()));
                }
                for inner in inline.boxes {
                    collect(inner, notes, lines);
                }
            }
            "office:annotation" | "text:tracked-changes" => {}
            _ => collect(element, notes, lines),
        }
    }
}
