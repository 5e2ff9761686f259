//! What the embedding model is given of a chunk.

use model::{Chunk, TokenCounter};

use crate::structure::CUT_SHORT;

/// The exact text to embed, with its exact count: the headings it stands under, as many as the
/// model has room for, the innermost first to be kept, then the text. A heading the text itself
/// begins with is not said twice. Reuse of an embedding is keyed by the hash of this.
pub fn embedder_input(chunk: &Chunk, limit: usize, tokens: &dyn TokenCounter) -> (String, usize) {
    let path = chunk.heading_path.iter().map(String::as_str);
    let path: Vec<&str> = path.filter(|h| !begins_with(&chunk.text, h)).collect();
    for outermost in 0..path.len() {
        let input = format!("{}\n{}", path[outermost..].join(" > "), chunk.text);
        let count = tokens.count(&input);
        if count <= limit {
            return (input, count);
        }
    }
    (chunk.text.clone(), chunk.tokens as usize)
}

/// Whether the heading is the text's own first line, and not only its first letters.
fn begins_with(text: &str, heading: &str) -> bool {
    match heading.strip_suffix(CUT_SHORT) {
        Some(kept) => text.starts_with(kept),
        None => text.lines().next().map(str::trim_end) == Some(heading),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Words, parsed};
    use crate::units::units;

    #[test]
    fn a_heading_is_left_out_only_where_it_is_the_first_line_itself() {
        let under = |text: &str| Chunk {
            ordinal: 0,
            span: model::Span {
                byte_start: 0,
                byte_end: text.len() as u64,
                char_start: 0,
                char_end: text.len() as u64,
            },
            atoms: 0..1,
            text: text.to_owned(),
            tokens: 2,
            heading_path: vec!["Go".to_owned()],
            pages: Vec::new(),
            boxes: Vec::new(),
        };
        let input = |text| embedder_input(&under(text), 40, &Words).0;
        assert_eq!(input("Google it"), "Go\nGoogle it");
        assert_eq!(input("Go\n\naway"), "Go\n\naway");
        assert_eq!(input("Go"), "Go");
    }

    #[test]
    fn as_many_headings_are_put_before_the_text_as_fit() {
        let body = "Words under it that are not few. ".repeat(4);
        let doc = parsed(&format!("# Mill\n\n## Stones\n\n{body}"));
        let policy = model::ChunkPolicy::for_limit(100);
        let chunk = crate::chunk::chunk(&units(&doc)[0], policy, &Words).remove(0);
        let chunk = Chunk {
            text: body.trim().to_owned(),
            tokens: 28,
            ..chunk
        };
        assert!(
            embedder_input(&chunk, 40, &Words)
                .0
                .starts_with("Mill > Stones\nWords")
        );
        assert!(
            embedder_input(&chunk, 29, &Words)
                .0
                .starts_with("Stones\nWords")
        );
        assert_eq!(embedder_input(&chunk, 28, &Words), (chunk.text.clone(), 28));
    }
}
