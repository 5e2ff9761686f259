//! One process and what befalls it; and the last, calm one that finishes the work.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bytes::Bytes;
use catalog::{Catalog, Job, JobFilter, Jobs, Library, NewJob, Operations, Page, Removal, RunType};
use chrono::{DateTime, TimeDelta, Utc};
use durable::CrashAt;
use engine::Clock;
use engine::intake::{Identity, Intake};
use engine::jobs::FolderSource;
use futures::stream;
use model::{JobStatus, RunId, SourceUri};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use testkit::{Dice, Odds};

use crate::corpus::{Corpus, removal_order};
use crate::house::{House, Weather, World};
use crate::plan::{Death, LifePlan, Plan};
use crate::{power, proxy};

/// Something the world outside asks for until it is told that it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Deliver(usize),
    Remove,
    StartKept,
    StartCanceled,
    Cancel,
}

/// What the world outside was told; it survives everything.
struct Told {
    known: BTreeSet<String>,
    file: File,
}

impl Told {
    fn open(world: &World) -> anyhow::Result<Self> {
        let path = world.folder.join("told");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            known: text.lines().map(str::to_owned).collect(),
            file,
        })
    }

    fn has(&self, wish: Wish) -> bool {
        self.known.contains(&format!("{wish:?}"))
    }

    fn add(&mut self, wish: Wish) -> anyhow::Result<()> {
        if self.known.insert(format!("{wish:?}")) {
            writeln!(self.file, "{wish:?}")?;
        }
        Ok(())
    }
}

/// A life is over by then, dead or alive.
const LONGEST: Duration = Duration::from_millis(2_500);
/// The last one has as long as it takes, unless something is stuck.
const PATIENCE: Duration = Duration::from_secs(400);
const FAST: f64 = 60.0;
const FASTER: f64 = 600.0;

/// Lives the `nth` life of a seed in this process, which may not outlive it.
pub async fn live(world: World, seed: u64, nth: usize) -> anyhow::Result<()> {
    let whole = Plan::of(seed);
    let plan = whole.lives[nth];
    arm(&world, &whole, plan.death);
    let world = through_proxy(world, &plan)?;
    let weather = Weather {
        seed: plan.seed,
        catalog: plan.catalog,
        objects: plan.objects,
        index: plan.index,
        started: day(nth),
        speed: FAST,
        // Half a second to us, and several heartbeats.
        lease: Duration::from_secs(30),
        flush: Duration::from_secs(5),
    };
    // A start that fails is a life too: a short one.
    let Ok(house) = House::open(&world, &weather).await else {
        return Ok(());
    };
    let house = Arc::new(house);
    let faults = [
        tokio::spawn(ghosts(house.clone(), plan)),
        tokio::spawn(jumps(house.clone(), plan)),
        tokio::spawn(pauses(house.clone(), plan, world.corpus.join("kept"))),
    ];
    let wishing = wish(&house, &world, plan.seed);
    let ended = tokio::time::timeout(LONGEST, wishing).await;
    for task in faults {
        task.abort();
        let _ = task.await;
    }
    if let (Death::Closed, Ok(house)) = (plan.death, Arc::try_unwrap(house).map_err(drop)) {
        // It may report that a fault has cost it something; it may not hang or panic.
        let _ = house.close().await;
    }
    ended.unwrap_or(Ok(()))
}

fn arm(world: &World, whole: &Plan, death: Death) {
    if whole.power_cuts {
        let death = match death {
            Death::AtSync { when, hit } => Some((when, hit)),
            _ => None,
        };
        power::record(world.synced(), death);
    }
    match death {
        Death::AtEffect { when, hit } => durable::watch(Some(CrashAt {
            point: durable::ANY.to_owned(),
            when,
            hit,
        })),
        Death::Killed { after } => {
            std::thread::spawn(move || {
                std::thread::sleep(after);
                let ourselves = rustix::process::getpid();
                rustix::process::kill_process(ourselves, rustix::process::Signal::KILL)
            });
        }
        Death::AtSync { .. } | Death::Closed => {}
    }
}

fn through_proxy(mut world: World, plan: &LifePlan) -> anyhow::Result<World> {
    if let Some(url) = &world.url {
        let odds = Odds {
            before: 0.02,
            after: 0.02,
            ..Odds::default()
        };
        let dice = Arc::new(Dice::new(plan.seed, odds));
        world.url = Some(proxy::start(url, &world.folder.join("pg"), dice)?);
    }
    Ok(world)
}

/// Every life begins a day after the one before.
fn day(nth: usize) -> DateTime<Utc> {
    Utc::now() + TimeDelta::days(i64::try_from(nth).unwrap_or(0))
}

/// Steps performed again: twice at once, or long after their lease has ended.
async fn ghosts(house: Arc<House>, plan: LifePlan) {
    let mut random = StdRng::seed_from_u64(plan.seed ^ 1);
    if !plan.ghosts {
        return;
    }
    loop {
        pause(&mut random, 2..40).await;
        if let Some(claim) = house.catalog.any_claim() {
            let engine = house.engine.clone();
            // It answers to nobody, as a worker that has lost its lease does.
            let _ = tokio::spawn(async move { engine.perform(&claim).await }).await;
        }
    }
}

