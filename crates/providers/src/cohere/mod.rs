//! Any endpoint that reranks as Cohere's second version does.
//!
//! In: a query and passages. Out: one score per passage, in the order of the
//! passages. A search waits for this, so a call ends by its deadline, whatever it
//! is doing, and a service that keeps failing in any way is not asked for a while:
//! it tells of no limits before they are reached, and is meant to be left out.

mod wire;

use std::time::{Duration, Instant};

use async_trait::async_trait;
use model::TokenCounter as _;
use reqwest::Url;

use crate::estimate::Estimate;
use crate::remote::{Health, Http, Retry, now};
use crate::{CohereSettings, Error, Kind, Reranker};

/// More passages than this are advised against in one request.
pub const MOST_PASSAGES: usize = 1000;
/// The longest such a service is held to what it asked for; then it is tried.
const LONGEST_HOLD: Duration = Duration::from_secs(120);

pub struct CohereReranker {
    http: Http,
    model: String,
    deadline: Duration,
    retry: Retry,
    /// Tokens the model reads of a query, where that is known.
    query_limit: Option<usize>,
    health: Health,
}

impl CohereReranker {
    pub fn open(settings: &CohereSettings) -> Result<Self, Error> {
        if settings.model.trim().is_empty() {
            return Err(Error::Setting {
                name: "model",
                what: "must be given, such as rerank-v3.5",
            });
        }
        let url = address(&settings.url).ok_or(Error::Setting {
            name: "url",
            what: "is not an address such as https://api.cohere.com/v2",
        })?;
        Ok(Self {
            http: Http::new(url, settings.key.clone(), settings.deadline)?,
            model: settings.model.clone(),
            deadline: settings.deadline,
            retry: settings.retry,
            query_limit: query_limit(&settings.model),
            health: Health::new(1),
        })
    }

    fn check(&self, query: &str) -> Result<(), Error> {
        let tokens = Estimate.count(query);
        match self.query_limit {
            Some(limit) if tokens > limit => Err(Error::TooLong {
                index: 0,
                tokens,
                limit,
            }),
            _ => Ok(()),
        }
    }

    async fn ask(&self, query: &str, passages: &[String]) -> Result<Vec<f64>, Error> {
        let mut attempt = 0;
        loop {
            let error = match self.ask_once(query, passages).await {
                Ok(scores) => return Ok(scores),
                Err(error) => error,
            };
            attempt += 1;
            match self.wait_after(&error, attempt, passages) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(error),
            }
        }
    }

    async fn ask_once(&self, query: &str, passages: &[String]) -> Result<Vec<f64>, Error> {
        let body = wire::Request {
            model: &self.model,
            query,
            documents: passages,
        };
        let answer = self.http.ask(&body, wire::longest(passages)).await?;
        wire::scores(&answer.bytes, passages.len())
    }

    fn wait_after(&self, error: &Error, attempt: u32, passages: &[String]) -> Option<Duration> {
        let salt: u64 = passages.iter().map(|text| text.len() as u64).sum();
        match error.kind() {
            // Limits are by the minute: asking again at once only uses them up.
            Kind::Throttled { retry_after: None } => None,
            kind => self.retry.wait(kind, attempt, salt),
        }
    }

    /// Any failure counts against the service: a wrong key costs each search a request, too.
    fn learn(&self, failure: Option<&Error>, now: Instant) {
        let mut health = self.health.vitals();
        let Some(error) = failure else {
            return health.breaker.answered();
        };
        health.breaker.failed(now);
        if let Kind::Throttled {
            retry_after: Some(wait),
        } = error.kind()
        {
            health.pace.hold_until(now + wait.min(LONGEST_HOLD));
        }
    }
}

#[async_trait]
impl Reranker for CohereReranker {
    fn model(&self) -> &str {
        &self.model
    }

    async fn rerank(&self, query: &str, passages: &[String]) -> Result<Vec<f64>, Error> {
        self.check(query)?;
        self.health.may_be_asked(now())?;
        let asking = tokio::time::timeout(self.deadline, self.ask(query, passages));
        let answer = asking.await.unwrap_or(Err(Error::TimedOut {
            after: self.deadline,
        }));
        self.learn(answer.as_ref().err(), now());
        answer
    }
}

fn address(base: &str) -> Option<Url> {
    let base = base.trim_end_matches('/');
    let url = Url::parse(&format!("{base}/rerank")).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

fn query_limit(model: &str) -> Option<usize> {
    match model {
        "rerank-v4.0-pro" | "rerank-v4.0-fast" => Some(16_384),
        "rerank-v3.5" => Some(2048),
        _ => None,
    }
}
