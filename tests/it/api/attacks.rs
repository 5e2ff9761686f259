//! What strangers try.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use super::served::{Answer, Served, send};
use crate::mill::{Folder, text};
use crate::served::FORM;

super::on_both_catalogs!(
    forged_tokens_and_foreign_keys_open_nothing,
    names_lead_nowhere_and_what_is_too_long_is_refused,
    pages_of_another_tenant_are_not_there_and_its_forms_change_nothing,
);

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

async fn forged_tokens_and_foreign_keys_open_nothing(served: &Served) {
    let other = served.tenant("other").await;
    let [head, body, code]: [&str; 3] = served
        .token
        .split('.')
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    let decoded = |part: &str| -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    };
    let with = |of: &str, name: &str, value: Value| {
        let mut changed = decoded(of);
        changed[name] = value;
        part(&changed)
    };
    let foreign = decoded(other.split('.').nth(1).unwrap())["tenant_id"].clone();
    let forged = [
        format!("{}.{body}.", with(head, "alg", json!("none"))),
        format!("{}.{body}.{code}", with(head, "alg", json!("HS512"))),
        format!("{}.{body}.{code}", with(head, "alg", json!("RS256"))),
        format!(
            "{}.{body}.{code}",
            with(head, "kid", json!("../../etc/passwd"))
        ),
        format!("{head}.{}.{code}", with(body, "tenant_id", foreign)),
        format!(
            "{head}.{}.{code}",
            with(body, "exp", json!(9_999_999_999_u64))
        ),
        format!("{head}.{body}.{}", &other.split('.').nth(2).unwrap()),
        format!("{head}.{body}"),
        "x".repeat(6000),
        "gm_not-a-key".to_owned(),
        String::new(),
    ];
    for token in forged {
        let refused = served.get_as(&token, "/v1/documents").await;
        assert_eq!(refused.problem(401), "unauthorized", "{token}");
        assert_eq!(refused.headers["www-authenticate"], "Bearer");
        assert!(
            token.is_empty() || !refused.text.contains(&token),
            "nothing is echoed"
        );
    }
    let key = json!({ "name": "k", "role": "admin" });
    let key = served
        .post_as(&other, "/v1/api-keys", &key)
        .await
        .expect(201);
    let ours = served.ingest("ours.txt", "Only ours to read.").await;
    for path in [
        format!("/v1/documents/{}", text(&ours["doc_id"])),
        format!("/v1/versions/{}/text", text(&ours["version_id"])),
        format!("/v1/versions/{}/pages/1", text(&ours["version_id"])),
        format!("/v1/versions/{}/chunks", text(&ours["version_id"])),
        format!("/v1/versions/{}/original", text(&ours["version_id"])),
        format!("/v1/events/stream?run_id={}", text(&ours["run_id"])),
        format!("/v1/runs/{}", text(&ours["run_id"])),
    ] {
        let closed = served.get_as(text(&key["secret"]), &path).await;
        assert_eq!(closed.problem(404), "not_found", "{path}");
    }
}

