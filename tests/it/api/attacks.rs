//! What strangers try.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use super::served::{Answer, Served, send};
use crate::mill::text;

super::on_both_catalogs!(
    forged_tokens_and_foreign_keys_open_nothing,
    names_lead_nowhere_and_what_is_too_long_is_refused,
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
    let login = json!({ "login": long, "password": long });
    let login = served.bare(Method::POST, "/v1/auth/login").json(&login);
    let login = Answer::of(send(login).await).await;
    assert!(matches!(login.status.as_u16(), 401 | 422), "{}", login.text);
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
    for path in ["/v1/kbs/a%00b", "/v1/documents?text=a%00b"] {
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
