//! From tokens to pieces, with the state of each group kept on a stack.

use std::collections::BTreeMap;

use encoding_rs::{Encoding, WINDOWS_1252};
use model::AtomKind;

use super::code_page;
use super::table::Rows;
use super::token::Token;
use crate::builder::{Piece, TextBuilder};
use crate::{Budget, Error, Limits};

/// Where the text of a group goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Body,
    Nowhere,
    Title,
    Author,
    StyleName,
    Footnote,
    Furniture,
    Marker,
}

#[derive(Debug, Clone)]
struct Group {
    into: Target,
    /// Characters that stand in for one `\u`, to be passed over.
    stand_ins: usize,
    hidden: bool,
    font: i32,
}

/// A run of bytes of the file.
type Place = (u64, u64);

pub(super) struct Reader<'a> {
    out: &'a mut TextBuilder,
    limits: Limits,
    groups: Vec<Group>,
    code_page: &'static Encoding,
    /// Code pages of fonts that have one of their own.
    fonts: BTreeMap<i32, &'static Encoding>,
    in_fonts: bool,
    /// The font of text that names none.
    default_font: i32,
    /// The token at hand.
    token: Place,
    /// Where the text, the side text and the rows read so far stand.
    text_place: Option<Place>,
    side_place: Option<Place>,
    rows_place: Option<Place>,
    /// Bytes not yet decoded: characters of some code pages take two.
    bytes: Vec<u8>,
    skip: usize,
    starred: bool,
    text: String,
    side: String,
    marker: Option<String>,
    style: i32,
    outline: Option<u8>,
    /// How deep in lists a paragraph stands.
    level: u8,
    in_table: bool,
    rows: Rows,
    /// Style numbers that are headings.
    headings: BTreeMap<i32, u8>,
    /// What styles are based on, and that of the style being named.
    bases: BTreeMap<i32, i32>,
    base: Option<i32>,
    /// The outline level of the style being named.
    style_level: Option<i32>,
    notes: Vec<(String, Option<Place>)>,
    /// The first half of a character that takes two `\\u`.
    half: Option<u16>,
    in_info: bool,
    /// How many text boxes there are: none is read.
    boxes: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(out: &'a mut TextBuilder, limits: &Limits) -> Self {
        Self {
            out,
            limits: *limits,
            groups: Vec::new(),
            code_page: WINDOWS_1252,
            fonts: BTreeMap::new(),
            in_fonts: false,
            default_font: 0,
            token: (0, 0),
            text_place: None,
            side_place: None,
            rows_place: None,
            bytes: Vec::new(),
            skip: 0,
            starred: false,
            text: String::new(),
            side: String::new(),
            marker: None,
            style: 0,
            outline: None,
            level: 0,
            in_table: false,
            rows: Rows::default(),
            headings: BTreeMap::new(),
            bases: BTreeMap::new(),
            base: None,
            style_level: None,
            notes: Vec::new(),
            half: None,
            in_info: false,
            boxes: 0,
        }
    }

    /// Takes the next token, which stands at `place`.
    pub(super) fn token(&mut self, token: Token<'_>, place: Place) -> Result<(), Error> {
        self.token = place;
        match token {
            Token::Byte(byte) => {
                if self.skip > 0 {
                    self.skip -= 1;
                } else {
                    self.note_place();
                    self.bytes.push(byte);
                }
                self.bounded()
            }
            Token::Open => self.open(),
            Token::Close => self.close(),
            Token::Symbol(symbol) => {
                self.symbol(symbol);
                Ok(())
            }
            Token::Word(name, number) => self.word(name, number),
        }
    }

    /// A paragraph or a side text without end must not grow without end.
    fn bounded(&self) -> Result<(), Error> {
        let held = (self.bytes.len() + self.text.len() + self.side.len()) as u64;
        match held > self.limits.text_bytes {
            true => Err(Error::OverBudget {
                budget: Budget::TextBytes,
                limit: self.limits.text_bytes,
            }),
            false => Ok(()),
        }
    }

    /// The token at hand is part of what is being read.
    fn note_place(&mut self) {
        let Group { into, hidden, .. } = self.group();
        let place = match into {
            Target::Nowhere => return,
            Target::Body if hidden => return,
            Target::Body => &mut self.text_place,
            _ => &mut self.side_place,
        };
        let start = place.map_or(self.token.0, |(start, _)| start);
        *place = Some((start, self.token.1));
    }

    fn push(&mut self, piece: Piece, place: Option<Place>) -> Result<(), Error> {
        let piece = match place {
            Some((start, end)) => piece.from_source(start, end),
            None => piece,
        };
        self.out.push(piece)
    }

    fn group(&self) -> Group {
        self.groups.last().cloned().unwrap_or(Group {
            into: Target::Body,
            stand_ins: 1,
            hidden: false,
            font: 0,
        })
    }

    fn set(&mut self, change: impl FnOnce(&mut Group)) {
        if let Some(group) = self.groups.last_mut() {
            change(group);
        }
    }

    fn open(&mut self) -> Result<(), Error> {
        self.decode();
        let group = self.group();
        self.groups.push(group);
        match self.groups.len() > self.limits.nesting as usize * 4 {
            true => Err(Error::OverBudget {
                budget: Budget::Nesting,
                limit: u64::from(self.limits.nesting) * 4,
            }),
            false => Ok(()),
        }
    }

    fn close(&mut self) -> Result<(), Error> {
        self.decode();
        let closed = self
            .groups
            .pop()
            .map_or(Target::Nowhere, |group| group.into);
        self.starred = false;
        if closed == Target::StyleName {
            let name = std::mem::take(&mut self.side);
            self.name_style(&name);
            return Ok(());
        }
        if self.group().into == closed {
            return Ok(());
        }
        let side = std::mem::take(&mut self.side);
        let place = self.side_place.take();
        match closed {
            Target::Title => self.out.title(&side),
            Target::Author => self.out.property("author", &side),
            Target::Footnote => {
                self.notes.push((side, place));
                let number = self.notes.len();
                self.text.push_str(&format!("[^{number}]"));
            }
            Target::Furniture => self.push(Piece::new(AtomKind::Furniture, side), place)?,
            Target::Marker => self.marker = Some(side.trim().to_owned()),
            Target::StyleName | Target::Body | Target::Nowhere => {}
        }
        Ok(())
    }

    fn name_style(&mut self, name: &str) {
        let name = name.trim_end_matches(';').trim().to_lowercase();
        let level = name
            .strip_prefix("heading ")
            .and_then(|n| n.trim().parse().ok());
        let level = level.or((name == "title").then_some(1));
        let outlined = self.style_level.take().filter(|n| (0..9).contains(n));
        let level = level.or(outlined.map(|n| n as u8 + 1));
        if let Some(level) = level {
            self.headings.insert(self.style, level);
        }
        if let Some(base) = self.base.take() {
            self.bases.insert(self.style, base);
        }
        self.style = 0;
    }

    /// The level of the heading a style is, or the nearest one it is based on.
    fn heading_of(&self, style: i32) -> Option<u8> {
        // A chain of styles longer than this goes in a circle.
        const LONGEST_CHAIN: usize = 24;
        let base = |style: &i32| self.bases.get(style).copied();
        let mut chain = std::iter::successors(Some(style), base).take(LONGEST_CHAIN);
        chain.find_map(|style| self.headings.get(&style).copied())
    }

    fn symbol(&mut self, symbol: u8) {
        self.decode();
        match symbol {
            b'*' => self.starred = true,
            b'~' => self.add(" "),
            b'_' => self.add("-"),
            b'\\' | b'{' | b'}' => self.add(&char::from(symbol).to_string()),
            _ => {}
        }
    }

    fn word(&mut self, name: &str, number: Option<i32>) -> Result<(), Error> {
        if name != "u" {
            self.decode();
        }
        if matches!(name, "shptxt" | "dptxbxtext") {
            self.boxes += 1;
        }
        if let Some(into) = destination(name) {
            self.starred = false;
            let inner = matches!(into, Target::Title | Target::Author);
            if self.group().into != Target::Nowhere || (inner && self.in_info) {
                self.set(|group| group.into = into);
            }
            self.in_info |= name == "info";
            self.in_fonts = name == "fonttbl";
            return Ok(());
        }
        if std::mem::take(&mut self.starred) {
            self.set(|group| group.into = Target::Nowhere);
            return Ok(());
        }
        self.formatting(name, number)
    }

    fn formatting(&mut self, name: &str, number: Option<i32>) -> Result<(), Error> {
        let into = self.group().into;
        match name {
            // A number, a note or a header is set in a paragraph of its own, which says nothing
            // of the one it stands in.
            "pard" | "intbl" | "ilvl" | "outlinelevel" | "s"
                if !matches!(into, Target::Body | Target::StyleName) => {}
            "outlinelevel" if into == Target::StyleName => self.style_level = number,
            "ansicpg" => self.code_page = code_page::numbered(number),
            "deff" => {
                self.default_font = number.unwrap_or(0);
                self.set(|group| group.font = number.unwrap_or(0));
            }
            "f" => self.set(|group| group.font = number.unwrap_or(0)),
            "fcharset" if self.in_fonts => self.script(number.unwrap_or(0)),
            "u" => self.unicode(number.unwrap_or(0)),
            "uc" => self.set(|group| group.stand_ins = number.unwrap_or(1).clamp(0, 8) as usize),
            "v" => self.set(|group| group.hidden = number != Some(0)),
            "plain" => {
                let font = self.default_font;
                self.set(|group| {
                    group.hidden = false;
                    group.font = font;
                });
            }
            "par" | "sect" | "page" => self.paragraph()?,
            "line" => self.add("\n"),
            "tab" => self.add("\t"),
            "emspace" | "enspace" | "qmspace" => self.add(" "),
            "emdash" => self.add("\u{2014}"),
            "endash" => self.add("\u{2013}"),
            "bullet" => self.add("\u{2022}"),
            "lquote" => self.add("\u{2018}"),
            "rquote" => self.add("\u{2019}"),
            "ldblquote" => self.add("\u{201c}"),
            "rdblquote" => self.add("\u{201d}"),
            "pard" if into == Target::Body => {
                self.style = 0;
                self.outline = None;
                self.level = 0;
                self.in_table = false;
            }
            "intbl" if into == Target::Body => self.in_table = true,
            "ilvl" => self.level = number.map_or(0, |n| n.clamp(0, 8) as u8),
            "s" => self.style = number.unwrap_or(0),
            "sbasedon" if into == Target::StyleName => self.base = number,
            "outlinelevel" => self.outline = number.and_then(|n| u8::try_from(n).ok()),
            "trowd" => self.rows.define(),
            "clvmrg" => self.rows.go_on(),
            "cellx" => self.rows.define_cell(number.unwrap_or(0)),
            "cell" | "nestcell" => self.rows.cell(std::mem::take(&mut self.text)),
            "row" | "nestrow" => self.end_row(),
            _ => {}
        }
        Ok(())
    }

    /// What the font being described writes in.
    fn script(&mut self, number: i32) {
        if let Some(encoding) = code_page::of_script(number) {
            self.fonts.insert(self.group().font, encoding);
        }
    }

    fn end_row(&mut self) {
        self.rows.end_row();
        let places = self.rows_place.into_iter().chain(self.text_place.take());
        self.rows_place = places.reduce(|(start, _), (_, end)| (start, end));
    }

    fn unicode(&mut self, number: i32) {
        self.decode();
        // Kept as a signed 16-bit number; halves of pairs come one after the other.
        let unit = number as u16;
        let text = match unit {
            0xd800..=0xdbff => {
                self.half = Some(unit);
                String::new()
            }
            0xdc00..=0xdfff => {
                let pair = [self.half.take().unwrap_or(0xfffd), unit];
                String::from_utf16_lossy(&pair)
            }
            unit => String::from_utf16_lossy(&[unit]),
        };
        self.add(&text);
        self.skip = self.group().stand_ins;
    }

    fn decode(&mut self) {
        self.skip = 0;
        if self.bytes.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let of_font = self.fonts.get(&self.group().font).copied();
        let code_page = of_font.unwrap_or(self.code_page);
        let (text, _) = code_page.decode_without_bom_handling(&bytes);
        self.append(&text);
    }

    fn add(&mut self, text: &str) {
        self.note_place();
        self.append(text);
    }

    fn append(&mut self, text: &str) {
        let group = self.group();
        match group.into {
            Target::Nowhere => {}
            Target::Body if group.hidden => {}
            Target::Body => self.text.push_str(text),
            _ => self.side.push_str(text),
        }
    }

    fn paragraph(&mut self) -> Result<(), Error> {
        match self.group().into {
            Target::Body => {}
            Target::Nowhere => return Ok(()),
            _ => {
                self.side.push('\n');
                return Ok(());
            }
        }
        if self.in_table {
            self.text.push('\n');
            return Ok(());
        }
        self.table()?;
        let text = std::mem::take(&mut self.text);
        let place = self.text_place.take();
        let heading = self.outline.map(|level| level.saturating_add(1));
        let heading = heading
            .filter(|level| *level <= 9)
            .or_else(|| self.heading_of(self.style));
        let kind = match (heading, self.marker.take()) {
            (Some(level), _) => AtomKind::Heading { level },
            (None, Some(marker)) => AtomKind::ListItem {
                depth: self.level,
                marker: marker.chars().any(char::is_alphanumeric).then_some(marker),
            },
            (None, None) => AtomKind::Paragraph,
        };
        self.push(Piece::new(kind, text), place)
    }

    fn table(&mut self) -> Result<(), Error> {
        let place = self.rows_place.take();
        match self.rows.take() {
            Some(table) => self.push(Piece::table(table), place),
            None => Ok(()),
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), Error> {
        self.decode();
        self.in_table = false;
        self.groups.clear();
        // A row the file ends in is one all the same.
        if self.rows.in_row() {
            self.rows.cell(std::mem::take(&mut self.text));
            self.end_row();
        }
        self.paragraph()?;
        if self.boxes > 0 {
            let boxes = self.boxes;
            self.out.warn(format!("text boxes were not read: {boxes}"));
        }
        for (at, (note, place)) in std::mem::take(&mut self.notes).into_iter().enumerate() {
            let marker = (at + 1).to_string();
            self.push(Piece::new(AtomKind::Footnote { marker }, note), place)?;
        }
        Ok(())
    }
}

/// Control words that begin a group of their own.
fn destination(name: &str) -> Option<Target> {
    Some(match name {
        "title" => Target::Title,
        "author" => Target::Author,
        "stylesheet" => Target::StyleName,
        "footnote" => Target::Footnote,
        "header" | "headerl" | "headerr" | "headerf" | "footer" | "footerl" | "footerr"
        | "footerf" => Target::Furniture,
        "listtext" | "pntext" => Target::Marker,
        "fonttbl" | "colortbl" | "listtable" | "listoverridetable" | "pict" | "object"
        | "objdata" | "fldinst" | "themedata" | "colorschememapping" | "datastore"
        | "latentstyles" | "rsidtbl" | "generator" | "revtbl" | "filetbl" | "info"
        | "nonshppict" | "annotation" | "atnid" | "atnauthor" | "xmlnstbl" | "pgptbl"
        | "bkmkstart" | "bkmkend" | "xe" | "tc" | "deleted" => Target::Nowhere,
        _ => return None,
    })
}
