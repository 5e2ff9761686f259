//! Where each record lies. Integers are big-endian, so keys sort by number.
//!
//! ```text
//! 01                                              what the store is: format, last flush
//! 02 | flush 8                                    redo: units whose text this flush changed
//! 03                                              nothing, ever: deleted to have something to write
//! 04                                              there while every text is as a process left it that came to its end
//! 10 | space 48 | version 16                      version: number, state, totals
//! 11 | space 48 | version 16 | unit | 00          unit: fence, ids, totals
//! 12 | space 48 | version 16 | unit | 00 | ord 4  chunk: text and place
//! 20 | space 48                                   space: dimensions, next ids, languages
//! 21 | space 48 | id 4                            vector, and the place of its chunk
//! 22 | space 48                                   ids no longer valid, as a bitmap
//! 23 | space 48 | posting 4                       centroid of a posting
//! 24 | space 48 | posting 4                       how many entries a posting has
//! 25 | space 48 | posting 4                       entries of a posting, appended by merge
//! 26 | space 48                                   numbers of versions in cold postings, as a bitmap
//! 30 | tenant 16 | model | 00 | input 32 | space 48 | id 4    a vector to reuse; 01 if it was itself
//!
//! space = tenant 16 | kb 16 | generation 16
//! ```
//!
//! A space is one contiguous range of each kind, a knowledge base and a tenant
//! too. Unit and model names hold no zero byte, so a zero ends them and keeps
//! their order.

use model::{ContentHash, GenerationId, KbId, ModelName, TenantId, UnitName, VersionId};
use uuid::Uuid;

use crate::place::{Scope, Space};

pub const META: &[u8] = &[0x01];
pub const REDO: u8 = 0x02;
pub const NOTHING: &[u8] = &[0x03];
pub const WHOLE: &[u8] = &[0x04];
pub const VERSION: u8 = 0x10;
pub const UNIT: u8 = 0x11;
pub const CHUNK: u8 = 0x12;
pub const SPACE: u8 = 0x20;
pub const VECTOR: u8 = 0x21;
pub const DELETED: u8 = 0x22;
pub const CENTROID: u8 = 0x23;
pub const COUNT: u8 = 0x24;
pub const POSTING: u8 = 0x25;
pub const COLD: u8 = 0x26;
pub const REUSE: u8 = 0x30;

/// Every kind that lies under a space, but for what says what the space is.
pub const OF_SPACE: [u8; 9] = [
    VERSION, UNIT, CHUNK, VECTOR, DELETED, CENTROID, COUNT, POSTING, COLD,
];

const SPACE_BYTES: usize = 48;

pub fn redo(flush: u64) -> Vec<u8> {
    [&[REDO], &flush.to_be_bytes()[..]].concat()
}

pub fn of_space(kind: u8, space: &Space) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + SPACE_BYTES + 64);
    key.push(kind);
    push_space(&mut key, space);
    key
}

/// The prefix of a kind under a whole knowledge base or one generation.
pub fn of_scope(kind: u8, scope: &Scope) -> Vec<u8> {
    match scope {
        Scope::Generation(space) => of_space(kind, space),
        Scope::Kb { tenant, kb } => {
            let mut key = vec![kind];
            key.extend_from_slice(tenant.as_uuid().as_bytes());
            key.extend_from_slice(kb.as_uuid().as_bytes());
            key
        }
    }
}

pub fn of_version(kind: u8, space: &Space, version: VersionId) -> Vec<u8> {
    let mut key = of_space(kind, space);
    key.extend_from_slice(version.as_uuid().as_bytes());
    key
}

pub fn of_unit(kind: u8, space: &Space, version: VersionId, unit: &UnitName) -> Vec<u8> {
    let mut key = of_version(kind, space, version);
    key.extend_from_slice(unit.as_str().as_bytes());
    key.push(0);
    key
}

pub fn chunk(space: &Space, version: VersionId, unit: &UnitName, ordinal: u32) -> Vec<u8> {
    let mut key = of_unit(CHUNK, space, version, unit);
    key.extend_from_slice(&ordinal.to_be_bytes());
    key
}

/// A vector by its id, or a posting by its number.
pub fn numbered(kind: u8, space: &Space, number: u32) -> Vec<u8> {
    let mut key = of_space(kind, space);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// What stands under a [`reuse`] key.
pub fn reused(itself: bool) -> &'static [u8] {
    if itself { &[1] } else { &[] }
}

/// All that a tenant may reuse.
pub fn reuse_in(tenant: TenantId) -> Vec<u8> {
    [&[REUSE], &tenant.as_uuid().as_bytes()[..]].concat()
}

pub fn reuse_of(tenant: TenantId, model: &ModelName, input: &ContentHash) -> Vec<u8> {
    let mut key = reuse_in(tenant);
    key.extend_from_slice(model.as_str().as_bytes());
    key.push(0);
    key.extend_from_slice(input.as_bytes());
    key
}

pub fn reuse(space: &Space, model: &ModelName, input: &ContentHash, id: u32) -> Vec<u8> {
    let mut key = reuse_of(space.tenant, model, input);
    push_space(&mut key, space);
    key.extend_from_slice(&id.to_be_bytes());
    key
}