async fn names_lead_nowhere_and_what_is_too_long_is_refused(served: &Served) {
    for name in [
        "../../../etc/passwd",
        "a\"; filename=\"b",
        "..\\..\\x.txt",
        &"ü".repeat(3000),
    ] {
        let text = format!(
            "The text of a file with an odd name, {} bytes long.",
            name.len()
        );
        let kept = served.upload(name, text).await.expect(202);
        let kept = kept["filename"].as_str().unwrap();
        assert!(
            !kept.contains(['/', '\\', '\r', '\n']) && kept.len() <= 1024,
            "{kept}"
        );
    }
    let long = "x".repeat(100_000);
    let fields = Form::new()
        .text("title", long.clone())
        .part("file", Part::text("a").file_name("a.txt"));
    let request = served.request(Method::POST, "/v1/ingest").multipart(fields);
    assert_eq!(
        Answer::of(send(request).await).await.problem(422),
        "unprocessable"
    );
    let query = json!({ "query": long });
    let search = served.post("/v1/kbs/default/search", &query).await;
    assert_eq!(search.problem(422), "unprocessable");
    let body = json!({ "name": "x".repeat(3_000_000) });
    assert_eq!(
        served.post("/v1/kbs", &body).await.problem(413),
        "too_large"
    );
    let raw = served.request(Method::POST, "/mcp");
    let raw = raw.body("x".repeat(3_000_000));
    assert_eq!(Answer::of(send(raw).await).await.problem(413), "too_large");
    let login = json!({ "login": long, "password": long });
    let login = served.bare(Method::POST, "/v1/auth/login").json(&login);
    let login = Answer::of(send(login).await).await;
    assert_eq!(login.problem(401), "wrong_login");
    assert!(!served.log().contains(&long), "nobody's text is logged");
    for name in ["a/b", "x\u{7f}", "\r\nx-evil: 1", &"n".repeat(300), " "] {
        let refused = served.post("/v1/kbs", &json!({ "name": name })).await;
        assert!(
            matches!(refused.status.as_u16(), 400 | 422),
            "{name:?}: {}",
            refused.text
        );
        assert!(!refused.headers.contains_key("x-evil"));
    }
    for (path, body) in [
        ("/v1/auth/login", json!({ "login": "a\0", "password": "b" })),
        ("/v1/api-keys", json!({ "name": "a\0", "role": "user" })),
        (
            "/v1/kbs/default/search",
            json!({ "query": "a", "filter": { "metadata": { "a\0": "b" } } }),
        ),
        (
            "/v1/kbs/default/search",
            json!({ "query": "a", "as_of": "-9999-01-01T00:00:00Z" }),
        ),
        (
            "/v1/api-keys",
            json!({ "name": "a", "role": "user", "expires_at": "-9999-01-01T00:00:00Z" }),
        ),
    ] {
        let refused = served.post(path, &body).await;
        assert_eq!(refused.problem(422), "unprocessable", "{path}");
    }
    let metadata = Form::new()
        .text("metadata", r#"{"a":"\u0000"}"#)
        .part("file", Part::text("a").file_name("a.txt"));
    let request = served
        .request(Method::POST, "/v1/ingest")
        .multipart(metadata);
    assert_eq!(
        Answer::of(send(request).await).await.problem(422),
        "unprocessable"
    );
    for (path, form) in [
        ("/sign-in", "login=a%00&password=b"),
        ("/admin/kbs", "name=a\0"),
        ("/admin/api-keys", "name=a%00&role=user&scope="),
    ] {
        let request = served.request(Method::POST, path);
        let request = request.header("origin", &served.base);
        let answer = send(request.header(FORM.0, FORM.1).body(form)).await;
        assert_eq!(answer.status(), 422, "{path}");
        let page = answer.text().await.unwrap();
        assert!(page.contains("the character NUL"), "{path}: {page}");
    }
    for path in [
        "/v1/kbs/a%00b",
        "/v1/documents?text=a%00b",
        "/v1/metrics/query?query=up&to=-262143-01-01T00:00:00Z",
    ] {
        let refused = served.get(path).await;
        assert!(matches!(refused.status.as_u16(), 404 | 422), "{path}");
    }
    let id = served
        .request(Method::GET, "/v1/kbs")
        .header("x-request-id", "a-plain.id_1");
    assert_eq!(send(id).await.headers()["x-request-id"], "a-plain.id_1");
    let id = served
        .request(Method::GET, "/v1/kbs")
        .header("x-request-id", "a b<script>");
    let answer = send(id).await;
    assert!(
        !answer.headers()["x-request-id"]
            .to_str()
            .unwrap()
            .contains('<')
    );
    for path in [
        "/v1/kbs/..%2f..%2fetc",
        "/v1/documents/..%2f",
        "/v1/versions/%00/text",
        "/v1/kbs/%ff",
    ] {
        let lost = served.get(path).await;
        assert!(
            matches!(lost.status.as_u16(), 400 | 404),
            "{path}: {}",
            lost.text
        );
    }
}

async fn pages_of_another_tenant_are_not_there_and_its_forms_change_nothing(served: &Served) {
    let other = served.tenant("other").await;
    let ours = served.ingest("ours.txt", "Only ours to read.").await;
    let (document, version) = (text(&ours["doc_id"]), text(&ours["version_id"]));
    let run = text(&ours["run_id"]);
    let kb = served.get("/v1/kbs/default").await.expect(200)["id"].clone();
    let user = served.get("/v1/auth/me").await.expect(200)["user_id"].clone();
    let body = json!({ "name": "k", "role": "user" });
    let key = served.post("/v1/api-keys", &body).await.expect(201)["id"].clone();
    let folder = Folder::of(&[("a.txt", "Something of a folder.")]);
    let body = json!({ "kb": "default", "folder": { "roots": [folder.path()] } });
    let job = served.post("/v1/jobs", &body).await.expect(201)["job_id"].clone();
    let body = json!({ "kb": "default", "name": "s", "folder": { "roots": [folder.path()] } });
    let source = served.post("/v1/sources", &body).await.expect(201)["source_id"].clone();
    let [kb, user, key, job, source] = [&kb, &user, &key, &job, &source].map(text);

    for page in [
        format!("/documents/{document}"),
        format!("/versions/{version}"),
        format!("/jobs/{job}"),
        format!("/kb/{kb}"),
        format!("/kb/{kb}/search?q=read"),
        format!("/kb/{kb}/ask?q=read"),
    ] {
        assert_eq!(served.get(&page).await.status, 200, "{page}");
        assert_eq!(served.get_as(&other, &page).await.status, 404, "{page}");
    }
    let before = served.get(&format!("/v1/documents/{document}")).await.text;
    for (page, form) in [
        (format!("/documents/{document}/deactivate"), String::new()),
        (
            format!("/documents/{document}/rollback"),
            format!("version={version}"),
        ),
        (format!("/runs/{run}/retry"), String::new()),
        (format!("/jobs/{job}/start"), String::new()),
        (format!("/jobs/{job}/pause"), String::new()),
        (format!("/jobs/{job}/resume"), String::new()),
        (format!("/jobs/{job}/cancel"), String::new()),
        (format!("/sources/{source}/sync"), String::new()),
        (format!("/sources/{source}/pause"), String::new()),
        (format!("/sources/{source}/resume"), String::new()),
        (format!("/admin/users/{user}"), "disabled=true".to_owned()),
        (format!("/admin/api-keys/{key}/revoke"), String::new()),
    ] {
        let request = served.bare(Method::POST, &page).bearer_auth(&other);
        let answer = send(request.header(FORM.0, FORM.1).body(form)).await;
        assert_eq!(answer.status(), 404, "{page}");
    }
    let after = served.get(&format!("/v1/documents/{document}")).await.text;
    assert_eq!(before, after);
}
