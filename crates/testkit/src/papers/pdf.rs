//! PDF pages with headings and wrapped paragraphs, in the fonts every reader has.

use std::fmt::Write as _;

use super::Part;

const LEFT: u32 = 72;
const TOP: u32 = 712;

/// A few grey stripes, as large as the paper allows.
const SCAN: &str =
    "q 500 0 0 660 56 72 cm BI /W 8 /H 1 /CS /G /BPC 8 /F /AHx ID d0d8e0e8e0d8d0c8> EI Q";

/// A file with these pages.
pub fn pdf(pages: &[&[Part<'_>]]) -> Vec<u8> {
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        String::new(),
        font("Helvetica"),
        font("Helvetica-Bold"),
    ];
    let mut kids = String::new();
    for (number, parts) in pages.iter().enumerate() {
        let content = content(parts, number + 1);
        let page = objects.len() + 1;
        let _ = write!(kids, "{page} 0 R ");
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {} 0 R\
             /Resources<</Font<</F 3 0 R/B 4 0 R>>>>>>",
            page + 1
        ));
        let length = content.len();
        objects.push(format!("<</Length {length}>>stream\n{content}\nendstream"));
    }
    objects[1] = format!("<</Type/Pages/Kids[{kids}]/Count {}>>", pages.len());
    file(&objects)
}

fn font(name: &str) -> String {
    format!("<</Type/Font/Subtype/Type1/BaseFont/{name}/Encoding/WinAnsiEncoding>>")
}

fn content(parts: &[Part<'_>], number: usize) -> String {
    let mut out = String::new();
    let mut y = TOP;
    let mut line = |font: &str, size: u32, y: u32, text: &str| {
        let text = text
            .replace('\\', r"\\")
            .replace('(', r"\(")
            .replace(')', r"\)");
        let _ = writeln!(out, "BT /{font} {size} Tf {LEFT} {y} Td ({text}) Tj ET");
    };
    for part in parts {
        let (font, size, columns, text, before) = match part {
            Part::Title(text) => ("B", 22, 40, *text, 0),
            Part::Heading(text) => ("B", 14, 60, *text, 14),
            Part::Text(text) => ("F", 11, 88, *text, 2),
            Part::Table(_) | Part::Scan => continue,
        };
        y -= before;
        for words in wrapped(text, columns) {
            line(font, size, y, &words);
            y -= size + 5;
        }
        y -= 6;
    }
    line("F", 9, 40, &number.to_string());
    if parts.iter().any(|part| matches!(part, Part::Scan)) {
        out.push_str(SCAN);
    }
    out
}

fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is one from the start");
        if last.len() + word.len() >= columns && !last.is_empty() {
            lines.push(word.to_owned());
        } else {
            last.push_str(if last.is_empty() { "" } else { " " });
            last.push_str(word);
        }
    }
    lines
}

fn file(objects: &[String]) -> Vec<u8> {
    let mut out = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        places.push(out.len());
        out.extend(format!("{} 0 obj\n{object}\nendobj\n", index + 1).bytes());
    }
    let (table, count) = (out.len(), objects.len() + 1);
    out.extend(format!("xref\n0 {count}\n0000000000 65535 f \n").bytes());
    for place in places {
        out.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let trailer = format!("trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{table}\n%%EOF\n");
    out.extend(trailer.bytes());
    out
}
