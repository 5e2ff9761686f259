//! What the embedding model is given of a chunk.

use model::{Chunk, TokenCounter};

use crate::structure::CUT_SHORT;

/// The exact text to embed, with its exact count: the headings it stands under, as many as the
/// model has room for, the innermost first to be kept, then the text. A heading the text itself
/// begins with is not said twice. Reuse of an embedding is keyed by the hash of this.
pub fn embedder_input(chunk: &Chunk, limit: usize, tokens: &dyn TokenCounter) -> (String, usize) {
    let own = |heading: &&String| !chunk.text.starts_with(heading.trim_end_matches(CUT_SHORT));
    let path: Vec<&str> = chunk
        .heading_path
        .iter()
        .filter(own)
        .map(String::as_str)
        .collect();
    for outermost in 0..path.len() {
        let input = format!("{}\n{}", path[outermost..].join(" > "), chunk.text);
        let count = tokens.count(&input);
        if count <= limit {
            return (input, count);
        }
    }
    (chunk.text.clone(), chunk.tokens as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Words, parsed};
    use crate::units::units;

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
