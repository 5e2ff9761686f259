//! Bytes that have arrived, read without being kept.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use model::Parsed;
use parse::{Format, Hints, Slice};
use sandbox::Reading;

use crate::intake::Staged;
use crate::pieces::{cut, ranges};
use crate::{Engine, Error};

/// A large text, slice by slice.
pub struct Slices<'e> {
    format: Format,
    reading: Option<Reading<'e>>,
    pieces: BoxStream<'e, Result<Bytes, Error>>,
}

impl Slices<'_> {
    pub fn format(&self) -> Format {
        self.format
    }

    /// The next slice; the last may be empty.
    pub async fn next(&mut self) -> Result<Option<Slice>, Error> {
        while let Some(reading) = &mut self.reading {
            match self.pieces.next().await {
                Some(piece) => {
                    if let Some(slice) = reading.push(piece?).await? {
                        return Ok(Some(slice));
                    }
                }
                None => {
                    let reading = self.reading.take().expect("just looked at");
                    return Ok(Some(reading.finish().await?));
                }
            }
        }
        Ok(None)
    }
}

impl Engine {
    /// What a parser makes of the whole.
    pub async fn parse_staged(&self, staged: &Staged, hints: Hints) -> Result<Parsed, Error> {
        let bytes = match staged.stored() {
            None => staged.beginning().clone(),
            Some(key) => self.parts.objects.get(key).await?,
        };
        Ok(self.parts.sandbox.parse(bytes, hints).await?)
    }

    /// The same in slices, with flat memory, of a [large text](Staged::is_large_text).
    pub async fn slices<'e>(
        &'e self,
        staged: &'e Staged,
        hints: Hints,
    ) -> Result<Slices<'e>, Error> {
        let key = staged.stored().ok_or(Error::StageStopped)?;
        let reading = self.parts.sandbox.stream(staged.beginning(), hints).await?;
        let reading = reading.ok_or(Error::StageStopped)?;
        Ok(Slices {
            format: reading.format(),
            reading: Some(reading),
            pieces: ranges(&self.parts.objects, key, cut(0..staged.size)).boxed(),
        })
    }
}
