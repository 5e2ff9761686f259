//! What a cell shows: a shared string, a number, a date, a truth value.

use super::dates::{self, Shown};
use crate::xml::Element;

pub(super) struct Cells {
    strings: Vec<String>,
    /// By style: what its numbers mean.
    styles: Vec<Shown>,
    since_1904: bool,
}

impl Cells {
    pub(super) fn new(strings: Vec<String>, styles: Option<&Element>, workbook: &Element) -> Self {
        let properties = workbook.child("x:workbookPr");
        let since_1904 = properties.and_then(|p| p.attribute("date1904"));
        Self {
            strings,
            styles: styles.map(shown).unwrap_or_default(),
            since_1904: matches!(since_1904, Some("1" | "true")),
        }
    }

    pub(super) fn text(&self, cell: &Element) -> String {
        let value = cell.child("x:v").map(Element::text).unwrap_or_default();
        match cell.attribute("t") {
            Some("s") => {
                let at = value.trim().parse::<usize>().ok();
                at.and_then(|at| self.strings.get(at))
                    .cloned()
                    .unwrap_or_default()
            }
            Some("inlineStr") => cell.child("x:is").map(rich_text).unwrap_or_default(),
            Some("b") => if value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
            Some("str" | "e") => value,
            _ => self.number(cell, value),
        }
    }

    fn number(&self, cell: &Element, value: String) -> String {
        let style = cell.attribute("s").and_then(|s| s.parse::<usize>().ok());
        let shown = style.and_then(|s| self.styles.get(s)).copied();
        let Ok(number) = value.trim().parse::<f64>() else {
            return value;
        };
        match shown.unwrap_or(Shown::Number) {
            Shown::Date => dates::written(number, self.since_1904).unwrap_or(value),
            Shown::Elapsed => dates::elapsed(number).unwrap_or(value),
            Shown::Number => without_traces(number, value),
        }
    }
}

/// Sums leave traces such as 0.30000000000000004 that no one sees in the sheet: it keeps 15
/// digits. A number that has no more of them stays as it was written.
fn without_traces(number: f64, value: String) -> String {
    let kept = format!("{number:.14e}").parse::<f64>();
    match kept {
        Ok(kept) if value.contains('.') && kept != number => match value.contains(['e', 'E']) {
            true => format!("{kept:E}"),
            false => kept.to_string(),
        },
        _ => value,
    }
}

/// Text with or without formatting; phonetic hints left out.
pub(super) fn rich_text(item: &Element) -> String {
    let mut out = String::new();
    for element in item.elements() {
        match element.name.as_str() {
            "x:t" => out.push_str(&element.text()),
            "x:r" => out.push_str(&element.child("x:t").map(Element::text).unwrap_or_default()),
            _ => {}
        }
    }
    out
}

fn shown(styles: &Element) -> Vec<Shown> {
    let custom: Vec<(&str, &str)> = styles
        .child("x:numFmts")
        .into_iter()
        .flat_map(Element::elements)
        .filter_map(|f| Some((f.attribute("numFmtId")?, f.attribute("formatCode")?)))
        .collect();
    let formats = styles
        .child("x:cellXfs")
        .into_iter()
        .flat_map(Element::elements);
    formats
        .map(|format| {
            let id = format.attribute("numFmtId").unwrap_or("0");
            let code = custom.iter().find(|(custom, _)| *custom == id);
            match code {
                Some((_, code)) => dates::shown_by(code),
                None => match id.parse::<u32>() {
                    Ok(46) => Shown::Elapsed,
                    Ok(14..=22 | 27..=36 | 45 | 47 | 50..=58) => Shown::Date,
                    _ => Shown::Number,
                },
            }
        })
        .collect()
}
