//! One call: asks for what is missing until nothing is, in requests the service can bear.
//!
//! A request that is refused is halved until one input is left. How far is this call's own
//! affair: what others send meanwhile neither hurries nor hinders it. One the service keeps
//! failing on is halved, too, once it has been seen to take another: one text may be to blame.

use std::time::Duration;

use super::{MOST_TOKENS, OpenAiEmbedder, fails_on_a_text};
use crate::Error;

pub struct Call<'a> {
    embedder: &'a OpenAiEmbedder,
    inputs: &'a [String],
    tokens: Vec<usize>,
    /// The longest wait that is sat out.
    patience: Duration,
    answers: Vec<Option<Vec<f32>>>,
    /// Inputs in one request, once one was refused.
    most: Option<usize>,
    /// The service is well, but for one of these.
    seeking: bool,
    /// The largest request answered since one was too much.
    borne: Option<usize>,
}

impl<'a> Call<'a> {
    /// `answers` holds what is known already; `tokens` the size of each input.
    pub fn new(
        embedder: &'a OpenAiEmbedder,
        inputs: &'a [String],
        tokens: Vec<usize>,
        answers: Vec<Option<Vec<f32>>>,
        patience: Duration,
    ) -> Self {
        Self {
            embedder,
            inputs,
            tokens,
            patience,
            answers,
            most: None,
            seeking: false,
            borne: None,
        }
    }

    /// In the order of the inputs; all there once [`Call::fill`] has succeeded.
    pub fn into_answers(self) -> Vec<Option<Vec<f32>>> {
        self.answers
    }

    /// Asks for what is missing until nothing is.
    pub async fn fill(&mut self) -> Result<(), Error> {
        let mut attempt = 0;
        loop {
            let request = self.next_request();
            if request.is_empty() {
                self.tell_what_it_takes();
                return Ok(());
            }
            let Err(error) = self.send(&request).await else {
                attempt = 0;
                continue;
            };
            if request.len() > 1 && self.may_be_one_of_them(&error) {
                self.halve(request.len(), &error);
                continue;
            }
            attempt += 1;
            let error = self.judge(error, request[0]).await;
            match self.wait(&error, attempt) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => self.seek_or_give_up(error, &request).await?,
            }
        }
    }

    /// As many of the missing inputs as may go together now.
    fn next_request(&self) -> Vec<usize> {
        let pace = self.embedder.health.vitals().pace.size();
        let most = self.most.map_or(pace, |most| most.min(pace));
        let mut total = 0;
        let fits = |index: &usize| {
            total += self.tokens[*index];
            total <= MOST_TOKENS || total == self.tokens[*index]
        };
        let missing = (0..self.inputs.len()).filter(|index| self.answers[*index].is_none());
        missing.take(most).take_while(fits).collect()
    }

    async fn send(&mut self, request: &[usize]) -> Result<(), Error> {
        let texts: Vec<_> = request.iter().map(|i| self.inputs[*i].as_str()).collect();
        let tokens = request.iter().map(|i| self.tokens[*i]).sum();
        let vectors = self.embedder.ask(&texts, tokens, !self.seeking).await?;
        let mut failed = Ok(());
        for (index, vector) in request.iter().zip(vectors) {
            match vector {
                Ok(vector) => self.answers[*index] = Some(vector),
                Err(error) => failed = Err(about(*index, error)),
            }
        }
        self.borne = self.borne.map(|borne| borne.max(request.len()));
        failed
    }

    fn halve(&mut self, refused: usize, error: &Error) {
        // Others learn of it once: looking for the one at fault is no reason to slow them down.
        if self.most.is_none() {
            self.embedder.health.vitals().pace.pushed_too_hard();
        }
        self.most = Some(refused / 2);
        if let Error::TooMuch { .. } = error {
            self.borne = Some(0);
        }
    }

    /// Only once all are answered: had one been too much by itself, it would say nothing of how
    /// many go together.
    fn tell_what_it_takes(&self) {
        if let Some(most) = self.borne {
            self.embedder.health.vitals().pace.takes(most);
        }
    }

    /// Whether a refusal of this one input is the input's fault or everybody's.
    async fn judge(&mut self, error: Error, index: usize) -> Error {
        match error {
            Error::TooMuch { message } => Error::BeyondService {
                index,
                limit: self.embedder.info.max_tokens,
                message,
            },
            Error::Refused {
                status: status @ (400 | 422),
                message,
            } => match self.passes_others(index).await {
                Ok(true) => Error::InputRefused { index, message },
                Ok(false) => Error::Refused { status, message },
                Err(error) => error,
            },
            other => other,
        }
    }

    /// Whether the service takes other inputs than this one. Where none was answered yet, the
    /// one furthest from it is tried: its neighbours are often of the same document.
    async fn passes_others(&mut self, index: usize) -> Result<bool, Error> {
        if self.answers.iter().any(Option::is_some) {
            return Ok(true);
        }
        let furthest = (0..self.inputs.len()).max_by_key(|other| other.abs_diff(index));
        let Some(other) = furthest.filter(|other| *other != index) else {
            return Ok(false);
        };
        match self.send(&[other]).await {
            Ok(()) | Err(Error::TooMuch { .. }) => Ok(true),
            Err(Error::Refused { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// How long to sit out a failure; `None` where it is not.
    fn wait(&self, error: &Error, attempt: u32) -> Option<Duration> {
        // Leaving it alone is the point; others may have better to do meanwhile.
        if let Error::CircuitOpen { .. } = error {
            return None;
        }
        let mix = |salt: u64, tokens: &usize| salt.wrapping_mul(31).wrapping_add(*tokens as u64);
        let salt = self.tokens.iter().fold(0, mix);
        let wait = self.embedder.retry.wait(error.kind(), attempt, salt);
        wait.filter(|wait| *wait <= self.patience)
    }

    /// The service kept failing on this request: if it takes another, one of these is to blame.
    async fn seek_or_give_up(&mut self, error: Error, request: &[usize]) -> Result<(), Error> {
        if !fails_on_a_text(&error) || !(self.seeking || self.takes_another(request).await) {
            return Err(error);
        }
        if let [index] = *request {
            return Err(about(index, error));
        }
        self.seeking = true;
        self.halve(request.len(), &error);
        Ok(())
    }

    /// Whether the service takes any other input now; two are tried, as one may be the one to
    /// blame. Where none is left, what was answered before it tells, or else a harmless text.
    async fn takes_another(&mut self, request: &[usize]) -> bool {
        let missing = |index: &usize| self.answers[*index].is_none();
        let others = |index: &usize| request.len() > 1 || *index != request[0];
        let all: Vec<usize> = (0..self.inputs.len())
            .filter(missing)
            .filter(others)
            .collect();
        let (Some(first), Some(last)) = (all.first(), all.last()) else {
            let texts: Vec<_> = request.iter().map(|i| self.inputs[*i].as_str()).collect();
            return self.answers.iter().any(Option::is_some)
                || self.embedder.takes_others_than(&texts).await;
        };
        self.send(&[*first]).await.is_ok() || (first != last && self.send(&[*last]).await.is_ok())
    }

    /// Too much together, or for one input's sake: some services refuse the whole request then,
    /// each in its own words.
    fn may_be_one_of_them(&self, error: &Error) -> bool {
        match error {
            Error::TooMuch { .. }
            | Error::Refused {
                status: 400 | 422, ..
            } => true,
            error => self.seeking && fails_on_a_text(error),
        }
    }
}

fn about(index: usize, error: Error) -> Error {
    Error::InputFailed {
        index,
        source: Box::new(error),
    }
}
