//! Two tenants, one of which has one of everything.

use anyhow::Context as _;
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request};
use futures::StreamExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

use super::bodies;
use super::routes::{Asked, Things};
use crate::config::Config;
use crate::session::Session;

pub(super) const PASSWORD: &str = "isolation-of-tenants";
/// As much of an answer as is looked at, and how long one that does not end is listened to.
const MOST: usize = 4 << 20;
const LISTEN: std::time::Duration = std::time::Duration::from_secs(2);

pub struct World {
    router: Router,
    owner: String,
    stranger: String,
    pub(super) things: Things,
    /// Said by nobody but the owner.
    pub(super) marks: Vec<String>,
    /// In everything the owner writes.
    pub(super) mark: String,
    /// Of this machine, for the owner's source.
    pub(super) folder: TempDir,
    before: Value,
}

pub struct Answer {
    pub status: u16,
    pub body: String,
}

impl World {
    pub async fn build(
        session: &mut Session,
        config: &Config,
        plant: impl Fn(Router, &str) -> Router,
    ) -> anyhow::Result<Self> {
        let operator = session.tenant_token().context("the house is ours")?;
        let mark = format!("mark{}", uuid::Uuid::now_v7().simple());
        let mut world = Self {
            router: session.router().context("the house is ours")?,
            owner: operator.clone(),
            stranger: operator,
            things: Things::new(),
            marks: vec![mark.clone()],
            mark,
            folder: tempfile::tempdir().context("cannot make a temporary folder")?,
            before: Value::Null,
        };
        world.stranger = world.tenant("stranger").await?;
        let catalog = session.catalog().context("the house is ours")?;
        world.furnish_without_workers(catalog).await?;
        session.start_workers(config).await?;
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
            "/v1/sources",
            "/v1/dead-letters",
            "/v1/tenants",
        ] {
            all.push(self.owned(Method::GET, path, &Value::Null).await?);
        }
        let job = format!("/v1/jobs/{}", self.things["job"]);
        let job = self.owned(Method::GET, &job, &Value::Null).await?;
        // How long ago it was heard from changes by itself.
        all.extend(["status", "counters", "updated_at"].map(|field| job[field].clone()));
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
        self.ask(asked, &self.stranger).await
    }

    pub async fn as_owner(&self, asked: &Asked) -> anyhow::Result<Answer> {
        self.ask(asked, &self.owner).await
    }

    async fn ask(&self, asked: &Asked, token: &str) -> anyhow::Result<Answer> {
        let request = Request::builder()
            .method(asked.method.clone())
            .uri(&asked.target)
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", &asked.content_type)
            .header("content-length", asked.body.len())
            .body(Body::from(asked.body.clone()))?;
        self.exchange(request).await
    }

    /// Asks as the owner, who must be answered.
    pub(super) async fn owned(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> anyhow::Result<Value> {
        let bytes = match body {
            Value::Null => Vec::new(),
            body => body.to_string().into_bytes(),
        };
        self.answered(method, path, "application/json", bytes).await
    }

    /// Sends a file into the owner's knowledge base.
    pub(super) async fn sent_file(&self, name: &str, bytes: &[u8]) -> anyhow::Result<Value> {
        let (kind, form) = bodies::form(&self.mark, name, bytes);
        self.answered(Method::POST, "/v1/ingest", &kind, form).await
    }

    async fn answered(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> anyhow::Result<Value> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.owner))
            .header("content-type", content_type)
            .body(Body::from(body))?;
        let answer = self.exchange(request).await?;
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

pub(super) fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}