async fn jumps(house: Arc<House>, plan: LifePlan) {
    let mut random = StdRng::seed_from_u64(plan.seed ^ 2);
    if !plan.jumps {
        return;
    }
    loop {
        pause(&mut random, 20..300).await;
        let seconds = random.random_range(-3_600..7_200);
        house.clock.jump(TimeDelta::seconds(seconds));
    }
}

async fn pauses(house: Arc<House>, plan: LifePlan, roots: PathBuf) {
    let mut random = StdRng::seed_from_u64(plan.seed ^ 3);
    if !plan.pauses {
        return;
    }
    loop {
        pause(&mut random, 10..200).await;
        let Ok(Some(job)) = job_of(&house, &roots).await else {
            continue;
        };
        let (tenant, now) = (house.first.tenant, house.clock.now());
        let _ = house.catalog.pause_job(tenant, job.id, now).await;
        pause(&mut random, 10..100).await;
        let now = house.clock.now();
        let _ = house.catalog.resume_job(tenant, job.id, now).await;
    }
}

async fn pause(random: &mut StdRng, millis: std::ops::Range<u64>) {
    tokio::time::sleep(Duration::from_millis(random.random_range(millis))).await;
}

/// Asks for everything until it was told so, some of it more than once, in any order.
async fn wish(house: &House, world: &World, seed: u64) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(seed ^ 4);
    let corpus = Corpus::read(&world.corpus, world.nth_corpus);
    let mut told = Told::open(world)?;
    loop {
        let mut wishes = all(&corpus);
        wishes.shuffle(&mut random);
        for wish in wishes {
            let again = matches!(wish, Wish::Deliver(_)) && random.random_bool(0.2);
            if (!told.has(wish) || again) && granted(house, &corpus, &told, wish).await {
                told.add(wish)?;
            }
        }
        let done = all(&corpus).iter().all(|wish| told.has(*wish));
        if done && quiet(house).await.unwrap_or(false) {
            return Ok(());
        }
        pause(&mut random, 1..20).await;
    }
}

fn all(corpus: &Corpus) -> Vec<Wish> {
    let mut all: Vec<_> = (0..corpus.deliveries.len()).map(Wish::Deliver).collect();
    all.extend([
        Wish::Remove,
        Wish::StartKept,
        Wish::StartCanceled,
        Wish::Cancel,
    ]);
    all
}

async fn granted(house: &House, corpus: &Corpus, told: &Told, wish: Wish) -> bool {
    let granted = match wish {
        Wish::Deliver(nth) => deliver(house, corpus, nth).await,
        Wish::Remove => remove(house, corpus).await,
        Wish::StartKept => start(house, &corpus.kept).await,
        Wish::StartCanceled => start(house, &corpus.canceled).await,
        Wish::Cancel if told.has(Wish::StartCanceled) => cancel(house, &corpus.canceled).await,
        Wish::Cancel => Ok(false),
    };
    granted.unwrap_or(false)
}

async fn deliver(house: &House, corpus: &Corpus, nth: usize) -> anyhow::Result<bool> {
    let delivery = &corpus.deliveries[nth];
    let pieces: Vec<_> = delivery
        .text
        .as_bytes()
        .chunks(256 << 10)
        .map(|piece| Ok::<_, Infallible>(Bytes::copy_from_slice(piece)))
        .collect();
    let staged = house.engine.stage(stream::iter(pieces), u64::MAX).await?;
    let name = Path::new(delivery.uri).file_name().unwrap_or_default();
    let intake = Intake {
        tenant: house.first.tenant,
        identity: Identity::Uri(SourceUri::new(delivery.uri)?),
        filename: name.to_string_lossy().into_owned(),
        title: None,
        claimed_type: None,
        metadata: serde_json::Map::new(),
        order: delivery.order.clone(),
        promised: None,
        run_type: RunType::Upload,
        job: None,
        source: None,
        initiated_by: None,
        trace: None,
    };
    house.engine.admit(&house.kb, intake, staged).await?;
    Ok(true)
}

/// Only what has been there can be removed.
async fn remove(house: &House, corpus: &Corpus) -> anyhow::Result<bool> {
    let (tenant, kb) = (house.first.tenant, house.kb.id);
    let uri = SourceUri::new(corpus.removed)?;
    let Some(row) = house.catalog.document_by_uri(tenant, kb, &uri).await? else {
        return Ok(false);
    };
    let removal = Removal {
        order: Some(removal_order()),
        by: None,
    };
    let now = house.clock.now();
    house
        .catalog
        .deactivate(tenant, row.id, removal, now)
        .await?;
    Ok(true)
}

