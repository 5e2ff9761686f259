//! Seeds, one after another and several at a time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use anyhow::{Context, ensure};
use durable::When;
use futures::{StreamExt, stream};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tempfile::TempDir;
use tokio::process::Command;

use crate::check::check;
use crate::corpus::{CORPORA, Corpus};
use crate::house::{Plant, World};
use crate::plan::{Death, LifePlan, Plan};
use crate::{life, power};

const ONE: &str = "GRISTMILL_FAULT_SEED";
const MANY: &str = "GRISTMILL_FAULT_SEEDS";
const LIFE: &str = "GRISTMILL_FAULT_LIFE";
const WORLD: &str = "GRISTMILL_FAULT_WORLD";
const CORPUS: &str = "GRISTMILL_FAULT_CORPUS";
const NTH_CORPUS: &str = "GRISTMILL_FAULT_NTH_CORPUS";
const URL: &str = "GRISTMILL_FAULT_URL";
const PLANT: &str = "GRISTMILL_FAULT_PLANT";
/// Of the lives, the calm one.
const LAST: &str = "last";
/// Without being asked for more.
const FEW: u64 = 20;
/// A life mostly waits.
const AT_ONCE: usize = 4;

/// Folders to take in, and what an undisturbed run makes of each.
struct Suite {
    folder: TempDir,
    digests: BTreeMap<usize, String>,
}

impl Suite {
    async fn new() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("gristmill-f-").tempdir()?;
        let mut suite = Self {
            folder,
            digests: BTreeMap::new(),
        };
        for nth in 0..CORPORA {
            Corpus::write(&suite.corpus(nth), nth)?;
            let world = suite.world(&format!("calm-{nth}"), nth, None)?;
            suite.digests.insert(nth, last_life(&world).await?);
        }
        Ok(suite)
    }

    fn corpus(&self, nth: usize) -> PathBuf {
        self.folder.path().join(format!("corpus-{nth}"))
    }

    fn world(&self, name: &str, nth: usize, url: Option<String>) -> anyhow::Result<World> {
        let folder = self.folder.path().join(name);
        for part in ["index", "text", "objects"] {
            std::fs::create_dir_all(folder.join("data").join(part))?;
        }
        Ok(World {
            folder,
            corpus: self.corpus(nth),
            nth_corpus: nth,
            url,
            plant: None,
        })
    }

    async fn seed(&self, seed: u64, plant: Option<Plant>) -> anyhow::Result<()> {
        let plan = Plan::of(seed);
        let url = match plan.postgres {
            true => Some(testkit::postgres().await),
            false => None,
        };
        let name = plant.map_or_else(
            || format!("seed-{seed}"),
            |plant| format!("seed-{seed}-{plant:?}"),
        );
        let mut world = self.world(&name, plan.corpus, url)?;
        world.plant = plant;
        if plan.power_cuts {
            power::record_all(&world.data(), &world.synced())?;
        }
        let mut ends = Vec::new();
        for nth in 0..plan.lives.len() {
            ends.push(nth_life(&world, seed, nth).await?);
            if plan.power_cuts {
                let mut random = StdRng::seed_from_u64(plan.lives[nth].seed);
                power::cut(&world.data(), &world.synced(), &mut random)?;
            }
        }
        world.plant = None;
        let digest = last_life(&world).await?;
        let calm = &self.digests[&plan.corpus];
        ensure!(digest == *calm, "the digest differs from a calm run's");
        std::fs::remove_dir_all(&world.folder)?;
        let database = if plan.postgres { "postgres" } else { "sqlite" };
        let cuts = if plan.power_cuts { ", power cuts" } else { "" };
        println!("seed {seed}: {database}{cuts}, lives {ends:?}");
        Ok(())
    }
}

/// How it ended.
async fn nth_life(world: &World, seed: u64, nth: usize) -> anyhow::Result<&'static str> {
    let output = child(world, &format!("{seed} {nth}")).await?;
    // Killed is as good as alive; a panic is not.
    let said = String::from_utf8_lossy(&output.stderr);
    let panicked = said.contains("panicked at");
    let fine = output.status.success() || output.status.code().is_none();
    ensure!(fine && !panicked, "life {nth} ended badly: {said}");
    Ok(match output.status.success() {
        true => "ended",
        false => "killed",
    })
}

