//! Who may do what, and until when.

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::served::{Answer, PASSWORD, Served, send};
use crate::mill::{Mill, text};
use crate::served::FORM;
use crate::server::Server;

super::on_both_catalogs!(
    a_disabled_user_is_out_at_once_and_a_demoted_one_may_less,
    tenants_are_made_by_the_operator_and_know_nothing_of_each_other,
    a_key_opens_what_it_was_made_for_until_it_is_revoked,
    a_key_opens_nothing_while_its_maker_is_disabled,
    a_tenant_is_renamed_and_disabled_by_the_operator_alone,
    a_disabled_tenant_is_refused_everywhere_and_keeps_what_it_has,
    guessing_passwords_gets_slower,
);

async fn a_disabled_user_is_out_at_once_and_a_demoted_one_may_less(served: &Served) {
    let body = json!({ "login": "una", "password": PASSWORD, "role": "admin" });
    let una = served.post("/v1/users", &body).await.expect(201);
    let token = served.token_of("una").await;
    served.get_as(&token, "/v1/users").await.expect(200);
    let path = format!("/v1/users/{}", text(&una["id"]));
    let change = async |body| {
        let request = served.request(Method::PATCH, &path).json(&body);
        Answer::of(send(request).await).await
    };
    change(json!({ "role": "user" })).await.expect(200);
    assert_eq!(
        served.get_as(&token, "/v1/users").await.problem(403),
        "forbidden"
    );
    served.get_as(&token, "/v1/documents").await.expect(200);
    let stream = served.bare(Method::GET, "/v1/events/stream");
    let mut stream = send(stream.bearer_auth(&token)).await;
    assert_eq!(stream.status(), 200);
    change(json!({ "disabled": true })).await.expect(200);
    assert_eq!(
        served.get_as(&token, "/v1/documents").await.problem(401),
        "unauthorized"
    );
    served.ingest("late.txt", "Not for Una any more.").await;
    let mut told = Vec::new();
    while let Some(piece) = stream.chunk().await.expect("the stream is ended") {
        told.extend_from_slice(&piece);
    }
    let told = String::from_utf8(told).unwrap();
    assert!(!told.contains("run.queued"), "{told}");

    let me = served.get("/v1/auth/me").await.expect(200);
    let own = format!("/v1/users/{}", text(&me["user_id"]));
    let last = served
        .request(Method::PATCH, &own)
        .json(&json!({ "disabled": true }));
    assert_eq!(Answer::of(send(last).await).await.problem(409), "conflict");
}

async fn tenants_are_made_by_the_operator_and_know_nothing_of_each_other(served: &Served) {
    let acme = served.tenant("acme").await;
    let ours = served.ingest("ours.txt", "Only ours to read.").await;
    let document = format!("/v1/documents/{}", text(&ours["doc_id"]));
    assert_eq!(
        served.get_as(&acme, &document).await.problem(404),
        "not_found"
    );
    assert_eq!(
        served.get_as(&acme, "/v1/tenants").await.problem(403),
        "not_operator"
    );
    let folder = json!({ "kb": "default", "folder": { "roots": ["/etc"] } });
    let refused = served.post_as(&acme, "/v1/jobs", &folder).await;
    assert_eq!(
        refused.problem(403),
        "not_operator",
        "folders of this machine are not theirs"
    );
    let same = json!({ "name": "acme", "admin_login": "b", "admin_password": PASSWORD });
    assert_eq!(
        served.post("/v1/tenants", &same).await.problem(409),
        "conflict"
    );
    let tenants = served.get("/v1/tenants").await.expect(200);
    assert_eq!(tenants["items"].as_array().map(Vec::len), Some(2));
}

