//! Any OpenAI-compatible embeddings endpoint.
//!
//! In: texts. Out: unit vectors, checked in count, order and dimension. A call is
//! cut into requests within the service's limits and the pace it can bear. What
//! one request answered is kept when a later one fails, so trying the call again
//! asks only for what is missing: nothing is lost and nothing is embedded twice.

mod client;
mod kept;
mod wire;

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use model::{ModelName, TokenCounter};

use crate::estimate::Estimate;
use crate::remote::{Health, Retry, now};
use crate::{Embedder, Error, Kind, ModelInfo, OpenAiSettings};
use client::Client;
use kept::Kept;

/// What the service takes in one request.
const MOST_INPUTS: usize = 2048;
const MOST_TOKENS: usize = 300_000;

pub struct OpenAiEmbedder {
    info: ModelInfo,
    client: Client,
    retry: Retry,
    prefixes: (String, String),
    health: Health,
    kept: Kept,
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
        let max_tokens = settings.max_tokens.or(known.map(|k| k.max_tokens));
        let info = ModelInfo {
            name: ModelName::new("openai", &settings.model),
            dimension,
            // Unknown models are taken to read as little as most small ones do.
            max_tokens: max_tokens.unwrap_or(512),
            max_batch_items: settings.max_batch_items.clamp(1, MOST_INPUTS),
            max_batch_tokens: 32 * 1024,
            language_note: "as the endpoint's model; see its documentation",
        };
        Ok(Self {
            client: Client::new(settings, shorten.then_some(dimension))?,
            retry: settings.retry,
            prefixes: (
                settings.query_prefix.clone(),
                settings.passage_prefix.clone(),
            ),
            health: Health::new(info.max_batch_items),
            kept: Kept::default(),
            info,
        })
    }

    async fn embed(&self, inputs: Vec<String>) -> Result<Vec<Vec<f32>>, Error> {
        let tokens = self.check(&inputs)?;
        let mut answers: Vec<_> = inputs.iter().map(|text| self.kept.take(text)).collect();
        let outcome = self.fill(&inputs, &tokens, &mut answers).await;
        if let Err(error) = outcome {
            for (text, vector) in inputs.iter().zip(answers) {
                self.kept.put(text, vector);
            }
            return Err(error);
        }
        let complete = answers.into_iter().map(|v| v.expect("filled above"));
        Ok(complete.collect())
    }

    /// Estimated tokens of each input; an empty or hopeless one is named.
    fn check(&self, inputs: &[String]) -> Result<Vec<usize>, Error> {
        let limit = self.info.max_tokens as usize;
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
            Ok(tokens)
        };
        inputs.iter().enumerate().map(tokens).collect()
    }

    /// Asks for what is missing until nothing is.
    async fn fill(
        &self,
        inputs: &[String],
        tokens: &[usize],
        answers: &mut [Option<Vec<f32>>],
    ) -> Result<(), Error> {
        let mut attempt = 0;
        loop {
            let missing = (0..inputs.len()).filter(|i| answers[*i].is_none());
            let request = self.next_request(missing, tokens);
            if request.is_empty() {
                return Ok(());
            }
            match self.send(inputs, &request).await {
                Ok(vectors) => {
                    attempt = 0;
                    for (index, vector) in request.into_iter().zip(vectors) {
                        answers[index] = Some(vector);
                    }
                }
                // Halved, it is asked again until one input is left to blame.
                Err(Error::TooMuch { .. }) if request.len() > 1 => {}
                // Leaving it alone is the point; others may have better to do meanwhile.
                Err(error @ Error::CircuitOpen { .. }) => return Err(error),
                Err(error) => {
                    attempt += 1;
                    self.wait_or_give_up(blame(error, &request), attempt, tokens)
                        .await?;
                }
            }
        }
    }

    /// As many of the missing inputs as may go together now.
    fn next_request(&self, missing: impl Iterator<Item = usize>, tokens: &[usize]) -> Vec<usize> {
        let mut total = 0;
        let fits = |index: &usize| {
            total += tokens[*index];
            total <= MOST_TOKENS || total == tokens[*index]
        };
        let size = self.health.vitals().pace.size();
        missing.take(size).take_while(fits).collect()
    }

    async fn send(&self, inputs: &[String], request: &[usize]) -> Result<Vec<Vec<f32>>, Error> {
        self.health.may_be_asked(now())?;
        let texts: Vec<_> = request
            .iter()
            .map(|index| inputs[*index].as_str())
            .collect();
        let answer = self.client.ask(&texts, self.info.dimension as usize).await;
        self.learn(answer.as_ref().err(), now());
        answer
    }

    /// What an answer, or its failure, says about the service.
    fn learn(&self, failure: Option<&Error>, now: Instant) {
        let mut health = self.health.vitals();
        match failure {
            None => {
                health.breaker.answered();
                health.pace.answered();
            }
            Some(Error::TooMuch { .. }) => {
                health.breaker.answered();
                health.pace.pushed_too_hard();
            }
            Some(error) => match error.kind() {
                Kind::Throttled { retry_after } => {
                    health.breaker.answered();
                    health.pace.pushed_too_hard();
                    let until = retry_after.map(|wait| now + wait);
                    until.into_iter().for_each(|at| health.pace.hold_until(at));
                }
                Kind::Transient { .. } => {
                    health.breaker.failed(now);
                    health.pace.pushed_too_hard();
                }
                Kind::Input { .. } | Kind::Quota | Kind::Misconfigured => {
                    health.breaker.answered();
                }
            },
        }
    }

    async fn wait_or_give_up(
        &self,
        error: Error,
        attempt: u32,
        salt: &[usize],
    ) -> Result<(), Error> {
        let salt = salt.iter().fold(0, |salt, t| salt * 31 + *t as u64);
        let Some(wait) = self.retry.wait(error.kind(), attempt, salt) else {
            return Err(error);
        };
        tokio::time::sleep(wait).await;
        Ok(())
    }
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
        let prefixed = inputs
            .iter()
            .map(|text| format!("{}{text}", self.prefixes.1));
        self.embed(prefixed.collect()).await
    }

    async fn embed_query(&self, query: &str) -> Result<Vec<f32>, Error> {
        let mut vectors = self
            .embed(vec![format!("{}{query}", self.prefixes.0)])
            .await?;
        Ok(vectors.remove(0))
    }
}

/// A request of one input that is too much names that input.
fn blame(error: Error, request: &[usize]) -> Error {
    match error {
        Error::TooMuch { message } => Error::InputRefused {
            index: request[0],
            message,
        },
        other => other,
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
