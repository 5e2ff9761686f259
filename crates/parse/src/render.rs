//! A parsed document as a person would write it: Markdown, or plain text.
//!
//! Furniture is left out of both.

use std::borrow::Cow;

use model::{Atom, AtomKind, Parsed, Table};

use crate::Slice;
use crate::builder::Leads;

/// Headings with `#`, lists, tables, fences, quotes and footnotes as Markdown has them; what
/// could not be read as comments at the end.
pub fn to_markdown(parsed: &Parsed) -> String {
    let mut out = String::with_capacity(parsed.text.len() + parsed.text.len() / 16);
    let mut markdown = Markdown::default();
    for atom in as_written(parsed) {
        markdown.write(atom, &parsed.text[atom.span.bytes()], &mut out);
    }
    markdown.finish(&mut out);
    write_gaps(&mut out, parsed);
    out
}

/// Markdown of atoms that come one after the other.
#[derive(Debug, Default)]
pub struct Markdown {
    before: Option<AtomKind>,
    /// The depths of the lists that what was written last stands in.
    lists: Vec<u8>,
}

impl Markdown {
    /// What is to be written for a slice of a text.
    pub fn slice(&mut self, slice: &Slice) -> String {
        let mut out = String::with_capacity(slice.text.len() + slice.text.len() / 16);
        let base = slice.resume.text.bytes - slice.text.len() as u64;
        let indexed = slice.atoms.iter().filter(|atom| atom.kind.is_indexed());
        for atom in indexed {
            let place = atom.span.byte_start - base..atom.span.byte_end - base;
            let text = &slice.text[place.start as usize..place.end as usize];
            self.write(atom, text, &mut out);
        }
        out
    }

    fn write(&mut self, atom: &Atom, text: &str, out: &mut String) {
        if let Some(before) = &self.before {
            out.push_str(gap_between(before, &atom.kind));
        }
        let depth = self.depth(&atom.kind);
        write_markdown(out, atom, depth, text);
        self.before = Some(match &atom.kind {
            // What a table holds does not matter to what comes after it.
            AtomKind::Table(_) => AtomKind::Table(Table::default()),
            kind => kind.clone(),
        });
    }

    /// How many lists an item is written within: those an item before it began, and no paragraph
    /// ended. Indented under nothing it would be code.
    fn depth(&mut self, kind: &AtomKind) -> usize {
        let AtomKind::ListItem { depth, .. } = kind else {
            self.lists.clear();
            return 0;
        };
        while self.lists.last().is_some_and(|open| open > depth) {
            self.lists.pop();
        }
        if self.lists.last() != Some(depth) {
            self.lists.push(*depth);
        }
        self.lists.len() - 1
    }

    /// The end of the last line, if there is one.
    pub fn finish(self, out: &mut String) {
        if self.before.is_some() {
            out.push('\n');
        }
    }
}

/// The order of writing: what was printed at the foot of a page, because the page ended there,
/// stands at the end of its chapter.
fn as_written(parsed: &Parsed) -> Vec<&Atom> {
    let indexed = parsed.atoms.iter().filter(|atom| atom.kind.is_indexed());
    if parsed.pages.is_empty() {
        return indexed.collect();
    }
    let chapter = chapter_level(parsed);
    let (mut order, mut notes) = (Vec::new(), Vec::new());
    for atom in indexed {
        match atom.kind {
            AtomKind::Footnote { .. } => notes.push(atom),
            AtomKind::Heading { level } if level <= chapter => {
                order.append(&mut notes);
                order.push(atom);
            }
            _ => order.push(atom),
        }
    }
    order.append(&mut notes);
    order
}

/// The outermost level with more than one heading: a single one is the title.
fn chapter_level(parsed: &Parsed) -> u8 {
    let count = |level: u8| {
        let same = |atom: &&Atom| atom.kind == AtomKind::Heading { level };
        parsed.atoms.iter().filter(same).take(2).count()
    };
    (1..=6).find(|level| count(*level) > 1).unwrap_or(0)
}

