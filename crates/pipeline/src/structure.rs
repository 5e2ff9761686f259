//! Sections nest: the tree over a document's atoms.
//!
//! In: a parsed document. Out: its section tree; the root has no heading, covers
//! every atom, and its children are the outermost headings. A heading's section
//! reaches up to the next heading of its level or above.

use model::{Atom, AtomKind, Parsed, Section};
use serde::{Deserialize, Serialize};

pub fn sections(parsed: &Parsed) -> Section {
    let mut outline = Outline::default();
    outline.push(&parsed.text, 0, &parsed.atoms);
    outline.finish()
}

/// The tree as it grows while a document comes by in slices. It can be stored between two.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outline {
    /// The sections that have not ended, outermost first.
    open: Vec<Section>,
    atoms: usize,
}

impl Default for Outline {
    fn default() -> Self {
        Self {
            open: vec![section(String::new(), 0, 0)],
            atoms: 0,
        }
    }
}

impl Outline {
    /// Takes the next atoms; `text` holds them and begins at byte `base` of the document.
    pub fn push(&mut self, text: &str, base: u64, atoms: &[Atom]) {
        for atom in atoms {
            if let AtomKind::Heading { level } = atom.kind {
                close(&mut self.open, level.max(1), self.atoms);
                let (start, end) = (atom.span.byte_start - base, atom.span.byte_end - base);
                let heading = one_line(&text[start as usize..end as usize]);
                self.open.push(section(heading, level.max(1), self.atoms));
            }
            self.atoms += 1;
        }
    }

    pub fn finish(mut self) -> Section {
        close(&mut self.open, 1, self.atoms);
        let root = self.open.pop();
        let mut root = root.expect("closing at level 1 leaves the root");
        root.atoms.end = self.atoms;
        root
    }
}

fn section(heading: String, level: u8, from: usize) -> Section {
    Section {
        heading,
        level,
        atoms: from..from,
        children: Vec::new(),
    }
}

/// Ends the open sections that a heading of this level ends.
fn close(open: &mut Vec<Section>, level: u8, at: usize) {
    while open.last().is_some_and(|last| last.level >= level) {
        let mut done = open.pop().expect("just looked at");
        done.atoms.end = at;
        let parent = open.last_mut().expect("the root's level 0 is never ended");
        parent.children.push(done);
    }
}

/// White space of any kind becomes one space: a heading printed on two lines is one heading.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// So many characters of a heading are kept in a path, which every chunk below carries. What is
/// longer was hardly meant as a heading: a paragraph, say, with a rule right under it.
const HEADING: usize = 200;
pub(crate) const CUT_SHORT: char = '…';

fn shortened(text: String) -> String {
    match text.char_indices().nth(HEADING) {
        None => text,
        Some((end, _)) => format!("{}{CUT_SHORT}", &text[..end]),
    }
}

/// The headings in force at a place, outermost first, as one walks down a document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Headings {
    open: Vec<(u8, String)>,
}

impl Headings {
    pub fn new(path: &[String], levels: &[u8]) -> Self {
        // A unit written before levels were kept gives its headings the levels 1, 2, 3…
        let level = |at: usize| levels.get(at).copied().unwrap_or(at as u8 + 1);
        let open = path.iter().enumerate();
        Self {
            open: open.map(|(at, text)| (level(at), text.clone())).collect(),
        }
    }

    pub fn leave(&mut self, level: u8) {
        self.open.retain(|(open, _)| *open < level);
    }

    pub fn enter(&mut self, level: u8, text: String) {
        self.leave(level);
        self.open.push((level, shortened(text)));
    }

    pub fn path(&self) -> Vec<String> {
        self.open.iter().map(|(_, text)| text.clone()).collect()
    }

    pub fn levels(&self) -> Vec<u8> {
        self.open.iter().map(|(level, _)| *level).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::parsed;

    #[test]
    fn a_path_carries_only_the_beginning_of_an_endless_heading() {
        let mut headings = Headings::default();
        headings.enter(1, "née ".repeat(20_000));
        headings.enter(2, "Short".to_owned());
        let path = headings.path();
        assert_eq!(path[0].chars().count(), HEADING + 1);
        assert!(path[0].ends_with("née …"), "{}", path[0]);
        assert_eq!(path[1], "Short");
    }

    #[test]
    fn a_section_reaches_to_the_next_heading_of_its_level() {
        let doc = parsed("before\n\n# A\n\none\n\n### deep\n\ntwo\n\n## B\n\nthree\n\n# C\n\nfour");
        let root = sections(&doc);
        let names: Vec<_> = root.children.iter().map(|s| s.heading.as_str()).collect();
        assert_eq!(names, ["A", "C"]);
        assert_eq!(root.atoms, 0..doc.atoms.len());
        assert_eq!(root.children[0].atoms, 1..7);
        let inner: Vec<_> = root.children[0]
            .children
            .iter()
            .map(|s| &s.heading)
            .collect();
        assert_eq!(inner, ["deep", "B"]);
        assert_eq!(root.children[1].atoms, 7..9);
    }
}