fn push_space(key: &mut Vec<u8>, space: &Space) {
    key.extend_from_slice(space.tenant.as_uuid().as_bytes());
    key.extend_from_slice(space.kb.as_uuid().as_bytes());
    key.extend_from_slice(space.generation.as_uuid().as_bytes());
}

fn uuid_at(bytes: &[u8], at: usize) -> Option<Uuid> {
    Uuid::from_slice(bytes.get(at..at + 16)?).ok()
}

pub fn read_space(bytes: &[u8]) -> Option<Space> {
    Some(Space {
        tenant: TenantId::from_uuid(uuid_at(bytes, 0)?),
        kb: KbId::from_uuid(uuid_at(bytes, 16)?),
        generation: GenerationId::from_uuid(uuid_at(bytes, 32)?),
    })
}

/// Reads `space | version` from behind the kind.
pub fn read_version(key: &[u8]) -> Option<(Space, VersionId)> {
    let space = read_space(key.get(1..)?)?;
    let version = VersionId::from_uuid(uuid_at(key, 1 + SPACE_BYTES)?);
    Some((space, version))
}

/// Reads the unit's name from a unit's or chunk's key.
pub fn read_unit(key: &[u8]) -> Option<UnitName> {
    let rest = key.get(1 + SPACE_BYTES + 16..)?;
    let end = rest.iter().position(|b| *b == 0)?;
    UnitName::new(std::str::from_utf8(&rest[..end]).ok()?).ok()
}

/// Reads the last four bytes: an ordinal, an id, a posting.
pub fn read_number(key: &[u8]) -> Option<u32> {
    let (_, last) = key.split_last_chunk::<4>()?;
    Some(u32::from_be_bytes(*last))
}

/// What a reuse key leads from: `tenant | model | 00 | input`.
pub fn reuse_source(key: &[u8]) -> &[u8] {
    let end = key.len().saturating_sub(SPACE_BYTES + 4);
    key.get(1..end).unwrap_or_default()
}

/// Reads `space | id` from the end of a reuse key.
pub fn read_reuse(key: &[u8]) -> Option<(Space, u32)> {
    let at = key.len().checked_sub(SPACE_BYTES + 4)?;
    Some((read_space(&key[at..])?, read_number(key)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        Space {
            tenant: TenantId::from_uuid(Uuid::from_bytes([0xaa; 16])),
            kb: KbId::from_uuid(Uuid::from_bytes([0xbb; 16])),
            generation: GenerationId::from_uuid(Uuid::from_bytes([0xcc; 16])),
        }
    }

    fn spell(key: &[u8]) -> String {
        let text: String = key.iter().map(|b| format!("{b:02x}")).collect();
        let run = |byte: &str, name: &str, text: String| text.replace(&byte.repeat(16), name);
        let text = run("aa", "T", text);
        let text = run("bb", "K", text);
        let text = run("cc", "G", text);
        run("dd", "V", text)
    }

    #[test]
    fn key_bytes_do_not_move() {
        let version = VersionId::from_uuid(Uuid::from_bytes([0xdd; 16]));
        let unit = UnitName::new("u1").unwrap();
        let model = ModelName::new("local", "m");
        let input = ContentHash::from_bytes([0xee; 32]);
        assert_eq!(spell(META), "01");
        assert_eq!(spell(&redo(258)), "020000000000000102");
        assert_eq!(spell(WHOLE), "04");
        assert_eq!(spell(&of_version(VERSION, &space(), version)), "10TKGV");
        assert_eq!(
            spell(&of_unit(UNIT, &space(), version, &unit)),
            "11TKGV753100"
        );
        assert_eq!(
            spell(&chunk(&space(), version, &unit, 3)),
            "12TKGV75310000000003"
        );
        assert_eq!(spell(&of_space(SPACE, &space())), "20TKG");
        assert_eq!(spell(&numbered(VECTOR, &space(), 9)), "21TKG00000009");
        assert_eq!(spell(&of_space(DELETED, &space())), "22TKG");
        assert_eq!(spell(&numbered(CENTROID, &space(), 1)), "23TKG00000001");
        assert_eq!(spell(&numbered(COUNT, &space(), 1)), "24TKG00000001");
        assert_eq!(spell(&numbered(POSTING, &space(), 1)), "25TKG00000001");
        assert_eq!(spell(&of_space(COLD, &space())), "26TKG");
        assert_eq!(
            spell(&reuse(&space(), &model, &input, 7)),
            format!("30T6c6f63616c3a6d00{}TKG00000007", "ee".repeat(32))
        );
    }

    #[test]
    fn a_key_gives_back_what_it_was_made_of() {
        let version = VersionId::from_uuid(Uuid::from_bytes([0xdd; 16]));
        let unit = UnitName::new("a.b~c").unwrap();
        let key = chunk(&space(), version, &unit, 77);
        assert_eq!(read_version(&key), Some((space(), version)));
        assert_eq!(read_unit(&key), Some(unit));
        assert_eq!(read_number(&key), Some(77));
        let model = ModelName::new("local", "m");
        let reused = reuse(&space(), &model, &ContentHash::of(b"x"), 5);
        assert_eq!(read_reuse(&reused), Some((space(), 5)));
    }
}
