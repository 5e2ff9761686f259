use serde_json::json;

use super::*;

fn plain_headers() -> Headers<'static> {
    Headers::default()
}

fn one(value: &Value) -> Item {
    let mut items = decode(&plain_headers(), value.to_string().as_bytes()).unwrap();
    assert_eq!(items.len(), 1, "{items:?}");
    items.remove(0)
}

fn object(value: &Value) -> ObjectEvent {
    match one(value) {
        Item::Object(object) => object,
        other => panic!("{other:?} is not an object"),
    }
}

fn s3_record(name: &str, key: &str) -> Value {
    json!({
        "eventVersion": "2.5", "eventSource": "aws:s3", "awsRegion": "eu-central-1",
        "eventTime": "2026-11-02T10:00:00.123Z", "eventName": name,
        "s3": { "s3SchemaVersion": "1.0", "configurationId": "grist",
            "bucket": { "name": "grain", "arn": "arn:aws:s3:::grain" },
            "object": { "key": key, "size": 12, "eTag": "abc", "versionId": "v1",
                        "sequencer": "0055AED6DCD90281E5" } },
        "someday": { "new": "field" }
    })
}

fn s3(name: &str, key: &str) -> Value {
    json!({ "Records": [s3_record(name, key)] })
}

fn eventbridge(kind: &str) -> Value {
    json!({
        "version": "0", "id": "e-1", "detail-type": kind, "source": "aws.s3",
        "time": "2026-11-02T10:00:00Z", "resources": ["arn:aws:s3:::grain"],
        "detail": { "version": "0", "bucket": { "name": "grain" },
            "object": { "key": "a+b c%20d.txt", "size": 12, "etag": "abc", "version-id": "v1",
                        "sequencer": "0055AE" }, "reason": "PutObject" }
    })
}

fn notice() -> Value {
    json!({
        "tenantId": "acme", "indexId": "docs", "bucket": "grain", "key": "a+b c.txt",
        "sizeBytes": 12, "model": "local:mini", "createdAt": "2026-11-02T10:00:00Z"
    })
}

fn cloud_event(data: &Value) -> Value {
    json!({ "specversion": "1.0", "id": "7", "source": "/mill", "type": "gristmill.object.created",
            "time": "2026-11-02T10:00:00Z", "data": data })
}

#[test]
fn keys_are_decoded_as_their_envelope_encodes_them() {
    let cases = [
        (s3("ObjectCreated:Put", "a%2Bb+c%C3%BC.txt"), "a+b cü.txt"),
        (s3("s3:ObjectCreated:Put", "plain.txt"), "plain.txt"),
        (eventbridge("Object Created"), "a+b c%20d.txt"),
        (notice(), "a+b c.txt"),
        (cloud_event(&notice()), "a+b c.txt"),
        (cloud_event(&s3("ObjectCreated:Put", "x+y")), "x y"),
    ];
    for (event, key) in cases {
        assert_eq!(object(&event).key, key, "{event}");
    }
    let bad = s3("ObjectCreated:Put", "%FF%FE").to_string();
    assert!(matches!(
        decode(&plain_headers(), bad.as_bytes()),
        Err(Error::BadKey(_))
    ));
}

