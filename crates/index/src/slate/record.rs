//! What lies under the keys. Every record begins with its version.
//!
//! Integers are little-endian. A reader refuses a version it does not know: a
//! newer program wrote it, and guessing would lose something.

use std::sync::Arc;

use model::{Chunk, ChunkId, ContentHash, ModelName, UnitName, VersionId};
use uuid::Uuid;

use crate::Error;
use crate::place::Space;
use crate::slate::{key, seal};

const V1: u8 = 1;

/// What the whole store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    pub format: u32,
    pub flush: u64,
}

/// Whether a version takes writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    Open,
    Sealed,
    Forgotten,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VersionRecord {
    /// Known from the first unit on; a version may be sealed without any.
    pub number: Option<u32>,
    pub state: State,
    pub chunks: u32,
    /// Words of its chunks, as the text index counts them.
    pub words: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitRecord {
    pub fence: u64,
    /// Its chunks have `chunks` ids from here on.
    pub first_id: u32,
    pub chunks: u32,
    pub words: u64,
    pub model: ModelName,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChunkRecord {
    pub id: u32,
    pub input_hash: ContentHash,
    pub language: Option<String>,
    pub chunk: Chunk,
}

#[derive(Debug, Clone, PartialEq)]
pub struct VectorRecord {
    pub number: u32,
    pub place: ChunkId,
    pub vector: Arc<[f32]>,
}

/// Whether a space is searched and written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stand {
    #[default]
    Kept,
    Forgotten,
    /// Some of its rows are gone, and nobody reads the others any more.
    BeingForgotten,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpaceRecord {
    pub stand: Stand,
    /// Zero until the first vector arrives.
    pub dimensions: u32,
    pub next_id: u32,
    pub next_posting: u32,
    /// Vectors there were when all of them were last clustered.
    pub clustered: u32,
    /// The next id there was then: what has come since has ids from here on.
    pub clustered_next: u32,
    /// The last flush that changed its text.
    pub text_flush: u64,
    /// Languages its chunks were stemmed by, sorted.
    pub languages: Vec<String>,
}

/// A unit, or a whole version, whose text a flush changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Changed {
    pub space: Space,
    /// The flush the space's text was at before.
    pub since: u64,
    pub version: VersionId,
    pub unit: Option<UnitName>,
}

/// What the text side still has to do for one flush.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redo {
    pub removed: Vec<Space>,
    pub changed: Vec<Changed>,
}

struct Writer(Vec<u8>);

impl Writer {
    fn new() -> Self {
        Self(vec![V1])
    }

    /// For what cannot be made again from other records.
    fn sealed() -> Self {
        Self(seal::begin())
    }

    fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    fn u32(self, value: u32) -> Self {
        self.raw(&value.to_le_bytes())
    }

    fn u64(self, value: u64) -> Self {
        self.raw(&value.to_le_bytes())
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn count(self, items: usize) -> Self {
        self.u32(u32::try_from(items).expect("a flush changes under 2^32 things"))
    }

    fn space(self, space: &Space) -> Self {
        self.raw(&key::of_space(0, space)[1..])
    }

    /// Names are short: a unit's at most 200 bytes, a language's a few.
    fn short(self, text: &str) -> Self {
        let len = u8::try_from(text.len()).expect("names are under 256 bytes");
        self.u8(len).raw(text.as_bytes())
    }
}

/// Takes a record apart; every step answers `None` beyond its end.
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Option<Self> {
        match bytes.split_first()? {
            (&V1, rest) => Some(Self(rest)),
            (&seal::SEALED, _) => bytes.get(seal::HEAD..).map(Self),
            _ => None,
        }
    }

    pub fn raw(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }

    pub fn u8(&mut self) -> Option<u8> {
        Some(self.raw(1)?[0])
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.raw(4)?.try_into().ok()?))
    }

    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.raw(8)?.try_into().ok()?))
    }

    fn uuid(&mut self) -> Option<Uuid> {
        Uuid::from_slice(self.raw(16)?).ok()
    }

    fn short(&mut self) -> Option<&'a str> {
        let len = self.u8()?;
        std::str::from_utf8(self.raw(len.into())?).ok()
    }

    fn unit(&mut self) -> Option<UnitName> {
        UnitName::new(self.short()?).ok()
    }

    fn space(&mut self) -> Option<Space> {
        key::read_space(self.raw(48)?)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

fn read<'a, T>(
    what: &'static str,
    bytes: &'a [u8],
    take: impl FnOnce(&mut Reader<'a>) -> Option<T>,
) -> Result<T, Error> {
    let mut reader = Reader::new(bytes).ok_or_else(|| {
        let version = bytes.first().map_or("none".to_owned(), u8::to_string);
        Error::corrupt(what, format!("unknown record version ({version})"))
    })?;
    take(&mut reader).ok_or_else(|| Error::corrupt(what, "it ends early or holds nonsense"))
}

impl Meta {
    pub fn write(self) -> Vec<u8> {
        Writer::new().u32(self.format).u64(self.flush).0
    }

    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        read("head of the index", bytes, |r| {
            Some(Self {
                format: r.u32()?,
                flush: r.u64()?,
            })
        })
    }
}

impl State {
    fn byte(self) -> u8 {
        match self {
            Self::Open => 0,
            Self::Sealed => 1,
            Self::Forgotten => 2,
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Open, Self::Sealed, Self::Forgotten]
            .into_iter()
            .find(|state| state.byte() == byte)
    }
}

impl VersionRecord {
    pub fn write(self) -> Vec<u8> {
        let number = self.number.unwrap_or(u32::MAX);
        let head = Writer::new().u32(number).u8(self.state.byte());
        head.u32(self.chunks).u64(self.words).0
    }

    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        read("version", bytes, |r| {
            Some(Self {
                number: Some(r.u32()?).filter(|number| *number != u32::MAX),
                state: State::from_byte(r.u8()?)?,
                chunks: r.u32()?,
                words: r.u64()?,
            })
        })
    }
}

impl UnitRecord {
    pub fn write(&self) -> Vec<u8> {
        let ids = Writer::new().u64(self.fence).u32(self.first_id);
        let totals = ids.u32(self.chunks).u64(self.words);
        totals.raw(self.model.as_str().as_bytes()).0
    }

    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        read("unit", bytes, |r| {
            Some(Self {
                fence: r.u64()?,
                first_id: r.u32()?,
                chunks: r.u32()?,
                words: r.u64()?,
                model: ModelName::from_stored(std::str::from_utf8(r.rest()).ok()?),
            })
        })
    }
}

impl ChunkRecord {
    pub fn write(&self) -> Vec<u8> {
        let head = Writer::sealed()
            .u32(self.id)
            .raw(self.input_hash.as_bytes());
        let language = self.language.as_deref().unwrap_or_default();
        let body = serde_json::to_vec(&self.chunk).expect("a chunk is plain data");
        seal::close(head.short(language).raw(&body).0)
    }

    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        read("chunk", bytes, |r| {
            let (id, input_hash, language) = Self::head(r)?;
            Some(Self {
                id,
                input_hash,
                language,
                chunk: serde_json::from_slice(r.rest()).ok()?,
            })
        })
    }

    /// The input its vector was made of, without the chunk itself.
    pub fn read_input(bytes: &[u8]) -> Result<(u32, ContentHash), Error> {
        read("chunk", bytes, |r| {
            let (id, input, _) = Self::head(r)?;
            Some((id, input))
        })
    }

    fn head(r: &mut Reader<'_>) -> Option<(u32, ContentHash, Option<String>)> {
        let id = r.u32()?;
        let input = ContentHash::from_bytes(r.raw(32)?.try_into().ok()?);
        let language = r.short()?;
        let language = (!language.is_empty()).then(|| language.to_owned());
        Some((id, input, language))
    }
}

