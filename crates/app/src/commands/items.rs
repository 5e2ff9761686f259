//! The rows of an answer one by one, as they arrive: all of them together may be too much to hold.

use anyhow::{Context as _, ensure};
use axum::body::{Body, BodyDataStream};
use futures::StreamExt as _;
use serde_json::{Deserializer, Value};

const BEGIN: &[u8] = br#"{"items":["#;

pub struct Items {
    pieces: BodyDataStream,
    /// What has arrived and was not given out.
    held: Vec<u8>,
    begun: bool,
}

impl Items {
    pub fn of(answer: Body) -> Self {
        Self {
            pieces: answer.into_data_stream(),
            held: Vec::new(),
            begun: false,
        }
    }

    pub async fn next(&mut self) -> anyhow::Result<Option<Value>> {
        while self.held.len() < BEGIN.len() && !self.begun {
            self.more().await?;
        }
        if !self.begun {
            let rows = self.held.starts_with(BEGIN);
            ensure!(rows, "the answer has no rows where they are looked for");
            self.held.drain(..BEGIN.len());
            self.begun = true;
        }
        loop {
            match self.held.first() {
                Some(b']') => return Ok(None),
                Some(b',') => drop(self.held.drain(..1)),
                _ => {}
            }
            let mut values = Deserializer::from_slice(&self.held).into_iter::<Value>();
            match values.next() {
                Some(Ok(value)) => {
                    let read = values.byte_offset();
                    self.held.drain(..read);
                    return Ok(Some(value));
                }
                Some(Err(error)) if !error.is_eof() => {
                    return Err(error).context("cannot read a row of the answer");
                }
                // The rest of it is on its way.
                _ => self.more().await?,
            }
        }
    }

    async fn more(&mut self) -> anyhow::Result<()> {
        let piece = self.pieces.next().await.context("the answer broke off")?;
        self.held.extend(&piece.context("the answer broke off")?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use serde_json::json;

    use super::*;

    async fn read(answer: &'static str, size: usize) -> anyhow::Result<Vec<Value>> {
        let pieces = answer.as_bytes().chunks(size);
        let pieces = pieces.map(|piece| Ok::<_, std::io::Error>(piece.to_vec()));
        let mut items = Items::of(Body::from_stream(stream::iter(pieces)));
        let mut read = Vec::new();
        while let Some(item) = items.next().await? {
            read.push(item);
        }
        Ok(read)
    }

    #[tokio::test]
    async fn rows_are_the_same_however_they_arrive_and_a_lost_end_is_an_error() {
        let rows = r#"{"items":[{"a":"],["},{"b":[1,{"c":2}]}]}"#;
        for size in 1..=rows.len() {
            let read = read(rows, size).await.unwrap();
            assert_eq!(read, [json!({"a": "],["}), json!({"b": [1, {"c": 2}]})]);
        }
        assert!(read(r#"{"items":[]}"#, 3).await.unwrap().is_empty());
        assert!(read(r#"{"items":[{"a":1},{"b"#, 5).await.is_err());
        assert!(read(r#"{"problem":"none"}"#, 5).await.is_err());
    }
}
