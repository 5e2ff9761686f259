//! One delivery over HTTP: a payload goes out, what a worker makes of it comes back.

use std::time::Duration;

use engine::delegation::{BUSY, SLOTS_FULL};
use model::contract::ProcessRequest;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

/// A worker that is full and does not say for how long.
const FULL: Duration = Duration::from_secs(1);

/// Where deliveries go, and what opens the door there.
pub struct Post {
    pub http: Client,
    /// Of the worker's `/internal/process`.
    pub url: String,
    pub token: String,
    /// Nothing is posted once this is told.
    pub closing: CancellationToken,
}

/// What a worker said.
pub(crate) enum Answer {
    Taken,
    /// It works, and has no slot free.
    Full(Duration),
    /// The run changed since it was looked at.
    Stale,
    /// It is there, and this run is none for it.
    Refused(String),
    Nobody {
        why: String,
        after: Option<Duration>,
    },
}

impl Post {
    pub(crate) async fn bring(&self, payload: &ProcessRequest) -> Answer {
        let Self {
            http, url, token, ..
        } = self;
        let sent = http.post(url).bearer_auth(token).json(payload).send();
        match sent.await {
            Ok(response) => read(response).await,
            Err(error) => Answer::Nobody {
                why: unreachable(&error).to_owned(),
                after: None,
            },
        }
    }
}

async fn read(response: Response) -> Answer {
    let (status, after) = (response.status(), retry_after(response.headers()));
    if status == StatusCode::SERVICE_UNAVAILABLE && is_full(response).await {
        return Answer::Full(after.unwrap_or(FULL));
    }
    let why = match status {
        StatusCode::OK | StatusCode::ACCEPTED => return Answer::Taken,
        StatusCode::CONFLICT => return Answer::Stale,
        StatusCode::BAD_REQUEST
        | StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::UNPROCESSABLE_ENTITY => {
            return Answer::Refused(format!("it answered {status}"));
        }
        StatusCode::UNAUTHORIZED => "the worker has another auth.internal_token".to_owned(),
        other => format!("the worker answered {other}"),
    };
    Answer::Nobody { why, after }
}

async fn is_full(response: Response) -> bool {
    #[derive(Deserialize)]
    struct Problem {
        code: String,
    }
    let problem = response.json::<Problem>().await;
    problem.is_ok_and(|problem| [SLOTS_FULL, BUSY].contains(&&*problem.code))
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    text.parse().ok().map(Duration::from_secs)
}

/// Without the address, which may hold a password.
fn unreachable(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        "the worker does not answer in time"
    } else if error.is_connect() {
        "the worker cannot be reached"
    } else {
        "the request to the worker failed"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_seconds_are_understood_as_a_time_to_wait() {
        let told = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, text.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(told("7"), Some(Duration::from_secs(7)));
        assert_eq!(told("Fri, 31 Dec 1999 23:59:59 GMT"), None);
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
