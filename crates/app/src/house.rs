//! The parts put together: the only place that knows them all.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use catalog::{FirstStart, FirstStarted, Page, Role};
use chrono::TimeDelta;
use engine::backup::Local;
use engine::objects::Key;
use engine::{Engine, Figures, Objects, SyncedFolder, SystemClock};
use model::{TenantId, UserId};
use sandbox::{Ocr, Office, Program, Sandbox};
use shell::{Runtime, Workers};
use tokio_util::sync::CancellationToken;
use web::auth::{Keys, Reach, password};
use web::{Gateway, Parts, Settings};

use crate::config::{self, Config};
use crate::explain::{Hinted, said_hint};
use crate::folder::{Folder, INDEX, Lock, OBJECTS};
use crate::{embedding, identity, reranking, secrets};

/// Asks this program to parse one document after another inside the sandbox.
pub const PARSE_CHILD: &str = "parse-child";

/// Everything open. Dropped without [`House::close`], it is as if the process had died.
pub struct House {
    pub gateway: Gateway,
    pub keys: Keys,
    pub first: FirstStarted,
    /// Of the first admin, while nobody has been shown it.
    pub password: Option<String>,
    engine: Arc<Engine>,
    index: index::Index,
    workers: Option<Workers>,
    lock: Lock,
    stop: CancellationToken,
}

/// How long work under way may take to end before it is given back.
const GRACE: Duration = Duration::from_secs(20);
const BEHIND: &str = "`gristmill repair` makes again from the originals what the index has lost; or \
    put the data folder back from a backup";
/// Of a token the command line signs for itself.
const TOKEN_LIFE: TimeDelta = TimeDelta::days(30);

impl House {
    /// Opens everything in a folder that is ours.
    pub async fn open(folder: &Folder, lock: Lock, config: &Config) -> anyhow::Result<Self> {
        let opened = Self::open_parts(folder, lock, config).await;
        opened.map_err(|error| blame_full_disk(error, folder))
    }

    async fn open_parts(folder: &Folder, lock: Lock, config: &Config) -> anyhow::Result<Self> {
        let in_folder = config.catalog.url.is_empty();
        if in_folder {
            folder.refuse_without_catalog()?;
        }
        let keys = secrets::ensure(folder, &config.auth)?;
        let internal_token = secrets::internal_token(&config.auth)?;
        folder.tighten(in_folder)?;
        let embedder = embedding::open(config)?;
        let reranker = reranking::open(config)?;
        let catalog = catalog::open(&catalog_settings(folder, config))
            .await
            .context("cannot open the catalog")?;
        if catalog.tenants(Page::first(1)).await?.items.is_empty() {
            folder.refuse_unknown_originals()?;
        }
        identity::bind(folder, &*catalog).await?;
        clear_unfinished(folder)?;
        let index = open_index(folder).await?;
        let objects = Objects::new(store(&folder.join(OBJECTS))?);
        let parts = engine::Parts {
            catalog,
            index: index.clone(),
            objects,
            embedder,
            sandbox: Arc::new(sandbox(config, office(folder, config)?)?),
            clock: Arc::new(SystemClock),
            figures: Figures::new(store(folder.path())?),
        };
        let mut engine = Engine::new(engine_settings(folder, config), parts);
        if let Some(second) = embedding::open_also(config)? {
            engine = engine.also(second);
        }
        if let Some(reranker) = reranker {
            engine = engine.reranked_by(reranker);
        }
        let engine = Arc::new(engine);
        // The lock is ours, and the catalog is this folder's: whoever held leases in it is dead.
        engine.take_over().await?;
        let (first, password) = first_start(&engine, folder, config).await?;
        let stop = CancellationToken::new();
        let gateway = Gateway::new(
            web_settings(config),
            Parts {
                engine: engine.clone(),
                keys: keys.clone(),
                internal_token,
                first,
                free_bytes: free_bytes(folder),
                in_force: config::in_force(config),
                stop: stop.clone(),
            },
        );
        Ok(Self {
            gateway,
            keys,
            first,
            password,
            engine,
            index,
            workers: None,
            lock,
            stop,
        })
    }

