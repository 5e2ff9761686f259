//! The text of a paragraph: runs, fields, breaks, notes, pictures, formulas.

use crate::xml::{Element, Node};

use super::{math, symbol, table};

/// What a paragraph holds besides its text.
#[derive(Debug, Default)]
pub(super) struct Inline<'a> {
    pub(super) text: String,
    /// Alternative texts of its pictures.
    pub(super) pictures: Vec<String>,
    /// Contents of text boxes anchored in it.
    pub(super) boxes: Vec<&'a Element>,
    pub(super) anchor: Option<String>,
    /// How much of the text is mathematics.
    pub(super) formula_bytes: usize,
    fields: Vec<FieldPart>,
}

/// Whether we are in the instruction of a field, or in its result.
#[derive(Debug, PartialEq, Eq)]
enum FieldPart {
    Instruction,
    Result,
}

/// Notes in the order they are cited; a note's number is its place here.
#[derive(Debug, Default)]
pub(super) struct Cited {
    pub(super) notes: Vec<(NoteKind, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoteKind {
    Foot,
    End,
}

impl Cited {
    fn number(&mut self, kind: NoteKind, id: &str) -> usize {
        let same = |(k, i): &(NoteKind, String)| *k == kind && i == id;
        if let Some(at) = self.notes.iter().position(same) {
            return at + 1;
        }
        self.notes.push((kind, id.to_owned()));
        self.notes.len()
    }
}

/// The text below an element, paragraphs on lines of their own; for headers, notes and cells.
pub(super) fn plain(root: &Element) -> String {
    let lines = paragraphs(root)
        .into_iter()
        .map(|p| read(p, &mut Cited::default()).text);
    let lines: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
    lines.join("\n")
}

/// The paragraphs below an element, those of a text box after the one it hangs on. What was
/// deleted is left out, and of one thing told twice, for newer and older readers, one is taken.
pub(super) fn paragraphs(root: &Element) -> Vec<&Element> {
    let mut found = Vec::new();
    collect(root, &mut found);
    found
}

fn collect<'a>(parent: &'a Element, found: &mut Vec<&'a Element>) {
    for element in parent.elements() {
        match element.name.as_str() {
            "w:del" | "w:moveFrom" => {}
            "w:tr" if table::is_deleted(element) => {}
            "mc:AlternateContent" => told(element).into_iter().for_each(|e| collect(e, found)),
            name => {
                if name == "w:p" {
                    found.push(element);
                }
                collect(element, found);
            }
        }
    }
}

/// The same thing told for newer and for older readers: one of them is read.
fn told(alternatives: &Element) -> Option<&Element> {
    let newer = alternatives.child("mc:Choice");
    newer.or_else(|| alternatives.child("mc:Fallback"))
}

pub(super) fn read<'a>(paragraph: &'a Element, cited: &mut Cited) -> Inline<'a> {
    let mut inline = Inline::default();
    inline.content(paragraph, cited);
    inline
}

impl<'a> Inline<'a> {
    fn content(&mut self, parent: &'a Element, cited: &mut Cited) {
        for element in parent.elements() {
            self.element(element, cited);
        }
    }

    fn element(&mut self, element: &'a Element, cited: &mut Cited) {
        match element.name.as_str() {
            "w:r" => self.run(element, cited),
            // As if every change had been accepted.
            "w:del" | "w:moveFrom" | "w:pPr" | "w:rPr" | "w:sdtPr" | "w:sdtEndPr" | "w:rt" => {}
            "w:sdt" => self.control(element, cited),
            "w:bookmarkStart" => self.bookmark(element),
            "m:oMath" | "m:oMathPara" => self.formula(element),
            "w:p" => {
                self.text.push('\n');
                self.content(element, cited);
            }
            _ => self.content(element, cited),
        }
    }

    /// A check box is told as Markdown tells it; other controls show their content.
    fn control(&mut self, element: &'a Element, cited: &mut Cited) {
        let Some(check_box) = element.at(&["w:sdtPr", "w14:checkbox"]) else {
            return self.content(element, cited);
        };
        let checked = matches!(check_box.value("w14:checked"), Some("1" | "true"));
        self.text.push_str(if checked { "[x]" } else { "[ ]" });
    }

