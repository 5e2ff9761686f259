//! S3's own notification, and MinIO's, which is the same with more around it.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::Value;

use super::{Change, Item, ObjectEvent, change, read};
use crate::Error;

#[derive(Deserialize)]
struct Notification {
    #[serde(rename = "Records")]
    records: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    event_name: String,
    #[serde(default)]
    event_time: Option<DateTime<Utc>>,
    s3: Place,
}

#[derive(Deserialize)]
struct Place {
    bucket: Bucket,
    object: Object,
}

#[derive(Deserialize)]
struct Bucket {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object {
    key: String,
    size: Option<u64>,
    e_tag: Option<String>,
    version_id: Option<String>,
    sequencer: Option<String>,
    /// MinIO's.
    content_type: Option<String>,
}

pub(super) fn records(value: Value) -> Result<Vec<Item>, Error> {
    let notification: Notification = read("S3", value)?;
    notification.records.into_iter().map(record).collect()
}

pub(super) fn record(value: Value) -> Result<Item, Error> {
    let record: Record = read("S3", value)?;
    let Some(change) = change(&record.event_name) else {
        return Ok(Item::Ignored {
            name: record.event_name,
        });
    };
    event(record, change).map(Item::Object)
}

fn event(record: Record, change: Change) -> Result<ObjectEvent, Error> {
    let object = record.s3.object;
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    Ok(ObjectEvent {
        key: form_decoded(&object.key)?,
        bucket: record.s3.bucket.name,
        change,
        size: object.size,
        etag: filled(object.e_tag),
        version_id: filled(object.version_id),
        content_type: filled(object.content_type),
        at: record.event_time,
        sequencer: filled(object.sequencer),
        dedup: None,
        trace: None,
    })
}

/// Keys travel as a form would send them: `+` is a space, `%2B` a plus.
fn form_decoded(key: &str) -> Result<String, Error> {
    let spaced = key.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded
        .map(Cow::into_owned)
        .map_err(|_| Error::BadKey(key.to_owned()))
}
