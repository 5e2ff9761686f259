//! What the digest covers of a version that answers.
//!
//! Free of ids and times, so two runs over the same files can be compared. Where a store
//! lacks what another says it should hold, that shows in the line, and is named besides.

use std::fmt::Write as _;

use catalog::VersionFile;
use index::StoredChunk;
use model::SourceUri;

pub fn line(kb: &str, uri: &SourceUri, version: &VersionFile, stored: &[StoredChunk]) -> Vec<u8> {
    let mut line = format!("{kb}\n{uri}\n{}\n", version.content_hash);
    for s in stored {
        let span = s.chunk.span;
        let written = writeln!(
            line,
            "{} {} {}-{} {} {} {}",
            s.id.unit,
            s.id.ordinal,
            span.byte_start,
            span.byte_end,
            s.chunk.text_hash(),
            s.has_vector,
            s.has_text,
        );
        written.expect("a string takes every byte");
    }
    line.into()
}
