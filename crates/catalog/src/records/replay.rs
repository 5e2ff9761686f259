//! What must have answered when, by the ledger alone.

use chrono::{DateTime, Utc};
use model::{ContentHash, GenerationId, UserId, VersionId};

use super::{ActivationCause, LedgerEntry, LedgerKind};

/// A version serving, as the ledger tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    pub version: VersionId,
    pub generation: GenerationId,
    pub content_hash: Option<ContentHash>,
    pub root_hash: Option<ContentHash>,
    pub cause: ActivationCause,
    pub by: Option<UserId>,
    pub opened_at: DateTime<Utc>,
    pub closed_at: Option<DateTime<Utc>>,
    /// Which of the list it took over from.
    pub replaced: Option<usize>,
    /// Taken out of history with its version.
    gone: bool,
}

/// Every activation the entries stand for, oldest first. The same steps the catalog takes:
/// none is closed before it was opened or opened before the last was closed, and what a removed
/// version had replaced serves on.
pub fn replay(ledger: &[LedgerEntry]) -> Vec<Served> {
    let mut served: Vec<Served> = Vec::new();
    for entry in ledger {
        match entry.kind {
            LedgerKind::Activated => open(&mut served, entry, ActivationCause::Run),
            LedgerKind::RolledBack => open(&mut served, entry, ActivationCause::Rollback),
            LedgerKind::Deactivated => close_all(&mut served, entry.at),
            LedgerKind::Reinstated => reinstate(&mut served, entry),
            LedgerKind::Removed => take_back(&mut served, entry.version),
            LedgerKind::Purged => served.iter_mut().for_each(|one| one.gone = true),
            LedgerKind::Repaired => restate(&mut served, entry),
        }
    }
    without_gone(served)
}

/// What was taken out is replaced by nobody, so only the places move.
fn without_gone(served: Vec<Served>) -> Vec<Served> {
    let mut kept = 0;
    let mut place = Vec::with_capacity(served.len());
    for one in &served {
        place.push(kept);
        kept += usize::from(!one.gone);
    }
    let moved = |one: Served| Served {
        replaced: one.replaced.map(|at| place[at]),
        ..one
    };
    let stays = served.into_iter().filter(|one| !one.gone);
    stays.map(moved).collect()
}

fn open(served: &mut Vec<Served>, entry: &LedgerEntry, cause: ActivationCause) {
    let (Some(version), Some(generation)) = (entry.version, entry.generation) else {
        return;
    };
    let is_open =
        |one: &Served| !one.gone && one.closed_at.is_none() && one.generation == generation;
    let replaced = served.iter().position(is_open);
    if let Some(before) = replaced {
        served[before].closed_at = Some(entry.at.max(served[before].opened_at));
    }
    let stays = |one: &&Served| !one.gone && one.generation == generation;
    let closed = served.iter().filter(stays).filter_map(|one| one.closed_at);
    let opened_at = closed.fold(entry.at, Ord::max);
    served.push(Served {
        version,
        generation,
        content_hash: entry.content_hash,
        root_hash: entry.root_hash,
        cause,
        by: entry.by,
        opened_at,
        closed_at: None,
        replaced,
        gone: false,
    });
}

fn close_all(served: &mut [Served], at: DateTime<Utc>) {
    let open = served
        .iter_mut()
        .filter(|one| !one.gone && one.closed_at.is_none());
    open.for_each(|one| one.closed_at = Some(at.max(one.opened_at)));
}

/// What a removal ended at that time serves on: to whatever came next, which has then replaced
/// it, or to this day.
fn reinstate(served: &mut [Served], entry: &LedgerEntry) {
    let is_replaced = |at: usize| {
        let by = |later: &Served| !later.gone && later.replaced == Some(at);
        served.iter().any(by)
    };
    let ended = |(at, one): (usize, &Served)| {
        let same = Some(one.version) == entry.version && Some(one.generation) == entry.generation;
        let ended = !one.gone && one.closed_at == Some(entry.at);
        same && ended && !is_replaced(at)
    };
    let Some(at) = served.iter().enumerate().position(ended) else {
        return;
    };
    let generation = served[at].generation;
    let follows = |(later, one): &(usize, &mut Served)| {
        let free = *later != at && !one.gone && one.replaced.is_none();
        free && one.generation == generation && one.opened_at >= entry.at
    };
    let later = served.iter_mut().enumerate().filter(follows);
    let next = later.min_by_key(|(later, one)| (one.opened_at, *later));
    let until = next.map(|(_, next)| {
        next.replaced = Some(at);
        next.opened_at
    });
    served[at].closed_at = until;
}