impl VectorRecord {
    pub fn write(number: u32, place: &ChunkId, vector: &[f32]) -> Vec<u8> {
        let head = Writer::sealed().u32(number).u32(place.ordinal);
        let head = head.raw(place.version.as_uuid().as_bytes());
        let mut bytes = head.short(place.unit.as_str()).0;
        bytes.reserve(vector.len() * 4);
        bytes.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
        seal::close(bytes)
    }

    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        read("vector", bytes, |r| {
            let number = r.u32()?;
            let place = Self::place(r)?;
            Some(Self {
                number,
                place,
                vector: floats(r.rest())?,
            })
        })
    }

    fn place(r: &mut Reader<'_>) -> Option<ChunkId> {
        let ordinal = r.u32()?;
        Some(ChunkId {
            version: VersionId::from_uuid(r.uuid()?),
            unit: r.unit()?,
            ordinal,
        })
    }
}

impl Stand {
    fn byte(self) -> u8 {
        match self {
            Self::Kept => 0,
            Self::Forgotten => 1,
            Self::BeingForgotten => 2,
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Kept, Self::Forgotten, Self::BeingForgotten]
            .into_iter()
            .find(|stand| stand.byte() == byte)
    }
}

impl SpaceRecord {
    /// What is left of a space that is forgotten, or about to be.
    pub fn of_gone(stand: Stand) -> Self {
        Self {
            stand,
            ..Self::default()
        }
    }

    pub fn is_gone(&self) -> bool {
        self.stand != Stand::Kept
    }

    pub fn write(&self) -> Vec<u8> {
        let head = Writer::new().u8(self.stand.byte()).u32(self.dimensions);
        let ids = head.u32(self.next_id).u32(self.next_posting);
        let ids = ids.u32(self.clustered);
        let count = u8::try_from(self.languages.len()).expect("stemmers are a few dozen");
        let head = ids.u64(self.text_flush).u8(count);
        let languages = self.languages.iter();
        let head = languages.fold(head, |writer, name| writer.short(name));
        head.u32(self.clustered_next).0
    }

    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        read("space", bytes, |r| {
            let mut record = Self {
                stand: Stand::from_byte(r.u8()?)?,
                dimensions: r.u32()?,
                next_id: r.u32()?,
                next_posting: r.u32()?,
                clustered: r.u32()?,
                clustered_next: 0,
                text_flush: r.u64()?,
                languages: (0..r.u8()?)
                    .map(|_| r.short().map(str::to_owned))
                    .collect::<Option<_>>()?,
            };
            // Records used to end here. There were at least so many ids as vectors.
            record.clustered_next = r.u32().unwrap_or(record.clustered);
            Some(record)
        })
    }
}

impl Redo {
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.changed.is_empty()
    }

    pub fn write(&self) -> Vec<u8> {
        let removed = Writer::new().count(self.removed.len());
        let removed = self.removed.iter().fold(removed, Writer::space);
        let changed = removed.count(self.changed.len());
        let each = |writer: Writer, one: &Changed| {
            let unit = one.unit.as_ref().map_or("", UnitName::as_str);
            let space = writer.space(&one.space).u64(one.since);
            space.raw(one.version.as_uuid().as_bytes()).short(unit)
        };
        self.changed.iter().fold(changed, each).0
    }

    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        read("redo record", bytes, |r| {
            Some(Self {
                removed: (0..r.u32()?).map(|_| r.space()).collect::<Option<_>>()?,
                changed: (0..r.u32()?)
                    .map(|_| Changed::read(r))
                    .collect::<Option<_>>()?,
            })
        })
    }
}

impl Changed {
    fn read(r: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            space: r.space()?,
            since: r.u64()?,
            version: VersionId::from_uuid(r.uuid()?),
            unit: match r.short()? {
                "" => None,
                name => Some(UnitName::new(name).ok()?),
            },
        })
    }
}

pub fn write_u32(value: u32) -> Vec<u8> {
    Writer::new().u32(value).0
}

pub fn read_u32(what: &'static str, bytes: &[u8]) -> Result<u32, Error> {
    read(what, bytes, Reader::u32)
}

