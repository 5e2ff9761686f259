//! A remote model that fails in every way it documents: nothing is lost, nothing is embedded
//! twice, and the run says what it waits for.
//!
//! The clock is told the time, so a run that waits does so until the test moves it on.

use std::sync::Arc;
use std::time::Duration;

use catalog::Run;
use chrono::TimeDelta;
use engine::search::{Filter, Mode, Request};
use model::{RunId, RunStatus, TenantId};
use providers::openai::HARMLESS;
use providers::remote::Retry;
use providers::{OpenAiEmbedder, OpenAiSettings};
use shell::Workers;
use testkit::double::{self, Answer, Double};

use crate::alone::Alone;

struct House {
    alone: Alone,
    double: Double,
    workers: Workers,
}

impl House {
    /// `timeout` is short only where the service says nothing at all: an answer that comes
    /// too late is one that was paid for.
    async fn open(script: Vec<Answer>, timeout: Duration) -> Self {
        Self::sending(2, script, timeout).await
    }

    /// So many inputs at once.
    async fn sending(inputs: usize, script: Vec<Answer>, timeout: Duration) -> Self {
        let double = Double::start(script).await;
        let embedder = Arc::new(embedder(&double, inputs, timeout));
        let alone = Alone::open(engine::Settings::default(), embedder).await;
        let settings = shell::Settings {
            poll: Duration::from_millis(10),
            ..shell::Settings::default()
        };
        Self {
            workers: Workers::start(alone.engine.clone(), settings),
            alone,
            double,
        }
    }

