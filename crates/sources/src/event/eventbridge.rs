//! EventBridge: hyphens, lower case, and keys as they are.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::{Change, Item, ObjectEvent, change, read};
use crate::Error;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Event {
    #[serde(default)]
    id: Option<String>,
    detail_type: String,
    #[serde(default)]
    time: Option<DateTime<Utc>>,
    detail: Value,
}

#[derive(Deserialize)]
struct Detail {
    bucket: Bucket,
    object: Object,
}

#[derive(Deserialize)]
struct Bucket {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Object {
    key: String,
    size: Option<u64>,
    etag: Option<String>,
    version_id: Option<String>,
    sequencer: Option<String>,
}

pub(super) fn decode(value: Value) -> Result<Vec<Item>, Error> {
    let event: Event = read("EventBridge", value)?;
    let Some(change) = change(&event.detail_type) else {
        return Ok(vec![Item::Ignored {
            name: event.detail_type,
        }]);
    };
    let mut object = detail(event.detail, change)?;
    object.at = event.time;
    object.dedup = event.id;
    Ok(vec![Item::Object(object)])
}

/// What stands inside, also when a CloudEvent carries it alone.
pub(super) fn detail(value: Value, change: Change) -> Result<ObjectEvent, Error> {
    let Detail { bucket, object } = read("EventBridge", value)?;
    Ok(ObjectEvent {
        bucket: bucket.name,
        key: object.key,
        change,
        size: object.size,
        etag: object.etag,
        version_id: object.version_id,
        content_type: None,
        at: None,
        sequencer: object.sequencer,
        dedup: None,
        trace: None,
    })
}