async fn start(house: &House, roots: &Path) -> anyhow::Result<bool> {
    let (tenant, now) = (house.first.tenant, house.clock.now());
    let job = match job_of(house, roots).await? {
        Some(job) => job,
        None => {
            let job = NewJob {
                kb: house.kb.id,
                source: None,
                config: config(roots)?,
                initiated_by: None,
            };
            house.catalog.create_job(tenant, job, now).await?
        }
    };
    if job.status == JobStatus::NotStarted {
        house.catalog.start_job(tenant, job.id, now).await?;
    }
    Ok(true)
}

async fn cancel(house: &House, roots: &Path) -> anyhow::Result<bool> {
    let tenant = house.first.tenant;
    let job = job_of(house, roots).await?.context("it was started")?;
    if job.status != JobStatus::NotStarted {
        house.engine.cancel_job(tenant, job.id).await?;
    }
    Ok(true)
}

fn config(roots: &Path) -> anyhow::Result<serde_json::Value> {
    Ok(serde_json::to_value(FolderSource {
        roots: vec![roots.to_owned()],
        metadata: serde_json::Map::new(),
        remove_missing: false,
    })?)
}

pub async fn job_of(house: &House, roots: &Path) -> anyhow::Result<Option<Job>> {
    let config = config(roots)?;
    let jobs = house.plain.jobs(
        house.first.tenant,
        JobFilter::default(),
        Page::first(Page::MAX),
    );
    Ok(jobs
        .await?
        .items
        .into_iter()
        .find(|job| job.config == config))
}

/// Whether nothing is left to do.
async fn quiet(house: &House) -> anyhow::Result<bool> {
    let catalog = &house.plain;
    let status = catalog
        .status(house.first.tenant, house.clock.now())
        .await?;
    let live = status.runs_queued + status.runs_running + status.jobs_live;
    Ok(live == 0 && catalog.next_due().await?.is_none())
}

/// The last life: no faults, and whatever was set aside is taken up again.
pub async fn finish(world: &World) -> anyhow::Result<House> {
    let weather = Weather {
        started: day(10),
        speed: FASTER,
        // Minutes to us: whoever is slow here is not dead.
        lease: Duration::from_secs(100_000),
        flush: PATIENCE,
        ..Weather::default()
    };
    let house = House::open(world, &weather).await?;
    let corpus = Corpus::read(&world.corpus, world.nth_corpus);
    let mut told = Told::open(world)?;
    let begun = Instant::now();
    let mut replayed = BTreeSet::new();
    loop {
        for wish in all(&corpus) {
            if !told.has(wish) && granted(&house, &corpus, &told, wish).await {
                told.add(wish)?;
            }
        }
        let done = all(&corpus).iter().all(|wish| told.has(*wish));
        let mended = mend(&house, &mut replayed).await?;
        if done && !mended && quiet(&house).await? {
            return Ok(house);
        }
        // Waiting would not help: nothing is written until it is opened anew.
        if house.engine.parts().index.has_stopped() {
            bail!("the index has stopped: {}", standing(&house).await?);
        }
        if begun.elapsed() > PATIENCE {
            bail!("it comes to no end: {}", standing(&house).await?);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What an operator does after a bad day; whether there was anything to do. Nothing fails in
/// this life, so what fails again after it was replayed has lost what it needs.
async fn mend(house: &House, replayed: &mut BTreeSet<RunId>) -> anyhow::Result<bool> {
    let (tenant, now) = (house.first.tenant, house.clock.now());
    let catalog: &dyn Catalog = &*house.plain;
    let letters = catalog.dead_letters(tenant, Page::first(Page::MAX)).await?;
    for letter in &letters.items {
        if letter.error.code == engine::CHUNKS_LOST {
            bail!("what was marked is not there: {letter:#?}");
        }
        if !replayed.insert(letter.run) {
            bail!("it cannot be mended: {letter:#?}");
        }
        catalog.replay_dead_letter(tenant, letter.id, now).await?;
    }
    let jobs = catalog.jobs(tenant, JobFilter::default(), Page::first(Page::MAX));
    for job in jobs.await?.items {
        match job.status {
            JobStatus::Paused => drop(catalog.resume_job(tenant, job.id, now).await?),
            JobStatus::Failed => drop(catalog.start_job(tenant, job.id, now).await?),
            _ => {}
        }
    }
    Ok(!letters.items.is_empty())
}

async fn standing(house: &House) -> anyhow::Result<String> {
    let (tenant, now) = (house.first.tenant, house.clock.now());
    let status = house.plain.status(tenant, now).await?;
    let jobs = house
        .plain
        .jobs(tenant, JobFilter::default(), Page::first(9));
    let jobs = jobs.await?.items;
    let runs = house
        .plain
        .runs(tenant, catalog::RunFilter::default(), Page::first(99));
    let live: Vec<_> = runs
        .await?
        .items
        .into_iter()
        .filter(|run| run.finished_at.is_none())
        .collect();
    let due = house.plain.next_due().await?;
    Ok(format!(
        "now {now}, due {due:?}\n{status:#?}\n{jobs:#?}\n{live:#?}"
    ))
}
