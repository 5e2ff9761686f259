//! What a version's rows say that nothing else tells of, against what was noted of them.

use catalog::{Facts, VersionFile, VersionState};

use super::{Disagreement, Remedy};

pub fn check(version: &VersionFile) -> Vec<Disagreement> {
    let say = |what, remedy| vec![Disagreement::of_version(version.id, what, remedy)];
    let ended = version.is_finished() || version.state == VersionState::Failed;
    let again = Remedy::Witness(version.id);
    match &version.witness {
        None if version.is_finished() => say("what was noted of it is gone", again),
        // Of what is under way nothing is noted yet.
        None => Vec::new(),
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
    let noted = version.witness.as_ref().map(|witness| witness.claims);
    if noted.is_some_and(|noted| noted != version.claims) {
        let what = "other jobs claim it than were noted";
        found.push((what, Remedy::Claims(version.id)));
    }
    found.into_iter().map(say).collect()
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
    ]
    .into_iter()
    .filter_map(|(what, same)| (!same).then_some(what))
}
