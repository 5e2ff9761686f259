//! The operations of an OpenAPI description, and requests made of them.

use std::collections::BTreeMap;

use axum::http::Method;
use serde_json::Value;

use super::bodies;
use crate::client::escaped;

/// Something that can be asked.
pub struct Operation {
    pub method: Method,
    pub path: String,
    definition: Value,
}

/// A request full of another tenant's names.
pub struct Asked {
    pub method: Method,
    pub target: String,
    pub content_type: String,
    pub body: Vec<u8>,
    /// Its path names something of the other tenant.
    pub names_a_thing: bool,
    /// Everything we say ourselves, and may be told back.
    pub sent: String,
}

/// What the other tenant has, by the name parameters and fields call it.
pub type Things = BTreeMap<&'static str, String>;

/// Every operation, in the order of their paths.
pub fn all(description: &Value) -> Vec<Operation> {
    let none = serde_json::Map::new();
    let paths = description["paths"].as_object().unwrap_or(&none);
    let each = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.filter_map(move |(method, definition)| {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).ok()?;
            let known = matches!(
                method.as_str(),
                "GET" | "PUT" | "POST" | "DELETE" | "PATCH" | "HEAD"
            );
            known.then(|| Operation {
                method,
                path: path.clone(),
                definition: definition.clone(),
            })
        })
    });
    each.collect()
}

impl Operation {
    /// Puts the other tenant's names wherever one can stand; or says which has no value.
    pub fn fill(&self, things: &Things, description: &Value) -> Result<Asked, String> {
        let mut target = self.path.clone();
        let mut query = Vec::new();
        let mut names_a_thing = false;
        let mut sent = String::new();
        for parameter in self.definition["parameters"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let name = parameter["name"].as_str().unwrap_or_default();
            let value = things.get(name);
            sent.extend(value.into_iter().flat_map(|value| [value.as_str(), " "]));
            if parameter["in"] == "path" {
                let value = value.ok_or_else(|| name.to_owned())?;
                target = target.replace(&format!("{{{name}}}"), &escaped(value));
                names_a_thing = true;
            } else if let Some(value) = value.filter(|_| parameter["in"] == "query") {
                query.push(format!("{name}={}", escaped(value)));
            }
        }
        if !query.is_empty() {
            target = format!("{target}?{}", query.join("&"));
        }
        let (content_type, body) =
            bodies::sample(&self.definition["requestBody"], things, description);
        sent.push_str(&String::from_utf8_lossy(&body));
        Ok(Asked {
            method: self.method.clone(),
            target,
            content_type,
            body,
            names_a_thing,
            sent,
        })
    }
}
