//! Any OpenAI-compatible embeddings endpoint.
//!
//! In: texts. Out: unit vectors, checked in count, order and dimension. A call is
//! cut into requests within the service's limits and the pace it can bear. What
//! one request answered is kept when a later one fails, so trying the call again
//! asks only for what is missing: nothing is lost and nothing is embedded twice. A text
//! the service finds too long is asked for in parts, and counted.

mod call;
mod client;
mod kept;
mod name;
mod parts;
mod suspects;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use model::TokenCounter;

use crate::estimate::Estimate;
use crate::remote::{Health, Load, Retry, now};
use crate::{Embedder, Error, Kind, ModelInfo, OpenAiSettings};
use call::Call;
use client::Client;
use kept::Kept;
use suspects::Suspects;

/// What the service takes in one request.
pub const MOST_INPUTS: usize = 2048;
const MOST_TOKENS: usize = 300_000;
/// Asked for to see whether a service takes anything: nothing in it could bring one down that is
/// well.
pub const HARMLESS: &str = "A mill grinds grain.";
const HARMLESS_TOKENS: usize = 8;
/// The longest wait that is sat out for somebody who has asked a question.
const WHILE_ASKED: Duration = Duration::from_secs(1);

pub struct OpenAiEmbedder {
    info: ModelInfo,
    client: Client,
    retry: Retry,
    query_timeout: Duration,
    query: Prefix,
    passage: Prefix,
    health: Health,
    kept: Kept,
    suspects: Suspects,
    divided: AtomicU64,
}

impl OpenAiEmbedder {
    pub fn open(settings: &OpenAiSettings) -> Result<Self, Error> {
        let known = Known::of(&settings.model);
        let dimension = settings.dimension.or(known.map(|k| k.dimension));
        let dimension = dimension.filter(|d| *d > 0).ok_or(Error::Setting {
            name: "dimension",
            what: "must be given for a model whose size is not known here",
        })?;
        let shorten = known.is_some_and(|k| k.shortens && k.dimension != dimension);
        // Unknown models are taken to read as little as most small ones do.
        let reads = settings.max_tokens.or(known.map(|k| k.max_tokens));
        let reads = reads.unwrap_or(512);
        let query = Prefix::of(&settings.query_prefix, reads)?;
        let passage = Prefix::of(&settings.passage_prefix, reads)?;
        let info = ModelInfo {
            name: name::name(settings, dimension),
            dimension,
            reads,
            max_tokens: passage.leaves,
            max_query_tokens: query.leaves,
            max_batch_items: settings.max_batch_items.clamp(1, MOST_INPUTS),
            max_batch_tokens: 32 * 1024,
            language_note: "as the endpoint's model; see its documentation",
        };
        Ok(Self {
            client: Client::new(settings, shorten.then_some(dimension))?,
            retry: settings.retry,
            query_timeout: settings.query_timeout,
            query,
            passage,
            health: Health::new(info.max_batch_items),
            kept: Kept::default(),
            suspects: Suspects::default(),
            divided: AtomicU64::new(0),
            info,
        })
    }

    /// Waits longer than `patience` are not sat out.
    async fn embed(
        &self,
        prefix: &Prefix,
        texts: &[String],
        patience: Duration,
    ) -> Result<Vec<Vec<f32>>, Error> {
        let tokens = self.check(prefix, texts)?;
        let call = Call::new(self, prefix, texts, &tokens, patience);
        call.answer().await
    }

    /// Estimated tokens of each input with its prefix; an empty or hopeless one is named.
    fn check(&self, prefix: &Prefix, inputs: &[String]) -> Result<Vec<usize>, Error> {
        let limit = prefix.leaves as usize;
        let tokens = |(index, text): (usize, &String)| {
            if text.is_empty() {
                return Err(Error::Empty { index });
            }
            let tokens = Estimate.count(text);
            if tokens > limit {
                return Err(Error::TooLong {
                    index,
                    tokens,
                    limit,
                });
            }
            Ok(prefix.tokens + tokens)
        };
        inputs.iter().enumerate().map(tokens).collect()
    }

    /// One request of about so many tokens. `tells` is false where a failure would say more of
    /// the texts than of the service.
    async fn ask(
        &self,
        texts: &[&str],
        tokens: usize,
        tells: bool,
    ) -> Result<Vec<wire::Vector>, Error> {
        self.health.may_be_asked(now())?;
        let dimension = self.info.dimension as usize;
        let answer = self.client.ask(texts, dimension, tokens).await;
        match answer {
            Ok(answer) => {
                self.learn_of_success(Load::of(texts), answer.refill, now());
                Ok(answer.vectors)
            }
            Err(error) => {
                if !fails_on_a_text(&error) || (tells && !self.suspects.are_all(texts)) {
                    self.learn_of(&error, now());
                }
                Err(error)
            }
        }
    }

