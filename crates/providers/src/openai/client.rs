//! One request for vectors, one answer.

use std::time::Duration;

use reqwest::Url;

use super::wire;
use crate::remote::{Http, wait};
use crate::{Error, OpenAiSettings};

/// More than this beside the vectors themselves is not an answer.
const ENVELOPE: usize = 1 << 20;
/// A float written out in JSON, with its comma, at its longest.
const WRITTEN_FLOAT: usize = 32;

/// Vectors, and how long a limit now used up takes to bear as much again.
pub struct Answer {
    pub vectors: Vec<wire::Vector>,
    pub refill: Option<Duration>,
}

pub struct Client {
    http: Http,
    model: String,
    shorten_to: Option<u32>,
}

impl Client {
    pub fn new(settings: &OpenAiSettings, shorten_to: Option<u32>) -> Result<Self, Error> {
        let base = settings.url.trim_end_matches('/');
        let url = Url::parse(&format!("{base}/embeddings")).map_err(|_| Error::Setting {
            name: "url",
            what: "is not an address such as http://localhost:11434/v1",
        })?;
        Ok(Self {
            http: Http::new(url, settings.key.clone(), settings.timeout)?,
            model: settings.model.clone(),
            shorten_to,
        })
    }

    /// One unit vector of `dimension` per text, in order, or what is wrong with it; they have
    /// about so many tokens.
    pub async fn ask(
        &self,
        texts: &[&str],
        dimension: usize,
        tokens: usize,
    ) -> Result<Answer, Error> {
        let body = wire::Request {
            model: &self.model,
            input: texts,
            encoding_format: "base64",
            dimensions: self.shorten_to,
        };
        let most = ENVELOPE + texts.len() * dimension * WRITTEN_FLOAT;
        let answer = self.http.ask(&body, most).await?;
        Ok(Answer {
            vectors: wire::vectors(&answer.bytes, texts.len(), dimension)?,
            refill: wait::refill(&answer.headers, tokens),
        })
    }
}
