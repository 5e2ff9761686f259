//! Reading requests, with our own words when they cannot be read.

use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
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
        let axum::Json(mut value) = read.map_err(|rejection| unreadable(&rejection))?;
        whole(&mut value);
        serde_json::from_value(value).map(Self).map_err(|error| {
            Problem::invalid(format!("the body does not fit: {error}"))
                .hint("the API's description is at /openapi.json")
        })
    }
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

fn unreadable(rejection: &JsonRejection) -> Problem {
    let status = rejection.status();
    let code = match status {
        StatusCode::PAYLOAD_TOO_LARGE => "too_large",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "unsupported_media_type",
        _ => "invalid_request",
    };
    Problem::new(status, code, rejection.body_text())
        .hint("the API's description is at /openapi.json")
}

/// Parameters after the `?`.
#[derive(Debug)]
pub struct Asked<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
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
            Ok(Path(value)) => Ok(Self(value)),
            Err(_) => Err(Problem::not_found("such thing at", parts.uri.path())),
        }
    }
}
