//! The few facts front matter tells, read line by line: nothing is expanded, no
//! alias followed.

use crate::builder::TextBuilder;

pub(super) fn read(block: &str, out: &mut TextBuilder) {
    for line in block.lines() {
        let Some((key, value)) = line.split_once([':', '=']) else {
            continue;
        };
        let value = value.trim().trim_matches(['"', '\'']);
        let plain = !value.is_empty() && !value.starts_with(['&', '*', '[', '{', '|', '>']);
        if !plain || key.starts_with([' ', '\t', '-', '#']) {
            continue;
        }
        match key.trim().to_ascii_lowercase().as_str() {
            "title" => out.title(value),
            "lang" | "language" => out.claimed_language(value),
            key @ ("author" | "date" | "description" | "subject" | "version" | "keywords") => {
                out.property(key, value);
            }
            _ => {}
        }
    }
}
