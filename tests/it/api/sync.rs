//! Sources that are synced, and the jobs that do it.

use serde_json::{Value, json};

use super::served::Served;
use crate::mill::{Folder, Mill, path, text};

#[tokio::test]
async fn a_source_is_paused_with_its_job_though_another_sync_was_refused_meanwhile() {
    let served = Served::without_workers(Mill::sqlite());
    let folder = Folder::of(&[("a.txt", "Rye bread keeps longer than wheat.")]);
    let body = json!({ "kb": "default", "name": "grain",
        "folder": { "roots": [path(folder.path())] } });
    let made = served.post("/v1/sources", &body).await.expect(201);
    let of_source = format!("/v1/sources/{}", text(&made["source_id"]));
    let ask = async |what| {
        let path = format!("{of_source}/{what}");
        served.post(&path, &Value::Null).await
    };
    let job = ask("sync").await.expect(202);
    let stands = async || {
        let path = format!("/v1/jobs/{}", text(&job["job_id"]));
        text(&served.get(&path).await.expect(200)["status"]).to_owned()
    };
    ask("sync").await.problem(409);
    ask("pause").await.expect(200);
    assert_eq!(stands().await, "paused");
    ask("resume").await.expect(200);
    assert_eq!(stands().await, "running");
    let jobs = served.get("/v1/jobs").await.expect(200);
    assert_eq!(jobs["items"].as_array().map(Vec::len), Some(1), "{jobs}");
}
