//! Work that failed for good: listed, looked at, replayed once however often that is asked.

use serde_json::json;
use testkit::double::{Answer, Double};

use crate::mill::{Folder, Mill, embeds_at, path, text};
use crate::server::Server;

/// What a service answers that fails on one text, taking others, as often as a step is tried.
pub fn fails_for_good() -> Vec<Answer> {
    const TRIED: usize = 3;
    let failed = || vec![Answer::status(500); TRIED];
    // Once it is asked for another text; then it is known which one it fails on.
    let first = failed().into_iter().chain([Answer::good()]);
    let again = (1..TRIED).flat_map(|_| failed());
    first.chain(again).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_is_replayed_once_however_often_that_is_asked() {
    let double = Double::start(fails_for_good()).await;
    let url = double.url();
    let mill = Mill::sqlite();
    let server = Server::start(&mill, &embeds_at(&url));
    let folder = Folder::of(&[("oats.md", "# Oats\n\nThe oats are rolled and sold.\n")]);
    let refused = mill.run(&["ingest", path(folder.path())]);
    assert!(!refused.status.success(), "the service fails on it");

    let listed = mill.lines(&["dead-letters", "list", "--json"]).remove(0);
    let (letter, run) = (text(&listed["dead_letter_id"]), text(&listed["run_id"]));
    let status = mill.ok(&["status"]);
    assert!(
        status.contains("`gristmill dead-letters` lists"),
        "{status}"
    );
    let shown = mill.ok(&["dead-letters", "show", letter]);
    assert!(shown.contains("500"), "{shown}");
    let replay = ["dead-letters", "replay", letter];
    let first = mill.ok(&replay);
    assert!(first.contains(run) && first.contains("is queued again"));
    let done = |run: &serde_json::Value| run["status"] == "succeeded";
    server.until(&format!("/v1/runs/{run}"), done).await;

    let again = mill.ok(&replay);
    assert!(again.contains(run) && again.contains("nothing is left to replay"));
    let path = format!("/v1/dead-letters/{letter}/replay");
    let told = server.post(&path, &json!({})).await;
    assert_eq!(
        (&told["run_id"], &told["already"]),
        (&listed["run_id"], &json!(true))
    );
    let status = server.get("/v1/status").await;
    let counts = [
        "dead_letters",
        "runs_queued",
        "runs_succeeded",
        "runs_failed",
    ];
    assert_eq!(
        counts.map(|count| status[count].as_u64()),
        [0, 0, 1, 0].map(Some)
    );
}
