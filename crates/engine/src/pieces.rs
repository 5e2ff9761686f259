//! The first step for a text too large to hold: read by range, written as it comes.
//!
//! The child turns pieces into slices, slices are tiled into units, and text, atoms and units
//! leave as objects while the next piece is read. What is kept of the whole is the outline
//! and the names of its units. The artifacts are those the whole text would have given.

use std::collections::BTreeMap;

use bytes::Bytes;
use catalog::{Artifacts, Prepared, Version};
use futures::{Stream, StreamExt, TryStreamExt, future, stream};
use model::{Atom, AtomKind, ContentHash, PageSize, Parsed, Section, Unit, Warning};
use parse::{Format, Hints, Slice};
use pipeline::structure::Outline;
use pipeline::units::Tiler;
use sandbox::Reading;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use crate::objects::{Key, PutStreamError};
use crate::prep::{WRITES_IN_FLIGHT, write_unit};
use crate::{Engine, Error, Objects};

/// A smaller text is sooner read in one go.
const LARGE: u64 = 2 << 20;
const PIECE: u64 = 1 << 20;
/// Pieces asked for ahead of the one at hand.
const READ_AHEAD: usize = 2;

impl Engine {
    /// `None` if the version is small, or of a kind that is read only as a whole.
    pub(crate) async fn prep_in_pieces(
        &self,
        version: &Version,
        pass: u32,
    ) -> Result<Option<Prepared>, Error> {
        let objects = &self.parts.objects;
        let original = Key::original(version.tenant, &version.content_hash);
        let size = objects.size(&original).await?;
        if size < LARGE {
            return Ok(None);
        }
        let head = 0..(Format::HEAD_BYTES as u64).min(size);
        let head = objects.range(&original, head).await?;
        let hints = Hints {
            filename: Some(version.filename.clone()),
            media_type: version.media_type.clone(),
        };
        let Some(reading) = self.parts.sandbox.stream(&head, hints).await? else {
            return Ok(None);
        };
        let (tenant, id) = (version.tenant, version.id);
        let (text, text_written) = outlet(objects, Key::text(tenant, id, pass));
        let (parsed, parsed_written) = outlet(objects, Key::parsed(tenant, id, pass));
        let work = Work {
            objects,
            pass,
            unit_key: &|unit: &Unit| Key::unit(tenant, id, pass, &unit.name),
            text,
            parsed,
            tiler: Tiler::default(),
            outline: Outline::default(),
            said: Said::default(),
            made: Made::default(),
        };
        let read = work.read(reading, ranges(objects, &original, size));
        let (prepared, (), ()) = future::try_join3(read, text_written, parsed_written).await?;
        Ok(Some(prepared))
    }
}

/// An object in pieces, read ahead of whoever takes them.
pub(crate) fn ranges<'o>(
    objects: &'o Objects,
    key: &'o Key,
    size: u64,
) -> impl Stream<Item = Result<Bytes, Error>> + Unpin + Send + 'o {
    let starts = (0..size).step_by(PIECE as usize);
    let pieces = stream::iter(starts).map(move |start| async move {
        let range = start..(start + PIECE).min(size);
        Ok(objects.range(key, range).await?)
    });
    Box::pin(pieces.buffered(READ_AHEAD))
}

/// An object written by whoever holds the first of these, hashed on the way.
struct Outlet {
    to: mpsc::Sender<Bytes>,
    hash: Sha256,
}

impl Outlet {
    async fn write(&mut self, bytes: impl Into<Bytes>) -> Result<(), Error> {
        let bytes = bytes.into();
        self.hash.update(&bytes);
        // Closed only when the writing failed, which is then the error that counts.
        let sent = self.to.send(bytes).await;
        sent.map_err(|_| Error::StageStopped)
    }

    fn finish(self) -> ContentHash {
        ContentHash::from_bytes(self.hash.finalize().into())
    }
}

fn outlet(objects: &Objects, key: Key) -> (Outlet, impl Future<Output = Result<(), Error>>) {
    let (to, mut from) = mpsc::channel::<Bytes>(1);
    let body = stream::poll_fn(move |context| from.poll_recv(context).map(|piece| piece.map(Ok)));
    let written = async move {
        let written = objects.put_stream::<Error>(&key, body).await;
        written.map_err(|error| match error {
            PutStreamError::Store(error) => error.into(),
            PutStreamError::Body(error) => error,
        })
    };
    let hash = Sha256::new();
    (Outlet { to, hash }, written)
}

/// What a text says of itself, gathered slice by slice.
#[derive(Default)]
pub struct Said {
    title: Option<String>,
    /// The first of the outermost headings so far.
    heading: Option<(u8, String)>,
    language: Option<String>,
    properties: BTreeMap<String, String>,
    warnings: Vec<Warning>,
}

impl Said {
    /// Takes what a slice says; its text begins at byte `base` of the whole.
    pub fn hear(&mut self, slice: &mut Slice, base: u64) {
        self.title = self.title.take().or_else(|| slice.title.take());
        self.language = self.language.take().or_else(|| slice.language.take());
        self.properties.append(&mut slice.properties);
        self.warnings.append(&mut slice.warnings);
        for atom in &slice.atoms {
            let AtomKind::Heading { level } = atom.kind else {
                continue;
            };
            if self.heading.as_ref().is_none_or(|(best, _)| level < *best) {
                let (start, end) = (atom.span.byte_start - base, atom.span.byte_end - base);
                let text = &slice.text[start as usize..end as usize];
                self.heading = Some((level, parse::collapsed(text)));
            }
        }
    }