    /// The run as soon as it is as wanted; the clock stands still meanwhile.
    async fn run_when(&self, run: RunId, wanted: impl Fn(&Run) -> bool) -> Run {
        loop {
            let found = self.alone.run(run).await;
            if wanted(&found) {
                return found;
            }
            assert!(!has_ended(&found), "it ended otherwise: {found:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Moves the clock on until the run ends.
    async fn to_the_end(&self, run: RunId) -> Run {
        self.all_to_the_end(&[run]).await.remove(0)
    }

    /// Moves the clock on until all runs end, and only while each of them waits: a step that
    /// somebody is at would seem to be left behind, and be done twice.
    async fn all_to_the_end(&self, runs: &[RunId]) -> Vec<Run> {
        loop {
            let now = self.alone.engine.parts().clock.now();
            let rests = |run: &Run| has_ended(run) || run.waiting_until > Some(now);
            let mut found = Vec::new();
            for run in runs {
                found.push(self.run_when(*run, rests).await);
            }
            if found.iter().all(has_ended) {
                return found;
            }
            self.alone.clock.advance(TimeDelta::minutes(2));
        }
    }

    /// Every chunk was answered well, and once.
    async fn nothing_lost_nothing_twice(&self, runs: &[Run]) {
        let tenant: TenantId = self.alone.kb.tenant;
        let mut chunks = Vec::new();
        for run in runs {
            let found = self.alone.engine.chunks(tenant, run.version).await;
            chunks.extend(found.unwrap());
        }
        let mut answered = self.double.answered();
        answered.retain(|text| text != HARMLESS);
        assert_eq!(answered.len(), chunks.len(), "nothing is embedded twice");
        answered.sort();
        answered.dedup();
        assert_eq!(answered.len(), chunks.len(), "nothing is lost");
        assert!(
            chunks
                .iter()
                .all(|chunk| chunk.has_vector && chunk.has_text)
        );
    }
}

fn has_ended(run: &Run) -> bool {
    !matches!(run.status, RunStatus::Queued | RunStatus::Running)
}

/// Gives up at once, so that every failure reaches the engine.
fn embedder(double: &Double, inputs: usize, timeout: Duration) -> OpenAiEmbedder {
    let settings = OpenAiSettings {
        dimension: Some(8),
        max_tokens: Some(40),
        max_batch_items: inputs,
        timeout,
        retry: Retry {
            attempts: 1,
            ..Retry::default()
        },
        ..OpenAiSettings::of(double.url(), "double")
    };
    OpenAiEmbedder::open(&settings).unwrap()
}

const PATIENT: Duration = Duration::from_secs(60);

/// Five chunks, so that some are answered before a request fails and some after.
const TEXT: &str = "# Mills\n\n\
    The first stone is dressed in spring before the rains come down the valley.\n\n\
    The second stone is turned in summer when the stream runs low and slow.\n\n\
    The third stone rests in autumn while the grain is brought in from the fields.\n\n\
    The fourth stone grinds in winter from the first light to the last of the day.\n\n\
    The fifth stone is kept for rye, which is sticky and wants a coarser dressing.\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_passing_failure_is_waited_for_in_the_open() {
    let cases = [
        (Answer::status(429).body(double::RATE_LIMIT), "slow down"),
        (Answer::status(429), "slow down"),
        (
            Answer::status(429).header("retry-after-ms", "30"),
            "slow down",
        ),
        (
            Answer::status(429).body(double::QUOTA),
            "nothing left to spend",
        ),
        (
            Answer::status(500).body("<html>oops</html>"),
            "failed with 500",
        ),
        (Answer::status(503), "failed with 503"),
        (Answer::silence(), "did not answer within"),
        (Answer::wrong_count(), "an answer that is none"),
        (Answer::not_a_number(), "an answer that is none"),
        (Answer::truncated(), "attempt 1 failed"),
        (Answer::hang_up(), "cannot reach"),
    ];
    for (failure, said) in cases {
        // Two other inputs and a harmless text are tried before a request is given up.
        let timeout = match said {
            "did not answer within" => Duration::from_secs(3),
            _ => PATIENT,
        };
        let script = std::iter::once(Answer::good()).chain(vec![failure; 4]);
        let house = House::open(script.collect(), timeout).await;
        let run = house.alone.take_in(TEXT).await;
        let waits = house.run_when(run, |run| run.waiting.is_some()).await;
        let waiting = waits.waiting.unwrap();
        assert!(waiting.contains(said), "{waiting} does not say {said}");
        let ended = house.to_the_end(run).await;
        assert_eq!(ended.status, RunStatus::Succeeded, "{said}: {ended:?}");
        house.nothing_lost_nothing_twice(&[ended]).await;
        house.workers.stop(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_mends_at_the_provider_is_waited_for_however_long() {
    let cases = [
        (
            Answer::wrong_dimension(),
            "answers with 9 dimensions, not 8",
        ),
        (Answer::status(401), "refused the request with 401"),
        (Answer::status(403), "refused the request with 403"),
        (Answer::status(404), "refused the request with 404"),
    ];
    for (failure, said) in cases {
        // More often than a step is tried.
        let script = std::iter::once(Answer::good()).chain(vec![failure; 12]);
        let house = House::open(script.collect(), PATIENT).await;
        let run = house.alone.take_in(TEXT).await;
        let waits = house.run_when(run, |run| run.waiting.is_some()).await;
        let waiting = waits.waiting.unwrap();
        assert!(waiting.contains(said), "{waiting} does not say {said}");
        let ended = house.to_the_end(run).await;
        assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
        house.nothing_lost_nothing_twice(&[ended]).await;
        house.workers.stop(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_refuses_whatever_it_is_sent_is_waited_for_and_buries_nothing() {
    let refusals = [
        Answer::status(400).body(double::UNHEARD_OF),
        Answer::status(422),
        Answer::status(400).body(double::CONTEXT_LENGTH),
        Answer::status(413),
    ];
    for refusal in refusals {
        let house = House::open(vec![], PATIENT).await;
        house.double.answer_after(0, refusal);
        let mut runs = vec![house.alone.take_in(TEXT).await];
        for n in 0..3 {
            let text = format!("Measure number {n} of good grain.");
            runs.push(house.alone.take_in_as(&format!("{n}.txt"), text).await);
        }
        // More often than a step is tried.
        for _ in 0..5 {
            house.alone.clock.advance(TimeDelta::minutes(2));
            let now = house.alone.engine.parts().clock.now();
            let waits = |run: &Run| run.waiting_until > Some(now);
            for run in &runs {
                let waiting = house.run_when(*run, waits).await.waiting.unwrap();
                assert!(waiting.contains("refused the request with 4"), "{waiting}");
            }
        }
        house.double.relent();
        let ended = house.all_to_the_end(&runs).await;
        for run in &ended {
            assert_eq!(run.status, RunStatus::Succeeded, "{run:?}");
        }
        house.nothing_lost_nothing_twice(&ended).await;
        house.workers.stop(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_says_when_it_is_back_is_waited_for_however_often() {
    // More often than a step is tried, and less than makes it be left alone.
    let busy = Answer::status(503).header("retry-after-ms", "30");
    let house = House::open(vec![busy; 4], PATIENT).await;
    let run = house.alone.take_in(TEXT).await;
    let waits = house.run_when(run, |run| run.waiting.is_some()).await;
    let waiting = waits.waiting.unwrap();
    assert!(waiting.contains("failed with 503"), "{waiting}");
    let ended = house.to_the_end(run).await;
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    house.nothing_lost_nothing_twice(&[ended]).await;
    house.workers.stop(Duration::from_secs(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_the_service_refuses_takes_no_other_with_it() {
    for body in [double::CONTEXT_LENGTH, double::UNHEARD_OF] {
        let house = House::open(vec![], PATIENT).await;
        house
            .double
            .refuse("poison", Answer::status(400).body(body));
        let mut runs = Vec::new();
        for n in 0..12 {
            let text = match n {
                5 => "A measure of poison.".to_owned(),
                _ => format!("Measure number {n} of good grain."),
            };
            let name = format!("{n}.txt");
            runs.push(house.alone.take_in_as(&name, text).await);
        }
        for (n, run) in runs.into_iter().enumerate() {
            let ended = house.run_when(run, has_ended).await;
            let expected = match n {
                5 => RunStatus::Failed,
                _ => RunStatus::Succeeded,
            };
            assert_eq!(ended.status, expected, "{n}: {ended:?}");
            if n == 5 && body == double::CONTEXT_LENGTH {
                assert_eq!(ended.error.unwrap().code, "too_long_for_model");
            }
        }
        house.workers.stop(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_many_documents_a_wait_stops_halfway_none_is_embedded_twice() {
    let house = House::sending(64, vec![], PATIENT).await;
    let slow_down = Answer::status(429);
    house.double.answer_after(0, slow_down.clone());
    let mut runs = Vec::new();
    for document in 0..8 {
        let paragraph = |n| {
            format!(
                "In year {n} of mill {document} the stones were dressed, the stream ran low and the grain came late.\n\n"
            )
        };
        let text = (0..400).map(paragraph).collect();
        let name = format!("{document}.md");
        runs.push(house.alone.take_in_as(&name, text).await);
    }
    for run in &runs {
        let waits = house.run_when(*run, |run| run.waiting.is_some()).await;
        assert!(waits.waiting.unwrap().contains("slow down"));
    }
    // All of them begin together, and none comes to its end: more is answered than the window
    // of duplicates holds.
    house.double.answer_after(1600, slow_down);
    house.alone.clock.advance(TimeDelta::minutes(2));
    while house.double.answered().len() < 1600 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for run in &runs {
        house.run_when(*run, |run| run.waiting.is_some()).await;
    }
    house.double.relent();
    let ended = house.all_to_the_end(&runs).await;
    for run in &ended {
        assert_eq!(run.status, RunStatus::Succeeded, "{run:?}");
    }
    house.nothing_lost_nothing_twice(&ended).await;
    house.workers.stop(Duration::from_secs(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_text_the_service_fails_on_takes_no_other_with_it() {
    for answer in [Answer::status(500), Answer::zeros_for("poison")] {
        let house = House::sending(8, vec![], PATIENT).await;
        house.double.refuse("poison", answer);
        let mut runs = Vec::new();
        for n in 0..12 {
            let text = match n {
                5 => "A measure of poison.".to_owned(),
                _ => format!("Measure number {n} of good grain."),
            };
            let name = format!("{n}.txt");
            runs.push(house.alone.take_in_as(&name, text).await);
        }
        let poisoned = runs.remove(5);
        // The clock stands still: whatever is to be tried again is not.
        for run in runs {
            let ended = house.run_when(run, has_ended).await;
            assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
        }
        let waits = house.run_when(poisoned, |run| run.waiting.is_some()).await;
        let waiting = waits.waiting.unwrap();
        assert!(waiting.contains("attempt 1 failed"), "{waiting}");
        house.workers.stop(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_service_is_waited_for_words_are_found_and_it_is_said_why() {
    let house = House::open(vec![], PATIENT).await;
    let run = house.alone.take_in(TEXT).await;
    house.run_when(run, has_ended).await;
    let wait = Answer::status(429).header("retry-after", "600");
    house.double.answer_after(0, wait);
    let (engine, kb) = (&house.alone.engine, &house.alone.kb);
    // What asks first is told to wait, what comes after it is held back.
    for _ in 0..2 {
        let found = engine.search(kb, &question(Mode::Hybrid)).await.unwrap();
        assert!(found.hits[0].text.contains("rye"), "{:?}", found.hits);
        let why = found.words_only.unwrap();
        assert!(why.contains("slow down"), "{why}");
        let refused = engine.search(kb, &question(Mode::Vector)).await;
        let error = refused.unwrap_err().explain();
        assert!(error.contains("slow down"), "{error}");
    }
    let words = engine.search(kb, &question(Mode::Text)).await.unwrap();
    assert_eq!(words.words_only, None, "nothing else was asked for");
    house.workers.stop(Duration::from_secs(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_the_service_refuses_is_answered_by_its_words() {
    let house = House::open(vec![], PATIENT).await;
    let run = house.alone.take_in(TEXT).await;
    house.run_when(run, has_ended).await;
    house.double.refuse("which stone", Answer::status(400));
    let (engine, kb) = (&house.alone.engine, &house.alone.kb);
    let found = engine.search(kb, &question(Mode::Hybrid)).await.unwrap();
    assert!(found.hits[0].text.contains("rye"), "{:?}", found.hits);
    let why = found.words_only.unwrap();
    assert!(why.contains("refuses this question"), "{why}");
    let refused = engine.search(kb, &question(Mode::Vector)).await;
    assert!(refused.is_err());
    house.workers.stop(Duration::from_secs(1)).await;
}

fn question(mode: Mode) -> Request {
    Request {
        query: "which stone is kept for rye".to_owned(),
        mode,
        top: 3,
        weights: Default::default(),
        filter: Filter::default(),
        neighbours: 0,
        as_of: None,
        rerank: None,
    }
}
