//! One request, one answer: HTTP and nothing else.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode, Url};

use super::{fault, wire};
use crate::{Error, OpenAiSettings, Secret};

/// More than this beside the vectors themselves is not an answer.
const ENVELOPE: usize = 1 << 20;
/// A float written out in JSON, with its comma, at its longest.
const WRITTEN_FLOAT: usize = 32;

pub struct Client {
    http: reqwest::Client,
    url: Url,
    key: Option<Secret>,
    model: String,
    shorten_to: Option<u32>,
    timeout: Duration,
}

impl Client {
    pub fn new(settings: &OpenAiSettings, shorten_to: Option<u32>) -> Result<Self, Error> {
        // Whoever came first has set one already; either will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .timeout(settings.timeout)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|source| Error::Unreachable { source })?;
        let base = settings.url.trim_end_matches('/');
        let url = Url::parse(&format!("{base}/embeddings")).map_err(|_| Error::Setting {
            name: "url",
            what: "is not an address such as http://localhost:11434/v1",
        })?;
        Ok(Self {
            http,
            url,
            key: settings.key.clone(),
            model: settings.model.clone(),
            shorten_to,
            timeout: settings.timeout,
        })
    }

    /// One unit vector of `dimension` per text, in order.
    pub async fn ask(&self, texts: &[&str], dimension: usize) -> Result<Vec<Vec<f32>>, Error> {
        let body = wire::Request {
            model: &self.model,
            input: texts,
            encoding_format: "base64",
            dimensions: self.shorten_to,
        };
        let mut request = self.http.post(self.url.clone()).json(&body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.reveal());
        }
        let failed = |source| self.failed(source);
        let answer = request.send().await.map_err(failed)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let most = ENVELOPE + texts.len() * dimension * WRITTEN_FLOAT;
        let bytes = self.read(answer, most).await?;
        self.judge(status, &headers, &bytes)?;
        wire::vectors(&bytes, texts.len(), dimension)
    }

    /// An error, whether the status says so or only the body.
    fn judge(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Result<(), Error> {
        match fault::of(status.as_u16(), headers, body) {
            Some(error) => Err(error),
            None => Ok(()),
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
