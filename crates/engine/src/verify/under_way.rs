//! What has not come to its end, where one of its rows says that it has.

use catalog::{Dossier, RunFile, VersionFile};

use super::{Disagreement, Remedy};

pub fn check(dossier: &Dossier, version: &VersionFile) -> Vec<Disagreement> {
    let run = dossier.runs.iter().find(|run| run.id == version.run);
    let of_run = match run {
        Some(run) if run.status.is_live() => None,
        Some(_) => Some("it is under way, and its run says it has ended"),
        None => match dossier.renamed_live_run(version) {
            Some(_) => Some("it is under way, and its run goes by another id"),
            // Its row alone may be what was changed, and is named for that.
            None if dossier.run_of(version.id).is_some() => None,
            None => Some("it is under way, and its run is gone"),
        },
    };
    let of_row =
        (!version.state.is_under_way()).then_some("it is under way, and its row says it has ended");
    let remedy = match twin(dossier, version) {
        None => Remedy::UnderWay(version.id),
        Some(_) => Remedy::Nothing(
            "another run brings the same bytes since: let that end, then repair again",
        ),
    };
    let name = |what| Disagreement::of_version(version.id, what, remedy);
    of_row.into_iter().chain(of_run).map(name).collect()
}

/// Of the same bytes one run alone can be live.
fn twin<'a>(dossier: &'a Dossier, version: &VersionFile) -> Option<&'a RunFile> {
    dossier.runs.iter().find(|run| {
        let same = run.generation == version.generation && run.content_hash == version.content_hash;
        run.version != version.id && same && run.status.is_live()
    })
}
