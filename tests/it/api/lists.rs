//! What is read piece by piece: lists by cursor or page, events from where one left off,
//! passages with what stands around them.

use chrono::{TimeDelta, Utc};
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use super::served::{Answer, PASSWORD, Served, send};
use crate::mill::{Folder, text};

super::on_both_catalogs!(
    a_list_is_read_by_cursor_or_by_page,
    every_list_of_the_description_comes_in_pages,
    what_a_tenant_has_is_read_to_its_end_one_at_a_time,
    a_page_leads_to_the_rest_of_a_list,
    events_go_on_after_the_last_one_that_was_heard,
    a_passage_comes_with_its_scores_its_marks_and_its_neighbours,
    a_paused_source_is_synced_when_it_is_resumed,
);

async fn a_list_is_read_by_cursor_or_by_page(served: &Served) {
    for n in 0..5 {
        served
            .upload(&format!("{n}.txt"), format!("Text number {n}."))
            .await
            .expect(202);
    }
    let list = async |query: &str| served.get(&format!("/v1/runs?{query}")).await;
    let ids = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().expect("a list").iter();
        items.map(|run| text(&run["run_id"]).to_owned()).collect()
    };
    let all = ids(&list("limit=1000").await.expect(200));
    assert_eq!(all.len(), 5);
    let (mut by_cursor, mut query) = (Vec::new(), "limit=2".to_owned());
    loop {
        let page = list(&query).await.expect(200);
        by_cursor.extend(ids(&page));
        match page["next"].as_str() {
            Some(next) => query = format!("limit=2&cursor={next}"),
            None => break,
        }
    }
    let mut by_page = Vec::new();
    for page in 1..=4 {
        by_page.extend(ids(&list(&format!("limit=2&page={page}"))
            .await
            .expect(200)));
    }
    assert_eq!((&by_cursor, &by_page), (&all, &all), "each once, in order");
    for bad in [
        "limit=0",
        "limit=1001",
        "page=0",
        "limit=x",
        "cursor=nonsense",
    ] {
        let refused = list(bad).await;
        assert!(matches!(refused.status.as_u16(), 400 | 404 | 422), "{bad}");
        refused.problem(refused.status.as_u16());
    }
    let both = list(&format!("page=1&cursor={}", all[0])).await;
    assert_eq!(both.problem(422), "unprocessable");
}

/// Lists inside an answer about one thing, and what keeps each short.
const BOUNDED: [(&str, &str, &str); 5] = [
    ("/readyz", "missing", "one line for each part of the server"),
    ("/v1/documents/{document}", "gaps", "parts of one document"),
    ("/v1/versions/{version}", "gaps", "parts of one version"),
    ("/v1/versions/{version}", "warnings", "kinds of one version"),
    ("/v1/metrics/query", "lines", "series of one figure"),
];

/// What the schema refers to, if it only refers.
fn resolved<'s>(description: &'s Value, schema: &'s Value) -> &'s Value {
    let reference = schema["$ref"].as_str();
    match reference.and_then(|path| path.strip_prefix('#')) {
        Some(pointer) => description.pointer(pointer).expect("it is described"),
        None => schema,
    }
}

/// The names of the lists an answer has; the empty one where it is a list itself.
fn lists(description: &Value, schema: &Value) -> Vec<String> {
    let schema = resolved(description, schema);
    let is_list = |schema: &Value| {
        let kind = &resolved(description, schema)["type"];
        let kinds = kind.as_array().cloned().unwrap_or(vec![kind.clone()]);
        kinds.iter().any(|kind| kind == "array")
    };
    let own = is_list(schema).then(String::new);
    let fields = schema["properties"].as_object().into_iter().flatten();
    let fields = fields.filter(|(_, field)| is_list(field));
    let parts = schema["allOf"].as_array().into_iter().flatten();
    let parts = parts.flat_map(|part| lists(description, part));
    let fields = fields.map(|(name, _)| name.clone());
    own.into_iter().chain(fields).chain(parts).collect()
}

async fn every_list_of_the_description_comes_in_pages(served: &Served) {
    let description = served.get("/openapi.json").await.expect(200);
    let (mut paged, mut unused) = (0, BOUNDED.to_vec());
    for (path, item) in description["paths"].as_object().expect("paths") {
        let asked = &item["get"];
        let schema = &asked["responses"]["200"]["content"]["application/json"]["schema"];
        let names = asked["parameters"].as_array().into_iter().flatten();
        let names: Vec<_> = names.map(|one| text(&one["name"])).collect();
        let in_pages = ["cursor", "limit", "page"]
            .iter()
            .all(|name| names.contains(name));
        for list in lists(&description, schema) {
            let known = |(of, name, _): &(&str, &str, &str)| *of == path && *name == list;
            let bounded = unused.iter().position(known);
            assert!(
                in_pages != bounded.is_some(),
                "`{list}` of GET {path} comes in pages, or it is said what bounds it"
            );
            bounded.map(|at| unused.remove(at));
            paged += usize::from(in_pages);
        }
    }
    assert!(paged >= 17, "only {paged} lists come in pages");
    assert!(unused.is_empty(), "no such lists: {unused:?}");
}

