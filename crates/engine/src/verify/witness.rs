//! What the rows of a version and of runs say that nothing else tells of, against what was noted of
//! them.

use catalog::{
    DocumentFacts, Dossier, Facts, NotedKb, NotedRun, Now, RunFacts, Told, VersionFile,
    VersionState,
};
use model::SourceUri;

use super::{Disagreement, Remedy};

pub fn check(version: &VersionFile) -> Vec<Disagreement> {
    let say = |what, remedy| vec![Disagreement::of_version(version.id, what, remedy)];
    let ended = version.is_finished() || version.state == VersionState::Failed;
    let again = Remedy::Witness(version.id);
    match &version.witness {
        None if ended => say("what was noted of it is gone", again),
        // Of what is under way nothing is noted yet.
        None => Vec::new(),
        Some(_) if version.state.is_under_way() && version.told().is_some() => {
            let what = "it has ended, and its row says it is under way";
            say(what, Remedy::Version(version.id))
        }
        Some(_) if !ended => Vec::new(),
        Some(_) => match version.told() {
            None => say("what was noted of it was changed", again),
            Some(told) => compare(version, &told),
        },
    }
}

fn compare(version: &VersionFile, told: &Facts) -> Vec<Disagreement> {
    let back = Remedy::Witnessed(version.id);
    let say = |(what, remedy)| Disagreement::of_version(version.id, what, remedy);
    let mut found = Vec::new();
    match &version.facts {
        None => found.push(("what its row says cannot be read", back)),
        Some(now) => found.extend(otherwise(told, now).map(|what| (what, back))),
    }
    // What units count is named where it is counted; here it is the rest of their rows.
    if version
        .facts
        .as_ref()
        .is_some_and(|now| now.units != told.units)
    {
        let what = "its units are not as they were noted";
        found.push((what, Remedy::Rework(version.id)));
    }
    if version.is_finished()
        && version
            .facts
            .as_ref()
            .is_some_and(|now| made_otherwise(told, now))
    {
        let what = "the hashes of what was made of it are not as they were noted";
        found.push((what, Remedy::Rework(version.id)));
    }
    let noted = version.witness.as_ref().map(|witness| witness.claims);
    if noted.is_some_and(|noted| noted != version.claims) {
        let what = "other jobs claim it than were noted";
        found.push((what, Remedy::Claims(version.id)));
    }
    found.into_iter().map(say).collect()
}

/// Nothing can be said by a note that was made before these were.
fn made_otherwise(told: &Facts, now: &Facts) -> bool {
    told.made.is_some() && told.made != now.made || told.cut.is_some() && told.cut != now.cut
}

/// What is not as it was noted.
fn otherwise(told: &Facts, now: &Facts) -> impl Iterator<Item = &'static str> {
    // A document's row that is gone is named for that.
    let since = now.document_since.is_none() || now.document_since == told.document_since;
    [
        ("its file name was changed", now.filename == told.filename),
        ("its title was changed", now.title == told.title),
        (
            "when it came was changed",
            now.created_at == told.created_at,
        ),
        ("when its document came was changed", since),
        ("its warnings were changed", now.warnings == told.warnings),
        ("its gaps were changed", now.gaps == told.gaps),
        (
            "why a unit could not be read was changed",
            now.reasons == told.reasons,
        ),
        (
            "whether it was brought outside any job was changed",
            now.claimed_directly == told.claimed_directly,
        ),
        ("its metadata was changed", now.metadata == told.metadata),
        ("what was said of it was changed", now.said == told.said),
        (
            "how far it came was changed",
            told.reached.is_none() || now.reached == told.reached,
        ),
    ]
    .into_iter()
    .filter_map(|(what, same)| (!same).then_some(what))
}

/// The document's row, and which jobs had a part in its removals.
pub fn document(dossier: &Dossier) -> Vec<Disagreement> {
    // One that is gone, or cannot be read, is named for that.
    let Some(now) = &dossier.facts else {
        return Vec::new();
    };
    let mut found = match &dossier.noted {
        None => vec!["what was noted of its row is gone"],
        Some(Told::Changed) => vec!["what was noted of its row was changed"],
        Some(Told::Was(told)) => {
            let removed = |facts: &DocumentFacts| (facts.removed_at, facts.removed_order.clone());
            let mut found = Vec::new();
            if now.source != told.source {
                found.push("which source showed it was changed");
            }
            if removed(now) != removed(told) {
                found.push(
                    "whether, when or where in its source's order it was removed was changed",
                );
            }
            found
        }
    };
    if dossier.noted_astray && dossier.noted.is_some() {
        found.push("a note of its row names another");
    }
    if dossier.noted_removals.iter().any(|one| !one.stand()) {
        found.push("which jobs have a part in its removal is not as it was noted");
    }
    let say = |what| Disagreement::new(what, Remedy::Noted);
    found.into_iter().map(say).collect()
}