    /// Refuses to begin any work on an index that is older than the catalog: its flushes would
    /// come to bear the numbers of those that were lost, and searches would miss documents unsaid.
    pub async fn start_workers(&mut self, config: &Config, runtime: Runtime) -> anyhow::Result<()> {
        self.engine.refuse_an_older_index().await.map_err(|error| {
            anyhow::Error::new(error).context(Hinted::new("cannot begin to work", BEHIND))
        })?;
        // Opened first, so that no document goes by unrecorded; without it they are processed all the same.
        if let Err(error) = self.engine.figures().open().await {
            tracing::warn!(error = error.explain(), "figures cannot be kept");
        }
        let defaults = shell::Settings::default();
        let settings = shell::Settings {
            prep_slots: defaults.prep_slots.max(config.workers.parse_slots),
            run_slots: config.workers.run_slots,
            guard_every: Duration::from_secs(config.guard.every_seconds),
            janitor_every: minutes(config.janitor.every_minutes),
            ..defaults
        };
        let workers = Workers::start_as(runtime, self.engine.clone(), settings);
        let delegated = workers.delegated();
        self.gateway
            .deliver_to(Arc::new(move |run| delegated.take(run)));
        self.workers = Some(workers);
        Ok(())
    }

    pub fn lock(&mut self) -> &mut Lock {
        &mut self.lock
    }

    /// Ends when the house is being closed.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    pub fn router(&self) -> axum::Router {
        web::router(self.gateway.clone())
    }

    pub fn admin_token(&self, reach: Reach) -> String {
        sign(&self.keys, (self.first.tenant, self.first.admin), reach)
    }

    /// Finishes or gives back what is under way, then closes the stores; the lock goes last.
    pub async fn close(self) -> anyhow::Result<()> {
        self.stop.cancel();
        if let Some(workers) = self.workers {
            workers.stop(GRACE).await;
        }
        drop(self.gateway);
        if let Err(error) = self.engine.figures().close().await {
            tracing::warn!(error = error.explain(), "the last figures are lost");
        }
        drop(self.engine);
        let closed = self.index.close().await;
        drop(self.lock);
        closed.context("the index could not be closed")
    }
}

/// On a full disk stores fail to open in words of their own (SQLite: `disk I/O error`). Where
/// somebody knew more of the case, that is said.
fn blame_full_disk(error: anyhow::Error, folder: &Folder) -> anyhow::Error {
    match said_hint(&error).is_none() && folder.is_full() {
        true => error.context(Hinted::new(
            "the disk is full",
            "free some space on the disk",
        )),
        false => error,
    }
}

/// A token for the command line, good for as long as a command may run.
pub fn sign(keys: &Keys, (tenant, admin): (TenantId, UserId), reach: Reach) -> String {
    let who = (admin, tenant, Role::Admin);
    keys.sign(who, reach, chrono::Utc::now(), TOKEN_LIFE)
}

pub fn catalog_settings(folder: &Folder, config: &Config) -> catalog::Settings {
    let url = if config.catalog.url.is_empty() {
        format!("sqlite://{}", folder.join("catalog.db").display())
    } else {
        config.catalog.url.clone()
    };
    catalog::Settings {
        connections: config.catalog.connections,
        ..catalog::Settings::new(url)
    }
}

/// Text of documents that no purge would find: it lies in files nothing refers to.
fn clear_unfinished(folder: &Folder) -> anyhow::Result<()> {
    let staging = folder.join(OBJECTS).join(Key::all_staged().to_string());
    for below in [folder.join(INDEX), staging] {
        engine::clear_unfinished(&below)?;
    }
    Ok(())
}

async fn open_index(folder: &Folder) -> anyhow::Result<index::Index> {
    let store = store(&folder.join(INDEX))?;
    let opened = index::Index::open(index::Settings::default(), store, folder.join("text"));
    opened.await.map_err(|error| {
        let hint = match error.is_damage() {
            true => {
                "`gristmill repair` sets them aside and makes the index again from the originals; \
                 or put the data folder back from a backup"
            }
            false => "",
        };
        anyhow::Error::new(error).context(Hinted::new("cannot open the index", hint))
    })
}

/// A folder as an object store whose writes are on the disk before they count.
fn store(path: &Path) -> anyhow::Result<Arc<dyn object_store::ObjectStore>> {
    let store = SyncedFolder::open(path)
        .with_context(|| format!("cannot open the folder `{}`", path.display()))?;
    Ok(Arc::new(store))
}

/// Children of this very program read the documents.
pub fn sandbox(config: &Config, office: Option<Office>) -> anyhow::Result<Sandbox> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let seconds = Duration::from_secs(config.parse.timeout_seconds);
    let settings = sandbox::Settings {
        children: config.workers.parse_slots,
        cpu: seconds,
        wall: seconds * 2,
        memory_bytes: config.parse.memory_mb << 20,
        ocr: tesseract(config).map(|found| Ocr::new(found, &config.parse.ocr_languages)),
        office,
        ..sandbox::Settings::default()
    };
    Ok(Sandbox::new(
        settings,
        Program::new(program, &[PARSE_CHILD]),
    ))
}

