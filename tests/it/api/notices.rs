//! Events of a bucket, in every envelope, believed only from who may send them.

use reqwest::Method;
use serde_json::{Value, json};
use web::signature;

use super::served::{Answer, Served, send};
use crate::mill::{Folder, path, text};

super::on_both_catalogs!(
    every_envelope_brings_the_object_and_nothing_comes_twice,
    only_a_signature_a_key_or_a_known_address_is_believed,
);

struct Bucket {
    folder: Folder,
    source: String,
    secret: String,
}

async fn bucket(served: &Served, allow_from: &[&str]) -> Bucket {
    let folder = Folder::of(&[("2026/a b.txt", "Rye bread keeps longer than wheat.")]);
    let body = json!({ "kb": "default", "name": "grain", "bucket": {
        "name": "grain", "folder": path(folder.path()), "allow_from": allow_from } });
    let made = served.post("/v1/sources", &body).await.expect(201);
    Bucket {
        folder,
        source: text(&made["source_id"]).to_owned(),
        secret: text(&made["signing_secret"]).to_owned(),
    }
}

fn s3(event: &str, key: &str, sequencer: &str) -> Value {
    json!({ "Records": [{ "eventVersion": "2.5", "eventSource": "aws:s3", "eventName": event,
        "eventTime": "2026-11-01T12:00:00.000Z",
        "s3": { "bucket": { "name": "grain" },
                "object": { "key": key, "size": 34, "eTag": "e", "sequencer": sequencer } } }] })
}

async fn status(served: &Served, body: &Value) -> Value {
    let answer = served.post("/v1/events", body).await.expect(200);
    answer["results"][0].clone()
}