async fn a_key_opens_what_it_was_made_for_until_it_is_revoked(served: &Served) {
    let body = json!({ "name": "reader", "role": "admin", "scopes": ["read"] });
    let made = served.post("/v1/api-keys", &body).await.expect(201);
    let secret = text(&made["secret"]);
    served.get_as(secret, "/v1/documents").await.expect(200);
    let search = json!({ "query": "rye" });
    let closed = served
        .post_as(secret, "/v1/kbs/default/search", &search)
        .await;
    assert_eq!(closed.problem(403), "forbidden");
    let by_header = served
        .bare(Method::GET, "/v1/documents")
        .header("x-api-key", secret);
    assert_eq!(send(by_header).await.status(), 200);

    let manager = json!({ "name": "m", "role": "admin", "scopes": ["manage", "read"] });
    let manager = served.post("/v1/api-keys", &manager).await.expect(201);
    let more = json!({ "name": "all", "role": "admin" });
    let more = served
        .post_as(text(&manager["secret"]), "/v1/api-keys", &more)
        .await;
    assert_eq!(
        more.problem(403),
        "forbidden",
        "a limited key makes no unlimited one"
    );
    let form = served
        .bare(Method::POST, "/admin/api-keys")
        .bearer_auth(text(&manager["secret"]))
        .header(FORM.0, FORM.1)
        .body("name=all&role=admin&scope=");
    assert_eq!(send(form).await.status(), 403, "nor on a page");

    let path = format!("/v1/api-keys/{}", text(&made["id"]));
    assert_eq!(
        send(served.request(Method::DELETE, &path)).await.status(),
        204
    );
    assert_eq!(
        served.get_as(secret, "/v1/documents").await.problem(401),
        "unauthorized"
    );
}

async fn a_key_opens_nothing_while_its_maker_is_disabled(served: &Served) {
    let body = json!({ "login": "una", "password": PASSWORD, "role": "admin" });
    let una = served.post("/v1/users", &body).await.expect(201);
    let token = served.token_of("una").await;
    let key = json!({ "name": "ci", "role": "admin" });
    let made = served.post_as(&token, "/v1/api-keys", &key).await;
    let made = made.expect(201);
    let secret = text(&made["secret"]);
    served.get_as(secret, "/v1/documents").await.expect(200);
    let path = format!("/v1/users/{}", text(&una["id"]));
    let switch = async |disabled: bool| {
        let request = served.request(Method::PATCH, &path);
        let request = request.json(&json!({ "disabled": disabled }));
        Answer::of(send(request).await).await.expect(200);
    };
    switch(true).await;
    let refused = served.get_as(secret, "/v1/documents").await;
    assert_eq!(refused.problem(401), "unauthorized");
    let stream = served.bare(Method::GET, "/v1/events/stream");
    let stream = send(stream.header("x-api-key", secret)).await;
    assert_eq!(stream.status(), 401);
    let listed = served.get("/v1/api-keys").await.expect(200);
    assert_eq!(listed["items"][0]["maker_disabled"], true);
    switch(false).await;
    served.get_as(secret, "/v1/documents").await.expect(200);

    // An admin no longer, and nor is the key.
    served.get_as(secret, "/v1/users").await.expect(200);
    let request = served.request(Method::PATCH, &path);
    let demoted = send(request.json(&json!({ "role": "user" }))).await;
    Answer::of(demoted).await.expect(200);
    let refused = served.get_as(secret, "/v1/users").await;
    assert_eq!(refused.problem(403), "forbidden");
    served.get_as(secret, "/v1/documents").await.expect(200);
}

async fn tenant_named(served: &Served, name: &str) -> String {
    let tenants = served.get("/v1/tenants").await.expect(200);
    let mut tenants = tenants["items"].as_array().expect("a list").iter();
    let found = tenants.find(|tenant| tenant["name"] == name);
    format!("/v1/tenants/{}", text(&found.expect(name)["tenant_id"]))
}

async fn patch_as(served: &Served, token: &str, path: &str, body: Value) -> Answer {
    let request = served.bare(Method::PATCH, path).bearer_auth(token);
    Answer::of(send(request.json(&body)).await).await
}

async fn a_tenant_is_renamed_and_disabled_by_the_operator_alone(served: &Served) {
    let token = served.tenant("acme").await;
    let (acme, own) = (
        tenant_named(served, "acme").await,
        tenant_named(served, "default").await,
    );
    let change = async |path: &str, body| patch_as(served, &served.token, path, body).await;
    let renamed = change(&acme, json!({ "name": "Acme & Sons" })).await;
    assert_eq!(renamed.expect(200)["name"], "Acme & Sons");
    served.get_as(&token, "/v1/documents").await.expect(200);
    let taken = change(&acme, json!({ "name": "default" })).await;
    assert_eq!(taken.problem(409), "conflict");
    for odd in [
        json!({ "name": " " }),
        json!({ "disabled": 1 }),
        json!({ "x": 1 }),
    ] {
        let refused = change(&acme, odd).await;
        assert!(refused.status.is_client_error(), "{}", refused.text);
        refused.problem(refused.status.as_u16());
    }
    let unknown = "/v1/tenants/0192f0c0-0000-7000-8000-000000000000";
    let unknown = change(unknown, json!({ "disabled": true })).await;
    assert_eq!(unknown.problem(404), "not_found");
    let locked_out = change(&own, json!({ "disabled": true })).await;
    assert_eq!(locked_out.problem(409), "conflict");
    for path in [&acme, &own] {
        let body = json!({ "disabled": true });
        let refused = patch_as(served, &token, path, body).await;
        assert_eq!(refused.problem(403), "not_operator");
        let form = served.bare(Method::POST, &path.replace("/v1", "/admin"));
        let form = form.bearer_auth(&token).header(FORM.0, FORM.1);
        assert_eq!(send(form.body("disabled=true")).await.status(), 403);
    }
    let theirs = served.get_as(&token, "/admin").await;
    assert!(theirs.status == 200 && !theirs.text.contains("id=\"tenants\""));
    let ours = served.get("/admin").await;
    assert!(ours.text.contains("Acme &#38; Sons"), "{}", ours.text);
}

