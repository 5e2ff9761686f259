//! One request, one answer: HTTP and nothing else.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, HeaderValue};
use reqwest::{Response, Url};
use serde::Serialize;

use super::fault;
use crate::{Error, Secret};

/// An address that takes JSON and gives JSON, and who asks there.
pub(crate) struct Http {
    client: reqwest::Client,
    url: Url,
    key: Option<Secret>,
    timeout: Duration,
}

/// What came back when nothing was wrong.
pub(crate) struct Answer {
    pub bytes: Vec<u8>,
    pub headers: HeaderMap,
}

impl Http {
    pub fn new(url: Url, key: Option<Secret>, timeout: Duration) -> Result<Self, Error> {
        // A line break is easily read in at its end, and would fail every request later.
        if let Some(key) = &key
            && HeaderValue::from_str(key.reveal()).is_err()
        {
            return Err(Error::Setting {
                name: "api_key",
                what: "holds what no key has, such as a line break",
            });
        }
        // Whoever came first has set one already; either will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .timeout(timeout)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|source| Error::Unreachable { source })?;
        Ok(Self {
            client,
            url,
            key,
            timeout,
        })
    }

    /// The answer, of at most `most` bytes. What is an error is one here, whether the status
    /// says so or only the body.
    pub async fn ask(&self, body: &impl Serialize, most: usize) -> Result<Answer, Error> {
        let mut request = self.client.post(self.url.clone()).json(body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.reveal());
        }
        let answer = request.send().await.map_err(|e| self.failed(e))?;
        let status = answer.status().as_u16();
        let headers = dated(answer.headers().clone());
        let bytes = self.read(answer, most).await?;
        match fault::of(status, &headers, &bytes) {
            Some(error) => Err(error),
            None => Ok(Answer { bytes, headers }),
        }
    }

    async fn read(&self, mut answer: Response, most: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(|e| self.failed(e))? {
            if bytes.len() + part.len() > most {
                return Err(Error::BadAnswer {
                    what: format!("longer than {most} bytes"),
                });
            }
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    }

    fn failed(&self, source: reqwest::Error) -> Error {
        if source.is_timeout() {
            return Error::TimedOut {
                after: self.timeout,
            };
        }
        Error::Unreachable {
            source: source.without_url(),
        }
    }
}

/// A service that does not say when it spoke spoke now.
fn dated(mut headers: HeaderMap) -> HeaderMap {
    let now = httpdate::fmt_http_date(SystemTime::now());
    let now = HeaderValue::from_str(&now).expect("a date is plain text");
    headers.entry(DATE).or_insert(now);
    headers
}
