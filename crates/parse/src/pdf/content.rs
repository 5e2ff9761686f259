//! Reads a page's content stream for what it prints.
//!
//! In: a page. Out: its glyphs with place, size and face, its rulings and its
//! pictures' places, in the order of printing. Colour, clipping and shading do not
//! matter to a reader and are passed over, which is why this is not the renderer's
//! interpreter; unlike that one it keeps the font's name and the document's own marks
//! (artifacts, replacement text).

use std::collections::HashSet;

use hayro_interpret::kurbo::{Affine, Point};
use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction as Op;
use hayro_syntax::object::{Array, Dict, Name, Number, Object, ObjectIdentifier, Stream};
use hayro_syntax::page::{Page, Resources};

use super::fields::{self, Field};
use super::font::Fonts;
use super::glyph::{Content, Face, Glyph, Rect, Ruling};
use super::inflate::Inflater;
use super::marks::Marks;
use super::path::Path;
use super::spacing;
use super::strings::decode;
use super::underscore;

/// Forms within forms; deeper ones are a loop or a joke.
const MAX_DEPTH: usize = 24;
/// Beyond this a page is a drawing, not a table.
const MAX_RULINGS: usize = 20_000;

#[derive(Clone, Copy)]
struct State {
    ctm: Affine,
    font: Option<usize>,
    size: f32,
    char_space: f32,
    word_space: f32,
    stretch: f32,
    leading: f32,
    rise: f32,
}

impl State {
    fn new(ctm: Affine) -> Self {
        Self {
            ctm,
            font: None,
            size: 1.0,
            char_space: 0.0,
            word_space: 0.0,
            stretch: 1.0,
            leading: 0.0,
            rise: 0.0,
        }
    }
}

struct Reader<'a, 'f> {
    fonts: &'f mut Fonts<'a>,
    state: State,
    saved: Vec<State>,
    text_matrix: Affine,
    line_matrix: Affine,
    path: Path,
    /// Short lines drawn since the last letter.
    dashes: Vec<Ruling>,
    marks: Marks<'f>,
    inflater: &'f mut Inflater,
    depth: usize,
    /// The page, with what may hang over its edge.
    paper: Rect,
    out: Content,
}

/// Reads one page. `hidden` are the optional parts the document shows by default as off.
pub(super) fn read_page<'a>(
    page: &Page<'a>,
    fonts: &mut Fonts<'a>,
    inflater: &mut Inflater,
    hidden: &HashSet<ObjectIdentifier>,
) -> Content {
    inflater.turn();
    let stream = content_stream(page, inflater);
    let to_page = Affine::new(page.initial_transform(true).as_coeffs());
    let (width, height) = page.render_dimensions();
    let mut reader = Reader {
        fonts,
        state: State::new(to_page),
        saved: Vec::new(),
        text_matrix: Affine::IDENTITY,
        line_matrix: Affine::IDENTITY,
        path: Path::default(),
        dashes: Vec::new(),
        marks: Marks::new(hidden),
        inflater,
        depth: 0,
        paper: Rect {
            left: -2.0,
            top: -2.0,
            right: width + 2.0,
            bottom: height + 2.0,
        },
        out: Content::default(),
    };
    reader.run(&stream, page.resources());
    spacing::settle(&mut reader.out.glyphs, &reader.fonts.texts);
    reader.marks = Marks::new(hidden);
    for field in fields::filled(page) {
        reader.fill_in(&field, to_page, page.resources());
    }
    reader.out.cut_short = reader.inflater.spent();
    reader.out.damaged = reader.inflater.damaged();
    reader.out
}

/// Decoded here rather than by the page, which would keep it for as long as the file is open.
fn content_stream(page: &Page<'_>, inflater: &mut Inflater) -> Vec<u8> {
    let raw = page.raw();
    if let Some(stream) = raw.get::<Stream<'_>>(b"Contents") {
        return inflater.unpack(&stream).unwrap_or_default();
    }
    let Some(parts) = raw.get::<Array<'_>>(b"Contents") else {
        if raw.contains_key(b"Contents") {
            inflater.miss();
        }
        return Vec::new();
    };
    let mut all = Vec::new();
    for part in parts.iter::<Object<'_>>() {
        match part {
            Object::Stream(part) => all.extend(inflater.unpack(&part).unwrap_or_default()),
            _ => inflater.miss(),
        }
        all.push(b' ');
    }
    all
}

fn affine(numbers: [Number; 6]) -> Affine {
    Affine::new(numbers.map(|n| n.as_f64()))
}

