//! The Model Context Protocol, with and without a handshake.

use reqwest::Method;
use serde_json::{Value, json};

use super::served::{Answer, Served, send};
use crate::mill::text;

super::on_both_catalogs!(a_program_searches_reads_and_brings_in_texts_in_both_forms);

async fn rpc(served: &Served, token: &str, method: &str, params: Value) -> Answer {
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    served.post_as(token, "/mcp", &body).await
}

async fn tool(served: &Served, token: &str, name: &str, arguments: Value) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    rpc(served, token, "tools/call", params).await.expect(200)["result"].clone()
}

async fn a_program_searches_reads_and_brings_in_texts_in_both_forms(served: &Served) {
    let token = &served.token;
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } });
    let hello = rpc(served, token, "initialize", hello).await.expect(200);
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(served.post("/mcp", &ready).await.status, 202);

    let body = json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/list" });
    let stateless = served.request(Method::POST, "/mcp").json(&body);
    let stateless = stateless
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/list");
    let listed = Answer::of(send(stateless).await).await.expect(200);
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| text(&tool["name"]))
        .collect();
    let all = [
        "search",
        "get_document",
        "list_documents",
        "run_status",
        "ingest_text",
    ];
    assert_eq!(names, all);
    let found = rpc(served, token, "server/discover", json!({}))
        .await
        .expect(200);
    assert_eq!(found["result"]["protocolVersions"][0], "2026-07-28");

    let taken = json!({ "title": "Bread", "text": "Rye bread keeps longer than wheat bread." });
    let taken = tool(served, token, "ingest_text", taken).await;
    let taken = &taken["structuredContent"];
    served.follow(token, text(&taken["run_id"])).await;
    let run = tool(
        served,
        token,
        "run_status",
        json!({ "run_id": taken["run_id"] }),
    )
    .await;
    assert_eq!(run["structuredContent"]["status"], "succeeded", "{run}");
    let hits = tool(served, token, "search", json!({ "query": "rye bread" })).await;
    let hit = &hits["structuredContent"]["hits"][0];
    assert_eq!(hit["citation"]["document_id"], taken["doc_id"], "{hits}");
    let document = json!({ "document_id": taken["doc_id"] });
    let read = tool(served, token, "get_document", document.clone()).await;
    assert!(text(&read["structuredContent"]["text"]).contains("Rye bread keeps"));
    let list = tool(served, token, "list_documents", json!({})).await;
    assert_eq!(
        list["structuredContent"]["documents"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );

    let other = served.tenant("other").await;
    let foreign = tool(served, &other, "get_document", document).await;
    assert_eq!(foreign["isError"], true, "{foreign}");
    let reader = json!({ "name": "r", "role": "user", "scopes": ["read"] });
    let reader = served.post("/v1/api-keys", &reader).await.expect(201);
    let more = tool(
        served,
        text(&reader["secret"]),
        "ingest_text",
        json!({ "text": "x" }),
    )
    .await;
    assert_eq!(more["structuredContent"]["code"], "forbidden");

    let nobody = served.bare(Method::POST, "/mcp").json(&body);
    assert_eq!(
        Answer::of(send(nobody).await).await.problem(401),
        "unauthorized"
    );
    let unknown = rpc(served, token, "resources/list", json!({}))
        .await
        .expect(200);
    assert_eq!(unknown["error"]["code"], -32601);
    assert_eq!(
        send(served.request(Method::GET, "/mcp")).await.status(),
        405
    );
}
