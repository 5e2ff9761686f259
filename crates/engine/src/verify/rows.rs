//! A document's rows in the catalog, against its ledger and each other.

use std::collections::BTreeSet;

use catalog::{
    ActivationCause, ActivationFile, Dossier, LedgerEntry, LedgerKind, Renamed, RunFile, Served,
    UnitState, VersionFile, VersionState, metadata_pairs, replay,
};
use model::{ContentHash, RunStatus, VersionId};

use super::{Disagreement, Remedy, under_way, witness};

const LEDGER: Remedy =
    Remedy::Nothing("the ledger is the witness: nothing that is stored can take its place");

pub fn check(dossier: &Dossier) -> Vec<Disagreement> {
    let mut found = Findings(Vec::new());
    for table in &dossier.unreadable {
        let remedy = match *table {
            "documents" => Remedy::Document,
            _ => Remedy::Nothing("restore a backup"),
        };
        found.say(None, unreadable(table), remedy);
    }
    for one in &dossier.renamed {
        let (version, what) = match one {
            Renamed::Version { was, .. } => {
                (Some(*was), "its row among the versions goes by another id")
            }
            Renamed::Run { .. } => (None, "a run of it goes by another id"),
        };
        found.say(version, what, Remedy::Renamed(*one));
    }
    found.0.extend(witness::runs(dossier));
    if dossier.ledger_astray > 0 {
        let what = "an entry of its ledger says it is another tenant's";
        found.say(None, what, Remedy::LedgerOwner);
    }
    let Told {
        served,
        against,
        end,
    } = match told(dossier) {
        Ok(told) => told,
        // What it tells cannot be held against anything.
        Err(what) => {
            found.say(None, what, LEDGER);
            versions(dossier, None, &mut found);
            return found.0;
        }
    };
    if end != End::AsKnown {
        let what = "its row knows another end of the ledger";
        found.say(None, what, Remedy::Document);
    }
    head(dossier, &served, &mut found);
    let noted = witness::document(dossier);
    // Where a note of it stands, that tells what the ledger can only bound.
    if noted.is_empty() {
        removal(dossier, &mut found);
    }
    found.0.extend(noted);
    found.0.extend(against.0);
    found.0
}

/// The end of a ledger, beside what the document's row knows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Also where there is no such row.
    AsKnown,
    /// It is there, and the sum of it was changed.
    Unsummed,
    /// The row does not know it as it was written down.
    Changed,
    /// What was written down last is not there.
    Lost,
    /// One of both, and nothing tells which.
    Untold,
}

/// A chain does not show that its end is gone; the document's row does, where there is one.
fn end(dossier: &Dossier) -> End {
    let Some(head) = &dossier.head else {
        return End::AsKnown;
    };
    let last = dossier.ledger.last();
    // One that came back under an id it was promised has nothing in its ledger yet.
    let ended =
        |entry: &LedgerEntry| matches!(entry.kind, LedgerKind::Purged | LedgerKind::Removed);
    let is_there = match head.ledger_head {
        None => last.is_none_or(ended),
        Some(known) => last.is_some_and(|entry| entry.hash == known),
    };
    match (is_there, head.end_stands(dossier.document)) {
        (true, Some(false)) if head.ledger_head.is_some() => End::Unsummed,
        (true, Some(true) | None) => End::AsKnown,
        (_, Some(false)) => End::Changed,
        (false, Some(true)) => End::Lost,
        (false, None) if head.ledger_head.is_none() => End::Changed,
        (false, None) => End::Untold,
    }
}

struct Findings(Vec<Disagreement>);

impl Findings {
    fn say(&mut self, version: Option<VersionId>, what: &'static str, remedy: Remedy) {
        self.0.push(Disagreement {
            version_id: version,
            ..Disagreement::new(what, remedy)
        });
    }
}

