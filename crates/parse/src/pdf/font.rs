//! The fonts of a document, as far as reading needs them: what a code means, how
//! wide it is, and how the face looks.

use std::collections::HashMap;

use hayro_font::hayro_cmap::BfString;
use hayro_font::{Font, FontCache, FontGlyph};
use hayro_interpret::InterpreterSettings;
use hayro_syntax::object::{Array, Dict, Name, ObjectIdentifier};
use unicode_normalization::UnicodeNormalization;

use super::glyph::{Face, TextId, Texts};

/// Stands for a glyph of which the document does not say what it means.
pub(super) const UNKNOWN: &str = "\u{fffd}";

const FIXED_PITCH: u32 = 1;
const ITALIC: u32 = 1 << 6;
const FORCE_BOLD: u32 = 1 << 18;

/// What one character code of a font says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Code {
    pub(super) text: TextId,
    /// In thousandths of the font size, along the writing direction.
    pub(super) advance: f32,
    pub(super) known: bool,
}

pub(super) struct Loaded<'a> {
    font: Font<'a>,
    pub(super) face: Face,
    pub(super) upright: bool,
    /// What a size of 1 comes to on the page; other than 1 only in Type 3 fonts.
    pub(super) em: f32,
    codes: HashMap<u32, Code>,
}

impl Loaded<'_> {
    pub(super) fn read_code(&self, bytes: &[u8], at: usize) -> (u32, usize) {
        let (code, length) = self.font.read_code(bytes, at);
        (code, length.max(1))
    }
}

/// Loads each font once and remembers what its codes mean.
pub(super) struct Fonts<'a> {
    cache: FontCache<'a>,
    settings: InterpreterSettings,
    loaded: Vec<Loaded<'a>>,
    by_object: HashMap<ObjectIdentifier, Option<usize>>,
    pub(super) texts: Texts,
}

impl<'a> Fonts<'a> {
    pub(super) fn new() -> Self {
        Self {
            cache: FontCache::new(),
            settings: InterpreterSettings::default(),
            loaded: Vec::new(),
            by_object: HashMap::new(),
            texts: Texts::default(),
        }
    }

    pub(super) fn load(&mut self, dict: &Dict<'a>) -> Option<usize> {
        let object = dict.obj_id();
        if let Some(known) = object.and_then(|id| self.by_object.get(&id)) {
            return *known;
        }
        let resolvers = (&self.settings.font_resolver, &self.settings.cmap_resolver);
        let font = self.cache.font(dict, resolvers.0, resolvers.1);
        let index = font.map(|font| {
            self.loaded.push(Loaded {
                upright: font.is_horizontal(),
                font,
                face: face(dict),
                em: em(dict),
                codes: HashMap::new(),
            });
            self.loaded.len() - 1
        });
        if let Some(id) = object {
            self.by_object.insert(id, index);
        }
        index
    }

    pub(super) fn get(&self, index: usize) -> &Loaded<'a> {
        &self.loaded[index]
    }

    pub(super) fn code(&mut self, font: usize, code: u32) -> Code {
        if let Some(known) = self.loaded[font].codes.get(&code) {
            return *known;
        }
        let entry = self.resolve(font, code);
        self.loaded[font].codes.insert(code, entry);
        entry
    }

    fn resolve(&mut self, font: usize, code: u32) -> Code {
        let loaded = &self.loaded[font];
        let advance = loaded.font.code_advance(code);
        let glyph = loaded.font.glyph(loaded.font.map_code(code), code);
        let unicode = match &glyph {
            FontGlyph::Outline(outline) => outline.as_unicode(),
            FontGlyph::Type3(drawn) => drawn.as_unicode(),
        };
        let text = unicode.and_then(|unicode| match unicode {
            BfString::Char(char) => readable(char.encode_utf8(&mut [0; 4])),
            BfString::String(string) => readable(&string),
        });
        Code {
            known: text.is_some(),
            text: self.texts.intern(text.as_deref().unwrap_or(UNKNOWN)),
            advance: if loaded.upright { advance.x } else { advance.y } as f32,
        }
    }
}

