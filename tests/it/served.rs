//! A server of its own, asked over real HTTP as a browser asks.

use std::ops::Deref;
use std::path::PathBuf;

use reqwest::header::{COOKIE, HeaderMap, ORIGIN, SET_COOKIE};
use reqwest::multipart::{Form, Part};
use reqwest::{RequestBuilder, Response, StatusCode};

use crate::mill::{Mill, text};
pub use crate::server::PASSWORD;
use crate::server::Server;

pub const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// Ended with the test.
pub struct Served {
    server: Server,
    mill: Mill,
}

impl Deref for Served {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Served {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// With settings of its own, by their names in the environment.
    pub fn start_with(settings: &[(&str, &str)]) -> Self {
        let mill = Mill::sqlite();
        Self {
            server: Server::spawn(&mill, &[], settings),
            mill,
        }
    }

    /// Its data folder.
    pub fn data(&self) -> PathBuf {
        self.mill.data()
    }

    /// A second tenant, whose admin is `other`.
    pub async fn add_tenant(&self, session: &str) {
        let body =
            format!(r#"{{"name":"other","admin_login":"other","admin_password":"{PASSWORD}"}}"#);
        let request = self.post("/v1/tenants").header(COOKIE, session);
        let answer = send(
            request
                .header("content-type", "application/json")
                .body(body),
        )
        .await;
        assert_eq!(answer.status(), StatusCode::CREATED);
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("{}{path}", self.base))
    }

    /// A form sent from one of our own pages.
    pub fn post(&self, path: &str) -> RequestBuilder {
        let request = self.http.post(format!("{}{path}", self.base));
        request.header(ORIGIN, &self.base)
    }

    pub async fn sign_in(&self, login: &str, password: &str) -> Response {
        let form = format!("login={login}&password={password}");
        send(self.post("/sign-in").header(FORM.0, FORM.1).body(form)).await
    }

    pub async fn session(&self, login: &str) -> String {
        let answer = self.sign_in(login, PASSWORD).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        cookie(answer.headers())
    }

    /// A form filled in and sent, which leads somewhere.
    pub async fn submit(&self, session: &str, path: &str, form: &str) {
        let request = self.post(path).header(COOKIE, session);
        let answer = send(request.header(FORM.0, FORM.1).body(form.to_owned())).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{path}");
    }

    pub async fn page(&self, session: &str, path: &str) -> String {
        let answer = send(self.get(path).header(COOKIE, session)).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        answer.text().await.expect("a page is text")
    }

    /// Uploads and follows the events until the run has ended; how it ended.
    pub async fn ingest(&self, session: &str, name: &str, body: impl Into<Vec<u8>>) -> String {
        let part = Part::bytes(body.into()).file_name(name.to_owned());
        let request = self.post("/v1/ingest").header(COOKIE, session);
        let answer = send(request.multipart(Form::new().part("file", part))).await;
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
        let answer = answer.text().await.expect("an answer");
        let run: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
        self.followed(session, &format!("run_id={}", text(&run["run_id"])), "run")
            .await
    }

    /// The last event of a run or a job.
    pub async fn followed(&self, session: &str, which: &str, what: &str) -> String {
        let path = format!("/v1/events/stream?{which}");
        let mut events = send(self.get(&path).header(COOKIE, session)).await;
        let ends = ["succeeded", "failed", "completed"].map(|end| format!("event: {what}.{end}"));
        let mut told = String::new();
        loop {
            let piece = events.chunk().await.expect("the stream goes on");
            let piece = piece.expect("it ends before its stream");
            told.push_str(&String::from_utf8_lossy(&piece));
            if let Some(end) = ends.iter().find(|end| told.contains(*end)) {
                return end.rsplit('.').next().expect("a last part").to_owned();
            }
        }
    }
}

pub async fn send(request: RequestBuilder) -> Response {
    request.send().await.expect("the server answers")
}

pub fn cookie(headers: &HeaderMap) -> String {
    let set = headers[SET_COOKIE].to_str().expect("plain");
    assert!(
        set.contains("HttpOnly") && set.contains("SameSite=Strict"),
        "{set}"
    );
    set.split(';').next().expect("name and value").to_owned()
}
