//! Our own contract: the object is named outright.

use model::contract::UploadNotification;
use serde_json::Value;

use super::{Change, Item, ObjectEvent, read};
use crate::Error;

pub(super) fn decode(value: Value) -> Result<Item, Error> {
    let notice: UploadNotification = read("UploadNotification", value)?;
    Ok(Item::Object(ObjectEvent {
        bucket: notice.bucket,
        key: notice.key,
        change: Change::Created,
        size: Some(notice.size_bytes),
        etag: notice.etag,
        version_id: notice.version_id,
        content_type: notice.content_type,
        at: Some(notice.created_at),
        sequencer: None,
        dedup: None,
        trace: None,
    }))
}
