//! One call: asks for what is missing until nothing is, in requests the service can bear.
//!
//! A request that is refused is halved until one text is left, the shortest going first. How far
//! is this call's own affair: what others send meanwhile neither hurries nor hinders it. One the
//! service keeps failing on is halved, too, once it has been seen to take another: one text may
//! be to blame. A text that is too long by itself is asked for in parts.

use std::sync::atomic::Ordering;
use std::time::Duration;

use model::TokenCounter;

use super::parts::{halves, mean};
use super::{MOST_TOKENS, OpenAiEmbedder, Prefix, fails_on_a_text};
use crate::Error;
use crate::estimate::Estimate;
use crate::remote::{Load, Measure};

pub struct Call<'a> {
    embedder: &'a OpenAiEmbedder,
    prefix: &'a Prefix,
    inputs: usize,
    texts: Vec<Text>,
    /// The longest wait that is sat out.
    patience: Duration,
    /// Texts in one request, once one was refused.
    most: Option<usize>,
    /// The service is well, but for one of these.
    seeking: bool,
    bound: Bound,
}

/// An input, or a part of one.
struct Text {
    input: usize,
    /// With the prefix.
    text: String,
    tokens: usize,
    answer: Option<Vec<f32>>,
}

/// What a call has found of how much goes together.
#[derive(Clone, Copy)]
enum Bound {
    NotMet,
    /// There was too much of this in a request.
    Met(Measure),
    /// One text is too much by itself, which says nothing of how many go together.
    ByOne,
}

impl<'a> Call<'a> {
    /// `tokens` is the size of each input with the prefix.
    pub fn new(
        embedder: &'a OpenAiEmbedder,
        prefix: &'a Prefix,
        inputs: &[String],
        tokens: &[usize],
        patience: Duration,
    ) -> Self {
        let mut call = Self {
            embedder,
            prefix,
            inputs: inputs.len(),
            texts: Vec::with_capacity(inputs.len()),
            patience,
            most: None,
            seeking: false,
            bound: Bound::NotMet,
        };
        for (input, (text, tokens)) in inputs.iter().zip(tokens).enumerate() {
            let text = call.text(input, text, *tokens);
            call.texts.push(text);
        }
        call
    }

    /// One vector per input, in order. What was answered of a call that failed is kept.
    pub async fn answer(mut self) -> Result<Vec<Vec<f32>>, Error> {
        let outcome = self.fill().await;
        let Err(error) = outcome else {
            self.tell_what_it_takes();
            return self.vectors();
        };
        if let Error::InputFailed { index, .. } = error {
            self.embedder.suspects.add(&self.texts[index].text);
        }
        let error = self.of_inputs(error);
        for text in self.texts {
            self.embedder.kept.put(&text.text, text.answer);
        }
        Err(error)
    }

    fn text(&self, input: usize, text: &str, tokens: usize) -> Text {
        let text = format!("{}{text}", self.prefix.text);
        Text {
            input,
            answer: self.embedder.kept.take(&text),
            text,
            tokens,
        }
    }

