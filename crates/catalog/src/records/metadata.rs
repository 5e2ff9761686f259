//! What filters look up of a version's metadata.

use serde_json::{Map, Value};

/// PostgreSQL's text cannot hold NUL.
fn text(value: &str) -> String {
    value.replace('\0', "")
}

/// What filters can ask for: each scalar under its key, each element of a list too.
pub fn metadata_pairs(metadata: &Map<String, Value>) -> Vec<(String, String)> {
    let scalar = |value: &Value| match value {
        Value::String(string) => Some(text(string)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let values = |value: &Value| match value {
        Value::Array(values) => values.iter().filter_map(scalar).collect(),
        other => scalar(other).into_iter().collect::<Vec<_>>(),
    };
    let pairs = |(key, value): (&String, &Value)| {
        let key = text(key);
        values(value)
            .into_iter()
            .map(move |value| (key.clone(), value))
            .collect::<Vec<_>>()
    };
    metadata.iter().flat_map(pairs).collect()
}