async fn every_envelope_brings_the_object_and_nothing_comes_twice(served: &Served) {
    let bucket = bucket(served, &[]).await;
    let first = status(served, &s3("ObjectCreated:Put", "2026/a+b.txt", "10")).await;
    assert_eq!(first["status"], "queued", "{first}");
    assert_eq!(first["source_uri"], "s3://grain/2026/a%20b.txt");
    served.follow(&served.token, text(&first["run_id"])).await;

    let bridge = json!({ "version": "0", "id": "1", "detail-type": "Object Created",
        "source": "aws.s3", "time": "2026-11-01T12:00:00Z", "detail": {
            "bucket": { "name": "grain" },
            "object": { "key": "2026/a b.txt", "size": 34, "etag": "e", "sequencer": "10" } } });
    let sns = json!({ "Type": "Notification", "TopicArn": "arn:aws:sns:t", "MessageId": "m",
        "Message": s3("ObjectCreated:Put", "2026/a+b.txt", "10").to_string() });
    let mut minio = s3("s3:ObjectCreated:Put", "2026/a+b.txt", "10");
    minio["EventName"] = "s3:ObjectCreated:Put".into();
    minio["Key"] = "grain/2026/a b.txt".into();
    let plain = json!({ "tenantId": "not-believed", "indexId": "nor-this", "bucket": "grain",
        "key": "2026/a b.txt", "sizeBytes": 34, "model": "m",
        "createdAt": "2026-11-01T12:00:00Z" });
    let structured = json!({ "specversion": "1.0", "id": "1", "source": "s",
        "type": "com.example.object.created", "data": plain });
    for again in [&bridge, &sns, &minio, &plain, &structured] {
        let again = status(served, again).await;
        assert_eq!(again["status"], "skipped", "{again}");
        assert_eq!(again["document_id"], first["document_id"]);
    }
    let batch = served
        .request(Method::POST, "/v1/events")
        .json(&json!([structured, structured]));
    let batch = batch.header("content-type", "application/cloudevents-batch+json");
    let batch = Answer::of(send(batch).await).await.expect(200);
    assert_eq!(batch["results"].as_array().map(Vec::len), Some(2));
    let binary = served.request(Method::POST, "/v1/events").json(&plain);
    let binary = binary
        .header("ce-id", "1")
        .header("ce-source", "s")
        .header("ce-type", "object.created")
        .header("ce-specversion", "1.0");
    let binary = Answer::of(send(binary).await).await.expect(200);
    assert_eq!(binary["results"][0]["status"], "skipped");

    let mut odd = s3("ObjectCreated:Put", "2026/a+b.txt", "11");
    odd["Records"][0]["s3"]["object"]["eTag"] = "e\0".into();
    assert_eq!(status(served, &odd).await["status"], "refused");

    let test = json!({ "Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "grain" });
    assert_eq!(status(served, &test).await["status"], "test");
    let head = send(served.bare(Method::HEAD, "/v1/events")).await;
    assert_eq!(head.status(), 204, "MinIO asks first");

    std::fs::remove_file(bucket.folder.file("2026/a b.txt")).unwrap();
    let gone = status(served, &s3("ObjectRemoved:Delete", "2026/a+b.txt", "20")).await;
    assert_eq!(gone["status"], "removed", "{gone}");
    let late = status(served, &s3("ObjectCreated:Put", "2026/a+b.txt", "10")).await;
    assert_eq!(
        late["status"], "removed",
        "the bucket itself is looked at: {late}"
    );
    assert_eq!(served.search("rye bread").await["hits"], json!([]));
}

async fn only_a_signature_a_key_or_a_known_address_is_believed(served: &Served) {
    let closed = bucket(served, &["10.0.0.0/8"]).await;
    let body = s3("ObjectCreated:Put", "2026/a+b.txt", "10").to_string();
    let to = |source: &str| format!("/v1/events?source={source}");
    let post = |path: &str, body: &str| {
        let request = served.bare(Method::POST, path).body(body.to_owned());
        request.header("content-type", "application/json")
    };
    let signed = |secret: &str, at, sent: &str| {
        let code = signature::sign(secret, "msg_1", at, body.as_bytes());
        post(&to(&closed.source), sent)
            .header(signature::ID, "msg_1")
            .header(signature::TIMESTAMP, at.timestamp().to_string())
            .header(signature::SIGNATURE, code)
    };
    let answer = async |request| Answer::of(send(request).await).await;
    let now = chrono::Utc::now();
    let other = signature::new_secret();
    for stranger in [
        post("/v1/events", &body),
        post(&to(&closed.source), &body),
        post(&to("0192f0c0-0000-7000-8000-000000000000"), &body),
        signed(&other, now, &body),
        signed(&closed.secret, now, &body.replace("a+b", "c")),
        signed(&closed.secret, now - chrono::TimeDelta::hours(1), &body),
    ] {
        assert_eq!(answer(stranger).await.problem(401), "unauthorized");
    }
    let first = answer(signed(&closed.secret, now, &body)).await.expect(200);
    assert_eq!(first["results"][0]["status"], "queued", "{first}");

    let other = served.tenant("other").await;
    let foreign = post("/v1/events", &body).bearer_auth(&other);
    assert_eq!(answer(foreign).await.problem(404), "not_found");
    let foreign = post(&to(&closed.source), &body).bearer_auth(&other);
    assert_eq!(answer(foreign).await.problem(404), "not_found");

    let open = json!({ "kb": "default", "name": "open", "bucket": { "name": "grain",
        "folder": path(closed.folder.path()), "allow_from": ["127.0.0.0/8"] } });
    let open = served.post("/v1/sources", &open).await.expect(201);
    let near = answer(post(&to(text(&open["source_id"])), &body))
        .await
        .expect(200);
    assert_eq!(near["results"][0]["status"], "skipped", "{near}");
    let shown = served.get("/v1/sources").await;
    assert!(!shown.text.contains("whsec_"), "a secret is shown once");

    for away in ["../outside.txt", "/etc/passwd"] {
        let event = s3("ObjectCreated:Put", away, "11");
        assert_eq!(status(served, &event).await["status"], "refused", "{away}");
    }
    let nonsense = served.post("/v1/events", &json!({ "hello": 1 })).await;
    assert_eq!(nonsense.problem(422), "unknown_event");
}
