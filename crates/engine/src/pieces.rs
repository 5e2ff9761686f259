//! The first step for a text too large to hold: read by range, written as it comes.
//!
//! The child turns pieces into slices, slices are tiled into units, and text, atoms and units
//! leave as objects while the next piece is read. What is kept of the whole is the outline
//! and the names of its units. The artifacts are those the whole text would have given.
//!
//! How far it is gets stored now and then, so that a Prep after one that died goes on there:
//! units that have left stay, and text and atoms up to there are put together from them.

mod progress;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::MutexGuard;

use bytes::Bytes;
use catalog::{Artifacts, Prepared, Version};
use futures::{Stream, StreamExt, TryStreamExt, future, stream};
use model::{Atom, AtomKind, ContentHash, PageSize, Parsed, Section, Unit, UnitName, Warning};
use parse::{Checkpoint, Format, Hints, Slice};
use pipeline::structure::Outline;
use pipeline::units::{Joiner, Tiler};
use sandbox::Reading;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use crate::objects::{self, Key, PutStreamError};
use crate::prep::{WRITES_IN_FLIGHT, write_unit};
use crate::{Engine, Error, Objects};
use progress::{Noted, Progress};

/// A smaller text is sooner read in one go.
pub(crate) const LARGE: u64 = 2 << 20;
const PIECE: u64 = 1 << 20;
/// Pieces asked for ahead of the one at hand.
const READ_AHEAD: usize = 2;
/// Units read again at the same time.
const READS_IN_FLIGHT: usize = 8;

/// What was read of large texts since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reads {
    pub pieces: u64,
    pub bytes: u64,
    /// How often it went on where an earlier Prep had stopped.
    pub resumes: u64,
}

/// Where a Prep begins.
enum Start<'e> {
    Anew(Reading<'e>),
    At(Box<Progress>, Noted),
}

/// Why a Prep in pieces came to no end.
enum Broken {
    /// What it was to go on from does not hold any more.
    Stale,
    Failed(Error),
}

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<objects::Error> for Broken {
    fn from(error: objects::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<sandbox::Error> for Broken {
    fn from(error: sandbox::Error) -> Self {
        Self::Failed(error.into())
    }
}

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
        if self.hash(&original, size).await? != version.content_hash {
            return Err(objects::Error::Changed { key: original }.into());
        }
        if let Some((progress, noted)) = progress::find(objects, version, pass).await? {
            let (next_unit, next_byte) = (progress.state.made.units.len(), progress.next_byte);
            tracing::info!(version_id = %version.id, next_unit, next_byte, "prep goes on where one stopped");
            let start = Start::At(Box::new(progress), noted);
            match self.in_pieces(version, pass, size, start).await {
                Ok(prepared) => return Ok(Some(prepared)),
                Err(Broken::Failed(error)) => return Err(error),
                Err(Broken::Stale) => {
                    tracing::warn!(version_id = %version.id, "it was not as it was left, and is begun again");
                }
            }
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
        let begun = self.in_pieces(version, pass, size, Start::Anew(reading));
        match begun.await {
            Ok(prepared) => Ok(Some(prepared)),
            Err(Broken::Failed(error)) => Err(error),
            Err(Broken::Stale) => Err(Error::StageStopped),
        }
    }

    /// Of an object that is too large to hold.
    async fn hash(&self, key: &Key, size: u64) -> Result<ContentHash, Error> {
        let mut hash = Sha256::new();
        let mut pieces = ranges(&self.parts.objects, key, cut(0..size));
        while let Some(piece) = pieces.next().await {
            hash.update(&piece?);
        }
        Ok(ContentHash::from_bytes(hash.finalize().into()))
    }

    async fn in_pieces(
        &self,
        version: &Version,
        pass: u32,
        size: u64,
        start: Start<'_>,
    ) -> Result<Prepared, Broken> {
        let objects = &self.parts.objects;
        let (tenant, id) = (version.tenant, version.id);
        let (text, text_written) = outlet(objects, Key::text(tenant, id, pass));
        let (parsed, parsed_written) = outlet(objects, Key::parsed(tenant, id, pass));
        let work = Work {
            engine: self,
            version,
            pass,
            text,
            parsed,
            state: State::default(),
            noted: Noted::default(),
        };
        let read = work.run(start, size);
        let written = future::try_join(text_written, parsed_written);
        let written = async { written.await.map_err(Broken::Failed) };
        let (prepared, _) = future::try_join(read, written).await?;
        Ok(prepared)
    }

    /// What was read of large texts since the start.
    pub fn reads(&self) -> Reads {
        *self.read_so_far()
    }

    fn read_so_far(&self) -> MutexGuard<'_, Reads> {
        self.reads
            .lock()
            .expect("nothing panics while it holds the counts")
    }
}

