//! The pages over real HTTP, as a browser asks for them.

use std::path::Path;

use reqwest::StatusCode;
use reqwest::header::{ACCEPT, COOKIE, LOCATION, ORIGIN};

use crate::served::{FORM, PASSWORD, Served, send};

#[tokio::test]
async fn only_who_signs_in_from_our_own_page_gets_in() {
    let served = Served::start();
    let stranger = send(served.get("/kb/default")).await;
    assert_eq!(stranger.status(), StatusCode::SEE_OTHER);
    assert_eq!(
        stranger.headers()[LOCATION],
        "/sign-in?next=%2Fkb%2Fdefault"
    );
    let form = format!("login=admin&password={PASSWORD}&next=%2Fkb%2Fdefault");
    let back = send(served.post("/sign-in").header(FORM.0, FORM.1).body(form)).await;
    assert_eq!(back.headers()[LOCATION], "/kb/default");

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
    assert!(
        page.text()
            .await
            .unwrap()
            .contains("Drop files or folders anywhere")
    );

    let foreign = served.http.post(format!("{}/sign-out", served.base));
    let foreign = foreign
        .header(COOKIE, &session)
        .header(ORIGIN, "https://evil.example");
    assert_eq!(send(foreign).await.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn an_address_that_leads_nowhere_is_a_page_for_a_person_and_a_problem_for_a_program() {
    let served = Served::start();
    let person = send(served.get("/nowhere").header(ACCEPT, "text/html,*/*")).await;
    assert_eq!(person.status(), StatusCode::NOT_FOUND);
    assert!(person.headers().contains_key("content-security-policy"));
    let page = person.text().await.unwrap();
    assert!(page.contains("<code>/nowhere</code>"), "{page}");
    let program = send(served.get("/nowhere")).await;
    assert_eq!(program.status(), StatusCode::NOT_FOUND);
    let problem = program.text().await.unwrap();
    assert!(problem.starts_with('{'), "{problem}");

    let session = served.session("admin").await;
    for (path, status) in [
        ("/documents/nonsense", StatusCode::NOT_FOUND),
        ("/dashboard?over=nonsense", StatusCode::BAD_REQUEST),
        ("/sign-out", StatusCode::METHOD_NOT_ALLOWED),
    ] {
        let person = served.get(path).header(ACCEPT, "text/html,*/*");
        let person = send(person.header(COOKIE, &session)).await;
        assert_eq!(person.status(), status, "{path}");
        assert!(person.headers().contains_key("content-security-policy"));
        let page = person.text().await.unwrap();
        assert!(page.starts_with("<!doctype html>"), "{path}: {page}");
    }
    let program = send(served.get("/sign-out")).await.text().await.unwrap();
    assert!(program.starts_with('{'), "{program}");
}

#[tokio::test]
async fn hostile_names_and_contents_are_listed_found_and_shown_as_plain_text() {
    let served = Served::start();
    let session = served.session("admin").await;
    let name = "<img src=x onerror=alert(1)>.txt";
    let body =
        "Rye bread keeps longer than wheat. <script>alert(2)</script> \"><svg onload=alert(3)>";
    assert_eq!(served.ingest(&session, name, body).await, "succeeded");

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
    let inspector = served.page(&session, &inspector_of(&found)).await;
    assert!(
        inspector.contains("class=\"stretch chosen\""),
        "{inspector}"
    );
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

/// Some units' worth of entries.
const ENTRIES: usize = 3000;

#[tokio::test]
async fn a_large_text_is_inspected_part_by_part_and_never_read_as_a_whole() {
    let served = Served::start();
    let session = served.session("admin").await;
    let entry = |n| format!("Entry-{n:05}: a sack of rye was weighed, sewn up and carried.\n\n");
    let ledger: String = (0..ENTRIES).map(entry).collect();
    let size = ledger.len();
    assert_eq!(
        served.ingest(&session, "ledger.txt", ledger).await,
        "succeeded"
    );
    // Whoever read all of it would miss it.
    let made = served.data().join("objects/versions");
    assert_eq!(forget_the_whole(&made), 2);

    let library = served.page(&session, "/kb/default").await;
    let version = inspector_of(&library);
    let mut seen = Vec::new();
    let mut parts = 0;
    let mut next = Some(String::new());
    while let Some(part) = next {
        let page = served.page(&session, &format!("{version}{part}")).await;
        let read = between(&page, "class=\"reading\"", "<aside");
        let mut here = read.split("Entry-").skip(1);
        seen.extend(
            here.by_ref()
                .map(|rest| rest[..5].parse::<usize>().unwrap()),
        );
        let turn = page.find("rel=\"next\"").map(|at| &page[..at]);
        next = turn.map(|before| link_in(before.rsplit("href=\"").next().unwrap()));
        parts += 1;
    }
    assert!(parts >= size / (64 * 1024), "{parts} parts of {size} bytes");
    assert_eq!(
        seen,
        (0..ENTRIES).collect::<Vec<_>>(),
        "each once, in order"
    );

    // The last chunk of a part leads to the first of the next.
    let first = served.page(&session, &version).await;
    let last = first.rsplit("<li><a href=\"").next().unwrap();
    let last = served
        .page(&session, &format!("{version}{}", link_in(last)))
        .await;
    let after = between(&last, "id=\"chosen\"", "data-key=\"j\"");
    assert!(after.contains("?page=2&#38;chunk="), "{after}");

    let query = "/kb/default/search?mode=text&q=02345";
    let found = served.page(&session, query).await;
    let at = served.page(&session, &inspector_of(&found)).await;
    let chosen = between(&at, "class=\"stretch chosen\"", "<aside");
    assert!(chosen.contains("02345"), "{chosen}");
    assert!(at.contains("rel=\"prev\""), "not in the first part");
}

/// Takes away the text and the structure of every version, and says how many objects
/// that were; units stay.
fn forget_the_whole(folder: &Path) -> usize {
    let mut gone = 0;
    for place in std::fs::read_dir(folder).unwrap() {
        let place = place.unwrap().path();
        let name = place.to_string_lossy();
        if place.is_dir() {
            gone += forget_the_whole(&place);
        } else if name.ends_with(".text") || name.ends_with(".parsed") {
            std::fs::remove_file(&place).unwrap();
            gone += 1;
        }
    }
    gone
}

/// Where the first way to the inspector leads.
fn inspector_of(page: &str) -> String {
    let link = page.split("href=\"/versions/").nth(1);
    format!(
        "/versions/{}",
        link_in(link.expect("a way to the inspector"))
    )
}

/// An address up to its closing quote.
fn link_in(rest: &str) -> String {
    let link = rest.split('"').next().expect("closed");
    link.replace("&#38;", "&")
}

fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let from = page
        .find(from)
        .unwrap_or_else(|| panic!("no `{from}`: {page}"));
    let rest = &page[from..];
    &rest[..rest.find(to).unwrap_or(rest.len())]
}
