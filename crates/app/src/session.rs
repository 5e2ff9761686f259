//! What a command works with: a client, and the house behind it when there is no server.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use anyhow::Context as _;
use shell::Runtime;
use tempfile::TempDir;
use web::auth::Reach;

use crate::client::Client;
use crate::config::Config;
use crate::explain::hinted;
use crate::folder::{Claimed, Folder, Holder};
use crate::house::{self, House};
use crate::secrets;

pub struct Session {
    pub client: Client,
    house: Option<House>,
    /// Gone when the session is.
    temporary: Option<TempDir>,
}

/// Whether documents will have to be processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Answers,
    Workers,
}

/// A server that starts needs a moment before it says where it answers.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longer waits are told.
const BRIEF: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl Session {
    pub async fn open(config: &Config, needs: Needs) -> anyhow::Result<Self> {
        if needs == Needs::Answers && !config.data.exists() {
            return Err(hinted(
                format!("there is no data folder at `{}`", config.data.display()),
                "`gristmill ingest` and `gristmill serve` make it; `--data` names another",
            ));
        }
        let folder = Folder::create(&config.data)?;
        let begun = tokio::time::Instant::now();
        let mut told = false;
        loop {
            match folder.claim()? {
                Claimed::Ours(lock) => {
                    let mut house = House::open(&folder, lock, config).await?;
                    if needs == Needs::Workers {
                        house.start_workers(config, Runtime::Inline).await?;
                    }
                    let client = Client::here(house.router(), house.admin_token(Reach::Folder));
                    return Ok(Self {
                        client,
                        house: Some(house),
                        temporary: None,
                    });
                }
                Claimed::Theirs(Some(holder)) => return Self::with(&folder, config, &holder),
                Claimed::Theirs(None) if begun.elapsed() < PATIENCE => {
                    if !told && begun.elapsed() > BRIEF {
                        told = true;
                        let path = folder.path().display();
                        eprintln!("waiting: another gristmill command is working in `{path}`");
                    }
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                Claimed::Theirs(None) => return Err(busy(&folder)),
            }
        }
    }

    /// In a folder that is gone afterwards, unless a server holds the configured one.
    /// Without a need for the model, one that needs no weights stands in for it.
    pub async fn scratch(config: &Config, without_model: bool) -> anyhow::Result<Self> {
        if config.data.is_dir() {
            let folder = Folder::create(&config.data)?;
            if let Claimed::Theirs(Some(holder)) = folder.claim()? {
                return Self::with(&folder, config, &holder);
            }
        }
        let temporary = temporary_folder()?;
        let mut config = config.clone();
        config.data = temporary.path().to_owned();
        config.catalog.url.clear();
        if without_model {
            config.embedding.provider = "hash".to_owned();
        }
        let mut session = Self::open(&config, Needs::Answers).await?;
        session.temporary = Some(temporary);
        Ok(session)
    }

    /// In a folder that is gone afterwards, whoever holds the configured one; with a model that
    /// needs no weights.
    pub async fn isolated(config: &Config, needs: Needs) -> anyhow::Result<Self> {
        let temporary = temporary_folder()?;
        let mut config = config.clone();
        config.data = temporary.path().to_owned();
        config.catalog.url.clear();
        config.auth.enabled = true;
        // A door that is not there cannot be tried.
        config.auth.internal_token = hex::encode(rand::random::<[u8; 32]>());
        config.embedding.provider = "hash".to_owned();
        let mut session = Self::open(&config, needs).await?;
        session.temporary = Some(temporary);
        Ok(session)
    }

    /// Of the house, where it is in this process.
    pub fn router(&self) -> Option<axum::Router> {
        self.house.as_ref().map(House::router)
    }

    /// As the first tenant's admin has it, who sees that tenant alone; of the house, where it is
    /// in this process.
    pub fn tenant_token(&self) -> Option<String> {
        let house = self.house.as_ref()?;
        Some(house.admin_token(Reach::Tenant))
    }

    /// Of the house, where it is in this process.
    pub fn catalog(&self) -> Option<&dyn catalog::Catalog> {
        self.house.as_ref().map(|house| house.gateway.catalog())
    }

    /// From here on documents are processed, by this process: nobody could post to it.
    pub async fn start_workers(&mut self, config: &Config) -> anyhow::Result<()> {
        match &mut self.house {
            Some(house) => house.start_workers(config, Runtime::Inline).await,
            None => Ok(()),
        }
    }

    fn with(folder: &Folder, config: &Config, holder: &Holder) -> anyhow::Result<Self> {
        let keys = secrets::load(folder, &config.auth)?.ok_or_else(|| busy(folder))?;
        let admin = (holder.tenant_id, holder.admin_id);
        let token = house::sign(&keys, admin, Reach::Folder);
        Ok(Self {
            client: Client::there(holder.address, token)?,
            house: None,
            temporary: None,
        })
    }

    /// Waits until what the command began is safe.
    /// Closes it whatever came of what was done in it: workers of ours may be in the midst of
    /// something.
    pub async fn close_after<T>(self, done: anyhow::Result<T>) -> anyhow::Result<T> {
        let closed = self.close().await;
        let done = done?;
        closed.map(|()| done)
    }

    pub async fn close(self) -> anyhow::Result<()> {
        drop(self.client);
        match self.house {
            Some(house) => house.close().await,
            None => Ok(()),
        }
    }
}

/// For its owner alone from the start.
pub fn temporary_folder() -> anyhow::Result<TempDir> {
    let owner_only = std::fs::Permissions::from_mode(0o700);
    let made = tempfile::Builder::new().permissions(owner_only).tempdir();
    made.context("cannot make a temporary folder")
}

fn busy(folder: &Folder) -> anyhow::Error {
    hinted(
        format!(
            "another gristmill command is working in `{}`",
            folder.path().display()
        ),
        "wait for it to end, or start `gristmill serve`, which any number of commands can share",
    )
}