async fn a_disabled_tenant_is_refused_everywhere_and_keeps_what_it_has(served: &Served) {
    let token = served.tenant("acme").await;
    let key = json!({ "name": "ci", "role": "admin" });
    let key = served.post_as(&token, "/v1/api-keys", &key).await;
    let key = text(&key.expect(201)["secret"]).to_owned();
    let file = json!({ "filename": "a.txt", "fileSize": 3, "contentType": "text/plain" });
    let address = served
        .post_as(&token, "/v1/kbs/default/upload-url", &file)
        .await
        .expect(201);
    let queued = served.upload_as(&token, "b.txt", "Kept for later.").await;
    let queued = queued.expect(202);
    let stream = served.bare(Method::GET, "/v1/events/stream");
    let mut stream = send(stream.bearer_auth(&token)).await;
    let acme = tenant_named(served, "acme").await;
    let switch = async |disabled: bool| {
        let body = json!({ "disabled": disabled });
        let changed = patch_as(served, &served.token, &acme, body).await;
        assert_eq!(changed.expect(200)["disabled"], disabled);
    };

    switch(true).await;
    for secret in [&token, &key] {
        for path in ["/v1/documents", "/v1/events/stream"] {
            let refused = served.get_as(secret, path).await;
            assert_eq!(refused.problem(401), "unauthorized", "{path}");
        }
        let notice = served.post_as(secret, "/v1/events", &json!({})).await;
        assert_eq!(notice.problem(401), "unauthorized");
        let late = served.upload_as(secret, "late.txt", "Too late.").await;
        assert_eq!(late.problem(401), "unauthorized");
    }
    let body = json!({ "login": "acme-admin", "password": PASSWORD });
    let login = served.bare(Method::POST, "/v1/auth/login").json(&body);
    let login = Answer::of(send(login).await).await;
    assert_eq!(login.problem(401), "wrong_login");
    let put = served.http.put(text(&address["uploadUrl"]));
    let put = put.header("content-type", "text/plain").body("rye");
    let put = Answer::of(send(put).await).await;
    assert_eq!(put.problem(403), "tenant_disabled");
    while stream.chunk().await.expect("the stream is ended").is_some() {}
    served.get("/v1/documents").await.expect(200);

    switch(false).await;
    let kinds = served.follow(&token, text(&queued["run_id"])).await;
    assert_eq!(kinds.last().map(String::as_str), Some("run.succeeded"));
    let kept = served.get_as(&key, "/v1/documents").await.expect(200);
    assert_eq!(kept["items"][0]["document_id"], queued["doc_id"]);
}

async fn guess(served: &Served, login: &str) -> Answer {
    let body = json!({ "login": login, "password": "not it" });
    Answer::of(send(served.bare(Method::POST, "/v1/auth/login").json(&body)).await).await
}

async fn guessing_passwords_gets_slower(served: &Served) {
    // Many at once are no way around it: the eleventh would have to wait half a minute.
    let at_once = join_all((0..30).map(|_| guess(served, "una"))).await;
    let heard = at_once.iter().filter(|answer| answer.status == 401).count();
    let slowed = at_once.iter().filter(|answer| answer.status == 429).count();
    assert_eq!(heard + slowed, 30);
    assert!((1..=10).contains(&heard), "{heard} were heard");

    for _ in 0..5 {
        assert_eq!(guess(served, "admin").await.problem(401), "wrong_login");
    }
    let slowed = guess(served, "admin").await;
    assert_eq!(slowed.problem(429), "too_many_attempts");
    assert!(slowed.headers.contains_key("retry-after"));
}

