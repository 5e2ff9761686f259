//! A catalog that any older release has left, opened by this one.

use std::path::Path;
use std::time::Duration;

use catalog::{JobCounters, JobFilter, Page, Removal, RunError, Settings, Status, every};
use model::{JobStatus, SourceUri};
use serde_json::json;
use testkit::{Clock, Older, older_postgres, older_sqlite};

use crate::World;
use crate::world::LEASE;

pub async fn what_any_older_release_left_goes_on_where_it_was(world: &World) {
    lived_in(world).await;
    let folder = tempfile::tempdir().unwrap();
    let mut ends = Vec::new();
    for older in all(world) {
        let upgraded = world.left_by(&older, folder.path()).await;
        upgraded.stands_as(world, older.name()).await;
        ends.push((older, upgraded.end().await));
    }
    assert!(ends.len() > 10, "there were more releases than that");
    let expected = world.end().await;
    for (older, end) in ends {
        assert_eq!(end, expected, "from {}", older.name());
    }
}

fn all(world: &World) -> Vec<Older> {
    match world.url.strip_prefix("sqlite") {
        Some(_) => Older::all_sqlite(),
        None => Older::all_postgres(),
    }
}

/// Something of everything: versions that answer, answered and were removed, a dead letter, a
/// purged document, and jobs that have ended, are under way and wait for each other.
async fn lived_in(world: &World) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    for text in ["one", "two"] {
        let now = world.clock.pass(Duration::from_secs(1));
        let mut admission = world.place.file("a.txt", text, now);
        admission.metadata.insert("topic".into(), json!("mills"));
        world.take(admission).await;
        world.work_off().await;
    }
    let removed = world.admit("removed.txt", "removed").await.document;
    let purged = world.admit("purged.txt", "purged").await.document;
    world.work_off().await;
    let now = world.clock.pass(Duration::from_secs(1));
    let removal = Removal {
        order: None,
        by: None,
    };
    catalog
        .deactivate(tenant, removed, removal, now)
        .await
        .unwrap();
    let versions = catalog.begin_purge(tenant, purged, None, now).await;
    let versions: Vec<_> = versions.unwrap().iter().map(|one| one.version).collect();
    catalog.forget_versions(tenant, &versions).await.unwrap();
    world.admit("set-aside.txt", "set aside").await;
    let error = RunError {
        code: "oops".into(),
        message: "it did not work".into(),
        hint: None,
    };
    let claim = world.one().await;
    catalog.set_aside(&claim, error, now).await.unwrap();
    let ended = world.job("ended").await;
    let files = [("b.txt", "b"), ("c.txt", "c")];
    world.bring(&ended, &files, true).await;
    world.work_off().await;
    let listed = world.job("listed").await;
    let files = [("d.txt", "d"), ("e.txt", "e")];
    world.bring(&listed, &files, false).await;
    let waiting = world.job("waiting").await;
    world.bring(&waiting, &files[..1], true).await;
    assert_eq!(world.shown(&waiting).await.counters.runs_awaited, 1);
    assert_eq!(world.claim(1).await.len(), 1, "one step is under way");
}

/// How everything came out.
#[derive(Debug, PartialEq)]
struct End {
    status: Status,
    jobs: Vec<(JobStatus, JobCounters)>,
    answering: Vec<SourceUri>,
}

impl World {
    /// Opened by this release once an older one has left it.
    async fn left_by(&self, older: &Older, folder: &Path) -> Self {
        let url = match self.url.strip_prefix("sqlite://") {
            Some(of) => {
                let to = folder.join(older.name());
                older_sqlite(older, Path::new(of), &to).await;
                format!("sqlite://{}", to.display())
            }
            None => older_postgres(older, &self.url).await,
        };
        let settings = Settings {
            connections: 4,
            ..Settings::new(url)
        };
        let clock = Clock::default();
        let passed = self.clock.now() - clock.now();
        clock.pass(passed.to_std().unwrap());
        Self {
            catalog: catalog::open(&settings).await.unwrap(),
            url: settings.url,
            clock,
            place: self.place,
        }
    }

    /// Everything counted is as the rows have it, and every document as its ledger has it.
    async fn stands_as(&self, today: &Self, from: &str) {
        let (catalog, tenant) = (&self.catalog, self.place.tenant);
        let now = self.clock.now();
        let status = catalog.status(tenant, now).await.unwrap();
        let expected = today.catalog.status(tenant, now).await.unwrap();
        assert_eq!(status, expected, "from {from}");
        self.is_well_counted(from).await;
        self.is_as_noted(from).await;
        let dossiers = every(|page| catalog.dossiers(tenant, page)).await.unwrap();
        let expected = every(|page| today.catalog.dossiers(tenant, page)).await;
        let expected = expected.unwrap();
        assert_eq!(dossiers.len(), expected.len(), "from {from}");
        for (dossier, expected) in dossiers.iter().zip(&expected) {
            assert_eq!(dossier.ledger, expected.ledger, "from {from}");
            assert_eq!(dossier.unreadable, [""; 0], "from {from}");
            let head = dossier.head.as_ref().map(|head| head.ledger_head);
            let known = expected.head.as_ref().map(|head| head.ledger_head);
            assert_eq!(head, known, "from {from}");
            self.is_proven(dossier.document).await;
        }
    }

    async fn is_well_counted(&self, from: &str) {
        let (catalog, tenant) = (&self.catalog, self.place.tenant);
        assert_eq!(catalog.miscounted(tenant).await.unwrap(), [], "from {from}");
        let jobs = catalog.miscounted_jobs(tenant).await.unwrap();
        assert!(jobs.is_empty(), "from {from}: {jobs:?}");
        let jobs = catalog.recount_jobs(self.clock.now()).await.unwrap();
        assert!(jobs.is_empty(), "from {from}: {jobs:?}");
    }

    /// The listing goes on at its cursor, the steps where they were, the dead letter is replayed.
    async fn end(&self) -> End {
        let (catalog, tenant) = (&self.catalog, self.place.tenant);
        let now = self.clock.pass(LEASE * 2);
        let listing = self.listing().await;
        assert_eq!(listing.cursor, Some(json!({ "after": "e.txt" })));
        self.bring(&listing, &[("f.txt", "f")], true).await;
        let letters = catalog.dead_letters(tenant, Page::first(9)).await.unwrap();
        for letter in letters.items {
            let replayed = catalog.replay_dead_letter(tenant, letter.id, now).await;
            replayed.unwrap();
        }
        self.work_off().await;
        self.is_well_counted("here").await;
        self.is_as_noted("in the end").await;
        let jobs = every(|page| catalog.jobs(tenant, JobFilter::default(), page)).await;
        let jobs = jobs.unwrap();
        let documents =
            catalog.documents(tenant, catalog::DocumentFilter::default(), Page::first(99));
        let documents = documents.await.unwrap().items;
        End {
            status: catalog.status(tenant, self.clock.now()).await.unwrap(),
            jobs: jobs.iter().map(|job| (job.status, job.counters)).collect(),
            answering: documents.into_iter().map(|row| row.source_uri).collect(),
        }
    }
}
