//! The text of a paragraph: runs, fields, breaks, notes, pictures, formulas.

use std::ops::Range;

use crate::builder::Leads;
use crate::math;
use crate::ooxml::Relations;
use crate::target::safe_target;
use crate::xml::{Element, Node};

use super::{symbol, table};

/// Links of one paragraph: each of them may repeat one long address.
pub(super) const MOST_LINKS: usize = 2_000;

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
    fields: Vec<Field>,
    /// Words that lead somewhere, in the order in which they end.
    leads: Vec<(Range<usize>, Lead)>,
}

/// Where some words lead to, as the document says it.
#[derive(Debug)]
enum Lead {
    /// By a relationship of its part.
    Relation(String),
    Address(String),
}

/// A field we are in.
#[derive(Debug)]
struct Field {
    at: At,
    /// The choice of a form's field, shown where the field has no result.
    chosen: Option<String>,
}

/// How far a field was read: its instruction up to here, or where its result begins and the
/// address it is shown for, if it is a link.
#[derive(Debug)]
enum At {
    Instruction(String),
    Result { from: usize, leads: Option<String> },
}

/// Fields that have not ended with the paragraph they began in.
#[derive(Debug, Default)]
pub(super) struct OpenFields(Vec<Field>);

impl OpenFields {
    /// Whether what comes next is no text, but says how to make some.
    pub(super) fn in_instruction(&self) -> bool {
        in_instruction(&self.0)
    }

    /// For each field, whether its instruction goes on.
    pub(super) fn depth(&self) -> Vec<bool> {
        let goes_on = |field: &Field| matches!(field.at, At::Instruction(_));
        self.0.iter().map(goes_on).collect()
    }
}

fn in_instruction(fields: &[Field]) -> bool {
    let is_instruction = |field: &Field| matches!(field.at, At::Instruction(_));
    fields.iter().any(is_instruction)
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
            "w:tr" | "w:tc" if table::is_deleted(element) => {}
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
    read_on(paragraph, cited, &mut OpenFields::default())
}