#[test]
fn without_sign_in_only_this_machine_is_listened_to() {
    let mill = Mill::sqlite();
    let serve = mill
        .command(&["serve", "--listen", "0.0.0.0:0"])
        .env("AUTH_ENABLED", "false")
        .output()
        .unwrap();
    assert!(!serve.status.success());
    let said = String::from_utf8_lossy(&serve.stderr);
    assert!(said.contains("127.0.0.1"), "{said}");
}

#[tokio::test]
async fn without_sign_in_no_other_name_of_this_machine_is_answered_to() {
    let mill = Mill::sqlite();
    let server = Server::start(&mill, &[]);
    let ask = async |host: &str| {
        let request = server.http.get(format!("{}/v1/documents", server.base));
        Answer::of(send(request.header("host", host)).await).await
    };
    ask("localhost:8470").await.expect(200);
    assert_eq!(ask("evil.example:8470").await.problem(403), "foreign_host");
}

#[tokio::test]
async fn a_key_is_rotated_by_its_name_without_signing_anyone_out() {
    let served = Served::with(Mill::sqlite(), &[]);
    let old = served.token.clone();
    let mill = served.stop();
    let path = mill.data().join("secrets.json");
    let read = || -> Value { serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap() };
    let write = |secrets: &Value| std::fs::write(&path, secrets.to_string()).unwrap();
    let mut secrets = read();
    let keys = secrets["keys"].as_array_mut().unwrap();
    keys.insert(
        0,
        json!({ "kid": "next", "secret": "the next secret of many letters" }),
    );
    write(&secrets);
    let served = Served::with(mill, &[]);
    served.get_as(&old, "/v1/documents").await.expect(200);
    let new = served.token.clone();
    let mill = served.stop();
    secrets["keys"].as_array_mut().unwrap().truncate(1);
    write(&secrets);
    let served = Served::with(mill, &[]);
    served.get_as(&new, "/v1/documents").await.expect(200);
    let refused = served.get_as(&old, "/v1/documents").await;
    assert_eq!(refused.problem(401), "unauthorized", "its key is gone");
}

#[tokio::test]
async fn a_configured_secret_is_rotated_without_signing_anyone_out() {
    let started = |mill, newest: &str, old: &str| {
        let variables = [
            ("JWT_SECRET", newest),
            ("GRISTMILL_AUTH_JWT_OLD_SECRETS", old),
        ];
        Served::with(mill, &variables)
    };
    let [first, second, third] = ["a", "b", "c"].map(|letter| letter.repeat(32));
    let served = started(Mill::sqlite(), &first, "");
    let oldest = served.token.clone();
    let served = started(served.stop(), &second, &first);
    served.get_as(&oldest, "/v1/documents").await.expect(200);
    let old = served.token.clone();
    let served = started(served.stop(), &third, &format!("{second}, {first}"));
    for token in [&oldest, &old, &served.token] {
        served.get_as(token, "/v1/documents").await.expect(200);
    }
    let kid = |token: &str| token.split('.').next().unwrap().to_owned();
    assert_ne!(kid(&served.token), kid(&old), "the newest signs");
    let served = started(served.stop(), &third, &second);
    served.get_as(&old, "/v1/documents").await.expect(200);
    let refused = served.get_as(&oldest, "/v1/documents").await;
    assert_eq!(refused.problem(401), "unauthorized", "its key is gone");
}

#[tokio::test]
async fn with_the_workers_stopped_everything_but_processing_works() {
    let mill = Mill::sqlite();
    let served = Served::with(mill, &[]);
    let done = served
        .ingest("a.txt", "Something that was read before.")
        .await;
    let mill = served.stop();
    let served = Served::without_workers(mill);
    let queued = served
        .upload("b.txt", "Something that waits.")
        .await
        .expect(202);
    let run = served
        .get(&format!("/v1/runs/{}", text(&queued["run_id"])))
        .await;
    assert_eq!(run.expect(200)["status"], "queued");
    let version = format!("/v1/versions/{}", text(&queued["version_id"]));
    let original = served.get(&format!("{version}/original")).await;
    assert_eq!(original.text, "Something that waits.");
    for unread in ["text", "pages/1"] {
        let unread = served.get(&format!("{version}/{unread}")).await;
        assert_eq!(unread.problem(409), "conflict");
    }
    let none = served.get(&format!("{version}/chunks")).await.expect(200);
    assert_eq!(none["items"], json!([]));
    let found = served.search("read before").await;
    assert_eq!(found["hits"][0]["document_id"], done["doc_id"]);
}