    fn bookmark(&mut self, element: &Element) {
        let name = element
            .attribute("name")
            .filter(|name| !name.starts_with('_'));
        self.anchor = self.anchor.take().or(name.map(str::to_owned));
    }

    fn formula(&mut self, element: &Element) {
        let formula = math::linear(element);
        let formula = formula.trim();
        if !formula.is_empty() {
            self.text.push('$');
            self.text.push_str(formula);
            self.text.push('$');
            self.formula_bytes += formula.len() + 2;
        }
    }

    fn run(&mut self, run: &'a Element, cited: &mut Cited) {
        let hidden = run.child("w:rPr").is_some_and(|p| p.flag("w:vanish"));
        if hidden {
            return;
        }
        for element in run.elements() {
            self.run_part(element, cited);
        }
    }

    fn run_part(&mut self, element: &'a Element, cited: &mut Cited) {
        match element.name.as_str() {
            "w:fldChar" => return self.field(element),
            "w:delText" | "w:instrText" | "w:delInstrText" => return,
            _ if self.fields.contains(&FieldPart::Instruction) => return,
            _ => {}
        }
        match element.name.as_str() {
            "w:t" => self.literal(element),
            "w:tab" | "w:ptab" => self.text.push('\t'),
            "w:br" | "w:cr" => self.text.push('\n'),
            "w:noBreakHyphen" => self.text.push('-'),
            "w:sym" => self.symbol(element),
            "w:footnoteReference" => self.note(NoteKind::Foot, element, cited),
            "w:endnoteReference" => self.note(NoteKind::End, element, cited),
            "w:drawing" | "w:pict" | "w:object" => self.drawing(element),
            "mc:AlternateContent" => self.alternative(element, cited),
            "w:ruby" => self.content(element, cited),
            "w:rubyBase" => self.content(element, cited),
            _ => {}
        }
    }

    fn literal(&mut self, element: &Element) {
        for node in &element.nodes {
            if let Node::Text(text) = node {
                self.text.push_str(text);
            }
        }
    }

    fn field(&mut self, element: &Element) {
        match element.attribute("fldCharType") {
            Some("begin") if self.fields.len() < 64 => self.fields.push(FieldPart::Instruction),
            Some("separate") => {
                if let Some(field) = self.fields.last_mut() {
                    *field = FieldPart::Result;
                }
            }
            Some("end") => {
                self.fields.pop();
            }
            _ => {}
        }
    }

    fn symbol(&mut self, element: &Element) {
        let code = element.attribute("char");
        let code = code.and_then(|hex| u32::from_str_radix(hex, 16).ok());
        let font = element.attribute("font").unwrap_or_default();
        self.text
            .extend(code.and_then(|code| symbol::meaning(code, font)));
    }

    fn note(&mut self, kind: NoteKind, element: &Element, cited: &mut Cited) {
        if let Some(id) = element.attribute("id") {
            let number = cited.number(kind, id);
            self.text.push_str(&format!("[^{number}]"));
        }
    }

    fn drawing(&mut self, element: &'a Element) {
        let mut boxes = Vec::new();
        outermost(element, "w:txbxContent", &mut boxes);
        self.boxes.extend(boxes);
        let mut named = Vec::new();
        element.find_all("wp:docPr", &mut named);
        let said = named.into_iter().filter_map(|p| p.attribute("descr"));
        let said = said.filter(|text| !text.trim().is_empty());
        self.pictures.extend(said.map(str::to_owned));
    }

    fn alternative(&mut self, element: &'a Element, cited: &mut Cited) {
        for part in told(element).into_iter().flat_map(Element::elements) {
            self.run_part(part, cited);
        }
    }
}

fn outermost<'a>(element: &'a Element, name: &str, found: &mut Vec<&'a Element>) {
    // A choice nested in a drawing repeats itself in its fallback.
    let has_choice = element.child("mc:Choice").is_some();
    for child in element.elements() {
        if has_choice && child.name == "mc:Fallback" {
            continue;
        }
        if child.name == name {
            found.push(child);
        } else {
            outermost(child, name, found);
        }
    }
}