/// A range in pieces.
pub(crate) fn cut(range: Range<u64>) -> impl Iterator<Item = Range<u64>> + Send {
    let starts = range.clone().step_by(PIECE as usize);
    starts.map(move |start| start..(start + PIECE).min(range.end))
}

/// An object in pieces, read ahead of whoever takes them.
pub(crate) fn ranges<'o>(
    objects: &'o Objects,
    key: &'o Key,
    ranges: impl Iterator<Item = Range<u64>> + Send + 'o,
) -> impl Stream<Item = Result<Bytes, Error>> + Unpin + Send + 'o {
    let pieces =
        stream::iter(ranges).map(move |range| async move { Ok(objects.range(key, range).await?) });
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
#[derive(Default, Serialize, Deserialize)]
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
#[derive(Default, Serialize, Deserialize)]
struct Made {
    atoms: u64,
    bytes: u64,
    units: Vec<MadeUnit>,
}

#[derive(Serialize, Deserialize)]
struct MadeUnit {
    name: UnitName,
    index: u32,
    hash: ContentHash,
}

/// All that is remembered from slice to slice.
#[derive(Default, Serialize, Deserialize)]
struct State {
    tiler: Tiler,
    outline: Outline,
    said: Said,
    made: Made,
}

struct Work<'e> {
    engine: &'e Engine,
    version: &'e Version,
    pass: u32,
    text: Outlet,
    parsed: Outlet,
    state: State,
    noted: Noted,
}

impl<'e> Work<'e> {
    async fn run(mut self, start: Start<'e>, size: u64) -> Result<Prepared, Broken> {
        self.parsed.write("{\"atoms\":[").await?;
        let (reading, from, next_byte) = match start {
            Start::Anew(reading) => (reading, 0, 0),
            Start::At(progress, noted) => {
                let Progress {
                    next_byte,
                    parser,
                    state,
                    ..
                } = *progress;
                self.state = state;
                self.noted = noted;
                self.write_again().await?;
                let from = parser.source_byte;
                let reading = self.engine.parts.sandbox.resume(parser).await?;
                self.engine.read_so_far().resumes += 1;
                (reading, from, next_byte)
            }
        };
        let original = Key::original(self.version.tenant, &self.version.content_hash);
        // What the parser had held back comes first and by itself: then it is where it was, and
        // the pieces after that, and so the slices, are those of a Prep that was not disturbed.
        let pieces = cut(from..next_byte).chain(cut(next_byte..size));
        let pieces = ranges(&self.engine.parts.objects, &original, pieces);
        Ok(self.read(reading, pieces, from).await?)
    }

    /// Writes what had been written to objects that were never finished.
    async fn write_again(&mut self) -> Result<(), Broken> {
        let objects = &self.engine.parts.objects;
        let (atoms, bytes) = (self.state.made.atoms, self.state.made.bytes);
        let (mut written, mut joiner) = (0, Joiner::default());
        self.state.made.atoms = 0;
        let units = &self.state.made.units;
        let units: Vec<_> = units
            .iter()
            .map(|unit| progress::unit(objects, self.unit_key(&unit.name), unit.hash))
            .collect();
        let mut units = stream::iter(units).buffered(READS_IN_FLIGHT);
        while let Some(unit) = units.next().await {
            let Unit { text, atoms, .. } = unit?.ok_or(Broken::Stale)?;
            written += text.len() as u64;
            self.text.write(text).await?;
            self.write_atoms(&joiner.push(atoms)).await?;
        }
        let (text, held) = self.state.tiler.held();
        let (text, held) = (text.to_owned(), held.to_vec());
        written += text.len() as u64;
        self.text.write(text).await?;
        self.write_atoms(&joiner.push(held)).await?;
        self.write_atoms(joiner.finish().as_slice()).await?;
        match (self.state.made.atoms, written) == (atoms, bytes) {
            true => Ok(()),
            false => Err(Broken::Stale),
        }
    }