/// A knowledge base and its generations.
pub fn kb(one: &NotedKb) -> Option<Disagreement> {
    let what = match (&one.now, &one.noted) {
        (Now::Is(now), Some(Told::Was(noted))) if now == noted => return None,
        (Now::Gone, _) if one.goes_by.is_some() => "the row of a knowledge base goes by another id",
        (Now::Gone, _) if one.of_nobody => "nothing but a note tells of a knowledge base",
        (Now::Gone, _) => "the row of a knowledge base is gone",
        (Now::Is(_) | Now::Unreadable, Some(Told::Was(_))) => {
            "a knowledge base or one of its generations is not as it was noted"
        }
        (Now::Is(_), None | Some(Told::Changed)) => {
            "what was noted of a knowledge base is gone, or was changed"
        }
        (Now::Unreadable, None | Some(Told::Changed)) => {
            "neither a knowledge base nor what was noted of it can be read"
        }
    };
    let remedy = match one.facts() {
        Some(_) => Remedy::KbRows,
        None if one.of_nobody => Remedy::KbRows,
        None => Remedy::Nothing("restore a backup"),
    };
    let name = one.facts().map(|facts| facts.name.clone());
    Some(Disagreement {
        kb: Some(name.unwrap_or_else(|| one.kb.to_string())),
        ..Disagreement::new(what, remedy)
    })
}

/// Every run of a document that has ended, and those that were noted and are not there.
pub fn runs(dossier: &Dossier) -> Vec<Disagreement> {
    let under_way = |one: &NotedRun| {
        let of = |version: &&VersionFile| version.run == one.run;
        let version = dossier.versions.iter().find(of);
        version.filter(|version| dossier.is_under_way(version))
    };
    let named = dossier.unreadable.contains(&"ingestion_runs");
    let told = |one| match under_way(one) {
        // What has not ended is named for that, and nothing is noted of it yet.
        Some(version) if one.now == Now::Unreadable => {
            let back = Remedy::UnderWay(version.id);
            let what = "it is under way, and what its run says cannot be read";
            vec![Disagreement::of_version(version.id, what, back)]
        }
        Some(_) => Vec::new(),
        None => run(one, named),
    };
    dossier.noted_runs.iter().flat_map(told).collect()
}

const UNREAD_RUN: &str = "what a run of it says cannot be read";

fn run(one: &NotedRun, named: bool) -> Vec<Disagreement> {
    let back = Remedy::NotedRun(one.run);
    let say = |version, what| Disagreement::of_version(version, what, back);
    match (&one.now, &one.noted) {
        (Now::Gone, Some(Told::Was(told))) => vec![say(told.version, "a run of it is gone")],
        (Now::Gone, _) => {
            let what = "a run of it is gone, and what was noted of it was changed";
            vec![Disagreement::new(what, back)]
        }
        (Now::Unreadable, Some(Told::Was(told))) => {
            vec![say(told.version, UNREAD_RUN)]
        }
        // Named among what cannot be read.
        (Now::Unreadable, _) if named => Vec::new(),
        (Now::Unreadable, _) => vec![Disagreement::new(UNREAD_RUN, back)],
        // Of what is under way nothing is noted yet, of what was purged nothing any more.
        (Now::Is(now), None) if now.status.is_live() => Vec::new(),
        (Now::Is(now), None) if now.source_uri == SourceUri::purged() => Vec::new(),
        (Now::Is(now), None) => vec![say(now.version, "what was noted of its run is gone")],
        (Now::Is(now), Some(Told::Changed)) => {
            vec![say(now.version, "what was noted of its run was changed")]
        }
        (Now::Is(now), Some(Told::Was(told))) => {
            let name = |what| say(told.version, what);
            run_otherwise(told, now).map(name).collect()
        }
    }
}

/// What a run does not say as it was noted.
fn run_otherwise(told: &RunFacts, now: &RunFacts) -> impl Iterator<Item = &'static str> {
    let about = |facts: &RunFacts| {
        let place = (
            facts.kb,
            facts.generation,
            facts.version,
            facts.content_hash,
        );
        let end = (facts.status, facts.superseded, facts.stage.clone());
        (place, facts.source_uri.clone(), end)
    };
    let times = |facts: &RunFacts| (facts.created_at, facts.started_at, facts.finished_at);
    let counts = |facts: &RunFacts| (facts.stats, facts.counted_in);
    let asked = |facts: &RunFacts| {
        let by = (facts.initiated_by, facts.job, facts.source);
        (by, facts.run_type, facts.trace.clone())
    };
    let error = |facts: &RunFacts| {
        let message = facts.error_message.clone();
        (facts.error_code.clone(), message, facts.error_hint.clone())
    };
    [
        ("its run is not as it was noted", about(now) == about(told)),
        (
            "when its run began or ended was changed",
            times(now) == times(told),
        ),
        (
            "what its run has counted was changed",
            counts(now) == counts(told),
        ),
        (
            "who asked for its run was changed",
            asked(now) == asked(told),
        ),
        ("why its run failed was changed", error(now) == error(told)),
        (
            "what its run was configured with was changed",
            now.config == told.config,
        ),
    ]
    .into_iter()
    .filter_map(|(what, same)| (!same).then_some(what))
}
