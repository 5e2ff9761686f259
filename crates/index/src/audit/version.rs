//! One version's records, from its own down to each chunk's.

use std::collections::{BTreeMap, BTreeSet};

use model::{ChunkId, UnitName, VersionId};

use super::{Fault, SpaceAudit, VersionAudit, What};
use crate::Error;
use crate::place::StoredChunk;
use crate::slate::record::{ChunkRecord, State, UnitRecord, VersionRecord};
use crate::slate::store::{self, Rows};
use crate::slate::{key, seal};
use crate::text::rebuild::words_of;

pub fn is_forgotten(bytes: &[u8]) -> bool {
    VersionRecord::read(bytes).is_ok_and(|record| record.state == State::Forgotten)
}

/// What a unit's chunks come to.
#[derive(Default)]
struct Seen {
    chunks: u32,
    words: u64,
    ids: BTreeSet<u32>,
    ordinals: BTreeSet<u32>,
}

pub async fn audit(audit: &mut SpaceAudit, version: VersionId) -> Result<VersionAudit, Error> {
    let record = record(audit, version).await?;
    let mut found = VersionAudit {
        version,
        number: record.and_then(|record| record.number),
        sealed: record.is_some_and(|record| record.state == State::Sealed),
        chunks: Vec::new(),
        faults: Vec::new(),
    };
    let mut units = units(audit, version, &mut found.faults).await?;
    let seen = chunks(audit, version, &units, &mut found).await?;
    let held = !units.is_empty() || !seen.is_empty();
    let kept = record.is_some_and(|record| record.state != State::Forgotten);
    if held && (!kept || found.number.is_none()) {
        found
            .faults
            .push(Fault::of_version(version, What::NoVersion));
    }
    let at = (found.number.unwrap_or(u32::MAX), version);
    let (mut total, mut words) = (0, 0);
    for (unit, seen) in seen {
        (total, words) = (total + seen.chunks, words + seen.words);
        match units.remove(&unit) {
            None => found
                .faults
                .push(Fault::of_unit(version, &unit, What::NoUnit)),
            Some(Some(record)) => {
                compare(audit, at, (&unit, &record), &seen, &mut found.faults);
            }
            // Said when it was read.
            Some(None) => {}
        }
    }
    for (unit, record) in units {
        if let Some(record) = record {
            compare(
                audit,
                at,
                (&unit, &record),
                &Seen::default(),
                &mut found.faults,
            );
        }
    }
    let right = |record: VersionRecord| record.chunks == total && record.words == words;
    let gone = |what| found.faults.iter().any(|fault| fault.what == what);
    // A chunk that is gone is named; that the sum lacks it too is no second fault.
    let said = [
        What::NoChunk,
        What::ChunkChanged,
        What::UnitTotals,
        What::NoVersion,
    ]
    .into_iter()
    .any(gone);
    if !said && !record.is_none_or(right) {
        found
            .faults
            .push(Fault::of_version(version, What::VersionTotals));
    }
    Ok(found)
}

async fn record(audit: &SpaceAudit, version: VersionId) -> Result<Option<VersionRecord>, Error> {
    let key = key::of_version(key::VERSION, &audit.space, version);
    let bytes = store::get(audit.snapshot.db(), key).await?;
    Ok(bytes.and_then(|bytes| VersionRecord::read(&bytes).ok()))
}

/// Every unit's record; `None` for one that cannot be read.
async fn units(
    audit: &SpaceAudit,
    version: VersionId,
    faults: &mut Vec<Fault>,
) -> Result<Units, Error> {
    let mut units = BTreeMap::new();
    let prefix = key::of_version(key::UNIT, &audit.space, version);
    let mut rows = Rows::under(audit.snapshot.db(), &prefix).await?;
    while let Some((key, bytes)) = rows.next().await? {
        let Some(unit) = key::read_unit(&key) else {
            faults.push(Fault::of_version(version, What::NoUnit));
            continue;
        };
        let record = UnitRecord::read(&bytes).ok();
        if record.is_none() {
            faults.push(Fault::of_unit(version, &unit, What::UnitTotals));
        }
        units.insert(unit, record);
    }
    Ok(units)
}

type Units = BTreeMap<UnitName, Option<UnitRecord>>;

