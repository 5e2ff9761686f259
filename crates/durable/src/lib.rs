//! The one wrapper every durable effect goes through.
//!
//! An effect is a named call after which something outlives the process: a
//! commit, a synced file, a flushed batch. The name is a crash point: armed, the
//! process dies right before or right after the effect, so a test (and the
//! shipped `crash-test`) can ask of each whether anything was lost. Unarmed, a
//! point costs one relaxed load. The raw calls are disallowed by clippy outside
//! the modules that wrap them, so a new effect cannot be forgotten. How what was
//! written is read again is in [`reading`].

pub mod reading;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// On which side of an effect the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    Before,
    After,
}

impl When {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// Stands for every point: hits are then counted over all of them.
pub const ANY: &str = "*";

/// Where to die: at the `hit`-th time (counted from 1) the point is passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrashAt {
    pub point: String,
    pub when: When,
    pub hit: u64,
}

impl CrashAt {
    /// What a process says when it dies as told, and at no other death.
    pub fn last_words(&self) -> String {
        let Self { point, when, hit } = self;
        format!("dying as told at {point}:{}:{hit}", when.as_str())
    }
}

impl std::str::FromStr for CrashAt {
    type Err = String;

    /// `point:before:1`
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let explain =
            || format!("`{text}` is not a crash point (such as `catalog.activate:before:1`)");
        let mut parts = text.rsplitn(3, ':');
        let hit = parts
            .next()
            .and_then(|n| n.parse().ok())
            .ok_or_else(explain)?;
        let when = match parts.next() {
            Some("before") => When::Before,
            Some("after") => When::After,
            _ => return Err(explain()),
        };
        let point = parts.next().ok_or_else(explain)?.to_owned();
        Ok(Self { point, when, hit })
    }
}

static WATCHED: AtomicBool = AtomicBool::new(false);
static WATCH: Mutex<Watch> = Mutex::new(Watch {
    crash: None,
    passed: BTreeMap::new(),
});

struct Watch {
    crash: Option<CrashAt>,
    /// How often each point was passed, counted when the effect begins.
    passed: BTreeMap<&'static str, u64>,
}

/// From now on points are counted, and the process dies at `crash` if one is given.
pub fn watch(crash: Option<CrashAt>) {
    let mut watch = WATCH
        .lock()
        .expect("no point panics while it holds the watch");
    watch.crash = crash;
    watch.passed.clear();
    WATCHED.store(true, Ordering::Release);
}

/// How often each point was passed since [`watch`].
pub fn passed() -> BTreeMap<&'static str, u64> {
    let watch = WATCH
        .lock()
        .expect("no point panics while it holds the watch");
    watch.passed.clone()
}

/// Performs a durable effect under its name.
pub async fn effect<T, E>(
    point: &'static str,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let hits = pass(point);
    let done = work.await?;
    after(point, hits);
    Ok(done)
}

/// As [`effect`], for work that blocks.
pub fn effect_blocking<T, E>(
    point: &'static str,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let hits = pass(point);
    let done = work()?;
    after(point, hits);
    Ok(done)
}

/// How often one point was passed, and all of them together.
#[derive(Clone, Copy, Default)]
struct Hits {
    here: u64,
    all: u64,
}

fn pass(point: &'static str) -> Hits {
    if !WATCHED.load(Ordering::Relaxed) {
        return Hits::default();
    }
    let mut watch = WATCH
        .lock()
        .expect("no point panics while it holds the watch");
    let passed = watch.passed.entry(point).or_default();
    *passed += 1;
    let here = *passed;
    let all = watch.passed.values().sum();
    let hits = Hits { here, all };
    die_if_due(&watch, point, When::Before, hits);
    hits
}

fn after(point: &'static str, hits: Hits) {
    if WATCHED.load(Ordering::Relaxed) {
        let watch = WATCH
            .lock()
            .expect("no point panics while it holds the watch");
        die_if_due(&watch, point, When::After, hits);
    }
}

fn die_if_due(watch: &Watch, point: &str, when: When, hits: Hits) {
    let due = |at: &CrashAt| {
        let here = at.point == point && at.hit == hits.here;
        let anywhere = at.point == ANY && at.hit == hits.all;
        at.when == when && (here || anywhere)
    };
    if let Some(at) = watch.crash.as_ref().filter(|at| due(at)) {
        // Without a reader it dies all the same.
        let _ = writeln!(std::io::stderr(), "\n{}", at.last_words());
        // No destructor, no flush, no atexit: as close to a power cut as a process gets.
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_effect_is_counted_and_its_answer_kept() {
        watch(None);
        let answer: Result<u8, ()> = effect("test.effect", async { Ok(7) }).await;
        assert_eq!(answer, Ok(7));
        assert_eq!(passed().get("test.effect"), Some(&1));
    }

    #[test]
    fn a_crash_point_is_read_from_the_right() {
        let at: CrashAt = "objects.put:staging:after:12".parse().unwrap();
        assert_eq!(at.point, "objects.put:staging");
        assert_eq!((at.when, at.hit), (When::After, 12));
        assert!("objects.put".parse::<CrashAt>().is_err());
    }
}
