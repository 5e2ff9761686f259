//! From a JSON value to pieces. The reader bounds nesting at 128 levels, so the
//! recursion here is bounded too.

use model::{AtomKind, Table};

use super::value::Json;
use crate::Error;
use crate::builder::{Piece, TextBuilder};

pub(super) fn document(value: &Json, out: &mut TextBuilder) -> Result<(), Error> {
    section(value, 1, out)
}

fn section(value: &Json, level: u8, out: &mut TextBuilder) -> Result<(), Error> {
    match value {
        Json::Object(fields) => {
            let (flat, deep): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, v)| is_flat(v));
            let lines = flat
                .iter()
                .map(|(name, v)| format!("{name}: {}", flat_text(v)));
            let lines: Vec<String> = lines.collect();
            out.push(Piece::new(AtomKind::Paragraph, lines.join("\n")))?;
            for (name, value) in deep {
                let heading = AtomKind::Heading {
                    level: level.min(6),
                };
                out.push(Piece::new(heading, name.as_str()))?;
                section(value, level + 1, out)?;
            }
            Ok(())
        }
        Json::Array(items) => match table(items) {
            Some(table) => out.push(Piece::table(table)),
            None => items.iter().try_for_each(|item| section(item, level, out)),
        },
        Json::Scalar(text) => out.push(Piece::new(AtomKind::Paragraph, text.as_str())),
    }
}

/// One value as one paragraph: `name: value` lines, inner names joined by dots.
pub(crate) fn record(value: &Json) -> String {
    let mut lines = Vec::new();
    flatten("", value, &mut lines);
    lines.join("\n")
}

fn flatten(name: &str, value: &Json, lines: &mut Vec<String>) {
    let inner = |key: &str| match name {
        "" => key.to_owned(),
        name => format!("{name}.{key}"),
    };
    match value {
        Json::Object(fields) => fields
            .iter()
            .for_each(|(k, v)| flatten(&inner(k), v, lines)),
        Json::Array(items) if !is_flat(value) => {
            items.iter().for_each(|item| flatten(name, item, lines));
        }
        flat if name.is_empty() => lines.push(flat_text(flat)),
        flat => lines.push(format!("{name}: {}", flat_text(flat))),
    }
}

fn is_flat(value: &Json) -> bool {
    match value {
        Json::Object(_) => false,
        Json::Array(items) => items.len() <= 32 && items.iter().all(is_scalar),
        Json::Scalar(_) => true,
    }
}

fn is_scalar(value: &Json) -> bool {
    matches!(value, Json::Scalar(_))
}

/// Of a flat value; others have no text of their own.
fn flat_text(value: &Json) -> String {
    match value {
        Json::Scalar(text) => text.clone(),
        Json::Array(items) => items.iter().map(flat_text).collect::<Vec<_>>().join(", "),
        Json::Object(_) => String::new(),
    }
}

/// Objects with the same flat fields, two or more of them, make a table.
fn table(items: &[Json]) -> Option<Table> {
    let Some(Json::Object(first)) = items.first() else {
        return None;
    };
    let names: Vec<String> = first.iter().map(|(name, _)| name.clone()).collect();
    let mut rows = vec![names.clone()];
    for item in items {
        let Json::Object(fields) = item else {
            return None;
        };
        let same = fields.len() == names.len()
            && fields
                .iter()
                .zip(&names)
                .all(|((field, value), name)| field == name && is_flat(value));
        if !same {
            return None;
        }
        rows.push(fields.iter().map(|(_, value)| flat_text(value)).collect());
    }
    (items.len() >= 2 && names.len() <= 12).then_some(Table {
        header_rows: 1,
        rows,
    })
}