/// A posting's centroid, and whether the posting is cold.
pub fn write_centroid(cold: bool, values: &[f32]) -> Vec<u8> {
    let mut bytes = Writer::new().u8(cold.into()).0;
    bytes.extend(values.iter().flat_map(|x| x.to_le_bytes()));
    bytes
}

pub fn read_centroid(bytes: &[u8]) -> Result<(bool, Vec<f32>), Error> {
    read("centroid", bytes, |r| {
        Some((r.u8()? == 1, floats(r.rest())?))
    })
}

pub fn write_bitmap(bitmap: &roaring::RoaringBitmap) -> Vec<u8> {
    let mut bytes = Writer::new().0;
    let written = bitmap.serialize_into(&mut bytes);
    written.expect("a vector takes every byte");
    bytes
}

pub fn read_bitmap(what: &'static str, bytes: &[u8]) -> Result<roaring::RoaringBitmap, Error> {
    read(what, bytes, |r| {
        roaring::RoaringBitmap::deserialize_from(r.rest()).ok()
    })
}

fn floats<T: FromIterator<f32>>(bytes: &[u8]) -> Option<T> {
    let (four, rest) = bytes.as_chunks::<4>();
    let values = four.iter().map(|b| f32::from_le_bytes(*b)).collect();
    rest.is_empty().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_bytes_do_not_move_and_other_versions_are_refused() {
        let version = VersionRecord {
            number: Some(7),
            state: State::Sealed,
            chunks: 3,
            words: 258,
        };
        let bytes = version.write();
        assert_eq!(
            bytes,
            [1, 7, 0, 0, 0, 1, 3, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(VersionRecord::read(&bytes).unwrap(), version);
        let newer = [&[3], &bytes[1..]].concat();
        assert!(matches!(
            VersionRecord::read(&newer),
            Err(Error::Corrupt { .. })
        ));
        assert!(VersionRecord::read(&bytes[..9]).is_err());
    }

    #[test]
    fn records_give_back_what_was_written() {
        let space = SpaceRecord {
            stand: Stand::Kept,
            dimensions: 384,
            next_id: 9,
            next_posting: 2,
            clustered: 7,
            clustered_next: 8,
            text_flush: 11,
            languages: vec!["de".to_owned(), "en".to_owned()],
        };
        let written = space.write();
        assert_eq!(SpaceRecord::read(&written).unwrap(), space);
        let older = SpaceRecord::read(&written[..written.len() - 4]).unwrap();
        assert_eq!((older.clustered, older.clustered_next), (7, 7));
        assert_eq!(older.languages, space.languages);
        for (byte, stand) in [(1, Stand::Forgotten), (2, Stand::BeingForgotten)] {
            let gone = SpaceRecord::of_gone(stand);
            assert_eq!(gone.write()[1], byte);
            assert_eq!(SpaceRecord::read(&gone.write()).unwrap(), gone);
        }
        let unit = UnitRecord {
            fence: 5,
            first_id: 3,
            chunks: 2,
            words: 40,
            model: ModelName::new("local", "m"),
        };
        assert_eq!(UnitRecord::read(&unit.write()).unwrap(), unit);
        let redo = Redo {
            removed: vec![key::read_space(&[1; 48]).unwrap()],
            changed: vec![Changed {
                space: key::read_space(&[2; 48]).unwrap(),
                since: 4,
                version: VersionId::from_uuid(Uuid::nil()),
                unit: Some(UnitName::new("u").unwrap()),
            }],
        };
        assert_eq!(Redo::read(&redo.write()).unwrap(), redo);
        let place = ChunkId {
            version: VersionId::from_uuid(Uuid::nil()),
            unit: UnitName::new("u").unwrap(),
            ordinal: 4,
        };
        let mut bytes = VectorRecord::write(6, &place, &[0.5, -1.0]);
        assert!(seal::is_whole(&bytes));
        let vector = VectorRecord::read(&bytes).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        assert!(
            !seal::is_whole(&bytes),
            "a changed record is known from a whole one"
        );
        assert_eq!(vector.place, place);
        assert_eq!((vector.number, &*vector.vector), (6, &[0.5, -1.0][..]));
    }
}