    fn title(&mut self) -> Option<String> {
        let heading = self.heading.take().map(|(_, text)| text);
        self.title.take().or(heading)
    }

    /// All of it, as a document without its text.
    pub fn about(mut self, format: Format) -> Parsed {
        Parsed {
            media_type: format.media_type().to_owned(),
            title: self.title(),
            language: self.language,
            properties: self.properties,
            warnings: self.warnings,
            ..Parsed::default()
        }
    }
}

/// What has left already.
#[derive(Default)]
struct Made {
    atoms: u64,
    bytes: u64,
    units: Vec<(model::UnitName, u32)>,
    hashes: Vec<(model::UnitName, ContentHash)>,
}

struct Work<'o> {
    objects: &'o Objects,
    pass: u32,
    unit_key: &'o (dyn Fn(&Unit) -> Key + Sync),
    text: Outlet,
    parsed: Outlet,
    tiler: Tiler,
    outline: Outline,
    said: Said,
    made: Made,
}

impl Work<'_> {
    async fn read(
        mut self,
        mut reading: Reading<'_>,
        mut pieces: impl Stream<Item = Result<Bytes, Error>> + Unpin,
    ) -> Result<Prepared, Error> {
        let format = reading.format();
        self.parsed.write("{\"atoms\":[").await?;
        while let Some(piece) = pieces.next().await {
            if let Some(slice) = reading.push(piece?).await? {
                self = self.take(slice).await?;
            }
        }
        let last = reading.finish().await?;
        self = self.take(last).await?;
        self.end(format).await
    }

    async fn take(mut self, mut slice: Slice) -> Result<Self, Error> {
        let base = self.made.bytes;
        self.said.hear(&mut slice, base);
        self.outline.push(&slice.text, base, &slice.atoms);
        self.write_atoms(&slice.atoms).await?;
        self.made.bytes += slice.text.len() as u64;
        let Slice { text, atoms, .. } = slice;
        self.text.write(text.clone()).await?;
        let mut tiler = std::mem::take(&mut self.tiler);
        let tiled = tokio::task::spawn_blocking(move || {
            let units = tiler.push(&text, atoms);
            (tiler, units)
        });
        let (tiler, units) = tiled.await.map_err(|_| Error::StageStopped)?;
        self.tiler = tiler;
        self.write_units(units).await?;
        Ok(self)
    }

    async fn write_atoms(&mut self, atoms: &[Atom]) -> Result<(), Error> {
        let mut json = Vec::new();
        for atom in atoms {
            if self.made.atoms > 0 {
                json.push(b',');
            }
            serde_json::to_writer(&mut json, atom).expect("an atom is plain data");
            self.made.atoms += 1;
        }
        self.parsed.write(json).await
    }

    async fn write_units(&mut self, units: Vec<Unit>) -> Result<(), Error> {
        let names = units.iter().map(|unit| (unit.name.clone(), unit.index));
        self.made.units.extend(names);
        let writes: Vec<_> = units
            .iter()
            .map(|unit| write_unit(self.objects, (self.unit_key)(unit), unit))
            .collect();
        let writes = stream::iter(writes).buffer_unordered(WRITES_IN_FLIGHT);
        let written: Vec<_> = writes.try_collect().await?;
        self.made.hashes.extend(written);
        Ok(())
    }

    async fn end(mut self, format: Format) -> Result<Prepared, Error> {
        let tiler = std::mem::take(&mut self.tiler);
        let rest = tokio::task::spawn_blocking(move || tiler.finish()).await;
        self.write_units(rest.map_err(|_| Error::StageStopped)?)
            .await?;
        if self.made.atoms == 0 {
            self.said.warnings.push(Warning {
                message: "the document holds no text".to_owned(),
            });
        }
        let rest = Rest {
            media_type: format.media_type(),
            pages: [],
            title: self.said.title(),
            language: self.said.language,
            properties: self.said.properties,
            gaps: [],
            warnings: self.said.warnings,
            sections: self.outline.finish(),
        };
        let json = serde_json::to_string(&rest).expect("a structure is plain data");
        // Its own opening brace stands at the beginning already, before the atoms.
        let json = format!("],{}", &json[1..]);
        self.parsed.write(json).await?;
        let artifacts = Artifacts {
            text: Some(self.text.finish()),
            parsed: Some(self.parsed.finish()),
            units: self.made.hashes.into_iter().collect(),
        };
        Ok(Prepared {
            pass: self.pass,
            units: self.made.units,
            artifacts,
            title: rest.title,
            language: rest.language,
            media_type: Some(format.media_type().to_owned()),
            pages: Vec::new(),
            gaps: Vec::new(),
            warnings: rest.warnings,
        })
    }
}

/// A `Structure` but for its atoms, which are written before it.
#[derive(Serialize)]
struct Rest {
    media_type: &'static str,
    pages: [PageSize; 0],
    title: Option<String>,
    language: Option<String>,
    properties: BTreeMap<String, String>,
    gaps: [model::Gap; 0],
    warnings: Vec<Warning>,
    sections: Section,
}
