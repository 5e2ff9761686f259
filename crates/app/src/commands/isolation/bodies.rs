//! Bodies that fit an operation's schema, with another tenant's names in them.

use serde_json::{Map, Value, json};

use super::routes::Things;

const BOUNDARY: &str = "isolation";
/// Schemas that contain themselves end here.
const DEEPEST: usize = 8;

/// The type and bytes of a body; empty where none is wanted.
pub fn sample(request_body: &Value, things: &Things, description: &Value) -> (String, Vec<u8>) {
    let content = request_body["content"].as_object();
    let Some((kind, media)) = content.and_then(|content| content.iter().next()) else {
        return ("application/json".to_owned(), Vec::new());
    };
    let filler = Filler {
        things,
        description,
    };
    match kind.as_str() {
        "multipart/form-data" => {
            // A file sent to the other tenant's knowledge base.
            let kb = things.get("kb_id").map_or("default", String::as_str);
            form(kb, "b.txt", b"A text of no account.")
        }
        "application/octet-stream" => {
            (kind.clone(), b"# Bytes\n\nA text of no account.\n".to_vec())
        }
        _ => {
            let value = filler.value("", &media["schema"], 0);
            (kind.clone(), value.to_string().into_bytes())
        }
    }
}

/// The type and bytes of a form with one file.
pub fn form(kb: &str, name: &str, file: &[u8]) -> (String, Vec<u8>) {
    let head =
        |named: &str| format!("--{BOUNDARY}\r\ncontent-disposition: form-data; {named}\r\n\r\n");
    let mut body = format!("{}{kb}\r\n", head("name=\"kb\"")).into_bytes();
    body.extend(head(&format!("name=\"file\"; filename=\"{name}\"")).as_bytes());
    body.extend(file);
    body.extend(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={BOUNDARY}"), body)
}

struct Filler<'a> {
    things: &'a Things,
    description: &'a Value,
}

impl Filler<'_> {
    fn value(&self, name: &str, schema: &Value, depth: usize) -> Value {
        let schema = self.resolved(schema);
        if let Some(thing) = self.things.get(name) {
            return json!(thing);
        }
        for choice in ["oneOf", "anyOf", "allOf"] {
            let choices = schema[choice].as_array().into_iter().flatten();
            let real = choices.into_iter().find(|one| one["type"] != "null");
            if let Some(one) = real {
                return self.value(name, one, depth);
            }
        }
        match kind(schema) {
            "object" if depth < DEEPEST => self.object(schema, depth),
            "array" => {
                let least = schema["minItems"].as_u64().unwrap_or(1).max(1);
                let item = self.value(name.trim_end_matches('s'), &schema["items"], depth + 1);
                Value::Array((0..least).map(|_| item.clone()).collect())
            }
            "integer" | "number" => json!(schema["minimum"].as_i64().unwrap_or(1)),
            "boolean" => json!(true),
            "string" => json!(text(schema)),
            _ => json!({}),
        }
    }

    /// Everything required, and everything we have a name for.
    fn object(&self, schema: &Value, depth: usize) -> Value {
        let required: Vec<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let wanted = properties.filter(|(name, _)| {
            required.contains(&name.as_str()) || self.things.contains_key(name.as_str())
        });
        let filled: Map<String, Value> = wanted
            .map(|(name, schema)| (name.clone(), self.value(name, schema, depth + 1)))
            .collect();
        Value::Object(filled)
    }

    fn resolved<'s>(&'s self, schema: &'s Value) -> &'s Value {
        match schema["$ref"]
            .as_str()
            .and_then(|path| path.strip_prefix('#'))
        {
            Some(pointer) => self.description.pointer(pointer).unwrap_or(schema),
            None => schema,
        }
    }
}

fn kind(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| *kind != "null").unwrap_or("object")
        }
        _ if schema["properties"].is_object() => "object",
        _ => "",
    }
}

fn text(schema: &Value) -> String {
    match (schema["format"].as_str(), schema["example"].as_str()) {
        (_, Some(example)) => example.to_owned(),
        (Some("uuid"), _) => uuid::Uuid::now_v7().to_string(),
        (Some("date-time"), _) => chrono::Utc::now().to_rfc3339(),
        _ => "a-plain-word".to_owned(),
    }
}
