//! What a bucket says has happened, whatever it was wrapped in.
//!
//! In: a request's headers and body. Out: one [`Item`] per thing said. The envelope
//! is told by its shape, since SNS, CloudEvents and queues wrap each other and all
//! say `application/json`. Keys come out decoded, each as its envelope encodes it.
//! Who sent it, and for which tenant, is decided by whoever authenticated the source;
//! a tenant named inside an event is never believed.

mod cloudevent;
mod eventbridge;
mod plain;
mod s3;
mod sns;

use chrono::{DateTime, Utc};
use model::{SourceOrder, SourceUri};
use serde_json::Value;

use crate::{Error, uri};

/// SNS in SQS in a CloudEvent is as deep as anyone goes.
const MAX_DEPTH: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Created,
    Removed,
}

/// An object appeared, changed or went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectEvent {
    pub bucket: String,
    /// Decoded.
    pub key: String,
    pub change: Change,
    pub size: Option<u64>,
    pub etag: Option<String>,
    pub version_id: Option<String>,
    pub content_type: Option<String>,
    pub at: Option<DateTime<Utc>>,
    /// Hexadecimal; only comparable for the same key.
    pub sequencer: Option<String>,
    /// Equal for a repeated delivery, where the envelope promises that.
    pub dedup: Option<String>,
    /// W3C trace context, where the event itself carries one.
    pub trace: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    Object(ObjectEvent),
    /// Sent when the wiring was made; to be acknowledged.
    Test,
    /// SNS asks whether we want its messages. Nothing is fetched: an operator opens the link.
    Confirmation {
        topic: String,
        link: String,
    },
    /// Nothing for us, such as an object read or restored; to be acknowledged.
    Ignored {
        name: String,
    },
}

/// The headers that matter, as the request had them.
#[derive(Debug, Clone, Default)]
pub struct Headers<'a> {
    /// `ce-…` headers, lower case, without the prefix.
    pub cloud_event: Vec<(&'a str, &'a str)>,
}

impl ObjectEvent {
    pub fn source_uri(&self) -> SourceUri {
        uri::of_object(&self.bucket, &self.key)
    }

    /// Whether something that would be kept holds a character no database keeps.
    pub fn has_nul(&self) -> bool {
        let kept = [
            Some(&self.key),
            self.etag.as_ref(),
            self.version_id.as_ref(),
            self.content_type.as_ref(),
            self.sequencer.as_ref(),
        ];
        kept.into_iter().flatten().any(|text| text.contains('\0'))
    }

    /// The sequencer where there is one, else the time it happened or, failing that, arrived.
    pub fn order(&self, arrived: DateTime<Utc>) -> SourceOrder {
        match &self.sequencer {
            Some(sequencer) => SourceOrder::of_sequencer(sequencer),
            None => SourceOrder::of_time(self.at.unwrap_or(arrived)),
        }
    }
}

pub fn decode(headers: &Headers<'_>, body: &[u8]) -> Result<Vec<Item>, Error> {
    let value: Value = serde_json::from_slice(body).map_err(Error::NotJson)?;
    if headers.cloud_event.is_empty() {
        shaped(value, 0)
    } else {
        cloudevent::binary(headers, value)
    }
}

/// Tells the envelope by its shape.
fn shaped(value: Value, depth: usize) -> Result<Vec<Item>, Error> {
    if depth > MAX_DEPTH {
        return Err(Error::TooDeep(MAX_DEPTH));
    }
    let has = |name: &str| value.get(name).is_some();
    if value.is_array() {
        cloudevent::batch(value, depth)
    } else if has("specversion") {
        cloudevent::structured(value, depth)
    } else if has("Records") {
        s3::records(value)
    } else if value
        .get("Event")
        .is_some_and(|event| event == "s3:TestEvent")
    {
        Ok(vec![Item::Test])
    } else if has("detail-type") {
        eventbridge::decode(value)
    } else if has("Type") && has("TopicArn") {
        sns::decode(value, depth)
    } else if has("s3") {
        s3::record(value).map(|item| vec![item])
    } else if has("bucket") && has("key") {
        plain::decode(value).map(|item| vec![item])
    } else {
        Err(Error::UnknownEnvelope(
            "expected an S3, EventBridge, SNS, MinIO or CloudEvents event, or an UploadNotification",
        ))
    }
}

/// The change an event's name tells of, if it concerns us.
fn change(name: &str) -> Option<Change> {
    let name = name
        .strip_prefix("s3:")
        .unwrap_or(name)
        .to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if says(&["objectcreated", "object created"]) {
        Some(Change::Created)
    } else if says(&["objectremoved", "object deleted", "lifecycleexpiration"]) {
        Some(Change::Removed)
    } else {
        None
    }
}

fn read<T: serde::de::DeserializeOwned>(envelope: &'static str, value: Value) -> Result<T, Error> {
    serde_json::from_value(value).map_err(|cause| Error::BadEnvelope { envelope, cause })
}

#[cfg(test)]
mod tests;