/// A row of which nobody can tell what it is of.
pub fn nameless(table: &'static str) -> Disagreement {
    let what = match table {
        "documents" => "a row among the documents has no id, or is nobody's",
        "document_versions" => "a row among the versions has no id, or is nobody's",
        "activations" => "a row among the activations is of nothing there could be",
        "ledger" => "an entry of the ledger is of no document there could be",
        "ingestion_runs" => "a row among the runs has no id, or is nobody's",
        "jobs" => "a row among the jobs has no id, or is nobody's",
        "generations" | "knowledge_bases" => {
            "a row among the knowledge bases or their generations has no id, or is nobody's"
        }
        "work" => "a row of the queue is of nothing there could be",
        "job_versions" | "job_removals" => "a claim of a job is of nothing there could be",
        "witnesses" | "version_witnesses" | "run_witnesses" | "job_witnesses" => {
            "a note is of nothing there could be"
        }
        _ => "a row of a version is of nothing there could be",
    };
    Disagreement::new(what, Remedy::Nothing("restore a backup"))
}

fn unreadable(table: &str) -> &'static str {
    match table {
        "documents" => "its row among the documents cannot be read",
        "document_versions" => "a row of its versions cannot be read",
        "activations" => "a row of its activations cannot be read",
        "ledger" => "an entry of its ledger cannot be read",
        "ingestion_runs" => "a row of its runs cannot be read",
        _ => "a row of a version cannot be read",
    }
}

/// What the ledger says answered; nothing where it lacks an entry or has one that was changed.
pub fn recorded(dossier: &Dossier) -> Vec<Served> {
    told(dossier).map_or_else(|_| Vec::new(), |told| told.served)
}

/// What a ledger tells.
struct Told {
    served: Vec<Served>,
    /// What of the other rows does not agree with that.
    against: Findings,
    end: End,
}

/// Of a ledger that lost something, what it lost. Where its end is gone the document's row knows
/// another, or the other rows know of more: what is left tells only a part.
fn told(dossier: &Dossier) -> Result<Told, &'static str> {
    if let Some(what) = broken_chain(&dossier.ledger) {
        return Err(what);
    }
    let served = replay(&dossier.ledger);
    let mut against = Findings(Vec::new());
    activations(dossier, &served, &mut against);
    versions(dossier, Some(&served), &mut against);
    let end = end(dossier);
    if end == End::Lost || !against.0.is_empty() && !matches!(end, End::AsKnown | End::Unsummed) {
        return Err("the ledger lacks its last entries");
    }
    if end == End::Untold {
        return Err("the ledger lacks its last entries, or its row knows another end of it");
    }
    Ok(Told {
        served,
        against,
        end,
    })
}

fn broken_chain(entries: &[LedgerEntry]) -> Option<&'static str> {
    let mut before: Option<ContentHash> = None;
    for (at, entry) in entries.iter().enumerate() {
        if entry.seq != at as u64 + 1 {
            return Some("the ledger lacks an entry");
        }
        if entry.prev != before {
            return Some("the ledger's chain is broken");
        }
        if entry.hash != entry.computed_hash() {
            return Some("an entry of the ledger was changed");
        }
        before = Some(entry.hash);
    }
    None
}

