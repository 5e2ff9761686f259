//! One of everything a tenant can have, made as its owner would make it.
//!
//! The owner is the first tenant, since only that one has jobs and sources. What only a
//! failure makes, a dead letter, is made before anybody works: a step is claimed and set
//! aside as a worker would.

use std::time::Duration;

use anyhow::Context as _;
use axum::http::Method;
use catalog::{Catalog, RunError};
use model::StepKind;
use serde_json::{Value, json};

use super::world::{PASSWORD, World, text};

/// Between two looks at something that will end.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl World {
    /// A knowledge base, and a document whose run could not be finished through a fault of ours.
    pub(super) async fn furnish_without_workers(
        &mut self,
        catalog: &dyn Catalog,
    ) -> anyhow::Result<()> {
        let mark = self.mark.clone();
        let kb = self.made("/v1/kbs", &json!({ "name": mark })).await?;
        self.know(&["kb", "kb_id"], text(&kb, "id"));
        let document = json!({ "name": "ingest_text", "arguments": {
            "kb": mark, "title": mark, "text": format!("# {mark}\n\nNobody will read {mark}.") } });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": document });
        self.made("/mcp", &call).await?;
        set_aside(catalog).await?;
        let letter = self.first_of("/v1/dead-letters").await?;
        self.know(&["letter"], text(&letter, "dead_letter_id"));
        Ok(())
    }

    /// Everything else.
    pub(super) async fn furnish(&mut self) -> anyhow::Result<()> {
        let mark = self.mark.clone();
        let me = self.owned(Method::GET, "/v1/auth/me", &Value::Null).await?;
        self.know(&["tenant"], text(&me, "tenant_id"));
        let user = json!({ "login": format!("user-{mark}"), "password": PASSWORD, "role": "user" });
        let user = self.made("/v1/users", &user).await?;
        self.know(&["user"], text(&user, "id"));
        let key = json!({ "name": mark, "role": "user" });
        let key = self.made("/v1/api-keys", &key).await?;
        self.know(&["key"], text(&key, "id"));
        // Before anything succeeds, so that there is something to deliver.
        let hook = json!({ "url": format!("https://{mark}.example/hook") });
        let hook = self.made("/v1/webhooks", &hook).await?;
        self.know(&["webhook"], text(&hook, "webhook_id"));
        self.furnish_document().await?;
        let deliveries = format!("/v1/webhooks/{}/deliveries", self.things["webhook"]);
        let delivery = self.first_of(&deliveries).await?;
        self.know(&["delivery"], text(&delivery, "delivery_id"));
        self.furnish_source().await?;
        let upload = json!({ "filename": format!("{mark}.txt"), "fileSize": 3 });
        let path = format!("/v1/kbs/{mark}/upload-url");
        let upload = self.made(&path, &upload).await?;
        self.know(&["upload"], text(&upload, "uploadId"));
        self.know(&["object_key"], text(&upload, "objectKey"));
        self.furnish_generation().await?;
        self.furnish_words();
        Ok(())
    }

    /// One that has a page to look at.
    async fn furnish_document(&mut self) -> anyhow::Result<()> {
        let pdf = one_page(&format!("The word of the day is {}.", self.mark));
        let taken = self.sent_file(&format!("{}.pdf", self.mark), &pdf).await?;
        self.know(&["document", "document_id"], text(&taken, "doc_id"));
        self.know(&["version", "version_id"], text(&taken, "version_id"));
        self.know(&["run", "run_id"], text(&taken, "run_id"));
        let path = format!("/v1/runs/{}", self.things["run"]);
        self.until(&path, |run| run["status"] == "succeeded").await
    }

    /// A folder of this machine, and the job that read it.
    #[expect(clippy::disallowed_methods, reason = "in a scratch folder")]
    async fn furnish_source(&mut self) -> anyhow::Result<()> {
        let file = self.folder.path().join("note.md");
        std::fs::write(file, format!("# Note\n\nA note on {}.\n", self.mark))?;
        let body = json!({ "kb": self.mark, "name": self.mark,
            "folder": { "roots": [self.folder.path()] } });
        let source = self.made("/v1/sources", &body).await?;
        self.know(&["source"], text(&source, "source_id"));
        let sync = format!("/v1/sources/{}/sync", self.things["source"]);
        let job = self.made(&sync, &Value::Null).await?;
        // Not by the name filters have for it: nothing is of this job and of that run.
        self.know(&["job"], text(&job, "job_id"));
        let path = format!("/v1/jobs/{}", self.things["job"]);
        self.until(&path, |job| job["status"] == "completed").await
    }

    /// The next generation, built beside the one that serves.
    async fn furnish_generation(&mut self) -> anyhow::Result<()> {
        let path = format!("/v1/kbs/{}/building", self.mark);
        let body = json!({ "target": 100, "max": 200, "overlap": 10 });
        let building = self.made(&path, &body).await?;
        self.know(&["generation"], text(&building["generation"], "id"));
        self.until(&path, |building| building["ready"] == true)
            .await
    }

    /// What operations want besides ids.
    fn furnish_words(&mut self) {
        for (name, plain) in [
            ("page", "1"),
            ("jsonrpc", "2.0"),
            ("method", "tools/list"),
            ("expires", "1"),
            ("signature", "none"),
            ("query", "the word of the day"),
            ("quote", "The word of the day"),
        ] {
            self.things.insert(name, plain.to_owned());
        }
    }

    fn know(&mut self, names: &[&'static str], value: String) {
        for name in names {
            self.things.insert(*name, value.clone());
        }
        self.marks.push(value);
    }

    async fn first_of(&self, path: &str) -> anyhow::Result<Value> {
        let listed = self.owned(Method::GET, path, &Value::Null).await?;
        let first = listed["items"].get(0).cloned();
        first.with_context(|| format!("{path} lists nothing"))
    }

    async fn made(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let made = self.owned(Method::POST, path, body).await?;
        // What a tool gives is inside its answer.
        let tool = made["result"]["structuredContent"].clone();
        Ok(if tool.is_null() { made } else { tool })
    }

    /// Waits until what the owner began has ended as it should.
    async fn until(&self, path: &str, done: impl Fn(&Value) -> bool) -> anyhow::Result<()> {
        loop {
            let seen = self.owned(Method::GET, path, &Value::Null).await?;
            if done(&seen) {
                return Ok(());
            }
            let status = seen["status"].as_str();
            let lost = matches!(status, Some("failed" | "canceled"));
            anyhow::ensure!(!lost, "{path} ended otherwise: {seen}");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

async fn set_aside(catalog: &dyn Catalog) -> anyhow::Result<()> {
    let (now, lease) = (chrono::Utc::now(), Duration::from_secs(60));
    let claims = catalog.claim(&[StepKind::Prep], "doctor", 1, lease, now);
    let claims = claims.await?;
    let claim = claims.first().context("a document waits to be read")?;
    let error = RunError {
        code: "isolation".to_owned(),
        message: "set aside by the doctor".to_owned(),
        hint: None,
    };
    Ok(catalog.set_aside(claim, error, now).await?)
}

/// A PDF of one page with one line on it.
fn one_page(line: &str) -> Vec<u8> {
    let shown = format!("BT /F1 12 Tf 40 700 Td ({line}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{shown}\nendstream", shown.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut pdf = "%PDF-1.4\n".to_owned();
    let mut places = String::new();
    for (n, object) in (1..).zip(&objects) {
        places.push_str(&format!("{:010} 00000 n \n", pdf.len()));
        pdf.push_str(&format!("{n} 0 obj\n{object}\nendobj\n"));
    }
    let (table, size) = (pdf.len(), objects.len() + 1);
    pdf.push_str(&format!(
        "xref\n0 {size}\n0000000000 65535 f \n{places}trailer\n\
         << /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n"
    ));
    pdf.into_bytes()
}
