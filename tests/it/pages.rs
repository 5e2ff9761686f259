//! The pages over real HTTP, as a browser asks for them.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use reqwest::header::{COOKIE, HeaderMap, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::multipart::{Form, Part};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, StatusCode};

use crate::mill::{Mill, text};

const PASSWORD: &str = "grist-and-grain";

/// A server of its own, ended with the test.
struct Served {
    child: Child,
    base: String,
    http: Client,
    _mill: Mill,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn start() -> Self {
        let mill = Mill::sqlite();
        let mut child = mill
            .command(&["serve", "--listen", "127.0.0.1:0"])
            .env("GRISTMILL_AUTH_ADMIN_PASSWORD", PASSWORD)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let out = child.stdout.take().expect("it is piped");
        let first = BufReader::new(out).lines().next();
        let first = first.expect("it says where it is").expect("in UTF-8");
        let base = first.rsplit(' ').next().expect("last word").to_owned();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = Client::builder().no_proxy().redirect(Policy::none());
        Self {
            child,
            base,
            http: http.build().expect("a client can be made"),
            _mill: mill,
        }
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("{}{path}", self.base))
    }

    /// A form sent from one of our own pages.
    fn post(&self, path: &str) -> RequestBuilder {
        let request = self.http.post(format!("{}{path}", self.base));
        request.header(ORIGIN, &self.base)
    }

    async fn sign_in(&self, login: &str, password: &str) -> Response {
        let form = format!("login={login}&password={password}");
        send(self.post("/sign-in").header(FORM.0, FORM.1).body(form)).await
    }

    async fn session(&self, login: &str) -> String {
        let answer = self.sign_in(login, PASSWORD).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        cookie(answer.headers())
    }

    async fn page(&self, session: &str, path: &str) -> String {
        let answer = send(self.get(path).header(COOKIE, session)).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        answer.text().await.expect("a page is text")
    }

    /// Uploads and follows the events until the run has ended.
    async fn ingest(&self, session: &str, name: &'static str, body: &'static str) {
        let form = Form::new().part("file", Part::text(body).file_name(name));
        let request = self.post("/v1/ingest").header(COOKIE, session);
        let answer = send(request.multipart(form)).await;
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
        let answer = answer.text().await.expect("an answer");
        let run: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
        let path = format!("/v1/events/stream?run_id={}", text(&run["run_id"]));
        let mut events = send(self.get(&path).header(COOKIE, session)).await;
        let mut told = String::new();
        while !told.contains("succeeded") {
            let piece = events.chunk().await.expect("the stream goes on");
            let piece = piece.expect("the run ends before its stream");
            told.push_str(&String::from_utf8_lossy(&piece));
            assert!(!told.contains("failed"), "{told}");
        }
    }
}

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

async fn send(request: RequestBuilder) -> Response {
    request.send().await.expect("the server answers")
}

fn cookie(headers: &HeaderMap) -> String {
    let set = headers[SET_COOKIE].to_str().expect("plain");
    assert!(
        set.contains("HttpOnly") && set.contains("SameSite=Strict"),
        "{set}"
    );
    set.split(';').next().expect("name and value").to_owned()
}

#[tokio::test]
async fn only_who_signs_in_from_our_own_page_gets_in() {
    let served = Served::start();
    let stranger = send(served.get("/kb/default")).await;
    assert_eq!(stranger.status(), StatusCode::SEE_OTHER);
    assert_eq!(stranger.headers()[LOCATION], "/sign-in");

    let wrong = served.sign_in("admin", "not-the-password").await;
    assert_eq!(wrong.status(), StatusCode::UNAUTHORIZED);

    let session = served.session("admin").await;
    let page = send(served.get("/kb/default").header(COOKIE, &session)).await;
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(
        policy.contains("default-src 'none'; script-src 'self'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(page.text().await.unwrap().contains("Drop files anywhere"));

    let foreign = served.http.post(format!("{}/sign-out", served.base));
    let foreign = foreign
        .header(COOKIE, &session)
        .header(ORIGIN, "https://evil.example");
    assert_eq!(send(foreign).await.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn hostile_names_and_contents_are_listed_found_and_shown_as_plain_text() {
    let served = Served::start();
    let session = served.session("admin").await;
    let name = "<img src=x onerror=alert(1)>.txt";
    let body =
        "Rye bread keeps longer than wheat. <script>alert(2)</script> \"><svg onload=alert(3)>";
    served.ingest(&session, name, body).await;

    let library = served.page(&session, "/kb/default").await;
    assert!(
        library.contains("&#60;img src=x onerror=alert(1)&#62;.txt"),
        "{library}"
    );
    let query = "/kb/default/search?q=rye+%3Cscript%3Ealert(4)%3C/script%3E";
    let found = served.page(&session, query).await;
    assert!(found.contains("<mark>Rye</mark>"), "{found}");
    let answer = served
        .page(&session, "/kb/default/ask?q=how+long+does+rye+bread+keep")
        .await;
    assert!(answer.contains("What the documents say"), "{answer}");
    let link = found
        .split("href=\"/versions/")
        .nth(1)
        .expect("a hit links to the inspector");
    let link = link
        .split('"')
        .next()
        .expect("closed")
        .replace("&#38;", "&");
    let inspector = served.page(&session, &format!("/versions/{link}")).await;
    assert!(inspector.contains("class=\"chunk chosen\""), "{inspector}");
    for page in [library, found, answer, inspector] {
        assert!(
            !page.contains("<img src=x") && !page.contains("<svg onload"),
            "{page}"
        );
        assert!(!page.contains("<script>"), "{page}");
    }
}

#[tokio::test]
async fn a_user_finds_the_admin_pages_closed() {
    let served = Served::start();
    let admin = served.session("admin").await;
    let form = format!("login=una&password={PASSWORD}&role=user");
    let made = served.post("/admin/users").header(COOKIE, &admin);
    let made = send(made.header(FORM.0, FORM.1).body(form)).await;
    assert_eq!(made.status(), StatusCode::SEE_OTHER);
    assert!(served.page(&admin, "/admin").await.contains("una"));

    let user = served.session("una").await;
    let library = served.page(&user, "/kb/default").await;
    assert!(!library.contains("href=\"/admin\""));
    let closed = send(served.get("/admin").header(COOKIE, &user)).await;
    assert_eq!(closed.status(), StatusCode::FORBIDDEN);
}
