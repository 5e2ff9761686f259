//! A whole mill in one process: engine, workers, real stores, and faults at every seam.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use catalog::{Catalog, FirstStart, FirstStarted, GenerationSpec, Kb};
use chrono::{DateTime, TimeDelta, Utc};
use engine::{Clock, Engine, Figures, Objects, Parts, SyncedFolder};
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use providers::HashSettings;
use sandbox::Sandbox;
use shell::Workers;
use testkit::{Dice, FaultyCatalog, FaultyStore, Odds};

/// Where a seed's mill lives.
pub struct World {
    pub folder: PathBuf,
    pub corpus: PathBuf,
    pub nth_corpus: usize,
    /// Of PostgreSQL; the catalog is a file where there is none.
    pub url: Option<String>,
    pub plant: Option<Plant>,
}

/// A bug on purpose, which the suite must notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plant {
    /// Units are marked done before their chunks are durable.
    MarksTooEarly,
    /// Objects and index are written without being synced.
    NeverSyncs,
}

impl Plant {
    pub const ALL: [Self; 2] = [Self::MarksTooEarly, Self::NeverSyncs];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|plant| format!("{plant:?}") == name)
    }
}

impl World {
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Where the last life leaves what it ended with.
    pub fn digest(&self) -> PathBuf {
        self.folder.join("digest")
    }

    /// What the power cut of the tests takes for synced.
    pub fn synced(&self) -> PathBuf {
        self.folder.join("synced")
    }
}

/// What the seams do, and how time goes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Weather {
    pub seed: u64,
    pub catalog: Odds,
    pub objects: Odds,
    pub index: Odds,
    pub started: DateTime<Utc>,
    /// Seconds that pass in one.
    pub speed: f64,
    pub lease: Duration,
    /// How long a flush may take before the index stops.
    pub flush: Duration,
}

pub struct House {
    pub engine: Arc<Engine>,
    /// With its faults; [`House::plain`] has none.
    pub catalog: Arc<FaultyCatalog>,
    pub plain: Arc<dyn Catalog>,
    pub clock: Arc<FastClock>,
    pub first: FirstStarted,
    pub kb: Kb,
    index: index::Index,
    workers: Option<Workers>,
}

impl House {
    /// As the binary opens it, leases of the dead taken over.
    pub async fn open(world: &World, weather: &Weather) -> anyhow::Result<Self> {
        let data = world.data();
        let url = match &world.url {
            Some(url) => url.clone(),
            None => format!("sqlite://{}", data.join("catalog.db").display()),
        };
        let plain = catalog::open(&catalog::Settings::new(url)).await?;
        let dice = |n, odds| Arc::new(Dice::new(weather.seed.wrapping_add(n), odds));
        let catalog = Arc::new(FaultyCatalog::new(plain.clone(), dice(1, weather.catalog)));
        let store = |name, dice| {
            let store = local(world, name)?;
            anyhow::Ok(Arc::new(FaultyStore::new(store, dice)))
        };
        let index = index::Index::open(
            index_settings(weather),
            store("index", dice(2, weather.index))?,
            data.join("text"),
        )
        .await?;
        let clock = Arc::new(FastClock::new(weather.started, weather.speed));
        let parts = Parts {
            catalog: catalog.clone(),
            index: index.clone(),
            objects: Objects::new(store("objects", dice(3, weather.objects))?),
            embedder: providers::open(&providers::Settings::Hash(HashSettings::default()))?,
            sandbox: Arc::new(Sandbox::unconfined_for_tests()),
            clock: clock.clone(),
            figures: Figures::new(Arc::new(InMemory::new())),
        };
        let settings = engine::Settings {
            #[cfg(debug_assertions)]
            plant: (world.plant == Some(Plant::MarksTooEarly))
                .then_some(engine::Plant::MarksTooEarly),
            ..engine::Settings::default()
        };
        let engine = Arc::new(Engine::new(settings, parts));
        engine.take_over().await?;
        let first = first_start(&engine);
        let name = first.kb_name.clone();
        let first = plain.ensure_first_start(first, clock.now()).await?;
        let kb = plain.kb_by_name(first.tenant, &name).await?;
        let workers = Some(Workers::start(engine.clone(), shell_settings(weather)));
        Ok(Self {
            engine,
            catalog,
            plain,
            clock,
            first,
            kb,
            index,
            workers,
        })
    }

    /// As the binary closes it.
    pub async fn close(mut self) -> anyhow::Result<()> {
        if let Some(workers) = self.workers.take() {
            workers.stop(Duration::from_secs(5)).await;
        }
        drop(self.engine);
        Ok(self.index.close().await?)
    }
}

fn local(world: &World, name: &str) -> anyhow::Result<Arc<dyn ObjectStore>> {
    let path = world.data().join(name);
    Ok(match world.plant {
        Some(Plant::NeverSyncs) => Arc::new(LocalFileSystem::new_with_prefix(path)?),
        _ => Arc::new(SyncedFolder::open(&path)?),
    })
}

fn index_settings(weather: &Weather) -> index::Settings {
    let mut settings = index::Settings {
        store_retries: 2,
        ..index::Settings::default()
    };
    settings.writes.flush_deadline = weather.flush;
    settings
}

/// Short waits: a second of the clock is a moment here.
fn shell_settings(weather: &Weather) -> shell::Settings {
    shell::Settings {
        lease: weather.lease,
        heartbeat: Duration::from_millis(50),
        poll: Duration::from_millis(10),
        guard_every: Duration::from_millis(150),
        janitor_every: Duration::from_millis(250),
        ..shell::Settings::default()
    }
}

fn first_start(engine: &Engine) -> FirstStart {
    let info = engine.parts().embedder.info();
    FirstStart {
        generation: GenerationSpec {
            model: info.name.clone(),
            dimension: info.dimension,
            policy: info.policy(),
        },
        ..testkit::first_start()
    }
}

/// A clock that runs fast and can be made to jump.
#[derive(Debug)]
pub struct FastClock {
    started: DateTime<Utc>,
    begun: Instant,
    speed: f64,
    jumped: Mutex<TimeDelta>,
}

impl FastClock {
    fn new(started: DateTime<Utc>, speed: f64) -> Self {
        Self {
            started,
            begun: Instant::now(),
            speed,
            jumped: Mutex::default(),
        }
    }

    pub fn jump(&self, by: TimeDelta) {
        *self.jumped.lock().expect("no jump panics") += by;
    }
}

impl Clock for FastClock {
    fn now(&self) -> DateTime<Utc> {
        let passed = self.begun.elapsed().mul_f64(self.speed);
        let jumped = *self.jumped.lock().expect("no jump panics");
        let now = self.started + passed + jumped;
        DateTime::from_timestamp_micros(now.timestamp_micros()).expect("a time we can name")
    }
}
