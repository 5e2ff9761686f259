//! CloudEvents 1.0 in its three forms: attributes in headers, in the body, and many in one body.
//!
//! The data is whatever its producer had: any other envelope, or EventBridge's detail alone.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::{Change, Headers, Item, change, eventbridge, read, shaped};
use crate::Error;

#[derive(Deserialize)]
struct Event {
    id: String,
    source: String,
    r#type: String,
    #[serde(default)]
    time: Option<DateTime<Utc>>,
    #[serde(default)]
    traceparent: Option<String>,
    #[serde(default)]
    data: Value,
}

pub(super) fn binary(headers: &Headers<'_>, data: Value) -> Result<Vec<Item>, Error> {
    let attribute = |name: &str| {
        let found = headers.cloud_event.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let required = |name: &str| {
        attribute(name).ok_or(Error::UnknownEnvelope(
            "a CloudEvent needs ce-id, ce-source and ce-type",
        ))
    };
    let event = Event {
        id: required("id")?,
        source: required("source")?,
        r#type: required("type")?,
        time: attribute("time").and_then(|time| time.parse().ok()),
        // Among headers it is the request's own.
        traceparent: None,
        data,
    };
    items(event, 0)
}

pub(super) fn structured(value: Value, depth: usize) -> Result<Vec<Item>, Error> {
    items(read("CloudEvents", value)?, depth)
}

pub(super) fn batch(value: Value, depth: usize) -> Result<Vec<Item>, Error> {
    let events: Vec<Event> = read("CloudEvents", value)?;
    let each = events.into_iter().map(|event| items(event, depth));
    Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
}

fn items(event: Event, depth: usize) -> Result<Vec<Item>, Error> {
    // `source` and `id` together name an event; a repeated delivery repeats them.
    let dedup = format!("{} {}", event.source, event.id);
    let told = told(&event.r#type);
    let mut items = if event.data.get("object").is_some() {
        match told {
            Some(change) => vec![Item::Object(eventbridge::detail(event.data, change)?)],
            None => vec![Item::Ignored { name: event.r#type }],
        }
    } else {
        shaped(event.data, depth + 1)?
    };
    for item in &mut items {
        if let Item::Object(object) = item {
            object.dedup = Some(dedup.clone());
            object.at = object.at.or(event.time);
            object.trace.clone_from(&event.traceparent);
            // Our plain contract knows no removal of its own: the event's type says it.
            if told == Some(Change::Removed) {
                object.change = Change::Removed;
            }
        }
    }
    Ok(items)
}

/// CloudEvents types are reverse domain names ending in what happened.
fn told(kind: &str) -> Option<Change> {
    let lower = kind.to_ascii_lowercase();
    let last = lower.rsplit('.').next().unwrap_or(&lower);
    change(&lower).or(match last {
        "created" | "uploaded" | "finalized" | "put" => Some(Change::Created),
        "deleted" | "removed" => Some(Change::Removed),
        _ => None,
    })
}
