//! A multipart form written as it is sent, so a file is never whole in memory.

use std::path::Path;

use axum::body::{Body, Bytes};
use futures::{StreamExt as _, stream};
use tokio_util::io::ReaderStream;
use uuid::Uuid;

const PIECE: usize = 256 * 1024;

pub struct Form {
    boundary: String,
    head: String,
}

impl Form {
    pub fn new() -> Self {
        Self {
            boundary: format!("gristmill-{}", Uuid::now_v7().simple()),
            head: String::new(),
        }
    }

    #[must_use]
    pub fn text(mut self, name: &str, value: &str) -> Self {
        let part = format!(
            "--{}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n",
            self.boundary
        );
        self.head.push_str(&part);
        self
    }

    /// The form's type and body, with the file as its last part.
    pub fn file(self, path: &Path, file: std::fs::File) -> (String, Body) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let head = format!(
            "{}--{}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{}\"\r\n\r\n",
            self.head,
            self.boundary,
            quoted(&name),
        );
        let tail = format!("\r\n--{}--\r\n", self.boundary);
        let file = tokio::fs::File::from_std(file);
        let pieces = stream::iter([Ok(Bytes::from(head))])
            .chain(ReaderStream::with_capacity(file, PIECE))
            .chain(stream::iter([Ok(Bytes::from(tail))]));
        let kind = format!("multipart/form-data; boundary={}", self.boundary);
        (kind, Body::from_stream(pieces))
    }
}

/// As browsers do it: what would end the name or the header is percent-encoded.
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}