/// One of everything a tenant lists, named after a number.
async fn furnish(served: &Served, folder: &Folder, n: u32) {
    let (name, login) = (format!("n{n}"), format!("n{n}-admin"));
    let tenant = json!({ "name": name, "admin_login": login, "admin_password": PASSWORD });
    let user = json!({ "login": name, "password": PASSWORD, "role": "user" });
    let key = json!({ "name": name, "role": "user" });
    let roots = json!({ "roots": [folder.path()] });
    let source = json!({ "kb": "default", "name": name, "folder": roots });
    let hook = json!({ "url": format!("http://127.0.0.1:9/{n}") });
    for (path, body) in [
        ("/v1/tenants", tenant),
        ("/v1/users", user),
        ("/v1/api-keys", key),
        ("/v1/kbs", json!({ "name": name })),
        ("/v1/sources", source),
        ("/v1/webhooks", hook),
    ] {
        served.post(path, &body).await.expect(201);
    }
}

/// The next version of the same document.
async fn next_version(served: &Served, n: u32) -> Value {
    let part = Part::text(format!("Version {n} of it.")).file_name("a.txt");
    let form = Form::new()
        .text("source_uri", "notes://one/a.txt")
        .part("file", part);
    let request = served.request(Method::POST, "/v1/ingest").multipart(form);
    let queued = Answer::of(send(request).await).await.expect(202);
    served.follow(&served.token, text(&queued["run_id"])).await;
    queued
}

/// What the pages of a list hold, in these fields of an answer, read one row at a time.
async fn one_at_a_time(served: &Served, path: &str, fields: &[&str]) -> Vec<Vec<Value>> {
    let (mut all, mut query) = (vec![Vec::new(); fields.len()], "limit=1".to_owned());
    loop {
        let page = served.get(&format!("{path}?{query}")).await.expect(200);
        for (all, field) in all.iter_mut().zip(fields) {
            let rows = page[field].as_array().expect("a list");
            assert!(rows.len() <= 1, "{path}: {rows:?}");
            all.extend_from_slice(rows);
        }
        match page["next"].as_str() {
            Some(next) => query = format!("limit=1&cursor={next}"),
            None => return all,
        }
    }
}

async fn what_a_tenant_has_is_read_to_its_end_one_at_a_time(served: &Served) {
    let folder = Folder::of(&[("a.txt", "Something of a source.")]);
    let mut document = Value::Null;
    for n in 0..3 {
        furnish(served, &folder, n).await;
        document = next_version(served, n).await["doc_id"].take();
    }
    let document = format!("/v1/documents/{}", text(&document));
    let (versions, history) = (
        format!("{document}/versions"),
        format!("{document}/history"),
    );
    let items: &[&str] = &["items"];
    for (path, fields) in [
        ("/v1/tenants", items),
        ("/v1/users", items),
        ("/v1/api-keys", items),
        ("/v1/kbs", items),
        ("/v1/sources", items),
        ("/v1/webhooks", items),
        (&versions, items),
        (&history, &["activations", "ledger"]),
    ] {
        let whole = served.get(&format!("{path}?limit=1000")).await.expect(200);
        assert_eq!(whole.get("next"), None, "{path}");
        let walked = one_at_a_time(served, path, fields).await;
        for (walked, field) in walked.iter().zip(fields) {
            assert!(walked.len() >= 3, "{path}: {walked:?}");
            assert_eq!(json!(walked), whole[field], "{path}: each once, in order");
            let second = format!("{path}?limit=1&page=2");
            let second = served.get(&second).await.expect(200);
            assert_eq!(second[field][0], walked[1], "{path}: by its number");
        }
        for bad in [
            "limit=0",
            "limit=1001",
            "page=0",
            "cursor=nonsense",
            "cursor=",
        ] {
            let refused = served.get(&format!("{path}?{bad}")).await;
            assert!(refused.status.is_client_error(), "{path}?{bad}");
            refused.problem(refused.status.as_u16());
        }
    }
}

async fn a_page_leads_to_the_rest_of_a_list(served: &Served) {
    for n in 0..52 {
        let body = json!({ "name": format!("key-{n:02}"), "role": "user" });
        served.post("/v1/api-keys", &body).await.expect(201);
    }
    let first = served.get("/admin").await;
    assert!(first.text.contains("key-51") && !first.text.contains("key-01"));
    let (_, rest) = first.text.split_once("href=\"?keys=").expect("a link");
    let (cursor, _) = rest.split_once('#').expect("to its place on the page");
    let second = served.get(&format!("/admin?keys={cursor}")).await;
    assert!(second.text.contains("key-01") && second.text.contains("key-00"));
    assert!(!second.text.contains("key-51") && !second.text.contains("?keys="));
    let odd = served.get("/admin?keys=nonsense").await;
    assert_eq!(odd.status, 404, "{}", odd.text);
}

