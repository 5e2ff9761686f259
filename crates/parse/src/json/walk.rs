//! From a JSON value to pieces. The reader bounds nesting at 128 levels, so the
//! recursion here is bounded too.

use model::{AtomKind, Table};
use serde_json::Value;

use crate::Error;
use crate::builder::{Piece, TextBuilder};

pub(super) fn document(value: &Value, out: &mut TextBuilder) -> Result<(), Error> {
    section(value, 1, out)
}

fn section(value: &Value, level: u8, out: &mut TextBuilder) -> Result<(), Error> {
    match value {
        Value::Object(fields) => {
            let (flat, deep): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, v)| is_flat(v));
            let lines: Vec<String> = flat
                .iter()
                .map(|(k, v)| format!("{k}: {}", flat_text(v)))
                .collect();
            out.push(Piece::new(AtomKind::Paragraph, lines.join("\n")))?;
            for (name, value) in deep {
                out.push(Piece::new(
                    AtomKind::Heading {
                        level: level.min(6),
                    },
                    name.as_str(),
                ))?;
                section(value, level + 1, out)?;
            }
            Ok(())
        }
        Value::Array(items) => match table(items) {
            Some(table) => out.push(Piece::table(table)),
            None => items.iter().try_for_each(|item| section(item, level, out)),
        },
        scalar => out.push(Piece::new(AtomKind::Paragraph, flat_text(scalar))),
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
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(k, v)| flatten(&inner(k), v, lines)),
        Value::Array(items) if !is_flat(value) => {
            items.iter().for_each(|item| flatten(name, item, lines));
        }
        flat if name.is_empty() => lines.push(flat_text(flat)),
        flat => lines.push(format!("{name}: {}", flat_text(flat))),
    }
}

fn is_flat(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(items) => items.len() <= 32 && items.iter().all(is_scalar),
        _ => true,
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Object(_) | Value::Array(_))
}

fn flat_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(flat_text).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Objects with the same flat fields, two or more of them, make a table.
fn table(items: &[Value]) -> Option<Table> {
    let Some(Value::Object(first)) = items.first() else {
        return None;
    };
    let names: Vec<String> = first.keys().cloned().collect();
    let mut rows = vec![names.clone()];
    for item in items {
        let fields = item.as_object()?;
        let same = fields.len() == names.len() && fields.values().all(is_flat);
        if !same || !names.iter().all(|name| fields.contains_key(name)) {
            return None;
        }
        rows.push(names.iter().map(|name| flat_text(&fields[name])).collect());
    }
    (items.len() >= 2 && names.len() <= 12).then_some(Table {
        header_rows: 1,
        rows,
    })
}
