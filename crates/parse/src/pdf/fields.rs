//! What was filled into the form fields of a page, and what was written or stamped on it.
//!
//! All of them are notes on the page. What one shows is drawn by a form of its own, where whoever
//! filled it in has drawn it; else there are only the words. Comments, which a reader of the
//! page does not see until he opens them, are left out. What a hostile file claims is
//! bounded, and nothing a field would do is done.

use hayro_interpret::kurbo::{Affine, Rect as Area};
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, Stream, String as PdfString};
use hayro_syntax::page::Page;

use super::strings::decode;

/// Notes of one page that are looked at, fields or not.
const MAX_ON_PAGE: usize = 2_000;
/// Fields within fields; deeper ones are a loop.
const MAX_DEPTH: usize = 16;
/// Of what one field says.
const MAX_CHARS: usize = 20_000;

/// Bits of a note, and of a field.
const HIDDEN: u32 = 1 << 1;
const NOT_ON_SCREEN: u32 = 1 << 5;
const PASSWORD: u32 = 1 << 13;

pub(super) struct Field<'a> {
    /// Its place, in the page's own space.
    pub(super) area: Area,
    pub(super) drawn: Option<Drawn<'a>>,
    pub(super) said: String,
}

pub(super) struct Drawn<'a> {
    pub(super) form: Stream<'a>,
    /// From the form's space, once it is set by its own matrix, to the page's.
    pub(super) placed: Affine,
}

/// Those that a reader of the page would see something in.
pub(super) fn filled<'a>(page: &Page<'a>) -> Vec<Field<'a>> {
    let all = page.raw().get::<Array<'a>>(b"Annots");
    let notes = all.iter().flat_map(Array::raw_iter).take(MAX_ON_PAGE);
    let notes = notes.filter_map(|note| match note {
        MaybeRef::Ref(id) => page.xref().get::<Dict<'a>>(id.into()),
        MaybeRef::NotRef(Object::Dict(note)) => Some(note),
        MaybeRef::NotRef(_) => None,
    });
    notes.filter_map(|note| shown(&note)).collect()
}

fn shown<'a>(note: &Dict<'a>) -> Option<Field<'a>> {
    let bits = note.get::<u32>(b"F").unwrap_or(0);
    if bits & (HIDDEN | NOT_ON_SCREEN) != 0 {
        return None;
    }
    match note.get::<Name<'a>>(b"Subtype").as_deref()? {
        b"Widget" => field(note),
        b"FreeText" => {
            let said = note.get::<Object<'a>>(b"Contents");
            written(note, said.map(words).unwrap_or_default())
        }
        b"Stamp" => written(note, String::new()),
        _ => None,
    }
}

/// What stands on the page itself.
fn written<'a>(note: &Dict<'a>, said: String) -> Option<Field<'a>> {
    let area = area(note)?;
    let drawn = drawn(note, area);
    Some(Field { area, drawn, said })
}

fn area(note: &Dict<'_>) -> Option<Area> {
    let [left, bottom, right, top] = note.get::<[f64; 4]>(b"Rect")?;
    Some(Area::new(left, bottom, right, top).abs())
}

fn field<'a>(note: &Dict<'a>) -> Option<Field<'a>> {
    let lineage = lineage(note);
    let kind = lineage.iter().find_map(|of| of.get::<Name<'a>>(b"FT"))?;
    let bits = lineage.iter().find_map(|of| of.get::<u32>(b"Ff"));
    let is_password = &*kind == b"Tx" && bits.unwrap_or(0) & PASSWORD != 0;
    if !matches!(&*kind, b"Tx" | b"Ch") || is_password {
        return None;
    }
    let area = area(note)?;
    let said = lineage.iter().find_map(|of| of.get::<Object<'a>>(b"V"));
    let said = said.map(words).unwrap_or_default();
    let drawn = drawn(note, area).filter(|_| !said.trim().is_empty());
    Some(Field { area, drawn, said })
}

/// A field and those it is a part of: what one does not say, the next may.
fn lineage<'a>(note: &Dict<'a>) -> Vec<Dict<'a>> {
    let above = |of: &Dict<'a>| of.get::<Dict<'a>>(b"Parent");
    let all = std::iter::successors(Some(note.clone()), above);
    all.take(MAX_DEPTH).collect()
}

fn words(value: Object<'_>) -> String {
    let words = match value {
        Object::String(text) => decode(text.as_bytes()),
        Object::Array(several) => {
            let several = several.iter::<PdfString<'_>>().take(MAX_ON_PAGE);
            let several: Vec<String> = several.map(|one| decode(one.as_bytes())).collect();
            several.join(", ")
        }
        _ => String::new(),
    };
    words.chars().take(MAX_CHARS).collect()
}

/// The form a field is drawn by, put so that its box fills the place of the field.
fn drawn<'a>(note: &Dict<'a>, area: Area) -> Option<Drawn<'a>> {
    let form = note.get::<Dict<'a>>(b"AP")?.get::<Stream<'a>>(b"N")?;
    let [left, bottom, right, top] = form.dict().get::<[f64; 4]>(b"BBox")?;
    let matrix = form.dict().get::<[f64; 6]>(b"Matrix");
    let matrix = matrix.map_or(Affine::IDENTITY, Affine::new);
    let box_ = matrix.transform_rect_bbox(Area::new(left, bottom, right, top).abs());
    if box_.width() <= 0.0 || box_.height() <= 0.0 {
        return None;
    }
    let scale = (area.width() / box_.width(), area.height() / box_.height());
    let placed = Affine::translate((area.x0, area.y0))
        * Affine::scale_non_uniform(scale.0, scale.1)
        * Affine::translate((-box_.x0, -box_.y0));
    Some(Drawn { form, placed })
}
