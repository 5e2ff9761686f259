//! A remote model that fails in every way it documents: nothing is lost, nothing is embedded
//! twice, and the run says what it waits for.
//!
//! The clock is told the time, so a run that waits does so until the test moves it on.

use std::sync::Arc;
use std::time::Duration;

use catalog::{FirstStart, GenerationSpec, Kb, Run, RunType};
use chrono::{TimeDelta, Utc};
use engine::intake::{Identity, Intake};
use engine::{Engine, Figures, ManualClock, Objects, Parts};
use futures::stream;
use model::{ChunkPolicy, RunId, RunStatus, SourceOrder, SourceUri, TenantId};
use object_store::memory::InMemory;
use providers::remote::Retry;
use providers::{OpenAiEmbedder, OpenAiSettings};
use sandbox::{Program, Sandbox};
use shell::Workers;
use testkit::double::{self, Answer, Double};

struct House {
    engine: Arc<Engine>,
    clock: Arc<ManualClock>,
    kb: Kb,
    double: Double,
    workers: Workers,
    _folder: tempfile::TempDir,
}

impl House {
    /// `timeout` is short only where the service says nothing at all: an answer that comes
    /// too late is one that was paid for.
    async fn open(script: Vec<Answer>, timeout: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let double = Double::start(script).await;
        let clock = Arc::new(ManualClock::at(Utc::now()));
        let url = format!("sqlite://{}", folder.path().join("catalog.db").display());
        let text = folder.path().join("text");
        let index = index::Index::open(index::Settings::default(), Arc::new(InMemory::new()), text);
        let program = Program::new(env!("CARGO_BIN_EXE_gristmill"), &["parse-child"]);
        let parts = Parts {
            catalog: catalog::open(&catalog::Settings::new(url)).await.unwrap(),
            index: index.await.unwrap(),
            objects: Objects::new(Arc::new(InMemory::new())),
            embedder: Arc::new(embedder(&double, timeout)),
            sandbox: Arc::new(Sandbox::new(sandbox::Settings::default(), program)),
            clock: clock.clone(),
            figures: Figures::new(Arc::new(InMemory::new())),
        };
        let engine = Arc::new(Engine::new(engine::Settings::default(), parts));
        let kb = kb(&engine).await;
        let settings = shell::Settings {
            poll: Duration::from_millis(10),
            ..shell::Settings::default()
        };
        Self {
            workers: Workers::start(engine.clone(), settings),
            engine,
            clock,
            kb,
            double,
            _folder: folder,
        }
    }

    async fn take_in(&self, text: &'static str) -> RunId {
        let body = stream::iter([Ok::<_, std::io::Error>(text.into())]);
        let staged = self.engine.stage(Box::pin(body), 1 << 20).await.unwrap();
        let intake = Intake {
            tenant: self.kb.tenant,
            identity: Identity::Uri(SourceUri::new("file:///mill.md").unwrap()),
            promised: None,
            filename: "mill.md".into(),
            title: None,
            claimed_type: None,
            metadata: serde_json::Map::new(),
            order: SourceOrder::of_time(Utc::now()),
            run_type: RunType::Upload,
            job: None,
            source: None,
            initiated_by: None,
            trace: None,
        };
        let admitted = self.engine.admit(&self.kb, intake, staged).await.unwrap();
        admitted.run.unwrap()
    }

    /// The run as soon as it is as wanted; the clock stands still meanwhile.
    async fn run_when(&self, run: RunId, wanted: impl Fn(&Run) -> bool) -> Run {
        loop {
            let catalog = &self.engine.parts().catalog;
            let found = catalog.run(self.kb.tenant, run).await.unwrap();
            if wanted(&found) {
                return found;
            }
            assert!(!has_ended(&found), "it ended otherwise: {found:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Moves the clock on until the run ends.
    async fn to_the_end(&self, run: RunId) -> Run {
        loop {
            self.clock.advance(TimeDelta::minutes(2));
            let waits = |run: &Run| has_ended(run) || run.waiting.is_some();
            let found = self.run_when(run, waits).await;
            if has_ended(&found) {
                return found;
            }
        }
    }

    /// Every chunk was answered well, and once.
    async fn nothing_lost_nothing_twice(&self, run: &Run) {
        let tenant: TenantId = self.kb.tenant;
        let chunks = self.engine.chunks(tenant, run.version).await.unwrap();
        let mut answered = self.double.answered();
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
fn embedder(double: &Double, timeout: Duration) -> OpenAiEmbedder {
    let settings = OpenAiSettings {
        dimension: Some(8),
        max_tokens: Some(40),
        max_batch_items: 2,
        timeout,
        retry: Retry {
            attempts: 1,
            ..Retry::default()
        },
        ..OpenAiSettings::of(double.url(), "double")
    };
    OpenAiEmbedder::open(&settings).unwrap()
}

async fn kb(engine: &Engine) -> Kb {
    let parts = engine.parts();
    let info = parts.embedder.info();
    let first = FirstStart {
        generation: GenerationSpec {
            model: info.name.clone(),
            dimension: info.dimension,
            policy: ChunkPolicy::for_limit(info.max_tokens),
        },
        ..testkit::first_start()
    };
    let started = parts.catalog.ensure_first_start(first, parts.clock.now());
    let started = started.await.unwrap();
    parts.catalog.kb(started.tenant, started.kb).await.unwrap()
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
        let timeout = match said {
            "did not answer within" => Duration::from_secs(3),
            _ => PATIENT,
        };
        let house = House::open(vec![Answer::good(), failure], timeout).await;
        let run = house.take_in(TEXT).await;
        let waits = house.run_when(run, |run| run.waiting.is_some()).await;
        let waiting = waits.waiting.unwrap();
        assert!(waiting.contains(said), "{waiting} does not say {said}");
        let ended = house.to_the_end(run).await;
        assert_eq!(ended.status, RunStatus::Succeeded, "{said}: {ended:?}");
        house.nothing_lost_nothing_twice(&ended).await;
        house.workers.stop(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_a_person_can_mend_is_set_aside_and_replayed() {
    for failure in [Answer::wrong_dimension(), Answer::status(401)] {
        let house = House::open(vec![Answer::good(), failure], PATIENT).await;
        let (catalog, tenant) = (&house.engine.parts().catalog, house.kb.tenant);
        let run = house.take_in(TEXT).await;
        let failed = house.to_the_end(run).await;
        assert_eq!(failed.status, RunStatus::Failed);
        let page = catalog::Page::first(5);
        let letters = catalog.dead_letters(tenant, page).await.unwrap().items;
        assert_eq!(letters.len(), 1);
        let now = house.engine.parts().clock.now();
        let replayed = catalog.replay_dead_letter(tenant, letters[0].id, now);
        let ended = house.to_the_end(replayed.await.unwrap().run).await;
        assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
        house.nothing_lost_nothing_twice(&ended).await;
        house.workers.stop(Duration::from_secs(1)).await;
    }
}