/// A paragraph that may begin within fields, and leaves those that do not end with it.
pub(super) fn read_on<'a>(
    paragraph: &'a Element,
    cited: &mut Cited,
    open: &mut OpenFields,
) -> Inline<'a> {
    let mut inline = Inline {
        fields: std::mem::take(&mut open.0),
        ..Inline::default()
    };
    // A result that goes on does so from the beginning of this text.
    for field in &mut inline.fields {
        if let At::Result { from, .. } = &mut field.at {
            *from = 0;
        }
    }
    inline.content(paragraph, cited);
    open.0 = std::mem::take(&mut inline.fields);
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
            "w:hyperlink" => self.link(element, cited),
            "w:fldSimple" => self.simple_field(element, cited),
            "w:bookmarkStart" => self.bookmark(element),
            "m:oMath" | "m:oMathPara" => self.formula(element),
            "mc:AlternateContent" => {
                if let Some(told) = told(element) {
                    self.content(told, cited);
                }
            }
            "w:p" => {
                self.text.push('\n');
                self.content(element, cited);
            }
            _ => self.content(element, cited),
        }
    }

    fn link(&mut self, element: &'a Element, cited: &mut Cited) {
        let from = self.text.len();
        self.content(element, cited);
        if let Some(id) = element.related() {
            let words = from..self.text.len();
            self.leads.push((words, Lead::Relation(id.to_owned())));
        }
    }

    fn simple_field(&mut self, element: &'a Element, cited: &mut Cited) {
        let from = self.text.len();
        self.content(element, cited);
        let address = element.attribute("instr").and_then(address);
        self.lead(from, address);
    }

    fn lead(&mut self, from: usize, address: Option<String>) {
        if let Some(address) = address {
            let words = from..self.text.len();
            self.leads.push((words, Lead::Address(address)));
        }
    }

    /// Its links that may be shown, in the order of their words; of nested ones the outer one.
    pub(super) fn links(&self, relations: &Relations) -> Vec<Leads> {
        let target = |lead: &Lead| match lead {
            Lead::Relation(id) => relations.address(id).map(str::to_owned),
            Lead::Address(address) => safe_target(address),
        };
        let shown = self.leads.iter().filter_map(|(words, lead)| {
            let (words, target) = (words.clone(), target(lead)?);
            Some(Leads { words, target })
        });
        let mut links: Vec<Leads> = shown.take(MOST_LINKS).collect();
        links.sort_by_key(|link| (link.words.start, std::cmp::Reverse(link.words.end)));
        let mut end = 0;
        links.retain(|link| {
            let is_apart = link.words.start >= end && !link.words.is_empty();
            if is_apart {
                end = link.words.end;
            }
            is_apart
        });
        links
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
        // A field that begins in plain sight may end in a hidden run, and the other way round.
        let counts = |part: &&Element| !hidden || is_of_field(&part.name);
        for element in run.elements().filter(counts) {
            self.run_part(element, cited);
        }
    }

    fn run_part(&mut self, element: &'a Element, cited: &mut Cited) {
        match element.name.as_str() {
            "w:fldChar" => return self.field(element),
            "w:instrText" => return self.instruction(element),
            "w:delText" | "w:delInstrText" => return,
            _ if in_instruction(&self.fields) => return,
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

    fn instruction(&mut self, element: &Element) {
        if let Some(At::Instruction(said)) = self.fields.last_mut().map(|field| &mut field.at) {
            said.push_str(&element.text());
        }
    }

    fn field(&mut self, element: &Element) {
        match element.attribute("fldCharType") {
            Some("begin") if self.fields.len() < 64 => self.fields.push(Field {
                at: At::Instruction(String::new()),
                chosen: element.child("w:ffData").and_then(chosen),
            }),
            Some("separate") => {
                if let Some(field) = self.fields.last_mut() {
                    let leads = match &field.at {
                        At::Instruction(said) => address(said),
                        At::Result { .. } => None,
                    };
                    let from = self.text.len();
                    field.at = At::Result { from, leads };
                }
            }
            Some("end") => self.end_field(),
            _ => {}
        }
    }

    fn end_field(&mut self) {
        let Some(field) = self.fields.pop() else {
            return;
        };
        let shown_from = match &field.at {
            At::Instruction(_) => self.text.len(),
            At::Result { from, .. } => *from,
        };
        if let Some(chosen) = field.chosen
            && self.text[shown_from..].trim().is_empty()
            && !in_instruction(&self.fields)
        {
            self.text.push_str(&chosen);
        }
        if let At::Result { from, leads } = field.at {
            self.lead(from, leads);
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

fn is_of_field(name: &str) -> bool {
    matches!(name, "w:fldChar" | "w:instrText")
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

/// The state of a form's check box, as Markdown writes it, or the entry chosen from its list.
fn chosen(form: &Element) -> Option<String> {
    if let Some(check_box) = form.child("w:checkBox") {
        let checked = match check_box.child("w:checked") {
            Some(_) => check_box.flag("w:checked"),
            None => check_box.flag("w:default"),
        };
        return Some(if checked { "[x]" } else { "[ ]" }.to_owned());
    }
    let list = form.child("w:ddList")?;
    let number = list.value("w:result").or(list.value("w:default"));
    let number = number.and_then(|n| n.parse().ok()).unwrap_or(0);
    let entry = list.children("w:listEntry").nth(number)?;
    entry.attribute("val").map(str::to_owned)
}

/// The address in a field's instruction, as in `HYPERLINK "https://example.org/" \o "a hint"`.
fn address(instruction: &str) -> Option<String> {
    let rest = instruction.trim_start().strip_prefix("HYPERLINK")?;
    let quoted = rest.trim_start().strip_prefix('"')?;
    let (address, _) = quoted.split_once('"')?;
    Some(address.to_owned())
}
