//! Requests sent twice, and answers the caller has already.

use futures::future::join_all;
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use super::served::{Answer, Served, send};
use crate::mill::text;

super::on_both_catalogs!(
    a_write_with_a_key_is_done_once_and_answered_as_often_as_asked,
    an_answer_the_caller_has_is_not_sent_again,
);

async fn keyed(served: &Served, key: &str, path: &str, body: &Value) -> Answer {
    let request = served.request(Method::POST, path).json(body);
    Answer::of(send(request.header("idempotency-key", key)).await).await
}

async fn a_write_with_a_key_is_done_once_and_answered_as_often_as_asked(served: &Served) {
    let kb = json!({ "name": "grain" });
    let first = keyed(served, "k1", "/v1/kbs", &kb).await;
    let again = keyed(served, "k1", "/v1/kbs", &kb).await;
    assert_eq!(first.expect(201), again.expect(201));
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let other = keyed(served, "k1", "/v1/kbs", &json!({ "name": "chaff" })).await;
    assert_eq!(other.problem(422), "key_reused");
    let taken = keyed(served, "k2", "/v1/kbs", &kb).await;
    assert_eq!(taken.problem(409), "conflict");
    let mended = keyed(served, "k2", "/v1/kbs", &json!({ "name": "bran" })).await;
    mended.expect(201);

    let husk = json!({ "name": "husk" });
    let at_once = join_all((0..8).map(|_| keyed(served, "k3", "/v1/kbs", &husk)));
    for answer in at_once.await {
        assert!(
            matches!(answer.status.as_u16(), 201 | 409),
            "{}",
            answer.text
        );
    }
    let kbs = served.get("/v1/kbs").await.expect(200);
    assert_eq!(kbs["items"].as_array().map(Vec::len), Some(4));

    let key = json!({ "name": "reader", "role": "user", "scopes": ["read"] });
    let made = keyed(served, "k4", "/v1/api-keys", &key).await.expect(201);
    let again = keyed(served, "k4", "/v1/api-keys", &key).await;
    assert_eq!(again.problem(409), "conflict");
    assert!(
        !again.text.contains(text(&made["secret"])),
        "a secret is shown once"
    );
    let file = async |text: &'static str| {
        let part = Part::text(text).file_name("a.txt");
        let request = served.request(Method::POST, "/v1/ingest");
        let request = request.header("idempotency-key", "k5");
        let form = Form::new().part("file", part);
        Answer::of(send(request.multipart(form)).await).await
    };
    let first = file("Sent twice by mistake.").await.expect(202);
    let again = file("Sent twice by mistake.").await;
    assert_eq!(again.expect(202), first, "not `skipped`: the first answer");
    let other = file("Another file under the same key.").await;
    assert_eq!(other.problem(422), "key_reused");
    let long = keyed(served, &"k".repeat(300), "/v1/kbs", &kb).await;
    assert_eq!(long.problem(400), "invalid_request");
}

async fn an_answer_the_caller_has_is_not_sent_again(served: &Served) {
    let first = served.get("/v1/kbs/default").await;
    let tag = first.headers["etag"].clone();
    let ask = async |tag| {
        let request = served.request(Method::GET, "/v1/kbs/default");
        Answer::of(send(request.header("if-none-match", tag)).await).await
    };
    let same = ask(tag.clone()).await;
    assert_eq!((same.status.as_u16(), same.text.as_str()), (304, ""));
    assert_eq!(ask("\"other\"".parse().unwrap()).await.status, 200);

    let list = served.get("/v1/documents").await.headers["etag"].clone();
    served.ingest("a.txt", "Something new to read.").await;
    let changed = served
        .request(Method::GET, "/v1/documents")
        .header("if-none-match", list);
    assert_eq!(send(changed).await.status(), 200, "what changed is sent");
}
