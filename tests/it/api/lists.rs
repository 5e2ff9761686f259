//! What is read piece by piece: lists by cursor or page, events from where one left off,
//! passages with what stands around them.

use chrono::{TimeDelta, Utc};
use reqwest::Method;
use serde_json::{Value, json};

use super::served::{Answer, Served, send};
use crate::mill::{Folder, text};

super::on_both_catalogs!(
    a_list_is_read_by_cursor_or_by_page,
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
