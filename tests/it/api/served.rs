//! A server of its own for each scenario, and what a program says to it.

use std::ops::{Deref, DerefMut};

use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use crate::mill::{Mill, text};
pub use crate::server::PASSWORD;
use crate::server::Server;

pub struct Served {
    server: Server,
    /// Of the first admin.
    pub token: String,
    pub mill: Mill,
}

impl Deref for Served {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl DerefMut for Served {
    fn deref_mut(&mut self) -> &mut Server {
        &mut self.server
    }
}

/// An answer that was read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Answer {
    pub async fn of(response: Response) -> Self {
        Self {
            status: response.status(),
            headers: response.headers().clone(),
            text: response.text().await.expect("the answer arrives whole"),
        }
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// The body of an answer that must have this status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        if self.text.is_empty() {
            Value::Null
        } else {
            self.json()
        }
    }

    /// The code of a problem that must have this status and say what to do or what is wrong.
    #[track_caller]
    pub fn problem(&self, status: u16) -> String {
        let body = self.expect(status);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert!(!text(&body["detail"]).is_empty());
        text(&body["code"]).to_owned()
    }
}

impl Served {
    pub fn sqlite() -> Self {
        Self::with(Mill::sqlite(), &[])
    }

    pub async fn postgres() -> Self {
        Self::with(Mill::postgres().await, &[])
    }

    /// With these variables set.
    pub fn with(mill: Mill, variables: &[(&str, &str)]) -> Self {
        Self::start(mill, &[], variables)
    }

    pub fn without_workers(mill: Mill) -> Self {
        Self::start(mill, &["--no-workers"], &[])
    }

    /// Kills the server and gives back its data.
    pub fn stop(self) -> Mill {
        drop(self.server);
        self.mill
    }

    fn start(mill: Mill, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let server = Server::spawn(&mill, args, variables);
        let mut served = Self {
            server,
            token: String::new(),
            mill,
        };
        served.token = served.sign_in("admin");
        served
    }

    fn sign_in(&self, login: &str) -> String {
        let (http, url) = (self.http.clone(), format!("{}/v1/auth/login", self.base));
        let body = json!({ "login": login, "password": PASSWORD });
        let asking = async move { Answer::of(send(http.post(url).json(&body)).await).await };
        // Also called where no runtime waits: on a thread of its own.
        let answer = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.expect("a runtime can be made").block_on(asking)
        });
        let answer = answer.join().expect("it does not panic");
        text(&answer.expect(200)["token"]).to_owned()
    }

    /// What the server has logged, a JSON object a line.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.mill.log()).expect("there is a log")
    }

    pub async fn token_of(&self, login: &str) -> String {
        let body = json!({ "login": login, "password": PASSWORD });
        let answer = self.bare(Method::POST, "/v1/auth/login").json(&body);
        text(&Answer::of(send(answer).await).await.expect(200)["token"]).to_owned()
    }

    /// Without a signature.
    pub fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base))
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.bare(method, path).bearer_auth(&self.token)
    }

    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(send(self.request(Method::GET, path)).await).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        Answer::of(send(self.request(Method::POST, path).json(body)).await).await
    }

    pub async fn post_as(&self, token: &str, path: &str, body: &Value) -> Answer {
        let request = self.bare(Method::POST, path).bearer_auth(token);
        Answer::of(send(request.json(body)).await).await
    }

    pub async fn get_as(&self, token: &str, path: &str) -> Answer {
        Answer::of(send(self.bare(Method::GET, path).bearer_auth(token)).await).await
    }

    pub async fn upload(&self, name: &str, bytes: impl Into<Vec<u8>>) -> Answer {
        self.upload_as(&self.token, name, bytes).await
    }

    pub async fn upload_as(&self, token: &str, name: &str, bytes: impl Into<Vec<u8>>) -> Answer {
        let part = Part::bytes(bytes.into()).file_name(name.to_owned());
        let request = self.bare(Method::POST, "/v1/ingest").bearer_auth(token);
        Answer::of(send(request.multipart(Form::new().part("file", part))).await).await
    }

    /// Follows the events until a run has ended, and says what they told.
    pub async fn follow(&self, token: &str, run: &str) -> Vec<String> {
        let path = format!("/v1/events/stream?run_id={run}");
        let mut events = send(self.bare(Method::GET, &path).bearer_auth(token)).await;
        let mut told = String::new();
        loop {
            let piece = events.chunk().await.expect("the stream goes on");
            let piece = piece.expect("the run ends before its stream");
            told.push_str(&String::from_utf8_lossy(&piece));
            let kinds: Vec<String> = told
                .lines()
                .filter_map(|line| line.strip_prefix("event: "))
                // Stages are told as they pass, beside what is stored and comes in order.
                .filter(|kind| *kind != "run.stage")
                .map(str::to_owned)
                .collect();
            let ended = ["run.succeeded", "run.failed", "run.canceled"];
            if kinds.iter().any(|kind| ended.contains(&kind.as_str())) {
                return kinds;
            }
        }
    }

    /// Uploads and waits until the document answers.
    pub async fn ingest(&self, name: &str, body: &str) -> Value {
        let queued = self.upload(name, body).await.expect(202);
        let kinds = self.follow(&self.token, text(&queued["run_id"])).await;
        assert_eq!(kinds.last().map(String::as_str), Some("run.succeeded"));
        queued
    }

    pub async fn search(&self, query: &str) -> Value {
        let body = json!({ "query": query });
        self.post("/v1/kbs/default/search", &body).await.expect(200)
    }

    /// A tenant beside the first, and a token of its admin.
    pub async fn tenant(&self, name: &str) -> String {
        let login = format!("{name}-admin");
        let body = json!({ "name": name, "admin_login": login, "admin_password": PASSWORD });
        self.post("/v1/tenants", &body).await.expect(201);
        self.token_of(&login).await
    }
}

pub async fn send(request: RequestBuilder) -> Response {
    request.send().await.expect("the server answers")
}
