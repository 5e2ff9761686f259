//! Text of a paragraph: spans, blanks, breaks, notes and text boxes.

use crate::xml::{Element, Node};

#[derive(Default)]
pub(super) struct Inline<'a> {
    pub(super) text: String,
    pub(super) boxes: Vec<&'a Element>,
}

/// A run of blanks is written as a count, which is not believed beyond this.
const MOST_BLANKS: usize = 64;

impl<'a> Inline<'a> {
    pub(super) fn read(element: &'a Element, notes: &mut Vec<(String, String)>) -> Self {
        let mut inline = Self::default();
        inline.content(element, notes);
        inline
    }

    fn content(&mut self, parent: &'a Element, notes: &mut Vec<(String, String)>) {
        for node in &parent.nodes {
            match node {
                Node::Text(text) => self.text.push_str(text),
                Node::Element(element) => self.element(element, notes),
            }
        }
    }

    fn element(&mut self, element: &'a Element, notes: &mut Vec<(String, String)>) {
        match element.name.as_str() {
            "text:s" => {
                let count = element.attribute("c").and_then(|c| c.parse().ok());
                let count: usize = count.unwrap_or(1).min(MOST_BLANKS);
                self.text.extend(std::iter::repeat_n(' ', count));
            }
            "text:tab" => self.text.push('\t'),
            "text:line-break" => self.text.push('\n'),
            "text:note" => {
                let marker = (notes.len() + 1).to_string();
                self.text.push_str(&format!("[^{marker}]"));
                let body = element.child("text:note-body");
                notes.push((marker, body.map(lines).unwrap_or_default()));
            }
            "draw:text-box" => self.boxes.push(element),
            "office:annotation" | "office:annotation-end" | "text:ruby-text" => {}
            "svg:desc" | "svg:title" => {}
            _ => self.content(element, notes),
        }
    }
}

/// The text below an element, paragraphs on lines of their own.
pub(super) fn lines(root: &Element) -> String {
    let mut paragraphs = Vec::new();
    for name in ["text:p", "text:h"] {
        root.find_all(name, &mut paragraphs);
    }
    let lines = paragraphs
        .into_iter()
        .map(|p| Inline::read(p, &mut Vec::new()).text);
    let lines: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
    lines.join("\n")
}
