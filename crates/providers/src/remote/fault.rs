//! A status, headers and a body to the error they mean.

use reqwest::header::{HeaderMap, LOCATION};
use serde::Deserialize;
use serde_json::Value;

use super::{Measure, wait};
use crate::Error;

#[derive(Deserialize)]
struct Body {
    error: Detail,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Detail {
    message: String,
    r#type: Option<String>,
    /// A word at OpenAI; behind some proxies the status that was meant.
    code: Value,
}

/// `None` when there is no fault. A body that holds an error is one, whatever the status.
pub fn of(status: u16, headers: &HeaderMap, body: &[u8]) -> Option<Error> {
    let detail = detail(body);
    if (200..300).contains(&status) && detail.is_none() {
        return None;
    }
    let detail = detail.unwrap_or_else(|| bare(body));
    let status = meant_status(status, &detail);
    Some(classify(status, headers, detail))
}

/// Some servers put a bare string where the object belongs.
fn detail(body: &[u8]) -> Option<Detail> {
    if let Ok(Body { error }) = serde_json::from_slice(body) {
        return Some(error);
    }
    let value: Value = serde_json::from_slice(body).ok()?;
    let message = value["error"].as_str()?.to_owned();
    Some(Detail {
        message,
        ..Detail::default()
    })
}

/// Others say it without an envelope.
fn bare(body: &[u8]) -> Detail {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    Detail {
        message: value["message"].as_str().unwrap_or_default().to_owned(),
        ..Detail::default()
    }
}

/// Only an error inside a success means another status than it says.
fn meant_status(status: u16, detail: &Detail) -> u16 {
    if status >= 300 {
        return status;
    }
    let code = match &detail.code {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    match code {
        Some(code @ 400..=599) => code as u16,
        _ if detail.says("rate_limit") || detail.says("rate limit") => 429,
        _ => 502,
    }
}

/// The account is empty. Only as a type or a code: the message of a mere rate limit speaks of
/// plans and billing, too.
const QUOTA: [&str; 3] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
];

/// Too many inputs, as TEI says it.
const TOO_MANY: &str = "maximum allowed batch size";

/// Too much text, or one that is too long, as OpenAI, vLLM, Ollama and TEI say it.
const TOO_MUCH: [&str; 4] = [
    "max_tokens_per_request",
    "context_length_exceeded",
    "context length",
    "too large",
];

fn classify(status: u16, headers: &HeaderMap, detail: Detail) -> Error {
    let retry_after = wait::asked(headers, &detail.message);
    let message = shortened(&detail.message);
    match status {
        // A request with a body is not sent on: somebody has to set the right address.
        300..400 => Error::Refused {
            status,
            message: moved(headers),
        },
        402 => Error::Quota { message },
        400 | 403 | 429 if detail.is_any_of(&QUOTA) => Error::Quota { message },
        429 => Error::Throttled {
            retry_after,
            message,
        },
        400 | 413 | 422 if detail.says(TOO_MANY) => Error::TooMuch {
            status,
            measure: Measure::Inputs,
            message,
        },
        413 => too_much_text(status, message),
        400 | 422 if TOO_MUCH.iter().any(|words| detail.says(words)) => {
            too_much_text(status, message)
        }
        408 | 409 | 425 | 499.. => Error::Unavailable {
            status,
            retry_after,
            message,
        },
        _ => Error::Refused { status, message },
    }
}

fn too_much_text(status: u16, message: String) -> Error {
    Error::TooMuch {
        status,
        measure: Measure::Bytes,
        message,
    }
}

/// Without what follows the path: it may be a secret.
fn moved(headers: &HeaderMap) -> String {
    let place = headers.get(LOCATION).and_then(|to| to.to_str().ok());
    let path = place.and_then(|to| to.split(['?', '#']).next());
    match path.filter(|to| !to.is_empty()) {
        Some(to) => shortened(&format!("it has moved to {to}")),
        None => "it has moved".to_owned(),
    }
}

impl Detail {
    fn is_any_of(&self, words: &[&str]) -> bool {
        let named = [self.r#type.as_deref(), self.code.as_str()];
        named
            .into_iter()
            .flatten()
            .any(|name| words.contains(&name))
    }

    fn says(&self, words: &str) -> bool {
        let within = |text: &str| text.to_ascii_lowercase().contains(words);
        within(&self.message)
            || self.r#type.as_deref().is_some_and(within)
            || self.code.as_str().is_some_and(within)
    }
}

/// Enough for a person to act on, and too little to carry a document; the end of a sentence of
/// ours, so without a full stop and never empty.
fn shortened(message: &str) -> String {
    let short: String = message.trim().chars().take(300).collect();
    match short.trim_end_matches(['.', ' ']) {
        "" => "it did not say why".to_owned(),
        said => said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use std::time::Duration;

    fn kind(status: u16, header: Option<(&'static str, &str)>, body: &str) -> Option<Kind> {
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = header {
            headers.insert(name, value.parse().unwrap());
        }
        of(status, &headers, body.as_bytes()).map(|error| error.kind())
    }

    fn throttled(wait: Option<Duration>) -> Option<Kind> {
        Some(Kind::Throttled { retry_after: wait })
    }

    #[test]
    fn a_limit_is_told_from_an_empty_account() {
        let tokens = r#"{"error":{"message":"Rate limit reached on tokens per min (TPM). Please try again in 2.812s.","type":"tokens","code":"rate_limit_exceeded"}}"#;
        assert_eq!(
            kind(429, None, tokens),
            throttled(Some(Duration::from_millis(2812)))
        );
        let header = Some(("retry-after", "20"));
        assert_eq!(
            kind(429, header, tokens),
            throttled(Some(Duration::from_secs(20)))
        );
        assert_eq!(kind(429, None, "busy"), throttled(None));
        let quota = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        assert_eq!(kind(429, header, quota), Some(Kind::Quota));
        let requests = r#"{"error":{"message":"Rate limit reached on requests per min (RPM): Limit 3. You can increase your rate limit by adding a payment method at https://platform.openai.com/account/billing.","type":"requests","code":"rate_limit_exceeded"}}"#;
        assert_eq!(
            kind(429, header, requests),
            throttled(Some(Duration::from_secs(20)))
        );
        let stopped =
            r#"{"error":{"message":"Billing hard limit","code":"billing_hard_limit_reached"}}"#;
        assert_eq!(kind(400, None, stopped), Some(Kind::Quota));
    }

    #[test]
    fn too_much_is_understood_however_it_is_said() {
        let many = r#"{"error":"batch size 64 > maximum allowed batch size 32","error_type":"Validation"}"#;
        for (status, body, meant) in [
            (413, "<html>", Measure::Bytes),
            (
                400,
                r#"{"error":"the input length exceeds the context length"}"#,
                Measure::Bytes,
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 512 tokens"}}"#,
                Measure::Bytes,
            ),
            (
                400,
                r#"{"error":{"message":"no","code":"context_length_exceeded"}}"#,
                Measure::Bytes,
            ),
            (422, many, Measure::Inputs),
            (413, many, Measure::Inputs),
        ] {
            let fault = of(status, &HeaderMap::new(), body.as_bytes());
            assert!(
                matches!(fault, Some(Error::TooMuch { measure, .. }) if measure == meant),
                "{fault:?}"
            );
        }
    }

    #[test]
    fn a_service_that_has_moved_is_said_to_have() {
        let mut headers = HeaderMap::new();
        let said = |headers: &HeaderMap| of(308, headers, b"").unwrap().to_string();
        assert_eq!(
            said(&headers),
            "the model service refused the request with 308: it has moved"
        );
        let place = "https://model.example/v1/embeddings?token=hush";
        headers.insert(LOCATION, place.parse().unwrap());
        assert_eq!(
            said(&headers),
            "the model service refused the request with 308: it has moved to https://model.example/v1/embeddings"
        );
        assert_eq!(kind(302, None, "{}"), Some(Kind::Misconfigured));
    }

    #[test]
    fn an_error_inside_a_success_is_an_error() {
        let by_number = r#"{"error":{"message":"slow down","code":429}}"#;
        let by_word = r#"{"error":{"message":"x","code":"rate_limit_exceeded"}}"#;
        assert_eq!(kind(200, None, by_number), throttled(None));
        assert_eq!(kind(200, None, by_word), throttled(None));
        assert_eq!(kind(200, None, r#"{"data":[]}"#), None);
    }

    #[test]
    fn a_fault_reads_as_a_sentence_whatever_the_service_said() {
        let said = |status, body: &str| {
            let fault = of(status, &HeaderMap::new(), body.as_bytes());
            fault.unwrap().to_string()
        };
        for silent in ["", "{}", "<html>", r#"{"error":{"message":" "}}"#] {
            assert_eq!(
                said(401, silent),
                "the model service refused the request with 401: it did not say why"
            );
            for status in [402, 413, 429, 503] {
                let told = said(status, silent);
                assert!(told.ends_with(": it did not say why"), "{told}");
            }
        }
        let stopped = r#"{"error":{"message":"Incorrect API key provided. "}}"#;
        let told = said(401, stopped);
        assert!(told.ends_with(": Incorrect API key provided"), "{told}");
    }

    #[test]
    fn what_only_a_person_can_change_is_not_tried_again() {
        for status in [400, 401, 403, 404] {
            assert_eq!(kind(status, None, "{}"), Some(Kind::Misconfigured));
        }
        for status in [500, 502, 503, 504] {
            let transient = Kind::Transient { retry_after: None };
            assert_eq!(kind(status, None, "<html>"), Some(transient));
        }
    }
}