fn head(dossier: &Dossier, served: &[Served], found: &mut Findings) {
    let Some(head) = &dossier.head else {
        let is_there = dossier.unreadable.contains(&"documents");
        let versions = !dossier.versions.is_empty() || !dossier.lost().is_empty();
        if !is_there && (versions || !served.is_empty()) {
            let (what, remedy) = match dossier.successor {
                None => ("its row among the documents is gone", Remedy::Document),
                Some(other) => (
                    "its row among the documents is gone, and another has come in its place",
                    Remedy::Reunion(other),
                ),
            };
            found.say(None, what, remedy);
        }
        return;
    };
    let called = dossier.source_uri();
    if called.as_ref() != Some(&head.source_uri) {
        found.say(
            None,
            "its runs know it by another address",
            Remedy::Document,
        );
    }
    if dossier.kb() != Some(head.kb) {
        let what = "its row puts it into another knowledge base";
        found.say(None, what, Remedy::Document);
    }
    for run in dossier
        .runs
        .iter()
        .filter(|run| Some(&run.source_uri) != called.as_ref())
    {
        let what = "a run of it has another address";
        found.say(Some(run.version), what, Remedy::Run(run.version));
    }
    let newest = dossier.versions.iter().max_by_key(|version| version.number);
    let gone = |id: VersionId| {
        let is_there = dossier.version(id).is_some() || dossier.is_renamed(id);
        !is_there && !dossier.unread.contains(&id)
    };
    if head.latest.map_or(newest.is_some(), gone) {
        found.say(None, "its newest version is not there", Remedy::Document);
    } else if head.latest.is_some_and(|id| dossier.is_outdated(id)) {
        let what = "its row calls another version its newest than has come last";
        found.say(None, what, Remedy::Document);
    }
}

/// Whether its row knows it as removed: as the ledger tells, and as what answers allows.
fn removal(dossier: &Dossier, found: &mut Findings) {
    let known = dossier.facts.as_ref();
    let at = known.and_then(|facts| facts.removed_at);
    // Removed again while nothing answered, it is known to be so since later.
    let told = dossier.removal_told();
    if dossier.head.is_some() && told.is_some() && at < told {
        let what = "the ledger says it was removed, and its row does not";
        found.say(None, what, Remedy::Removal);
    }
    let ordered = known.is_some_and(|facts| facts.removed_order.is_some());
    let Some(removed) = at.filter(|_| !ordered) else {
        return;
    };
    let overtaken = |row: &&ActivationFile| {
        let version = dossier.version(row.version);
        row.closed_at.is_none()
            && row.cause == ActivationCause::Run
            && version.is_some_and(|version| version.created_at <= removed)
    };
    if let Some(row) = dossier.activations.iter().find(overtaken) {
        let what = "it answers, and its row says it was removed since";
        found.say(Some(row.version), what, Remedy::Removal);
    }
}

/// Which version answered when: as the ledger tells it, and as its version stands.
fn activations(dossier: &Dossier, served: &[Served], found: &mut Findings) {
    let rows = &dossier.activations;
    let same = |row: &ActivationFile, one: &Served| {
        row.version == one.version
            && row.generation == one.generation
            && row.opened_at == one.opened_at
            && row.closed_at == one.closed_at
            && row.cause == one.cause
            && row.by == one.by
    };
    let mut left: Vec<&ActivationFile> = rows.iter().collect();
    let mut stand_for = Vec::with_capacity(served.len());
    for one in served {
        let at = left.iter().position(|row| same(row, one));
        stand_for.push(at.map(|at| left.remove(at)));
        match at {
            Some(_) => {}
            None => {
                let what = "the ledger says when it answered, and the catalog does not";
                found.say(Some(one.version), what, Remedy::Activations);
            }
        }
    }
    for (one, row) in served.iter().zip(&stand_for) {
        let Some(row) = row else { continue };
        let before = one.replaced.and_then(|at| stand_for[at]);
        // What it replaced may be missing, and is named for that.
        let lost = one.replaced.is_some() && before.is_none();
        if !lost && row.replaced != before.map(|before| before.id) {
            let what = "it took over from another than the ledger says";
            found.say(Some(row.version), what, Remedy::Activations);
        }
    }
    for row in left {
        let what = "it answers, and the ledger does not say so";
        // With nothing in the ledger at all, it is the ledger that lost something.
        let remedy = if dossier.ledger.is_empty() && !dossier.is_of_strays() {
            LEDGER
        } else {
            Remedy::Activations
        };
        found.say(Some(row.version), what, remedy);
    }
    for row in rows {
        let stands = dossier.version(row.version).is_none_or(|version| {
            row.number == version.number
                && Some(row.kb) == dossier.kb()
                && row.chunks == version.chunks
                && Some(row.needs_flush) == version.needs_flush
        });
        if !stands {
            let what = "it answers with something else than its version holds";
            found.say(Some(row.version), what, Remedy::Activations);
        }
    }
}