/// The words only, pieces parted by blank lines.
pub fn to_text(parsed: &Parsed) -> String {
    let mut out = String::with_capacity(parsed.text.len());
    for atom in parsed.atoms.iter().filter(|atom| atom.kind.is_indexed()) {
        if let AtomKind::ListItem {
            marker: Some(marker),
            ..
        } = &atom.kind
        {
            out.push_str(marker);
            out.push(' ');
        }
        out.push_str(&parsed.text[atom.span.bytes()]);
        out.push_str("\n\n");
    }
    out.truncate(out.trim_end().len());
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn gap_between(before: &AtomKind, next: &AtomKind) -> &'static str {
    match (before, next) {
        (AtomKind::ListItem { .. }, AtomKind::ListItem { .. }) => "\n",
        (AtomKind::Quote, AtomKind::Quote) => "\n>\n",
        _ => "\n\n",
    }
}

/// What is missing is said where it does not pass for the document's own words.
fn write_gaps(out: &mut String, parsed: &Parsed) {
    for gap in &parsed.gaps {
        let place = match gap.pages {
            Some((first, last)) if first == last => format!("page {first}: "),
            Some((first, last)) => format!("pages {first} to {last}: "),
            None => String::new(),
        };
        // Two dashes would end the comment.
        let reason = gap.reason.replace("--", "\u{2013}");
        out.push_str(&format!("\n<!-- not read: {place}{reason} -->\n"));
    }
}

fn write_markdown(out: &mut String, atom: &Atom, depth: usize, text: &str) {
    let text = &*with_links(atom, text);
    match &atom.kind {
        AtomKind::Heading { level } => {
            let level = usize::from((*level).clamp(1, 6));
            out.push_str(&"#".repeat(level));
            out.push(' ');
            out.push_str(&text.replace('\n', " "));
        }
        AtomKind::ListItem { marker, .. } => write_item(out, depth, marker.as_deref(), text),
        AtomKind::Code { language } => write_code(out, language.as_deref(), text),
        AtomKind::Quote => write_lines(out, "> ", "> ", text),
        AtomKind::Footnote { marker } => {
            write_lines(out, &format!("[^{marker}]: "), "    ", text);
        }
        AtomKind::Formula => {
            out.push_str("$$\n");
            out.push_str(text);
            out.push_str("\n$$");
        }
        AtomKind::Paragraph | AtomKind::Figure | AtomKind::Caption => write_prose(out, text),
        AtomKind::Table(_) | AtomKind::Furniture => out.push_str(text),
    }
}

/// Lines as they are, with a backslash before what Markdown would make more of.
fn write_prose(out: &mut String, text: &str) {
    for (n, line) in text.split('\n').enumerate() {
        if n > 0 {
            out.push('\n');
        }
        let Some(at) = mark(line, n == 0) else {
            out.push_str(line);
            continue;
        };
        out.push_str(&line[..at]);
        out.push('\\');
        out.push_str(&line[at..]);
    }
}

/// Where the sign stands by which a line would begin a heading, a quote, a list or code, or be a
/// rule. Within a paragraph only the number 1 begins a list.
fn mark(line: &str, is_first: bool) -> Option<usize> {
    let body = line.trim_start_matches(' ');
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = body.split_at(digits);
    let means_more = match rest.chars().next()? {
        '.' | ')' => (1..=9).contains(&digits) && (is_first || number == "1") && is_apart(rest),
        _ if digits > 0 => false,
        '#' | '>' => true,
        '-' | '+' | '*' => is_apart(rest) || is_rule(rest),
        '=' | '_' => is_rule(rest),
        '`' => rest.starts_with("```"),
        '~' => rest.starts_with("~~~"),
        _ => false,
    };
    means_more.then_some(line.len() - rest.len())
}

/// Whether a sign stands alone, as one before an item does.
fn is_apart(text: &str) -> bool {
    text.len() == 1 || text[1..].starts_with([' ', '\t'])
}

fn is_rule(text: &str) -> bool {
    let first = text.chars().next();
    text.trim_end()
        .chars()
        .all(|c| Some(c) == first || c == ' ')
}

