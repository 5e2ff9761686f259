//! A server process over a mill, and the client it is spoken to with.
//!
//! Here it is open to this machine; [`crate::served`] signs in as a browser does,
//! [`crate::api::served`] as a program does.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use serde_json::Value;

use crate::mill::Mill;

/// Of the first admin.
pub const PASSWORD: &str = "grist-and-grain";

/// Killed when it is dropped.
pub struct Server {
    child: Child,
    /// Kept open: whoever has nobody to speak to ends.
    _says: BufReader<ChildStdout>,
    pub base: String,
    pub http: Client,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// On the loopback and open to it: what is tested is not who may ask.
    pub fn start(mill: &Mill, environment: &[(&str, &str)]) -> Self {
        let open = [("GRISTMILL_AUTH_ENABLED", "false")];
        Self::spawn(mill, &[], &[&open[..], environment].concat())
    }

    /// With more arguments and variables; its log is the mill's.
    pub fn spawn(mill: &Mill, args: &[&str], environment: &[(&str, &str)]) -> Self {
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        let mut child = mill
            .command(&[&serve[..], args].concat())
            .env("GRISTMILL_AUTH_ADMIN_PASSWORD", PASSWORD)
            // As many as a scenario needs: they share one PostgreSQL.
            .env("GRISTMILL_CATALOG_CONNECTIONS", "4")
            .env("GRISTMILL_LOG_FORMAT", "json")
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(File::create(mill.log()).expect("the log is begun"))
            .spawn()
            .expect("the server starts");
        let out = child.stdout.take().expect("it is piped");
        let mut says = BufReader::new(out);
        let mut first = String::new();
        says.read_line(&mut first).expect("it says where it is");
        let base = first
            .trim()
            .rsplit(' ')
            .next()
            .expect("last word")
            .to_owned();
        let _ = rustls::crypto::ring::default_provider().install_default();
        // Where an answer leads to is for the test to say.
        let http = Client::builder().no_proxy().redirect(Policy::none());
        Self {
            child,
            _says: says,
            base,
            http: http.build().expect("a client can be made"),
        }
    }

    pub async fn get(&self, path: &str) -> Value {
        let request = self.http.get(format!("{}{path}", self.base));
        read(request.send().await.expect("the server answers")).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Value {
        let request = self.http.post(format!("{}{path}", self.base)).json(body);
        read(request.send().await.expect("the server answers")).await
    }

    /// Asks for what the server may not live to answer.
    pub async fn post_and_see(&self, path: &str) -> Option<Response> {
        let request = self.http.post(format!("{}{path}", self.base));
        request.json(&serde_json::json!({})).send().await.ok()
    }

    pub async fn upload(&self, form: reqwest::multipart::Form) -> Value {
        let request = self.http.post(format!("{}/v1/ingest", self.base));
        let answer = request.multipart(form).send().await;
        read(answer.expect("the server answers")).await
    }

    /// Looks until it is so.
    pub async fn until(&self, path: &str, so: impl Fn(&Value) -> bool) -> Value {
        loop {
            let seen = self.get(path).await;
            if so(&seen) {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Whether it has ended by itself.
    pub fn is_dead(&mut self) -> bool {
        self.child.wait().is_ok_and(|status| !status.success())
    }

    /// As whoever runs it would: gently.
    pub fn tell_to_stop(&self) {
        let pid = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(told.expect("it can be told").success());
    }

    /// Waits for its end, and says whether it was a good one.
    pub fn ends_well(&mut self) -> bool {
        self.child.wait().is_ok_and(|status| status.success())
    }
}

async fn read(answer: Response) -> Value {
    let status = answer.status();
    let text = answer.text().await.expect("the answer is whole");
    assert!(status.is_success(), "{status}: {text}");
    serde_json::from_str(&text).expect("the answer is JSON")
}