const UNREAD: &str = "its row among the versions cannot be read";

fn versions(dossier: &Dossier, served: Option<&[Served]>, found: &mut Findings) {
    let mut recorded: Vec<&Served> = served.into_iter().flatten().collect();
    recorded.dedup_by_key(|one| one.version);
    let mut missing = BTreeSet::new();
    for one in &recorded {
        if dossier.is_renamed(one.version) {
            continue;
        }
        if dossier.version(one.version).is_none() && missing.insert(one.version) {
            let what = match dossier.unread.contains(&one.version) {
                true => UNREAD,
                false => "its row among the versions is gone",
            };
            found.say(Some(one.version), what, Remedy::Version(one.version));
        }
    }
    // These never answered, so only their runs tell of them.
    for id in dossier.lost().difference(&missing) {
        let what = "its row among the versions is gone";
        found.say(Some(*id), what, Remedy::Version(*id));
    }
    // Of these the ledger does not tell how they stand, and nothing of that is written over.
    for id in dossier.unread.iter().filter(|id| !missing.contains(id)) {
        found.say(Some(*id), UNREAD, Remedy::Witnessed(*id));
    }
    for version in &dossier.versions {
        let told = recorded.iter().rev().find(|one| one.version == version.id);
        version_row(dossier, version, told.copied(), found);
        // Of what is under way nothing is noted yet.
        if !dossier.is_under_way(version) {
            found.0.extend(witness::check(version));
        } else if version.facts.is_none() {
            let what = "it is under way, and what its row says cannot be read";
            found.say(Some(version.id), what, Remedy::UnderWay(version.id));
        }
    }
}