#[test]
fn the_name_of_an_event_tells_the_change() {
    let cases = [
        (
            "ObjectCreated:CompleteMultipartUpload",
            Some(Change::Created),
        ),
        ("ObjectCreated:Copy", Some(Change::Created)),
        ("ObjectRemoved:Delete", Some(Change::Removed)),
        ("ObjectRemoved:DeleteMarkerCreated", Some(Change::Removed)),
        ("LifecycleExpiration:Delete", Some(Change::Removed)),
        ("ObjectRestore:Completed", None),
        ("s3:ObjectAccessed:Get", None),
    ];
    for (name, expected) in cases {
        let told = match one(&s3(name, "k")) {
            Item::Object(object) => Some(object.change),
            Item::Ignored { .. } => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(told, expected, "{name}");
    }
    assert_eq!(
        object(&eventbridge("Object Deleted")).change,
        Change::Removed
    );
}

#[test]
fn an_s3_notification_keeps_all_it_says() {
    let event = object(&s3("ObjectCreated:Put", "k"));
    assert_eq!(event.source_uri().as_str(), "s3://grain/k");
    assert_eq!((event.size, event.etag.as_deref()), (Some(12), Some("abc")));
    assert_eq!(event.version_id.as_deref(), Some("v1"));
    let order = event.order(DateTime::<Utc>::UNIX_EPOCH);
    assert_eq!(order, SourceOrder::of_sequencer("0055aed6dcd90281e5"));
}

#[test]
fn sns_wraps_any_of_them_as_a_string() {
    for inner in [s3("ObjectCreated:Put", "k"), eventbridge("Object Created")] {
        let wrapped = json!({ "Type": "Notification", "MessageId": "m", "TopicArn": "arn:t",
                              "Message": inner.to_string(), "Signature": "…" });
        assert_eq!(object(&wrapped), object(&inner));
    }
    let asks = json!({ "Type": "SubscriptionConfirmation", "TopicArn": "arn:t", "Token": "x",
                       "Message": "You have chosen…", "SubscribeURL": "https://sns.example/c" });
    assert!(matches!(one(&asks), Item::Confirmation { topic, .. } if topic == "arn:t"));
}

#[test]
fn a_minio_webhook_is_read_from_its_record() {
    let mut record = s3_record("s3:ObjectCreated:Put", "dir%2Fa+b.txt");
    record["s3"]["object"]["contentType"] = json!("text/plain");
    let hook = json!({ "EventName": "s3:ObjectCreated:Put", "Key": "grain/dir/a b.txt",
                       "Records": [record] });
    let event = object(&hook);
    assert_eq!(event.key, "dir/a b.txt");
    assert_eq!(event.content_type.as_deref(), Some("text/plain"));
}

#[test]
fn cloud_events_say_the_same_in_all_three_forms() {
    let structured = object(&cloud_event(&notice()));
    let headers = Headers {
        cloud_event: vec![
            ("id", "7"),
            ("source", "/mill"),
            ("type", "gristmill.object.created"),
            ("specversion", "1.0"),
        ],
    };
    let binary = decode(&headers, notice().to_string().as_bytes()).unwrap();
    assert_eq!(binary, [Item::Object(structured.clone())]);
    let batch = json!([cloud_event(&notice()), cloud_event(&notice())]);
    let items = decode(&plain_headers(), batch.to_string().as_bytes()).unwrap();
    assert_eq!(items, vec![Item::Object(structured.clone()); 2]);
    assert_eq!(structured.dedup.as_deref(), Some("/mill 7"));
}

#[test]
fn a_cloud_event_brings_its_trace_whatever_request_carries_it() {
    let place = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let mut event = cloud_event(&notice());
    event["traceparent"] = json!(place);
    assert_eq!(object(&event).trace.as_deref(), Some(place));
}

#[test]
fn a_cloud_event_may_carry_a_bare_detail_and_say_what_happened_itself() {
    let detail = json!({ "bucket": { "name": "grain" }, "object": { "key": "k" } });
    let mut event = cloud_event(&detail);
    event["type"] = json!("aws.s3.object.deleted");
    assert_eq!(object(&event).change, Change::Removed);
}

#[test]
fn a_test_event_is_recognised_also_inside_sns() {
    let test = json!({ "Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "grain" });
    assert_eq!(one(&test), Item::Test);
    let wrapped = json!({ "Type": "Notification", "TopicArn": "t", "Message": test.to_string() });
    assert_eq!(one(&wrapped), Item::Test);
}

#[test]
fn what_is_not_an_event_is_refused_and_says_why() {
    let refused = |body: &str| decode(&plain_headers(), body.as_bytes()).unwrap_err();
    assert!(matches!(refused("not json"), Error::NotJson(_)));
    assert!(matches!(
        refused("{\"hello\":1}"),
        Error::UnknownEnvelope(_)
    ));
    assert!(matches!(
        refused("{\"Records\":[{}]}"),
        Error::BadEnvelope { .. }
    ));
    let mut nested = json!({ "Event": "s3:TestEvent" });
    for _ in 0..8 {
        nested = json!({ "Type": "Notification", "TopicArn": "t", "Message": nested.to_string() });
    }
    assert!(matches!(refused(&nested.to_string()), Error::TooDeep(_)));
}