/// Words that lead out of the document with their address behind them.
fn with_links<'t>(atom: &Atom, text: &'t str) -> Cow<'t, str> {
    let is_verbatim = matches!(atom.kind, AtomKind::Code { .. } | AtomKind::Formula);
    let outward = |link: &&model::Link| {
        // Cells of a table, and lines, each stand for themselves.
        let is_whole = !link.text.contains(['|', '\n']);
        !is_verbatim && !link.target.starts_with('#') && is_whole && !shows_itself(link)
    };
    let mut links = atom.links.iter().filter(outward).peekable();
    if links.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut from) = (String::with_capacity(text.len() * 2), 0);
    for link in links {
        let words = (link.span.byte_start - atom.span.byte_start) as usize
            ..(link.span.byte_end - atom.span.byte_start) as usize;
        out.push_str(&text[from..words.start]);
        from = words.end;
        write_link(&mut out, &text[words], &link.target);
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// Words that are the address need it no second time.
fn shows_itself(link: &model::Link) -> bool {
    let target = link.target.trim_start_matches("mailto:");
    target.trim_end_matches('/') == link.text.trim_end_matches('/')
}

fn write_link(out: &mut String, words: &str, target: &str) {
    out.push('[');
    for c in words.chars() {
        if matches!(c, '[' | ']') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push_str("](");
    for c in target.chars() {
        match c {
            '(' => out.push_str("%28"),
            ')' => out.push_str("%29"),
            c => out.push(c),
        }
    }
    out.push(')');
}

fn write_item(out: &mut String, depth: usize, marker: Option<&str>, text: &str) {
    // Four blanks reach under the text of any usual marker.
    let indent = "    ".repeat(depth);
    let marker = marker.unwrap_or("-");
    let first = format!("{indent}{marker} ");
    let rest = " ".repeat(first.chars().count());
    write_lines(out, &first, &rest, text);
}

fn write_code(out: &mut String, language: Option<&str>, text: &str) {
    let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
    out.push_str(&fence);
    out.push_str(language.unwrap_or_default());
    out.push('\n');
    out.push_str(text);
    out.push('\n');
    out.push_str(&fence);
}

fn longest_run(text: &str, of: char) -> usize {
    text.split(|c| c != of).map(str::len).max().unwrap_or(0)
}

fn write_lines(out: &mut String, first: &str, rest: &str, text: &str) {
    for (n, line) in text.lines().enumerate() {
        if n > 0 {
            out.push('\n');
        }
        let prefix = if n == 0 { first } else { rest };
        if line.is_empty() {
            out.push_str(prefix.trim_end());
        } else {
            out.push_str(prefix);
            out.push_str(line);
        }
    }
}

/// Rows are filled up to the widest one, but not so far that a single wide row
/// in a long table multiplies its size.
const FILLED_COLUMNS: usize = 64;

/// The Markdown form of a table; one row of a larger header stands above the rule.
pub fn table(table: &Table) -> String {
    linked_table(table, &[]).0
}

/// The same, and where the links of its cells, by row and column, stand in it.
pub(crate) fn linked_table(table: &Table, links: &[Vec<Vec<Leads>>]) -> (String, Vec<Leads>) {
    let columns = table.rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = Rows::default();
    let of_row = |n: usize| links.get(n).map_or(&[][..], Vec::as_slice);
    let mut rows = table.rows.iter().enumerate();
    if table.header_rows == 0 {
        out.row(&[], &[], columns);
    } else if let Some((n, header)) = rows.next() {
        out.row(header, of_row(n), columns);
    }
    out.text.push_str("\n|");
    out.text.push_str(&" --- |".repeat(columns));
    for (n, row) in rows {
        out.text.push('\n');
        let columns = columns.min(row.len().max(FILLED_COLUMNS));
        out.row(row, of_row(n), columns);
    }
    (out.text, out.links)
}

/// Rows as they are written.
#[derive(Default)]
struct Rows {
    text: String,
    links: Vec<Leads>,
}

impl Rows {
    fn row(&mut self, cells: &[String], links: &[Vec<Leads>], columns: usize) {
        self.text.push('|');
        for column in 0..columns {
            self.text.push(' ');
            if let Some(cell) = cells.get(column) {
                self.cell(cell, links.get(column).map_or(&[], Vec::as_slice));
            }
            self.text.push_str(" |");
        }
    }

    fn cell(&mut self, cell: &str, links: &[Leads]) {
        let body = cell.trim();
        let before = cell.len() - cell.trim_start().len();
        let place = |at: usize| body.floor_char_boundary(at.saturating_sub(before));
        let mut written = 0;
        for link in links {
            let start = place(link.words.start).max(written);
            let end = place(link.words.end).max(start);
            self.words(&body[written..start]);
            let from = self.text.len();
            self.words(&body[start..end]);
            written = end;
            self.links.push(Leads {
                words: from..self.text.len(),
                target: link.target.clone(),
            });
        }
        self.words(&body[written..]);
    }

    fn words(&mut self, words: &str) {
        for c in words.chars() {
            match c {
                '\n' => self.text.push(' '),
                '|' => self.text.push_str("\\|"),
                c => self.text.push(c),
            }
        }
    }
}