    /// The first piece begins at byte `at` of the original.
    async fn read(
        mut self,
        mut reading: Reading<'_>,
        mut pieces: impl Stream<Item = Result<Bytes, Error>> + Unpin,
        mut at: u64,
    ) -> Result<Prepared, Error> {
        let format = reading.format();
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            at += piece.len() as u64;
            self.count(&piece);
            if let Some(slice) = reading.push(piece).await? {
                let parser = slice.resume.clone();
                self = self.take(slice).await?;
                self.note(at, parser).await?;
            }
        }
        let last = reading.finish().await?;
        self = self.take(last).await?;
        self.end(format).await
    }

    fn count(&self, piece: &Bytes) {
        let mut reads = self.engine.read_so_far();
        reads.pieces += 1;
        reads.bytes += piece.len() as u64;
    }

    async fn note(&mut self, next_byte: u64, parser: Checkpoint) -> Result<(), Error> {
        if self.noted.is_due(next_byte) {
            let (tenant, id) = (self.version.tenant, self.version.id);
            let key = Key::progress(tenant, id, self.pass);
            let objects = &self.engine.parts.objects;
            self.noted = progress::note(objects, &key, next_byte, parser, &self.state).await?;
        }
        Ok(())
    }

    fn unit_key(&self, unit: &UnitName) -> Key {
        Key::unit(self.version.tenant, self.version.id, self.pass, unit)
    }

    async fn take(mut self, mut slice: Slice) -> Result<Self, Error> {
        let base = self.state.made.bytes;
        self.state.said.hear(&mut slice, base);
        self.state.outline.push(&slice.text, base, &slice.atoms);
        self.write_atoms(&slice.atoms).await?;
        self.state.made.bytes += slice.text.len() as u64;
        let Slice { text, atoms, .. } = slice;
        self.text.write(text.clone()).await?;
        let mut tiler = std::mem::take(&mut self.state.tiler);
        let tiled = tokio::task::spawn_blocking(move || {
            let units = tiler.push(&text, atoms);
            (tiler, units)
        });
        let (tiler, units) = tiled.await.map_err(|_| Error::StageStopped)?;
        self.state.tiler = tiler;
        self.write_units(units).await?;
        Ok(self)
    }

    async fn write_atoms(&mut self, atoms: &[Atom]) -> Result<(), Error> {
        let mut json = Vec::new();
        for atom in atoms {
            if self.state.made.atoms > 0 {
                json.push(b',');
            }
            serde_json::to_writer(&mut json, atom).expect("an atom is plain data");
            self.state.made.atoms += 1;
        }
        self.parsed.write(json).await
    }

    async fn write_units(&mut self, units: Vec<Unit>) -> Result<(), Error> {
        let objects = &self.engine.parts.objects;
        let writes: Vec<_> = units
            .iter()
            .map(|unit| write_unit(objects, self.unit_key(&unit.name), unit))
            .collect();
        let writes = stream::iter(writes).buffered(WRITES_IN_FLIGHT);
        let written: Vec<_> = writes.try_collect().await?;
        let made = units.iter().zip(written);
        let made = made.map(|(unit, (name, hash))| MadeUnit {
            name,
            index: unit.index,
            hash,
        });
        self.state.made.units.extend(made);
        Ok(())
    }

    async fn end(mut self, format: Format) -> Result<Prepared, Error> {
        let tiler = std::mem::take(&mut self.state.tiler);
        let rest = tokio::task::spawn_blocking(move || tiler.finish()).await;
        self.write_units(rest.map_err(|_| Error::StageStopped)?)
            .await?;
        let State {
            outline,
            mut said,
            made,
            ..
        } = self.state;
        if made.atoms == 0 {
            said.warnings.push(Warning {
                message: "the document holds no text".to_owned(),
            });
        }
        let rest = Rest {
            media_type: format.media_type(),
            pages: [],
            title: said.title(),
            language: said.language,
            properties: said.properties,
            gaps: [],
            warnings: said.warnings,
            sections: outline.finish(),
        };
        let json = serde_json::to_string(&rest).expect("a structure is plain data");
        // Its own opening brace stands at the beginning already, before the atoms.
        let json = format!("],{}", &json[1..]);
        self.parsed.write(json).await?;
        let units = made.units.iter();
        let artifacts = Artifacts {
            text: Some(self.text.finish()),
            parsed: Some(self.parsed.finish()),
            units: units.clone().map(|u| (u.name.clone(), u.hash)).collect(),
        };
        Ok(Prepared {
            pass: self.pass,
            units: units.map(|u| (u.name.clone(), u.index)).collect(),
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