/// The life that finishes the work and checks what is there; the digest it ends with.
async fn last_life(world: &World) -> anyhow::Result<String> {
    let output = child(world, LAST).await?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the last life ended badly: {said}");
    Ok(std::fs::read_to_string(world.digest())?)
}

/// A life, in a process of its own: this test binary, asked for the test below. None shares
/// its process with another: SQLite's locks are the process's, and a store cut short under
/// a mapping ends whoever maps it.
async fn child(world: &World, life: &str) -> anyhow::Result<Output> {
    let mut child = Command::new(std::env::current_exe()?);
    child
        .args(["--exact", "suite::a_life_is_lived_when_asked_for"])
        .arg("--nocapture")
        .env(LIFE, life)
        .env(WORLD, &world.folder)
        .env(CORPUS, &world.corpus)
        .env(NTH_CORPUS, world.nth_corpus.to_string())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    if let Some(url) = &world.url {
        child.env(URL, url);
    }
    if let Some(plant) = world.plant {
        child.env(PLANT, format!("{plant:?}"));
    }
    Ok(child.output().await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_life_is_lived_when_asked_for() -> anyhow::Result<()> {
    let Ok(asked) = std::env::var(LIFE) else {
        return Ok(());
    };
    let world = World {
        folder: std::env::var(WORLD)?.into(),
        corpus: std::env::var(CORPUS)?.into(),
        nth_corpus: std::env::var(NTH_CORPUS)?.parse()?,
        url: std::env::var(URL).ok(),
        plant: std::env::var(PLANT)
            .ok()
            .and_then(|name| Plant::named(&name)),
    };
    if asked == LAST {
        let house = life::finish(&world).await?;
        let digest = check(&house).await?;
        house.close().await?;
        return Ok(std::fs::write(world.digest(), digest)?);
    }
    let (seed, nth) = asked.split_once(' ').context("it is no life")?;
    life::live(world, seed.parse()?, nth.parse()?).await?;
    // Nothing is closed or flushed on the way out.
    std::process::exit(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_fails_every_document_ends_where_a_calm_run_leaves_it() -> anyhow::Result<()> {
    let number = |name| std::env::var(name).ok().map(|n| n.parse::<u64>());
    let seeds: Vec<u64> = match (number(ONE).transpose()?, number(MANY).transpose()?) {
        (Some(one), _) => vec![one],
        (None, many) => {
            let first = u64::from(rand::random::<u32>());
            (first..first + many.unwrap_or(FEW)).collect()
        }
    };
    println!("seeds from {} to {}", seeds[0], seeds[seeds.len() - 1]);
    let suite = Suite::new().await?;
    let suite = &suite;
    let failed: Vec<anyhow::Error> = stream::iter(seeds)
        .map(|seed| async move {
            suite
                .seed(seed, None)
                .await
                .context(format!("{ONE}={seed}"))
        })
        .buffer_unordered(AT_ONCE)
        .filter_map(|ended| async { ended.inspect_err(|error| println!("{error:#}")).err() })
        .collect()
        .await;
    let names: Vec<_> = failed.iter().map(ToString::to_string).collect();
    ensure!(failed.is_empty(), "{} failed: {names:?}", failed.len());
    Ok(())
}

/// Seeds a planted bug may take to show itself.
const PLANTED: usize = 200;

/// Whether a seed could show it: what is done too early shows when death comes before an effect,
/// what is never synced when the power goes.
fn could_show(plant: Plant, plan: &Plan) -> bool {
    let before_effect = |life: &LifePlan| {
        matches!(
            life.death,
            Death::AtEffect {
                when: When::Before,
                ..
            }
        )
    };
    match plant {
        Plant::MarksTooEarly => {
            !plan.postgres && !plan.power_cuts && plan.lives.iter().all(before_effect)
        }
        Plant::NeverSyncs => plan.power_cuts,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_planted_bug_is_noticed() -> anyhow::Result<()> {
    let suite = &Suite::new().await?;
    for plant in Plant::ALL {
        let seeds = (1..).filter(|seed| could_show(plant, &Plan::of(*seed)));
        let mut ended = stream::iter(seeds.take(PLANTED))
            .map(|seed| suite.seed(seed, Some(plant)))
            .buffer_unordered(AT_ONCE);
        let mut noticed = None;
        while let (None, Some(end)) = (&noticed, ended.next().await) {
            noticed = end.err();
        }
        let noticed = noticed.with_context(|| format!("{plant:?} went unnoticed"))?;
        println!("{plant:?}: {noticed:#}");
    }
    Ok(())
}