/// Reads the stream until the run has succeeded: the ids and the kinds that were told.
async fn heard(served: &Served, last: Option<&str>) -> Vec<(String, String)> {
    let mut request = served.request(Method::GET, "/v1/events/stream");
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let mut stream = send(request).await;
    let mut told = String::new();
    while !told.contains("event: run.succeeded") || !told.ends_with("\n\n") {
        let piece = stream.chunk().await.expect("the stream goes on");
        told.push_str(&String::from_utf8_lossy(&piece.expect("it does not end")));
    }
    let field = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name));
        line.map(str::to_owned)
    };
    told.split("\n\n")
        .filter_map(|block| field(block, "id: ").zip(field(block, "event: ")))
        .collect()
}

async fn events_go_on_after_the_last_one_that_was_heard(served: &Served) {
    served.ingest("a.txt", "Something to follow.").await;
    let all = heard(served, None).await;
    assert!(all.len() > 2, "{all:?}");
    let again = heard(served, Some(&all[0].0)).await;
    assert_eq!(again, all[1..], "nothing twice and nothing missed");
    let odd = served.request(Method::GET, "/v1/events/stream");
    let odd = send(odd.header("last-event-id", "yesterday")).await;
    assert_eq!(Answer::of(odd).await.problem(400), "invalid_request");
}

async fn a_passage_comes_with_its_scores_its_marks_and_its_neighbours(served: &Served) {
    let before = Utc::now() - TimeDelta::hours(1);
    let part = |topic: &str| {
        let sentence = |n| format!("Of {topic} the miller knows rule {n}, learnt in year {n}. ");
        let rules: String = (1..24).map(sentence).collect();
        format!("## {topic}\n\n{rules}\n\n")
    };
    let body = format!(
        "# Mills\n\n{}{}{}",
        part("stones"),
        part("streams"),
        part("sails")
    );
    let done = served.ingest("mills.md", &body).await;
    let search = async |more: Value| {
        let mut question = json!({ "query": "what the miller knows of streams", "top": 3 });
        let asked = question.as_object_mut().expect("an object");
        asked.extend(more.as_object().expect("an object").clone());
        served.post("/v1/kbs/default/search", &question).await
    };
    let found = search(json!({ "neighbours": 1 })).await.expect(200);
    let hits = found["hits"].as_array().expect("hits");
    let hit = hits
        .iter()
        .find(|hit| text(&hit["text"]).contains("Of streams"))
        .unwrap_or_else(|| panic!("{found}"));
    assert!(hit["scores"]["vector"].is_number() && hit["scores"]["text"].is_number());
    let said = text(&hit["text"]);
    let marked: Vec<&str> = hit["highlights"]
        .as_array()
        .expect("marks")
        .iter()
        .map(|range| {
            let at = |n: usize| range[n].as_u64().expect("a place") as usize;
            &said[at(0)..at(1)]
        })
        .collect();
    for word in ["streams", "miller"] {
        let found = marked.iter().any(|mark| mark.contains(word));
        assert!(found, "{word} is not among {marked:?}");
    }
    let around = ["before", "after"].map(|side| hit[side].as_array().map_or(0, Vec::len));
    assert!(around.iter().sum::<usize>() > 0, "{hit}");

    let same = json!({ "filter": { "document_ids": [done["doc_id"]] } });
    let same = search(same).await;
    assert!(
        !same.expect(200)["hits"]
            .as_array()
            .expect("hits")
            .is_empty()
    );
    for nothing in [
        json!({ "document_ids": ["0192f0c0-0000-7000-8000-000000000000"] }),
        json!({ "metadata": { "team": "bakery" } }),
        json!({ "heading": "no such heading" }),
    ] {
        let none = search(json!({ "filter": nothing })).await.expect(200);
        assert_eq!(none["hits"], json!([]), "{nothing}");
    }
    let then = search(json!({ "as_of": before })).await.expect(200);
    assert_eq!(then["hits"], json!([]), "it did not answer yet");
    for bad in [
        json!({ "top": 0 }),
        json!({ "neighbours": 11 }),
        json!({ "as_of": "x" }),
    ] {
        let refused = search(bad.clone()).await;
        assert!(matches!(refused.status.as_u16(), 400 | 422), "{bad}");
    }
}

async fn a_paused_source_is_synced_when_it_is_resumed(served: &Served) {
    let folder = Folder::of(&[("a.txt", "Something of a source.")]);
    let body = json!({ "kb": "default", "name": "notes", "folder": { "roots": [folder.path()] } });
    let made = served.post("/v1/sources", &body).await.expect(201);
    let path = format!("/v1/sources/{}", text(&made["source_id"]));
    let act = async |what: &str| served.post(&format!("{path}/{what}"), &json!({})).await;
    assert_eq!(act("pause").await.expect(200)["enabled"], false);
    assert_eq!(act("sync").await.problem(409), "conflict");
    assert_eq!(act("resume").await.expect(200)["enabled"], true);
    act("sync").await.expect(202);
}