    /// Whether it is these texts that the service fails on: they were found to be before, or it
    /// takes one that nobody could mind.
    async fn takes_others_than(&self, texts: &[&str]) -> bool {
        self.suspects.are_all(texts) || self.ask_harmless().await.is_ok()
    }

    /// Asks for a text that only somebody minds who minds all of them.
    async fn ask_harmless(&self) -> Result<(), Error> {
        self.ask(&[HARMLESS], HARMLESS_TOKENS, true).await.map(drop)
    }

    /// `refill` is how long a limit that is used up takes to bear as much again.
    fn learn_of_success(&self, load: Load, refill: Option<Duration>, now: Instant) {
        let mut health = self.health.vitals();
        health.breaker.answered();
        health.pace.answered(load);
        if let Some(wait) = refill {
            health.pace.hold_until(now + wait);
        }
    }

    /// What a failure says about the service.
    fn learn_of(&self, error: &Error, now: Instant) {
        let mut health = self.health.vitals();
        let named = match error.kind() {
            // The service is well; the call sends less at once.
            _ if matches!(error, Error::TooMuch { .. }) => {
                health.breaker.answered();
                None
            }
            Kind::Throttled { retry_after } => {
                health.breaker.answered();
                health.pace.pushed_too_hard();
                retry_after
            }
            Kind::Transient { retry_after } => {
                health.breaker.failed(now);
                health.pace.pushed_too_hard();
                retry_after
            }
            Kind::Input { .. } | Kind::Quota | Kind::Misconfigured => {
                health.breaker.answered();
                None
            }
        };
        if let Some(wait) = named {
            health.pace.hold_until(now + wait);
        }
    }
}

/// Whether one text may have brought the service to it, be it that it went down over it: it names
/// no time to come back at, as one that is busy does.
fn fails_on_a_text(error: &Error) -> bool {
    matches!(
        error,
        Error::BadAnswer { .. }
            | Error::TimedOut { .. }
            | Error::Unreachable { .. }
            | Error::Unavailable {
                retry_after: None,
                ..
            }
    )
}

#[async_trait]
impl Embedder for OpenAiEmbedder {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn tokens(&self) -> Arc<dyn TokenCounter> {
        Arc::new(Estimate)
    }

    async fn embed_passages(&self, inputs: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        self.embed(&self.passage, inputs, Duration::MAX).await
    }

    async fn embed_query(&self, query: &str) -> Result<Vec<f32>, Error> {
        let (query, after) = ([query.to_owned()], self.query_timeout);
        let asked = self.embed(&self.query, &query, WHILE_ASKED);
        let Ok(answered) = tokio::time::timeout(after, asked).await else {
            // The request was dropped before it could tell.
            let error = Error::TimedOut { after };
            self.learn_of(&error, now());
            return Err(error);
        };
        Ok(answered?.remove(0))
    }

    fn divided(&self) -> u64 {
        self.divided.load(Ordering::Relaxed)
    }
}

/// What the model was trained to read before every query, or before every passage.
struct Prefix {
    text: String,
    tokens: usize,
    /// Tokens of what the model reads, for the text itself.
    leaves: u32,
}

impl Prefix {
    fn of(text: &str, reads: u32) -> Result<Self, Error> {
        let tokens = Estimate.count(text);
        let leaves = (reads as usize).checked_sub(tokens);
        let leaves = leaves.filter(|left| *left > 0).ok_or(Error::Setting {
            name: "max_tokens",
            what: "leaves no room for a text beside its prefix",
        })?;
        Ok(Self {
            text: text.to_owned(),
            tokens,
            leaves: leaves as u32,
        })
    }
}

/// What is known of a model without asking.
#[derive(Clone, Copy)]
struct Known {
    dimension: u32,
    max_tokens: u32,
    /// Takes `dimensions` and answers with shorter vectors.
    shortens: bool,
}

impl Known {
    fn of(model: &str) -> Option<Self> {
        let (dimension, shortens) = match model {
            "text-embedding-3-small" => (1536, true),
            "text-embedding-3-large" => (3072, true),
            "text-embedding-ada-002" => (1536, false),
            _ => return None,
        };
        Some(Self {
            dimension,
            max_tokens: 8192,
            shortens,
        })
    }
}
