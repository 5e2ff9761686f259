//! Two tenants, one of which has one of everything.

use anyhow::Context as _;
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request};
use futures::StreamExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::routes::{Asked, Things};
use crate::session::Session;

const PASSWORD: &str = "isolation-of-tenants";
/// As much of an answer as is looked at, and how long one that does not end is listened to.
const MOST: usize = 4 << 20;
const LISTEN: std::time::Duration = std::time::Duration::from_millis(300);

pub struct World {
    router: Router,
    owner: String,
    stranger: String,
    things: Things,
    /// Said by nobody but the owner.
    marks: Vec<String>,
    before: Value,
}

pub struct Answer {
    pub status: u16,
    pub body: String,
}

impl World {
    pub async fn build(
        session: &Session,
        plant: impl Fn(Router, &str) -> Router,
    ) -> anyhow::Result<Self> {
        let router = session.router().context("the house is ours")?;
        let operator = session.client.token().to_owned();
        let mut world = Self {
            router,
            owner: operator.clone(),
            stranger: operator,
            things: Things::new(),
            marks: Vec::new(),
            before: Value::Null,
        };
        let owner = world.tenant("owner").await?;
        let stranger = world.tenant("stranger").await?;
        world.owner = owner;
        world.stranger = stranger;
        world.furnish().await?;
        world.before = world.ledger().await?;
        world.router = plant(world.router, &world.owner);
        Ok(world)
    }

    pub fn things(&self) -> &Things {
        &self.things
    }

    pub async fn description(&self) -> anyhow::Result<Value> {
        self.owned(Method::GET, "/openapi.json", &Value::Null).await
    }

    async fn tenant(&mut self, name: &str) -> anyhow::Result<String> {
        let login = format!("{name}-{}", uuid::Uuid::now_v7().simple());
        let body = json!({ "name": login, "admin_login": login, "admin_password": PASSWORD });
        self.owned(Method::POST, "/v1/tenants", &body).await?;
        let body = json!({ "login": login, "password": PASSWORD });
        let signed = self.owned(Method::POST, "/v1/auth/login", &body).await?;
        Ok(text(&signed, "token"))
    }

    /// One of everything there can be.
    async fn furnish(&mut self) -> anyhow::Result<()> {
        let mark = format!("mark{}", uuid::Uuid::now_v7().simple());
        let kb = self
            .owned(Method::POST, "/v1/kbs", &json!({ "name": mark }))
            .await?;
        self.know("kb", text(&kb, "id"));
        self.know("kb_id", text(&kb, "id"));
        let document = json!({ "name": "ingest_text", "arguments": {
            "kb": mark, "title": mark, "text": format!("# {mark}\n\nThe word of the day is {mark}.") } });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": document });
        let taken = self.owned(Method::POST, "/mcp", &call).await?;
        let taken = &taken["result"]["structuredContent"];
        for (name, field) in [
            ("document", "doc_id"),
            ("version", "version_id"),
            ("run", "run_id"),
        ] {
            self.know(name, text(taken, field));
        }
        self.know("document_id", text(taken, "doc_id"));
        self.know("version_id", text(taken, "version_id"));
        self.know("run_id", text(taken, "run_id"));
        self.finished().await?;
        let login = format!("user-{mark}");
        let user = json!({ "login": login, "password": PASSWORD, "role": "user" });
        let user = self.owned(Method::POST, "/v1/users", &user).await?;
        self.know("user", text(&user, "id"));
        let key = json!({ "name": mark, "role": "user" });
        let key = self.owned(Method::POST, "/v1/api-keys", &key).await?;
        self.know("key", text(&key, "id"));
        let hook = json!({ "url": format!("https://{mark}.example/hook") });
        let hook = self.owned(Method::POST, "/v1/webhooks", &hook).await?;
        self.know("webhook", text(&hook, "webhook_id"));
        let upload = json!({ "filename": format!("{mark}.txt"), "fileSize": 3 });
        let path = format!("/v1/kbs/{mark}/upload-url");
        let upload = self.owned(Method::POST, &path, &upload).await?;
        self.know("upload", text(&upload, "uploadId"));
        self.know("object_key", text(&upload, "objectKey"));
        // Made by jobs and failures alone, which only an operator's folders bring about: an id
        // that is nobody's must be answered as one that is another's.
        for name in ["job", "source", "letter", "delivery", "page", "generation"] {
            let nobody = uuid::Uuid::now_v7().to_string();
            self.things.insert(
                name,
                if name == "page" {
                    "1".to_owned()
                } else {
                    nobody
                },
            );
        }
        for (name, plain) in [
            ("jsonrpc", "2.0"),
            ("method", "tools/list"),
            ("expires", "1"),
            ("signature", "none"),
        ] {
            self.things.insert(name, plain.to_owned());
        }
        self.things
            .insert("query", "the word of the day".to_owned());
        self.things
            .insert("quote", "The word of the day".to_owned());
        self.marks.push(mark);
        Ok(())
    }

