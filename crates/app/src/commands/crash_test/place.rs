//! A scratch place to ingest into, and the children that do.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use catalog::Scratch;
use durable::CrashAt;
use tempfile::TempDir;
use tokio::process::Command;

use crate::commands::ingest::is_acknowledged;
use crate::config::{Config, variables};
use crate::explain::hinted;

use super::judge::State;

/// A folder of its own, with its configuration, and a schema where the catalog is PostgreSQL.
pub struct Place {
    folder: TempDir,
    pub(super) config: Config,
    schema: Option<Scratch>,
}

pub enum Ended {
    /// At the point it was told to die at.
    Died {
        /// Whether it had said that its job would be done.
        acknowledged: bool,
    },
    Exited,
    Stuck,
}

impl Place {
    #[expect(clippy::disallowed_methods, reason = "in a scratch folder")]
    pub async fn create(config: &Config) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let schema = match config.catalog.url.as_str() {
            "" => None,
            url => Some(
                Scratch::create(url)
                    .await
                    .context("cannot make a schema for the trial")?,
            ),
        };
        let mut config = config.clone();
        config.data = folder.path().join("data");
        config.catalog.url = schema.as_ref().map(Scratch::url).unwrap_or_default();
        // A server of the trial's is nobody else's.
        config.listen = (Ipv4Addr::LOCALHOST, 0).into();
        let place = Self {
            folder,
            config,
            schema,
        };
        // Readable by its owner alone, as everything in a temporary folder of ours is.
        std::fs::write(place.configuration(), toml::to_string(&place.config)?)
            .context("cannot write the trial's configuration")?;
        Ok(place)
    }

    fn configuration(&self) -> PathBuf {
        self.folder.path().join("gristmill.toml")
    }

    /// This very program, told nothing but the place's own configuration.
    pub(super) fn child(&self, verb: &[&str]) -> anyhow::Result<Command> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = Command::new(program);
        for variable in variables() {
            command.env_remove(variable);
        }
        command
            .args(verb)
            .arg("--config")
            .arg(self.configuration())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Ok(command)
    }

    /// Ingests undisturbed and says how often each durable effect was passed.
    pub async fn ingest_counted(&self, paths: &[PathBuf]) -> anyhow::Result<BTreeMap<String, u64>> {
        let counts = self.folder.path().join("points.json");
        let mut command = self.child(&["ingest", "--json"])?;
        command.args(paths).env("GRISTMILL_COUNT_POINTS", &counts);
        let output = command
            .output()
            .await
            .context("the ingest could not be started")?;
        let text = std::fs::read(&counts).map_err(|_| broken("the undisturbed ingest", &output))?;
        serde_json::from_slice(&text).context("the count of durable effects cannot be read")
    }

    pub async fn ingest(
        &self,
        paths: &[PathBuf],
        death: Option<&CrashAt>,
        patience: Duration,
    ) -> anyhow::Result<Ended> {
        let mut command = self.child(&["ingest", "--json"])?;
        command.args(paths);
        if let Some(CrashAt { point, when, hit }) = death {
            let at = format!("{point}:{}:{hit}", when.as_str());
            command.env("GRISTMILL_CRASH_AT", at);
        }
        // Dropped when patience ends, which kills it.
        match tokio::time::timeout(patience, command.output()).await {
            Err(_) => Ok(Ended::Stuck),
            Ok(output) => {
                let output = output.context("the ingest could not be started")?;
                match output.status.code() {
                    None => Ok(Ended::Died {
                        acknowledged: is_acknowledged(&String::from_utf8_lossy(&output.stderr)),
                    }),
                    Some(_) => Ok(Ended::Exited),
                }
            }
        }
    }

    /// What the place holds now.
    pub async fn verify(&self, patience: Duration) -> anyhow::Result<State> {
        let output = tokio::time::timeout(patience, self.child(&["verify", "--json"])?.output())
            .await
            .context("`verify` came to no end")?
            .context("`verify` could not be started")?;
        // A failure exit is `verify`'s way to say that it found something.
        serde_json::from_slice(&output.stdout).map_err(|_| broken("`verify`", &output))
    }

    pub async fn remove(self) -> anyhow::Result<()> {
        if let Some(schema) = self.schema {
            schema
                .remove()
                .await
                .context("the trial's schema could not be removed")?;
        }
        self.folder
            .close()
            .context("the trial's folder could not be removed")
    }
}

pub(super) fn broken(what: &str, output: &Output) -> anyhow::Error {
    let said = String::from_utf8_lossy(&output.stderr);
    let error = said.lines().find(|line| line.starts_with("error"));
    let said = error.or(said.lines().next()).unwrap_or("it said nothing");
    hinted(
        format!("{what} failed: {said}"),
        "try `gristmill ingest` on the same files",
    )
}