fn version_row(
    dossier: &Dossier,
    version: &VersionFile,
    told: Option<&Served>,
    found: &mut Findings,
) {
    let id = Some(version.id);
    let run = dossier.runs.iter().find(|run| run.id == version.run);
    let under_way = dossier.is_under_way(version);
    let finished = version.is_finished() && !under_way;
    if under_way {
        found.0.extend(under_way::check(dossier, version));
    }
    let mut wrong = |what, remedy| found.say(id, what, remedy);
    if Some(version.kb) != dossier.kb() {
        let what = "its version is in another knowledge base";
        wrong(what, Remedy::Version(version.id));
    }
    match run {
        // Named for what it is.
        None if under_way && dossier.renamed_live_run(version).is_some() => {}
        None if dossier.run_of(version.id).is_some() => {
            wrong(
                "it says another run brought it",
                Remedy::Version(version.id),
            );
        }
        None if under_way => {}
        None => wrong("its run is gone", Remedy::Run(version.id)),
        Some(run)
            if run.version != version.id
                || Some(run.kb) != dossier.kb()
                || told.is_some_and(|told| told.generation != run.generation) =>
        {
            wrong("its run is of something else", Remedy::Run(version.id));
        }
        Some(run) if run.content_hash != version.content_hash => {
            // The ledger says which of the two is right, or what was noted of the run.
            let is_right = match told {
                Some(told) => told.content_hash == Some(version.content_hash),
                None => dossier.contents_of(version.id) == [version.content_hash],
            };
            let remedy = if is_right {
                Remedy::Run(version.id)
            } else {
                Remedy::Version(version.id)
            };
            wrong("its run brought other bytes", remedy);
        }
        Some(run) if finished && run.status != RunStatus::Succeeded => {
            wrong(
                "it is finished, and its run says otherwise",
                Remedy::Run(version.id),
            );
        }
        Some(run) if finished && run.superseded != (version.state == VersionState::Superseded) => {
            let what = "its run does not say whether it was overtaken";
            wrong(what, Remedy::Run(version.id));
        }
        Some(run) if run.unclaimed.is_some() && version.state != VersionState::Canceled => {
            let what = "the job that brought it does not know of it";
            wrong(what, Remedy::Claim(version.id));
        }
        Some(_) => {}
    }
    // Only while its run lives: what has ended needs nothing more.
    if run.is_some_and(|run| matches!(run.status, RunStatus::Queued | RunStatus::Running)) {
        if version.unread_steps > 0 {
            let what = "what is to be done for it cannot be read";
            wrong(what, Remedy::Work(version.id));
        } else if version.is_stranded() {
            let what = "it is under way, and nothing is left to be done for it";
            wrong(what, Remedy::Work(version.id));
        }
    }
    let run_order = run.and_then(|run| run.order.as_ref());
    // Both came with one release: a run that tells it has a version with a sum, and the other way
    // round.
    let unsummed = run.is_some() && run_order.is_some() != version.order_sum.is_some();
    if version.order_stands() == Some(false)
        || unsummed
        || run_order.is_some_and(|order| *order != version.order)
    {
        let what = "its place in the source's order was changed";
        wrong(what, Remedy::Order(version.id));
    }
    if let Some(told) = told {
        let same = told.content_hash == Some(version.content_hash)
            && told.generation == version.generation
            && told.root_hash == version.root_hash
            && (version.state == VersionState::Ready || was_overtaken(version, told));
        if !same {
            let what = "its version is not what the ledger recorded";
            wrong(what, Remedy::Version(version.id));
        }
    }
    if finished {
        if let Some(what) = miscounted(version) {
            wrong(what, Remedy::Rework(version.id));
        } else if run.is_some_and(|run| made_others(dossier, version, run)) {
            let what = "its run made another number of chunks";
            wrong(what, Remedy::Run(version.id));
        }
        let answered = |row: &ActivationFile| row.version == version.id;
        // Where it answered, the row of that tells.
        if version.needs_flush.is_none() && !dossier.activations.iter().any(answered) {
            let what = "it does not say since when the index has it";
            wrong(what, Remedy::Rework(version.id));
        }
        let mut pairs = metadata_pairs(&version.metadata);
        pairs.sort();
        pairs.dedup();
        if pairs != version.filterable {
            let what = "filters would look up something else than its metadata";
            wrong(what, Remedy::Filterable(version.id));
        }
    }
}

/// Finished too late to answer, and rolled back to since.
fn was_overtaken(version: &VersionFile, told: &Served) -> bool {
    version.state == VersionState::Superseded && told.cause == ActivationCause::Rollback
}

/// Unless it was cut anew since, or its own run is gone.
fn made_others(dossier: &Dossier, version: &VersionFile, run: &RunFile) -> bool {
    let cut_anew = |entry: &LedgerEntry| {
        entry.kind == LedgerKind::Repaired && entry.version == Some(version.id)
    };
    let is_its_own = !run.stands_in && run.version == version.id;
    is_its_own && run.chunks_created != version.chunks && !dossier.ledger.iter().any(cut_anew)
}

fn miscounted(version: &VersionFile) -> Option<&'static str> {
    let sum = |of: fn(&catalog::UnitFile) -> u64| version.units.iter().map(of).sum::<u64>();
    let units = version.units.len() as u64;
    if units != u64::from(version.units_total) {
        return Some("it has other units than it counts");
    }
    let open =
        |unit: &catalog::UnitFile| unit.state == UnitState::Open || unit.pass != version.pass;
    if version.units_open > 0 || version.units.iter().any(open) {
        return Some("it is finished and has units that are not");
    }
    let empty = |unit: &catalog::UnitFile| unit.state == UnitState::Gap && unit.chunks > 0;
    if version.units.iter().any(empty) {
        return Some("a unit of it was read and is told as a gap");
    }
    let added =
        sum(|unit| unit.chunks) == version.chunks && sum(|unit| unit.tokens) == version.tokens;
    (!added).then_some("its units have other chunks than it counts")
}