async fn chunks(
    audit: &mut SpaceAudit,
    version: VersionId,
    units: &Units,
    found: &mut VersionAudit,
) -> Result<BTreeMap<UnitName, Seen>, Error> {
    let mut seen: BTreeMap<UnitName, Seen> = BTreeMap::new();
    let prefix = key::of_version(key::CHUNK, &audit.space, version);
    let snapshot = audit.snapshot.clone();
    let mut rows = Rows::under(snapshot.db(), &prefix).await?;
    while let Some((key, bytes)) = rows.next().await? {
        let Some((unit, ordinal)) = key::read_unit(&key).zip(key::read_number(&key)) else {
            found
                .faults
                .push(Fault::of_version(version, What::ChunkChanged));
            continue;
        };
        let id = ChunkId {
            version,
            unit: unit.clone(),
            ordinal,
        };
        let mine = seen.entry(unit).or_default();
        mine.chunks += 1;
        mine.ordinals.insert(ordinal);
        let record = ChunkRecord::read(&bytes)
            .ok()
            .filter(|_| seal::is_whole(&bytes));
        match record {
            Some(record) => {
                let unit = units.get(&id.unit).and_then(Option::as_ref);
                let anothers = |unit: &UnitRecord| {
                    let (of, input) = (&audit.space, &record.input_hash);
                    audit.reuse.is_anothers(of, record.id, &unit.model, input)
                };
                if unit.is_some_and(anothers) {
                    let what = What::ReusedForAnother;
                    found.faults.push(Fault::of_chunk(&id, what));
                }
                chunk(audit, id, record, mine, found).await?;
            }
            None => found.faults.push(Fault::of_chunk(&id, What::ChunkChanged)),
        }
    }
    Ok(seen)
}

async fn chunk(
    audit: &mut SpaceAudit,
    id: ChunkId,
    record: ChunkRecord,
    seen: &mut Seen,
    found: &mut VersionAudit,
) -> Result<(), Error> {
    let number = found.number.unwrap_or(u32::MAX);
    let words = words_of(&record.chunk, record.language.as_deref());
    seen.words += words.len() as u64;
    seen.ids.insert(record.id);
    let vector = audit
        .vectors
        .take(&audit.snapshot, record.id, &id, number)
        .await?;
    let text = audit.texts.take(record.id, &id, number, &words);
    let wrong = [vector, text].into_iter().flatten();
    found
        .faults
        .extend(wrong.map(|what| Fault::of_chunk(&id, what)));
    found.chunks.push(StoredChunk {
        has_vector: vector.is_none(),
        has_text: text.is_none(),
        id,
        number,
        chunk: record.chunk,
    });
    Ok(())
}

/// A unit's record against its chunks, which are numbered from zero on and have ids in a row.
/// What is left of a chunk that is gone, or cannot be read, is that chunk's.
fn compare(
    audit: &mut SpaceAudit,
    (number, version): (u32, VersionId),
    (unit, record): (&UnitName, &UnitRecord),
    seen: &Seen,
    faults: &mut Vec<Fault>,
) {
    let end = record.first_id.checked_add(record.chunks);
    let plausible = end.is_some_and(|end| end <= audit.vectors.next_id());
    let mut gone = 0;
    for ordinal in (0..record.chunks).take_while(|_| plausible) {
        let id = record.first_id + ordinal;
        if seen.ids.contains(&id) {
            continue;
        }
        let chunk = ChunkId {
            version,
            unit: unit.clone(),
            ordinal,
        };
        if audit.vectors.take_orphan(id, &chunk, number) {
            audit.texts.take_orphan(id);
            if !seen.ordinals.contains(&ordinal) {
                faults.push(Fault::of_chunk(&chunk, What::NoChunk));
                gone += 1;
            }
        }
    }
    let changed = faults
        .iter()
        .any(|fault| fault.unit.as_ref() == Some(unit) && fault.what == What::ChunkChanged);
    let whole = gone == 0 && !changed;
    let counted = seen.chunks + gone == record.chunks;
    let placed = seen
        .ids
        .first()
        .is_none_or(|first| *first == record.first_id);
    if !counted || (whole && (seen.words != record.words || !placed)) {
        faults.push(Fault::of_unit(version, unit, What::UnitTotals));
    }
}
