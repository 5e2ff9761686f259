//! From a JSON value to pieces. The reader bounds nesting at 128 levels, so the
//! recursion here is bounded too.

use std::ops::Range;

use model::{AtomKind, Table};

use super::value::{Field, Json, Value};
use crate::Error;
use crate::builder::{Piece, TextBuilder};
use crate::encoding::Places;

/// Where pieces go, with their places in the file.
pub(super) struct Walk<'a> {
    pub(super) text: &'a str,
    pub(super) places: &'a Places,
    pub(super) out: &'a mut TextBuilder,
}

impl Walk<'_> {
    pub(super) fn section(&mut self, value: &Value, level: u8) -> Result<(), Error> {
        match &value.json {
            Json::Object(fields) => self.object(fields, level),
            Json::Array(items) => match table(items) {
                Some(table) => self.push(Piece::table(table), &value.range),
                None => items.iter().try_for_each(|item| self.section(item, level)),
            },
            Json::Scalar(text) => {
                let piece = Piece::new(AtomKind::Paragraph, text.as_str());
                self.push(piece, &value.range)
            }
        }
    }

    /// Flat fields at its beginning are lines of one paragraph. Behind a section such a line
    /// would be part of it, so there every field is a section of its own.
    fn object(&mut self, fields: &[Field], level: u8) -> Result<(), Error> {
        let deep = fields.iter().position(|field| !is_flat(&field.value));
        let (flat, rest) = fields.split_at(deep.unwrap_or(fields.len()));
        if let (Some(first), Some(last)) = (flat.first(), flat.last()) {
            let line = |field: &Field| format!("{}: {}", field.name, flat_text(&field.value));
            let lines: Vec<String> = flat.iter().map(line).collect();
            let piece = Piece::new(AtomKind::Paragraph, lines.join("\n"));
            self.push(piece, &(first.range.start..last.value.range.end))?;
        }
        for field in rest {
            let heading = AtomKind::Heading {
                level: level.min(6),
            };
            self.push(Piece::new(heading, field.name.as_str()), &field.range)?;
            match is_flat(&field.value) {
                true => {
                    let piece = Piece::new(AtomKind::Paragraph, flat_text(&field.value));
                    self.push(piece, &field.value.range)?;
                }
                false => self.section(&field.value, level + 1)?,
            }
        }
        Ok(())
    }

    fn push(&mut self, piece: Piece, range: &Range<usize>) -> Result<(), Error> {
        let (start, end) = self.places.range(self.text, range.start, range.end);
        self.out.push(piece.from_source(start, end))
    }
}

/// One value as one paragraph: `name: value` lines, inner names joined by dots.
pub(crate) fn record(value: &Value) -> String {
    let mut lines = Vec::new();
    flatten("", value, &mut lines);
    lines.join("\n")
}

fn flatten(name: &str, value: &Value, lines: &mut Vec<String>) {
    let inner = |key: &str| match name {
        "" => key.to_owned(),
        name => format!("{name}.{key}"),
    };
    match &value.json {
        Json::Object(fields) => fields
            .iter()
            .for_each(|field| flatten(&inner(&field.name), &field.value, lines)),
        Json::Array(items) if !is_flat(value) => {
            items.iter().for_each(|item| flatten(name, item, lines));
        }
        _ if name.is_empty() => lines.push(flat_text(value)),
        _ => lines.push(format!("{name}: {}", flat_text(value))),
    }
}

fn is_flat(value: &Value) -> bool {
    match &value.json {
        Json::Object(_) => false,
        Json::Array(items) => items.len() <= 32 && items.iter().all(is_scalar),
        Json::Scalar(_) => true,
    }
}

fn is_scalar(value: &Value) -> bool {
    matches!(value.json, Json::Scalar(_))
}

/// Of a flat value; others have no text of their own.
fn flat_text(value: &Value) -> String {
    match &value.json {
        Json::Scalar(text) => text.clone(),
        Json::Array(items) => items.iter().map(flat_text).collect::<Vec<_>>().join(", "),
        Json::Object(_) => String::new(),
    }
}

/// Objects with the same flat fields, two or more of them, make a table.
fn table(items: &[Value]) -> Option<Table> {
    let Json::Object(first) = &items.first()?.json else {
        return None;
    };
    let names: Vec<String> = first.iter().map(|field| field.name.clone()).collect();
    let mut rows = vec![names.clone()];
    for item in items {
        let Json::Object(fields) = &item.json else {
            return None;
        };
        let same = fields.len() == names.len()
            && fields
                .iter()
                .zip(&names)
                .all(|(field, name)| field.name == *name && is_flat(&field.value));
        if !same {
            return None;
        }
        rows.push(fields.iter().map(|field| flat_text(&field.value)).collect());
    }
    (items.len() >= 2 && names.len() <= 12).then_some(Table {
        header_rows: 1,
        rows,
    })
}
