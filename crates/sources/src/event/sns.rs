//! SNS: the event is a string inside the message.

use serde::Deserialize;
use serde_json::Value;

use super::{Item, read, shaped};
use crate::Error;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Envelope {
    r#type: String,
    topic_arn: String,
    #[serde(default)]
    message: String,
    #[serde(default, rename = "SubscribeURL")]
    subscribe_url: Option<String>,
}

pub(super) fn decode(value: Value, depth: usize) -> Result<Vec<Item>, Error> {
    let envelope: Envelope = read("SNS", value)?;
    match envelope.r#type.as_str() {
        "Notification" => {
            let inner = serde_json::from_str(&envelope.message).map_err(Error::NotJson)?;
            shaped(inner, depth + 1)
        }
        "SubscriptionConfirmation" => Ok(vec![Item::Confirmation {
            topic: envelope.topic_arn,
            link: envelope.subscribe_url.unwrap_or_default(),
        }]),
        other => Ok(vec![Item::Ignored {
            name: other.to_owned(),
        }]),
    }
}