impl<'a> Reader<'a, '_> {
    fn run(&mut self, stream: &[u8], resources: &Resources<'a>) {
        let saved = self.saved.len();
        let mut operations = TypedIter::new(stream);
        while let Some(op) = operations.next() {
            self.apply(op, resources);
        }
        self.saved.truncate(saved);
    }

    fn apply(&mut self, op: Op<'_, '_>, resources: &Resources<'a>) {
        match op {
            Op::SaveState(_) if self.saved.len() < 512 => self.saved.push(self.state),
            Op::RestoreState(_) => self.state = self.saved.pop().unwrap_or(self.state),
            Op::Transform(t) => self.state.ctm *= affine([t.0, t.1, t.2, t.3, t.4, t.5]),
            Op::XObject(x) => self.draw_object(x.0, resources),
            Op::InlineImage(_) => self.picture(),
            Op::SetGraphicsState(gs) => self.set_state(gs.0, resources),
            Op::BeginMarkedContent(mark) => self.marks.begin(mark.0, self.out.glyphs.len()),
            Op::BeginMarkedContentWithProperties(mark) => {
                let at = self.out.glyphs.len();
                self.marks.begin_with(mark.0, mark.1, resources, at);
            }
            Op::EndMarkedContent(_) => self.end_mark(),
            op => self.apply_path(op, resources),
        }
    }

    fn apply_path(&mut self, op: Op<'_, '_>, resources: &Resources<'a>) {
        let point = |x: &Number, y: &Number| Point::new(x.as_f64(), y.as_f64());
        match op {
            Op::MoveTo(p) => self.path.move_to(point(&p.0, &p.1)),
            Op::LineTo(p) => self.path.line_to(point(&p.0, &p.1)),
            Op::CubicTo(c) => self.path.jump_to(point(&c.4, &c.5)),
            Op::CubicStartTo(c) => self.path.jump_to(point(&c.2, &c.3)),
            Op::CubicEndTo(c) => self.path.jump_to(point(&c.2, &c.3)),
            Op::ClosePath(_) => self.path.close(),
            Op::RectPath(r) => {
                let from = point(&r.0, &r.1);
                self.path.rect(from, (r.2.as_f64(), r.3.as_f64()));
            }
            Op::StrokePath(_) => self.rule(true),
            Op::CloseAndStrokePath(_)
            | Op::CloseFillAndStrokeEvenOdd(_)
            | Op::CloseFillAndStrokeNonZero(_) => {
                self.path.close();
                self.rule(true);
            }
            Op::FillAndStrokeEvenOdd(_) | Op::FillAndStrokeNonZero(_) => self.rule(true),
            Op::FillPathNonZero(_)
            | Op::FillPathEvenOdd(_)
            | Op::FillPathNonZeroCompatibility(_) => self.rule(false),
            Op::EndPath(_) => self.path.clear(),
            op => self.apply_text(op, resources),
        }
    }

    fn apply_text(&mut self, op: Op<'_, '_>, resources: &Resources<'a>) {
        match op {
            Op::BeginText(_) => self.move_line_to(Affine::IDENTITY),
            Op::SetTextMatrix(m) => self.move_line_to(affine([m.0, m.1, m.2, m.3, m.4, m.5])),
            Op::TextFont(f) => {
                let dict = resources.get_font(f.0);
                self.state.font = dict.and_then(|dict| self.fonts.load(&dict));
                self.state.size = f.1.as_f32();
            }
            Op::CharacterSpacing(n) => self.state.char_space = n.0.as_f32(),
            Op::WordSpacing(n) => self.state.word_space = n.0.as_f32(),
            Op::HorizontalScaling(n) => self.state.stretch = n.0.as_f32() / 100.0,
            Op::TextLeading(n) => self.state.leading = n.0.as_f32(),
            Op::TextRise(n) => self.state.rise = n.0.as_f32(),
            Op::NextLine(n) => self.next_line(n.0.as_f64(), n.1.as_f64()),
            Op::NextLineAndSetLeading(n) => {
                self.state.leading = -n.1.as_f32();
                self.next_line(n.0.as_f64(), n.1.as_f64());
            }
            Op::NextLineUsingLeading(_) => self.next_line(0.0, -f64::from(self.state.leading)),
            Op::ShowText(t) => self.show(t.0.as_bytes()),
            Op::ShowTexts(t) => self.show_all(t.0),
            Op::NextLineAndShowText(t) => {
                self.next_line(0.0, -f64::from(self.state.leading));
                self.show(t.0.as_bytes());
            }
            Op::ShowTextWithParameters(t) => {
                self.state.word_space = t.0.as_f32();
                self.state.char_space = t.1.as_f32();
                self.next_line(0.0, -f64::from(self.state.leading));
                self.show(t.2.as_bytes());
            }
            _ => {}
        }
    }

    fn move_line_to(&mut self, matrix: Affine) {
        self.line_matrix = matrix;
        self.text_matrix = matrix;
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.move_line_to(self.line_matrix * Affine::translate((x, y)));
    }

    fn show_all(&mut self, array: &Array<'_>) {
        for item in array.iter::<Object<'_>>() {
            match item {
                Object::Number(n) => self.step(-n.as_f32() / 1000.0 * self.state.size),
                Object::String(text) => self.show(text.as_bytes()),
                _ => {}
            }
        }
    }

    /// Moves the pen along the writing direction.
    fn step(&mut self, by: f32) {
        let upright = self
            .state
            .font
            .is_none_or(|font| self.fonts.get(font).upright);
        let by = if upright {
            (f64::from(by * self.state.stretch), 0.0)
        } else {
            (0.0, f64::from(by))
        };
        self.text_matrix *= Affine::translate(by);
    }

    fn show(&mut self, bytes: &[u8]) {
        let Some(font) = self.state.font else {
            return;
        };
        let mut at = 0;
        while at < bytes.len() {
            let (code, length) = self.fonts.get(font).read_code(bytes, at);
            at += length;
            self.show_code(font, code, length);
        }
    }

    fn show_code(&mut self, font: usize, code: u32, length: usize) {
        let entry = self.fonts.code(font, code);
        let width = entry.advance / 1000.0 * self.state.size;
        let space = if code == 32 && length == 1 {
            self.state.word_space
        } else {
            0.0
        };
        // Letters set apart belong together: the distance counts as part of the letter.
        let spacing = self.state.char_space.max(0.0);
        let loaded = self.fonts.get(font);
        let (face, upright, em) = (loaded.face, loaded.upright, loaded.em);
        let full = self.state.ctm * self.text_matrix;
        let [a, b, c, d, _, _] = full.as_coeffs();
        let stretch = f64::from(self.state.stretch);
        let along = if upright {
            (a * stretch, b * stretch)
        } else {
            (-c, -d)
        };
        let scale = along.0.hypot(along.1) as f32;
        let origin = full * Point::new(0.0, f64::from(self.state.rise));
        let glyph = Glyph {
            text: entry.text,
            x: origin.x as f32,
            y: origin.y as f32,
            advance: (width + spacing).abs() * scale,
            spacing: spacing * scale,
            size: (f64::from(self.state.size.abs() * em) * c.hypot(d)) as f32,
            angle: along.1.atan2(along.0).to_degrees().round() as i16,
            face,
            artifact: self.marks.artifact(),
        };
        let printed = self.marks.visible() && glyph.size > 0.1;
        let length = self.fonts.texts.get(entry.text).len();
        let printed = printed && self.paper.holds(glyph.x, glyph.y);
        if printed && self.inflater.prints(length) {
            if !self.dashes.is_empty() {
                self.draw_underscores(&glyph);
            }
            self.out.unmapped += usize::from(!entry.known);
            self.out.glyphs.push(glyph);
        }
        self.step(width + self.state.char_space + space);
    }

    /// Short lines between the last letter and this one, where they stand for underscores.
    fn draw_underscores(&mut self, next: &Glyph) {
        let dashes = std::mem::take(&mut self.dashes);
        let Some(before) = self.out.glyphs.last().copied() else {
            return;
        };
        let is_word = |glyph: &Glyph| {
            let text = self.fonts.texts.get(glyph.text);
            text.chars().all(char::is_alphanumeric)
        };
        if is_word(&before) && is_word(next) {
            let text = self.fonts.texts.intern("_");
            let drawn = underscore::between(&before, &dashes, next, text);
            self.out.glyphs.extend(drawn);
        }
    }

    fn rule(&mut self, stroked: bool) {
        let room = MAX_RULINGS.saturating_sub(self.out.rulings.len());
        let visible = self.marks.visible();
        let found = self.path.rulings(self.state.ctm, stroked);
        if visible {
            self.out.rulings.extend(found.into_iter().take(room));
            // A few may be letters; more are a drawing.
            if self.dashes.len() < underscore::MOST {
                self.dashes.extend(self.path.dash(self.state.ctm));
            }
        }
        self.path.clear();
    }

    fn picture(&mut self) {
        if self.marks.visible() {
            let corners = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)];
            let corners = corners.map(|corner| self.state.ctm * Point::from(corner));
            self.out
                .images
                .push(Rect::around(corners.map(|p| (p.x, p.y))));
        }
    }

    fn set_state(&mut self, name: &Name<'_>, resources: &Resources<'a>) {
        let font = resources
            .get_ext_g_state(name)
            .and_then(|gs| gs.get::<Array<'a>>(b"Font"));
        let Some(font) = font else { return };
        let mut parts = font.flex_iter();
        if let (Some(dict), Some(size)) = (parts.next::<Dict<'a>>(), parts.next::<f32>()) {
            self.state.font = self.fonts.load(&dict);
            self.state.size = size;
        }
    }

    fn draw_object(&mut self, name: &Name<'_>, resources: &Resources<'a>) {
        let Some(stream) = resources.get_x_object(name) else {
            return;
        };
        let hidden = self.marks.hides(stream.dict());
        match stream.dict().get::<Name<'_>>(b"Subtype").as_deref() {
            Some(b"Image") if !hidden => self.picture(),
            Some(b"Form") if !hidden => self.draw_form(&stream, resources),
            _ => {}
        }
    }

    fn draw_form(&mut self, form: &Stream<'a>, resources: &Resources<'a>) {
        if self.depth == MAX_DEPTH {
            return;
        }
        let Some(data) = self.inflater.form(form) else {
            return;
        };
        let own = form
            .dict()
            .get::<Dict<'a>>(b"Resources")
            .map(Resources::new);
        let matrix = form.dict().get::<[f64; 6]>(b"Matrix");
        let before = (self.state, self.text_matrix, self.line_matrix);
        self.depth += 1;
        self.state.ctm *= matrix.map_or(Affine::IDENTITY, Affine::new);
        self.run(&data, own.as_ref().unwrap_or(resources));
        self.depth -= 1;
        (self.state, self.text_matrix, self.line_matrix) = before;
    }

    /// What a field shows: as it is drawn, or else its words.
    fn fill_in(&mut self, field: &Field<'a>, to_page: Affine, resources: &Resources<'a>) {
        let before = self.out.glyphs.len();
        if let Some(drawn) = &field.drawn {
            self.state = State::new(to_page * drawn.placed);
            self.draw_form(&drawn.form, resources);
        }
        if self.out.glyphs.len() == before {
            self.write_in(field, to_page);
        }
    }

    /// Words in the place of a field, as large as it lets them be.
    fn write_in(&mut self, field: &Field<'a>, to_page: Affine) {
        let lines: Vec<&str> = field.said.lines().collect();
        let pitch = field.area.height() / lines.len().max(1) as f64;
        let size = (pitch * 0.7).clamp(1.0, 12.0);
        let mut y = field.area.y1 - (pitch + size * 0.6) / 2.0;
        for line in lines {
            let mut x = field.area.x0 + 2.0;
            for word in line.split_whitespace() {
                let width = word.chars().count() as f64 * size * 0.5;
                self.write_word(word, to_page * Affine::translate((x, y)), size, width);
                x += width + size * 0.3;
            }
            y -= pitch;
        }
    }

    fn write_word(&mut self, word: &str, at: Affine, size: f64, width: f64) {
        let [a, b, c, d, x, y] = at.as_coeffs();
        let glyph = Glyph {
            text: self.fonts.texts.intern(word),
            x: x as f32,
            y: y as f32,
            advance: (width * a.hypot(b)) as f32,
            spacing: 0.0,
            size: (size * c.hypot(d)) as f32,
            angle: b.atan2(a).to_degrees().round() as i16,
            face: Face::default(),
            artifact: false,
        };
        if self.paper.holds(glyph.x, glyph.y) {
            self.out.glyphs.push(glyph);
        }
    }

    /// Puts replacement text in the place of the glyphs it replaces.
    fn end_mark(&mut self) {
        let Some((from, actual)) = self.marks.end() else {
            return;
        };
        let Some((first, rest)) = self.out.glyphs[from..].split_first_mut() else {
            return;
        };
        let one_line = rest
            .iter()
            .all(|g| (g.y - first.y).abs() < first.size * 0.5);
        if !one_line || first.angle != 0 {
            return;
        }
        if let Some(last) = rest.last() {
            first.advance = (last.x + last.advance - first.x).max(first.advance);
        }
        first.text = self.fonts.texts.intern(&decode(&actual));
        self.out.glyphs.truncate(from + 1);
    }
}
