//! One way in: every command calls the API, here or in the process that holds the folder.

use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{Method, Request, StatusCode};
use futures::TryStreamExt as _;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tower::ServiceExt as _;
use web::ProblemBody;

use crate::explain::{Hinted, hinted};

#[derive(Clone)]
pub struct Client {
    target: Target,
    token: String,
}

#[derive(Clone)]
enum Target {
    /// The router of this process.
    Here(Router),
    /// A server that holds the data folder.
    There { http: reqwest::Client, base: String },
}

/// A holder that does not even accept is not going to.
const CONNECT: Duration = Duration::from_secs(10);

/// What an answer may come to before it is an error.
const LONGEST_PROBLEM: usize = 1 << 20;

impl Client {
    pub fn here(router: Router, token: String) -> Self {
        Self {
            target: Target::Here(router),
            token,
        }
    }

    pub fn there(address: std::net::SocketAddr, token: String) -> anyhow::Result<Self> {
        // The client insists on one even though it speaks plain HTTP to this machine; one
        // installed before, by whoever embeds over HTTPS, does as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            // The holder is on this machine: a proxy would not know it.
            .no_proxy()
            .connect_timeout(CONNECT)
            .build()
            .context("cannot make an HTTP client")?;
        Ok(Self {
            target: Target::There {
                http,
                base: format!("http://{address}"),
            },
            token,
        })
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.json(Method::GET, path, Body::empty()).await
    }

    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        let body = serde_json::to_vec(body).context("cannot write the request")?;
        self.json(Method::POST, path, body.into()).await
    }

    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.json(Method::DELETE, path, Body::empty()).await
    }

    async fn json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Body,
    ) -> anyhow::Result<T> {
        let (_, body) = self.send(method, path, "application/json", body).await?;
        let bytes = axum::body::to_bytes(body, usize::MAX)
            .await
            .context("the answer broke off")?;
        serde_json::from_slice(&bytes).context("the answer is not what this version expects")
    }

    /// Sends anything, and streams the answer. A problem comes back as the error it is.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Body,
    ) -> anyhow::Result<(StatusCode, Body)> {
        let request = Request::builder()
            .method(method)
            .uri(self.uri(path))
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, content_type)
            .body(body)
            .context("cannot make the request")?;
        let (status, body) = self.exchange(request).await?;
        if status.is_success() {
            Ok((status, body))
        } else {
            Err(problem(status, body).await)
        }
    }

    fn uri(&self, path: &str) -> String {
        match &self.target {
            Target::Here(_) => path.to_owned(),
            Target::There { base, .. } => format!("{base}{path}"),
        }
    }

    async fn exchange(&self, request: Request<Body>) -> anyhow::Result<(StatusCode, Body)> {
        match &self.target {
            Target::Here(router) => {
                let response = router.clone().oneshot(request).await?;
                let (head, body) = response.into_parts();
                Ok((head.status, body))
            }
            Target::There { http, base } => {
                let request =
                    request.map(|body| reqwest::Body::wrap_stream(body.into_data_stream()));
                let request = reqwest::Request::try_from(request)?;
                let response = http.execute(request).await.map_err(|error| {
                    let error = anyhow::Error::new(error);
                    error.context(Hinted::new(
                        format!("the server at {base} does not answer"),
                        "it holds the data folder; see its log, or stop it",
                    ))
                })?;
                let status = response.status();
                let pieces = response.bytes_stream().map_err(axum::Error::new);
                Ok((status, Body::from_stream(pieces)))
            }
        }
    }
}

async fn problem(status: StatusCode, body: Body) -> anyhow::Error {
    let bytes = axum::body::to_bytes(body, LONGEST_PROBLEM).await;
    let bytes = bytes.unwrap_or_default();
    match serde_json::from_slice::<ProblemBody>(&bytes) {
        Ok(problem) => Hinted::new(problem.detail, problem.hint.unwrap_or_default())
            .coded(problem.code)
            .into(),
        Err(_) => hinted(format!("the server answered {status}"), "see its log"),
    }
}

/// `path?name=value&…` with every value escaped; `None` is left out.
pub fn with_query(path: &str, pairs: &[(&str, Option<String>)]) -> String {
    let mut out = path.to_owned();
    let mut mark = '?';
    for (name, value) in pairs {
        if let Some(value) = value {
            out.push(mark);
            out.push_str(name);
            out.push('=');
            out.push_str(&escaped(value));
            mark = '&';
        }
    }
    out
}

pub fn escaped(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
