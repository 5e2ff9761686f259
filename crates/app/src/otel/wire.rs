//! Spans as OTLP writes them in JSON.

use std::time::SystemTime;

use serde_json::json;

/// A span that has ended.
pub struct Ended {
    pub name: &'static str,
    pub server: bool,
    pub trace_id: String,
    pub span_id: String,
    pub parent: Option<String>,
    pub start: SystemTime,
    pub end: SystemTime,
    pub attributes: Vec<(&'static str, Value)>,
    pub failed: bool,
}

pub enum Value {
    Text(String),
    Number(i64),
}

const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
const STATUS_ERROR: u8 = 2;

/// The body of one export.
pub fn request(service: &str, spans: &[Ended]) -> serde_json::Value {
    let resource = [
        ("service.name", service),
        ("service.version", env!("CARGO_PKG_VERSION")),
    ];
    let resource: Vec<_> = resource
        .map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } }))
        .into();
    let spans: Vec<_> = spans.iter().map(span).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": { "name": "gristmill" }, "spans": spans }],
    }] })
}

fn span(span: &Ended) -> serde_json::Value {
    let attributes: Vec<_> = span.attributes.iter().map(attribute).collect();
    json!({
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent.as_deref().unwrap_or_default(),
        "name": span.name,
        "kind": if span.server { SERVER } else { INTERNAL },
        "startTimeUnixNano": nanos(span.start),
        "endTimeUnixNano": nanos(span.end),
        "attributes": attributes,
        "status": if span.failed { json!({ "code": STATUS_ERROR }) } else { json!({}) },
    })
}

fn attribute((name, value): &(&'static str, Value)) -> serde_json::Value {
    // Our names, as the semantic conventions spell them.
    let name = match *name {
        "method" => "http.request.method",
        "route" => "http.route",
        "status" => "http.response.status_code",
        other => other,
    };
    match value {
        Value::Text(text) => json!({ "key": name, "value": { "stringValue": text } }),
        // 64-bit numbers are strings in this JSON.
        Value::Number(n) => json!({ "key": name, "value": { "intValue": n.to_string() } }),
    }
}

fn nanos(at: SystemTime) -> String {
    let since = at.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_nanos().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_written_as_otlp_has_it() {
        let at =
            SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(1_800_000_000_000_000_001);
        let ended = Ended {
            name: "request",
            server: true,
            trace_id: "4bf92f3577b34da6a3ce929d0e0e4736".into(),
            span_id: "00f067aa0ba902b7".into(),
            parent: None,
            start: at,
            end: at,
            attributes: vec![
                ("status", Value::Number(503)),
                ("kb", Value::Text("x".into())),
            ],
            failed: true,
        };
        let body = request("mill", &[ended]);
        let span = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(
            (&span["kind"], &span["status"]["code"]),
            (&json!(2), &json!(2))
        );
        assert_eq!(span["startTimeUnixNano"], "1800000000000000001");
        let code = json!({ "key": "http.response.status_code", "value": { "intValue": "503" } });
        assert_eq!(span["attributes"][0], code);
    }
}