/// What people would type for it: presentation forms undone, controls out,
/// symbols of private use where their meaning is agreed on.
fn readable(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\u{f0b7}' | '\u{f0a7}' | '\u{f06c}' | '\u{f076}' | '\u{f0d8}' => out.push('•'),
            '\u{f020}'..='\u{f07e}' => out.push((char as u32 - 0xf000) as u8 as char),
            '\u{e000}'..='\u{f8ff}' | '\u{fffd}' => {}
            '\u{fb00}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{2f00}'..='\u{2fdf}' => {
                out.extend(char.nfkc());
            }
            '\t' | '\n' | '\r' | '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' => out.push(' '),
            // Keeps its meaning until lines are joined: a hyphen only where the line ends.
            '\u{ad}' => out.push(char),
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => {}
            char if char.is_control() => {}
            char => out.push(char),
        }
    }
    (!out.is_empty()).then_some(out)
}

/// How the names of TeX's fonts for formulas begin; others have `Math` in theirs.
const MATH: &[&str] = &[
    "cmmi",
    "cmsy",
    "cmex",
    "cmmib",
    "cmbsy",
    "msam",
    "msbm",
    "eufm",
    "eusm",
    "eurm",
    "rsfs",
    "lmmi",
    "lmsy",
    "lmex",
    "txmi",
    "txsy",
    "txex",
    "ntxmi",
    "ntxsy",
    "ntxex",
    "pxmi",
    "pxsy",
    "pxex",
    "newpxmi",
    "mtmi",
    "mtsy",
    "mtex",
    "mt2mi",
    "mt2sy",
    "zptmcm",
    "stmary",
    "esint",
    "bbold",
    "dsrom",
    "fourier-m",
    "eulervm",
];

fn descriptor<'a>(dict: &Dict<'a>) -> Option<Dict<'a>> {
    dict.get::<Dict<'_>>(b"FontDescriptor").or_else(|| {
        let descendants = dict.get::<Array<'_>>(b"DescendantFonts")?;
        let first = descendants.iter::<Dict<'_>>().next()?;
        first.get::<Dict<'_>>(b"FontDescriptor")
    })
}

fn face(dict: &Dict<'_>) -> Face {
    let name = dict.get::<Name<'_>>(b"BaseFont");
    let name = name.map_or(String::new(), |name| name.as_str().to_ascii_lowercase());
    let name = name.split_once('+').map_or(name.as_str(), |(_, rest)| rest);
    let descriptor = descriptor(dict);
    let number = |key: &[u8]| descriptor.as_ref().and_then(|d| d.get::<u32>(key));
    let flags = number(b"Flags").unwrap_or(0);
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let begins = |parts: &[&str]| parts.iter().any(|part| name.starts_with(part));
    Face {
        bold: flags & FORCE_BOLD != 0
            || number(b"FontWeight").is_some_and(|weight| weight >= 600)
            || has(&["bold", "black", "heavy", "demi", "-medi", "-bd"])
            || begins(&["cmbx", "cmssbx", "sfbx", "ecbx", "lmbx", "cmb10", "sfsx"]),
        italic: flags & ITALIC != 0
            || has(&["italic", "oblique", "slanted"])
            || begins(&["cmti", "cmsl", "sfti", "ecti"]),
        mono: flags & FIXED_PITCH != 0
            || has(&["mono", "courier", "typewriter", "consol", "fixed"])
            || begins(&["cmtt", "cmsltt", "sftt", "ectt", "lmtt", "txtt", "menlo"]),
        math: has(&["math"]) || begins(MATH),
    }
}

/// A Type 3 font's size says nothing of itself; its matrix and box do.
fn em(dict: &Dict<'_>) -> f32 {
    let Some(matrix) = dict.get::<[f32; 6]>(b"FontMatrix") else {
        return 1.0;
    };
    let height = dict
        .get::<[f32; 4]>(b"FontBBox")
        .map_or(0.0, |b| (b[3] - b[1]).abs());
    let printed = height * matrix[3].abs();
    if printed > 0.0 { printed / 1.2 } else { 1.0 }
}