    /// Asks for what is missing until nothing is. An error about one names its text.
    async fn fill(&mut self) -> Result<(), Error> {
        let mut attempt = 0;
        loop {
            let request = self.next_request();
            if request.is_empty() {
                return Ok(());
            }
            let Err(error) = self.send(&request, !self.seeking).await else {
                attempt = 0;
                continue;
            };
            if request.len() > 1 && self.may_be_one_of_them(&error) {
                self.halve(&request, &error);
                continue;
            }
            if matches!(error, Error::TooMuch { .. }) && self.divide(request[0]) {
                continue;
            }
            let Err(error) = self.judge(error, request[0]).await else {
                continue;
            };
            attempt += 1;
            match self.wait(&error, attempt) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => self.seek_or_give_up(error, &request).await?,
            }
        }
    }

    /// As many of the missing texts as may go together now. Once one was refused the shortest
    /// go first: whatever is too long is then found among the last.
    fn next_request(&self) -> Vec<usize> {
        let pace = self.embedder.health.vitals().pace.load();
        let mut missing = self.missing();
        if self.most.is_some() {
            missing.sort_by_key(|at| self.texts[*at].tokens);
        }
        missing.truncate(self.most.map_or(pace.inputs, |most| most.min(pace.inputs)));
        let (mut tokens, mut bytes) = (0, 0);
        let fit = missing.iter().take_while(|at| {
            tokens += self.texts[**at].tokens;
            bytes += self.texts[**at].text.len();
            tokens <= MOST_TOKENS && bytes <= pace.bytes
        });
        let fit = fit.count().max(1);
        missing.truncate(fit);
        missing
    }

    fn missing(&self) -> Vec<usize> {
        let missing = |at: &usize| self.texts[*at].answer.is_none();
        (0..self.texts.len()).filter(missing).collect()
    }

    /// `tells` as of [`OpenAiEmbedder::ask`].
    async fn send(&mut self, request: &[usize], tells: bool) -> Result<(), Error> {
        let texts = self.texts_of(request);
        let tokens = request.iter().map(|at| self.texts[*at].tokens).sum();
        let vectors = self.embedder.ask(&texts, tokens, tells).await?;
        let mut failed = Ok(());
        for (at, vector) in request.iter().zip(vectors) {
            match vector {
                Ok(vector) => self.texts[*at].answer = Some(vector),
                Err(error) => {
                    // Others in the same answer are good: there may be several such texts.
                    self.embedder.suspects.add(&self.texts[*at].text);
                    failed = Err(about(*at, error));
                }
            }
        }
        failed
    }

    fn texts_of(&self, request: &[usize]) -> Vec<&str> {
        let text = |at: &usize| self.texts[*at].text.as_str();
        request.iter().map(text).collect()
    }

    fn halve(&mut self, refused: &[usize], error: &Error) {
        // Others learn of it once: looking for the one at fault is no reason to slow them down.
        let mut vitals = self.embedder.health.vitals();
        if self.most.is_none() {
            vitals.pace.pushed_too_hard();
        }
        self.most = Some(refused.len() / 2);
        if let (Error::TooMuch { measure, .. }, Bound::NotMet | Bound::Met(_)) = (error, self.bound)
        {
            let refused = Load::of(&self.texts_of(refused));
            self.bound = Bound::Met(vitals.pace.too_much(refused, *measure));
        }
    }

    /// Puts its halves in the place of a text that is too much by itself; whether there was
    /// enough of it.
    fn divide(&mut self, at: usize) -> bool {
        let whole = &self.texts[at];
        let Some(parts) = halves(&whole.text[self.prefix.text.len()..]) else {
            return false;
        };
        let around = self.prefix.tokens;
        let part = |text| self.text(whole.input, text, around + Estimate.count(text));
        let [head, tail] = parts.map(part);
        self.texts[at] = head;
        self.texts.insert(at + 1, tail);
        self.bound = Bound::ByOne;
        true
    }

    /// Only once all are answered.
    fn tell_what_it_takes(&self) {
        if let Bound::Met(measure) = self.bound {
            let mut vitals = self.embedder.health.vitals();
            vitals.pace.keep_to_what_was_answered(measure);
        }
    }

    /// Of every input, once nothing is missing; parts of one follow each other.
    fn vectors(mut self) -> Result<Vec<Vec<f32>>, Error> {
        let mut vectors = Vec::with_capacity(self.inputs);
        for parts in self.texts.chunk_by_mut(|a, b| a.input == b.input) {
            let vector = match parts {
                [whole] => whole.answer.take().expect("nothing is missing"),
                parts => {
                    self.embedder.divided.fetch_add(1, Ordering::Relaxed);
                    let answer = |text: &Text| text.answer.clone().expect("nothing is missing");
                    let parts = parts.iter().map(|text| (answer(text), text.tokens));
                    mean(&parts.collect::<Vec<_>>())?
                }
            };
            vectors.push(vector);
        }
        Ok(vectors)
    }

    /// An error about a text is one about its input.
    fn of_inputs(&self, mut error: Error) -> Error {
        if let Error::BeyondService { index, .. }
        | Error::InputRefused { index, .. }
        | Error::InputFailed { index, .. } = &mut error
        {
            *index = self.texts[*index].input;
        }
        error
    }

    /// Whether a refusal of this one text is the text's fault or everybody's: a harmless one has
    /// the last word, as what was answered before tells of before. Nothing is wrong any more where
    /// the text is taken then: nobody is blamed for what was mended meanwhile.
    async fn judge(&mut self, error: Error, index: usize) -> Result<(), Error> {
        if !is_refusal(&error) {
            return Err(error);
        }
        match self.embedder.ask_harmless().await {
            Ok(()) => {}
            Err(other) if is_refusal(&other) => return Err(to_all(error)),
            Err(other) => return Err(other),
        }
        let again = self.send(&[index], !self.seeking).await;
        again.map_err(|error| self.to_one(error, index))
    }

    /// A refusal is of this text alone.
    fn to_one(&self, error: Error, index: usize) -> Error {
        match error {
            Error::TooMuch { message, .. } => Error::BeyondService {
                index,
                limit: self.prefix.leaves,
                message,
            },
            Error::Refused {
                status: 400 | 422,
                message,
            } => Error::InputRefused { index, message },
            other => other,
        }
    }

    /// How long to sit out a failure; `None` where it is not.
    fn wait(&self, error: &Error, attempt: u32) -> Option<Duration> {
        // Leaving it alone is the point; others may have better to do meanwhile.
        if let Error::CircuitOpen { .. } = error {
            return None;
        }
        let mix = |salt: u64, text: &Text| salt.wrapping_mul(31).wrapping_add(text.tokens as u64);
        let salt = self.texts.iter().fold(0, mix);
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
        self.halve(request, &error);
        Ok(())
    }

    /// Whether the service takes any other text now. Two of those that are missing anyway are tried
    /// first, and tell nothing of the service: each may be to blame. Then a harmless one.
    async fn takes_another(&mut self, request: &[usize]) -> bool {
        let mut others = self.missing();
        others.retain(|at| request.len() > 1 || *at != request[0]);
        if others.len() > 2 {
            others.drain(1..others.len() - 1);
        }
        for at in others {
            if self.send(&[at], false).await.is_ok() {
                return true;
            }
        }
        let texts = self.texts_of(request);
        self.embedder.takes_others_than(&texts).await
    }

    /// Too much together, or for one text's sake: some services refuse the whole request then,
    /// each in its own words.
    fn may_be_one_of_them(&self, error: &Error) -> bool {
        is_refusal(error) || (self.seeking && fails_on_a_text(error))
    }
}

/// A service that finds the shortest of texts too long refuses whatever it is sent.
fn to_all(error: Error) -> Error {
    match error {
        Error::TooMuch {
            status, message, ..
        } => Error::Refused { status, message },
        other => other,
    }
}

/// Whether it may be meant for a text as well as for everybody.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::TooMuch { .. }
            | Error::Refused {
                status: 400 | 422,
                ..
            }
    )
}

fn about(index: usize, error: Error) -> Error {
    Error::InputFailed {
        index,
        source: Box::new(error),
    }
}
