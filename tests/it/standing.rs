//! Jobs at a terminal: each command says where the job stands after it, and so does `status`.

use serde_json::json;

use crate::mill::{Folder, Mill, text};
use crate::server::Server;

#[tokio::test]
async fn a_job_is_paused_resumed_and_canceled_and_says_each_time_what_it_waits_for() {
    let mill = Mill::sqlite();
    let open = [("GRISTMILL_AUTH_ENABLED", "false")];
    let server = Server::spawn(&mill, &["--no-workers"], &open);
    let folder = Folder::of(&[("a.md", "# A\n\nThe hopper is full.\n")]);
    let body = json!({ "kb": "default", "folder": { "roots": [folder.path()] } });
    let job = server.post("/v1/jobs", &body).await;
    let job = text(&job["job_id"]);

    let resume = format!("waits for `gristmill jobs resume {job}`");
    let steps = [
        ("start", "queued (no worker lists its source yet)"),
        ("pause", resume.as_str()),
        ("resume", "queued (no worker lists its source yet)"),
    ];
    for (verb, standing) in steps {
        let said = mill.ok(&["jobs", verb, job]);
        assert!(said.contains(standing), "{verb}: {said}");
        let status = mill.ok(&["status"]);
        assert!(status.contains(&format!("{job} ")), "{status}");
        assert!(status.contains(standing), "{status}");
    }
    for _ in 0..2 {
        let said = mill.ok(&["jobs", "cancel", job]);
        assert!(said.contains("canceled (Canceled by user)"), "{said}");
    }
    assert!(!mill.ok(&["status"]).contains(job), "it is over");
    assert!(!mill.run(&["jobs", "pause", job]).status.success());
}
