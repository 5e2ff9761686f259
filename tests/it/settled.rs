//! What `verify` says of a house at work.

use serde_json::json;

use crate::mill::{Folder, Mill};
use crate::server::Server;

const FILES: u64 = 40;

#[tokio::test(flavor = "multi_thread")]
async fn no_work_is_told_beside_the_digest_of_a_state_that_is_not_finished() {
    let mill = Mill::sqlite();
    let folder = Folder::of(&[]);
    for n in 0..FILES {
        let rule = |m: u64| format!("## Rule {m}\n\nRule {m} of mill {n} is kept in year {m}.\n\n");
        let text: String = (0..24).map(rule).collect();
        folder.write(&format!("{n}.md"), &format!("# Mill {n}\n\n{text}"));
    }
    let server = Server::start(&mill, &[]);
    let body = json!({ "kb": "default", "folder": { "roots": [folder.path()] } });
    let job = server.post("/v1/jobs", &body).await;
    let job = job["job_id"].as_str().expect("it has an id").to_owned();
    server
        .post(&format!("/v1/jobs/{job}/start"), &json!({}))
        .await;
    loop {
        let told = server.post("/v1/verify", &json!({})).await;
        if told["work"] == 0 {
            assert_eq!(told["documents"], FILES, "{told}");
            return;
        }
    }
}
