//! What filters look up of a version's metadata.

use serde_json::{Map, Value};

/// PostgreSQL's text cannot hold NUL.
fn text(value: &str) -> String {
    value.replace('\0', "")
}

/// Of key and value together, in bytes: PostgreSQL indexes little more in one row.
pub const LONGEST_PAIR: usize = 2_000;

/// What filters can ask for: each scalar under its key, each element of a list too; but not what
/// is longer than any index takes.
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
    let fits = |(key, value): &(String, String)| key.len() + value.len() <= LONGEST_PAIR;
    metadata.iter().flat_map(pairs).filter(fits).collect()
}