    fn know(&mut self, name: &'static str, value: String) {
        self.marks.push(value.clone());
        self.things.insert(name, value);
    }

    /// Waits until the owner's document answers.
    async fn finished(&self) -> anyhow::Result<()> {
        let path = format!("/v1/runs/{}", self.things["run"]);
        loop {
            let run = self.owned(Method::GET, &path, &Value::Null).await?;
            match run["status"].as_str() {
                Some("succeeded") => return Ok(()),
                Some("queued" | "running") => tokio::time::sleep(LISTEN).await,
                _ => anyhow::bail!("the owner's document could not be read: {run}"),
            }
        }
    }

    /// All that the owner has, as the owner sees it.
    async fn ledger(&self) -> anyhow::Result<Value> {
        let mut all = Vec::new();
        for path in [
            "/v1/documents?active=all",
            "/v1/kbs",
            "/v1/users",
            "/v1/api-keys",
            "/v1/webhooks",
            "/v1/runs",
        ] {
            all.push(self.owned(Method::GET, path, &Value::Null).await?);
        }
        let digest = self.owned(Method::POST, "/v1/verify", &Value::Null).await?;
        all.push(digest["digest"].clone());
        Ok(Value::Array(all))
    }

    /// What the stranger changed of the owner's, if anything.
    pub async fn changed(&self) -> anyhow::Result<Option<String>> {
        let now = self.ledger().await?;
        Ok((now != self.before).then(|| "something of the other tenant was changed".to_owned()))
    }

    /// The first of the owner's words in a text that the stranger did not say first.
    pub fn shows(&self, body: &str, sent: &str) -> Option<String> {
        let told = |mark: &&String| body.contains(mark.as_str()) && !sent.contains(mark.as_str());
        self.marks.iter().find(told).cloned()
    }

    pub async fn as_stranger(&self, asked: &Asked) -> anyhow::Result<Answer> {
        let request = Request::builder()
            .method(asked.method.clone())
            .uri(&asked.target)
            .header("authorization", format!("Bearer {}", self.stranger))
            .header("content-type", &asked.content_type)
            .header("content-length", asked.body.len())
            .body(Body::from(asked.body.clone()))?;
        self.exchange(request).await
    }

    /// Asks as the owner, who must be answered.
    async fn owned(&self, method: Method, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.owner))
            .header("content-type", "application/json");
        let body = if body.is_null() {
            Body::empty()
        } else {
            Body::from(body.to_string())
        };
        let answer = self.exchange(request.body(body)?).await?;
        anyhow::ensure!(
            (200..300).contains(&answer.status),
            "{path} answered {}: {}",
            answer.status,
            answer.body
        );
        serde_json::from_str(&answer.body).context("an answer is JSON")
    }

    /// Reads an answer to its end, or for a moment where it has none.
    async fn exchange(&self, request: Request<Body>) -> anyhow::Result<Answer> {
        let response = self.router.clone().oneshot(request).await?;
        let status = response.status().as_u16();
        let endless = response
            .headers()
            .get("content-type")
            .is_some_and(|kind| kind == "text/event-stream");
        let mut pieces = response.into_body().into_data_stream();
        let mut body = Vec::new();
        loop {
            let piece = if endless {
                tokio::time::timeout(LISTEN, pieces.next())
                    .await
                    .ok()
                    .flatten()
            } else {
                pieces.next().await
            };
            match piece {
                Some(piece) if body.len() < MOST => body.extend_from_slice(&piece?),
                _ => break,
            }
        }
        Ok(Answer {
            status,
            body: String::from_utf8_lossy(&body).into_owned(),
        })
    }
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}
