//! Reading requests, with our own words when they cannot be read.

use axum::body::Bytes;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use chrono::{DateTime, Datelike as _, Utc};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::problem::Problem;

/// A JSON body.
#[derive(Debug)]
pub struct Sent<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Sent<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = axum::Json::<Value>::from_request(request, state).await;
        let axum::Json(mut value) = read.map_err(|rejection: JsonRejection| {
            unreadable(rejection.status(), rejection.body_text())
        })?;
        check_text(&value)?;
        whole(&mut value);
        serde_json::from_value(value).map(Self).map_err(|error| {
            Problem::invalid(format!("the body does not fit: {error}"))
                .hint("the API's description is at /openapi.json")
        })
    }
}

/// A body as it came, within the limit of its route.
#[derive(Debug)]
pub struct Whole(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Whole {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = Bytes::from_request(request, state).await;
        read.map(Self)
            .map_err(|rejection| unreadable(rejection.status(), rejection.body_text()))
    }
}

/// No database keeps a NUL in a text, so nothing of ours is ever called by one.
pub fn check_text(value: &Value) -> Result<(), Problem> {
    if has_nul(value) {
        return Err(nul());
    }
    Ok(())
}

pub fn nul() -> Problem {
    Problem::unprocessable("a text cannot hold the character NUL")
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}

/// Further away no database, and no calendar, keeps a moment.
pub fn check_time(name: &str, at: Option<DateTime<Utc>>) -> Result<(), Problem> {
    match at {
        Some(at) if !(0..=9999).contains(&at.year()) => Err(Problem::unprocessable(format!(
            "{name} is of a year from 0 to 9999"
        ))),
        _ => Ok(()),
    }
}

/// Whether a path, a query or a form holds a NUL, as they may write it.
pub fn has_escaped_nul(text: &[u8]) -> bool {
    text.contains(&0) || text.windows(3).any(|escape| escape == b"%00")
}

/// `2.0` is as good an integer as `2`, says JSON Schema.
fn whole(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let exact = number
                .as_f64()
                .filter(|n| n.fract() == 0.0 && n.abs() < EXACT);
            if let Some(exact) = exact {
                *number = (exact as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole),
        Value::Object(fields) => fields.values_mut().for_each(whole),
        _ => {}
    }
}

fn unreadable(status: StatusCode, why: String) -> Problem {
    let code = match status {
        StatusCode::PAYLOAD_TOO_LARGE => "too_large",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "unsupported_media_type",
        _ => "invalid_request",
    };
    Problem::new(status, code, why).hint("the API's description is at /openapi.json")
}

/// Parameters after the `?`.
#[derive(Debug)]
pub struct Asked<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        if parts
            .uri
            .query()
            .is_some_and(|asked| has_escaped_nul(asked.as_bytes()))
        {
            return Err(nul());
        }
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(value)) => Ok(Self(value)),
            Err(rejection) => {
                let said = rejection.body_text();
                let why = said.strip_prefix("Failed to deserialize query string: ");
                Err(Problem::invalid(why.unwrap_or(&said)))
            }
        }
    }
}

/// Names in the path. One that cannot be a name is not found, as any other we do not know.
#[derive(Debug)]
pub struct Named<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(value)) if !has_escaped_nul(parts.uri.path().as_bytes()) => Ok(Self(value)),
            _ => Err(Problem::not_found("such thing at", parts.uri.path())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_nul_is_found_wherever_it_hides() {
        for hidden in [
            json!("a\0"),
            json!([1, ["\0"]]),
            json!({ "a": { "b\0": 1 } }),
        ] {
            assert!(check_text(&hidden).is_err(), "{hidden}");
        }
        assert!(check_text(&json!({ "a": ["\\u0000", 0, null] })).is_ok());
    }
}
