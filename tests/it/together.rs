//! The same files from many at once: one document each, and everybody is told.

use futures::future::join_all;
use reqwest::multipart::{Form, Part};
use serde_json::Value;

use crate::mill::Mill;
use crate::server::Server;

const CLIENTS: usize = 64;
const FILES: usize = 20;

fn files() -> Form {
    (0..FILES).fold(Form::new(), |form, n| {
        let text = format!(
            "# Gear {n}\n\nGear {n} has {} teeth of apple wood.\n",
            n + 40
        );
        form.part("file", Part::text(text).file_name(format!("{n}.md")))
    })
}

async fn sixty_four_at_once(mill: &Mill) {
    let server = &Server::start(mill, &[]);
    let told = join_all((0..CLIENTS).map(|_| server.upload(files()))).await;
    let results = |answer: &Value| answer["results"].as_array().cloned().unwrap_or_default();
    let results: Vec<Value> = told.iter().flat_map(results).collect();
    let with = |status: &str| results.iter().filter(|one| one["status"] == status).count();
    assert_eq!(with("queued"), FILES);
    assert_eq!(with("skipped"), (CLIENTS - 1) * FILES);

    let idle = |status: &Value| status["work"] == 0 && status["runs_running"] == 0;
    let status = server.until("/v1/status", idle).await;
    for (counted, expected) in [
        ("documents", FILES),
        ("documents_active", FILES),
        ("runs_succeeded", FILES),
        ("runs_failed", 0),
        ("runs_canceled", 0),
        ("dead_letters", 0),
    ] {
        assert_eq!(status[counted], expected, "{counted} in {status}");
    }
}

#[tokio::test]
async fn sixty_four_ingests_of_the_same_files_make_each_document_once() {
    sixty_four_at_once(&Mill::sqlite()).await;
}

#[tokio::test]
async fn sixty_four_ingests_of_the_same_files_make_each_document_once_on_postgres() {
    sixty_four_at_once(&Mill::postgres().await).await;
}