/// Newest first, as the catalog does: each hands its end to what it had replaced.
fn take_back(served: &mut [Served], version: Option<VersionId>) {
    for at in (0..served.len()).rev() {
        if served[at].gone || Some(served[at].version) != version {
            continue;
        }
        let (before, closed_at) = (served[at].replaced, served[at].closed_at);
        served[at].gone = true;
        for later in served.iter_mut().filter(|one| one.replaced == Some(at)) {
            later.replaced = before;
        }
        if let Some(before) = before {
            served[before].closed_at = closed_at;
        }
    }
}

/// The version was cut anew, into other chunks than before.
fn restate(served: &mut [Served], entry: &LedgerEntry) {
    let mine = served
        .iter_mut()
        .filter(|one| Some(one.version) == entry.version);
    mine.for_each(|one| one.root_hash = entry.root_hash);
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use model::DocumentId;
    use uuid::Uuid;

    use super::*;

    fn id(n: u128) -> VersionId {
        VersionId::from_uuid(Uuid::from_u128(n))
    }

    fn entry(at: i64, kind: LedgerKind, version: u128) -> LedgerEntry {
        LedgerEntry {
            document: DocumentId::from_uuid(Uuid::nil()),
            seq: 1,
            kind,
            version: Some(id(version)),
            generation: Some(GenerationId::from_uuid(Uuid::nil())),
            content_hash: None,
            root_hash: None,
            at: DateTime::UNIX_EPOCH + TimeDelta::seconds(at),
            by: None,
            prev: None,
            hash: ContentHash::from_bytes([0; 32]),
        }
    }

    fn told(entries: &[LedgerEntry]) -> Vec<(VersionId, bool)> {
        let open = |one: &Served| (one.version, one.closed_at.is_none());
        replay(entries).iter().map(open).collect()
    }

    #[test]
    fn what_a_removed_version_had_replaced_serves_on() {
        use LedgerKind::{Activated, Deactivated, Removed};
        let two = [entry(1, Activated, 1), entry(2, Activated, 2)];
        assert_eq!(told(&two), [(id(1), false), (id(2), true)]);
        let removed = [&two[..], &[entry(3, Removed, 2)]].concat();
        assert_eq!(told(&removed), [(id(1), true)]);
        let closed = [&two[..], &[entry(3, Deactivated, 0), entry(4, Removed, 2)]].concat();
        assert_eq!(told(&closed), [(id(1), false)]);
    }

    #[test]
    fn a_removal_that_was_taken_back_was_none() {
        use LedgerKind::{Activated, Deactivated, Reinstated, Removed};
        let gone = [entry(1, Activated, 1), entry(2, Deactivated, 0)];
        let back = [&gone[..], &[entry(2, Reinstated, 1)]].concat();
        assert_eq!(told(&back), [(id(1), true)]);
        let returned = [&gone[..], &[entry(3, Activated, 2)]].concat();
        assert_eq!(replay(&returned)[1].replaced, None);
        let back = [&returned[..], &[entry(2, Reinstated, 1)]].concat();
        let served = replay(&back);
        assert_eq!(served[0].closed_at, Some(served[1].opened_at));
        assert_eq!(served[1].replaced, Some(0));
        let removed = [&back[..], &[entry(4, Removed, 2)]].concat();
        assert_eq!(told(&removed), [(id(1), true)]);
    }

    #[test]
    fn a_version_removed_from_the_middle_leaves_its_neighbours_joined() {
        use LedgerKind::{Activated, Purged, Removed};
        let three: Vec<_> = (1..=3).map(|n| entry(n, Activated, n as u128)).collect();
        let removed = [&three[..], &[entry(4, Removed, 2)]].concat();
        let served = replay(&removed);
        assert_eq!(served[0].closed_at, Some(served[1].opened_at));
        assert_eq!(served[1].replaced, Some(0));
        assert!(told(&[&three[..], &[entry(4, Purged, 0)]].concat()).is_empty());
    }
}
