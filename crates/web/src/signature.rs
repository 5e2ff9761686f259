//! Signed messages, in and out, as the Standard Webhooks convention has them.
//!
//! `webhook-id`, `webhook-timestamp` and the body are signed together with HMAC-SHA256;
//! `webhook-signature` lists `v1,<base64>` one or more times, so that a secret can be
//! replaced while both are in use. A signature is good for five minutes.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

pub const ID: &str = "webhook-id";
pub const TIMESTAMP: &str = "webhook-timestamp";
pub const SIGNATURE: &str = "webhook-signature";

const PREFIX: &str = "whsec_";
const TOLERANCE: TimeDelta = TimeDelta::minutes(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the request has no webhook-id, webhook-timestamp or webhook-signature")]
    Incomplete,
    #[error("the signature was made more than five minutes ago, or ahead of time")]
    Stale,
    #[error("the signature does not fit the message")]
    Wrong,
}

/// A secret to sign with, shown once.
pub fn new_secret() -> String {
    format!("{PREFIX}{}", STANDARD.encode(rand::random::<[u8; 32]>()))
}

/// What `webhook-signature` says of this message.
pub fn sign(secret: &str, id: &str, at: DateTime<Utc>, body: &[u8]) -> String {
    let code = mac(secret, id, &at.timestamp().to_string(), body)
        .finalize()
        .into_bytes();
    format!("v1,{}", STANDARD.encode(code))
}

pub fn verify(
    secret: &str,
    headers: &HeaderMap,
    body: &[u8],
    now: DateTime<Utc>,
) -> Result<(), Refused> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(id), Some(at), Some(listed)) = (text(ID), text(TIMESTAMP), text(SIGNATURE)) else {
        return Err(Refused::Incomplete);
    };
    let seconds = at.parse::<i64>().map_err(|_| Refused::Incomplete)?;
    let signed = DateTime::from_timestamp(seconds, 0).ok_or(Refused::Incomplete)?;
    if (now - signed).abs() > TOLERANCE {
        return Err(Refused::Stale);
    }
    let codes = listed
        .split_ascii_whitespace()
        .filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok());
    let fits = |code: Vec<u8>| mac(secret, id, at, body).verify_slice(&code).is_ok();
    if codes.into_iter().any(fits) {
        Ok(())
    } else {
        Err(Refused::Wrong)
    }
}

fn mac(secret: &str, id: &str, at: &str, body: &[u8]) -> Hmac<Sha256> {
    let key = secret
        .strip_prefix(PREFIX)
        .and_then(|key| STANDARD.decode(key).ok())
        .unwrap_or_else(|| secret.as_bytes().to_vec());
    keyed(&key, &[id.as_bytes(), b".", at.as_bytes(), b".", body])
}

/// The code of some parts, one after the other.
pub fn keyed(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    for part in parts {
        mac.update(part);
    }
    mac
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_the_message_that_was_signed_is_believed_and_not_for_long() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let at = DateTime::from_timestamp(1_614_265_330, 0).unwrap();
        let (id, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", br#"{"test": 2432232314}"#);
        let signed = sign(secret, id, at, body);
        // The convention's own example.
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let headers = |signature: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ID, HeaderValue::from_static("msg_p5jXN8AQM9LWM0D4loKWxJek"));
            headers.insert(TIMESTAMP, HeaderValue::from_static("1614265330"));
            headers.insert(SIGNATURE, HeaderValue::from_str(signature).unwrap());
            headers
        };
        let check =
            |signature: &str, body: &[u8], now| verify(secret, &headers(signature), body, now);
        assert_eq!(check(&format!("v1,AAAA {signed}"), body, at), Ok(()));
        assert_eq!(check(&signed, b"other", at), Err(Refused::Wrong));
        assert_eq!(check("v1,AAAA", body, at), Err(Refused::Wrong));
        let late = at + TimeDelta::minutes(6);
        assert_eq!(check(&signed, body, late), Err(Refused::Stale));
        let none = verify(secret, &HeaderMap::new(), body, at);
        assert_eq!(none, Err(Refused::Incomplete));
    }
}
