//! What the index holds of a finished version, against what the ledger recorded.

use catalog::{Served, VersionFile};
use index::{Fault, Space, VersionAudit};
use model::{ChunkId, ContentHash};

use super::{Disagreement, Remedy};

pub fn check(
    served: &[Served],
    version: &VersionFile,
    space: Space,
    audited: &VersionAudit,
) -> Vec<Disagreement> {
    let name = |what, chunk, remedy| Disagreement {
        chunk,
        ..Disagreement::of_version(version.id, what, remedy)
    };
    let rework = Remedy::Rework(version.id);
    let of_fault = |fault: &Fault| {
        let remedy = match fault.what.is_of_text() {
            true => Remedy::Text(space),
            false => rework,
        };
        name(fault.what.as_str(), chunk_of(fault), remedy)
    };
    let mut found: Vec<_> = audited.faults.iter().map(of_fault).collect();
    if !found.is_empty() {
        return found;
    }
    let root = root_of(audited);
    if Some(root) != recorded(served, version) {
        found.push(name(
            "the chunks are not those the ledger recorded",
            None,
            rework,
        ));
    }
    if audited
        .number
        .is_some_and(|number| number != version.number)
    {
        found.push(name("the index has it under another number", None, rework));
    }
    if !audited.sealed {
        found.push(name("the index would let it be changed", None, rework));
    }
    found
}

/// What the chunks must come to: by the ledger, or by the catalog where that tells nothing.
fn recorded(served: &[Served], version: &VersionFile) -> Option<ContentHash> {
    let served = served.iter().rev().find(|one| one.version == version.id);
    match served {
        Some(one) => one.root_hash,
        None => version.root_hash,
    }
}

pub fn root_of(audited: &VersionAudit) -> ContentHash {
    let places = audited
        .chunks
        .iter()
        .map(|s| (s.id.unit.clone(), s.id.ordinal, s.chunk.text_hash()));
    pipeline::link::root_hash(places)
}

/// The chunk a fault is at, or as near as it tells.
pub fn chunk_of(fault: &Fault) -> Option<String> {
    let (version, unit) = (fault.version?, fault.unit.clone()?);
    match fault.ordinal {
        Some(ordinal) => {
            let id = ChunkId {
                version,
                unit,
                ordinal,
            };
            Some(id.to_string())
        }
        None => Some(format!("{version}:{unit}")),
    }
}
