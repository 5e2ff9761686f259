//! The pages over real HTTP, as a browser asks for them.

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