/// Who recognises the words of scanned pages, where it is installed and wanted.
pub fn tesseract(config: &Config) -> Option<PathBuf> {
    config.parse.ocr.then(|| installed("tesseract")).flatten()
}

/// Who prints documents without pages, where it is installed and wanted.
pub fn libreoffice(config: &Config) -> Option<PathBuf> {
    config.parse.office.then(|| installed("soffice")).flatten()
}

/// The same, with a place for what it works on.
fn office(folder: &Folder, config: &Config) -> anyhow::Result<Option<Office>> {
    match libreoffice(config) {
        Some(launcher) => Ok(Office::behind(&launcher, folder.scratch()?)),
        None => Ok(None),
    }
}

fn installed(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join(name));
    files.find(|file| file.is_file())
}

fn web_settings(config: &Config) -> Settings {
    Settings {
        auth_enabled: config.auth.enabled,
        token_life: TimeDelta::hours(config.auth.token_hours.into()),
        upload_limit: config.upload.max_mb << 20,
        timeout: Duration::from_secs(config.http.timeout_seconds),
        concurrency: config.http.concurrency,
        streams_per_tenant: config.http.streams_per_tenant,
        idle: Duration::from_secs(config.http.idle_seconds),
        public_url: config.http.public_url.clone(),
        strategy: config.chunks.strategy,
        disk_reserve: config.disk.reserve_mb << 20,
    }
}

fn free_bytes(folder: &Folder) -> web::FreeBytes {
    let folder = folder.clone();
    Arc::new(move || folder.free_bytes().ok())
}

/// Makes tenant, admin and knowledge base on the very first start. A password made up then is
/// kept in the folder until `serve` has shown it, whichever command came first.
async fn first_start(
    engine: &Engine,
    folder: &Folder,
    config: &Config,
) -> anyhow::Result<(FirstStarted, Option<String>)> {
    let catalog = &engine.parts().catalog;
    let info = engine.parts().embedder.info();
    // Hashing takes a moment; only a start that needs it pays.
    let fresh = catalog.tenants(Page::first(1)).await?.items.is_empty();
    let password = match config.auth.admin_password.as_str() {
        "" if fresh => secrets::first_password(folder)?,
        chosen => chosen.to_owned(),
    };
    let hash = if fresh {
        password::hash(password.clone()).await
    } else {
        String::new()
    };
    let first = FirstStart {
        tenant_name: "default".to_owned(),
        admin_login: config.auth.admin_login.clone(),
        admin_password_hash: hash,
        kb_name: "default".to_owned(),
        generation: catalog::GenerationSpec {
            model: info.name.clone(),
            dimension: info.dimension,
            policy: info.policy().with_strategy(config.chunks.strategy),
        },
    };
    let started = catalog
        .ensure_first_start(first, engine.parts().clock.now())
        .await?;
    Ok((started, secrets::unshown_password(folder)))
}

const fn minutes(n: u64) -> Duration {
    Duration::from_secs(n.saturating_mul(60))
}

fn engine_settings(folder: &Folder, config: &Config) -> engine::Settings {
    engine::Settings {
        local: Some(Local {
            data: folder.path().to_owned(),
            index: folder.join(INDEX),
            objects: folder.join(OBJECTS),
            beside: vec![folder.join(secrets::FILE)],
        }),
        rerank: engine::rerank::Settings {
            candidates: config.rerank.candidates,
        },
        guard: engine::guard::Settings {
            queued: minutes(config.guard.queued_hours.saturating_mul(60)),
            running: minutes(config.guard.running_minutes),
        },
        janitor: engine::janitor::Settings {
            orphans: minutes(config.janitor.orphans_hours.saturating_mul(60)),
            failed_uploads: minutes(config.janitor.failed_uploads_days.saturating_mul(24 * 60)),
            events: minutes(config.janitor.events_days.saturating_mul(24 * 60)),
        },
        pages: engine::pages::Settings {
            ahead: config.parse.pages_ahead,
        },
        file_limit: config.upload.max_mb << 20,
        #[cfg(debug_assertions)]
        plant: std::env::var("GRISTMILL_PLANT")
            .ok()
            .and_then(|name| engine::Plant::named(&name)),
        ..engine::Settings::default()
    }
}
