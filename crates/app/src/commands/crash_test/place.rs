//! A scratch place to ingest into, and the children that do.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
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
use crate::session::temporary_folder;

use super::judge::State;

const LOOK_AGAIN: Duration = Duration::from_millis(100);
const TRIES: u32 = 50;
const LEAST_CONNECTIONS: u32 = 4;

/// A folder of its own, with its configuration, and a schema where the catalog is PostgreSQL.
pub struct Place {
    folder: TempDir,
    pub(super) config: Config,
    schema: Option<Scratch>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// At the point it was told to die at.
    Died {
        /// Whether it had said that its job would be done.
        acknowledged: bool,
    },
    Exited,
    /// By a signal, and not at the point.
    Killed {
        signal: i32,
    },
    Stuck,
}

impl Ended {
    /// Any signal ends a process without a code; only at the point it says so first.
    fn of(output: &Output, death: Option<&CrashAt>) -> Self {
        let said = String::from_utf8_lossy(&output.stderr);
        let as_told = |at: &CrashAt| said.contains(&at.last_words());
        match output.status.signal() {
            None => Self::Exited,
            Some(_) if death.is_some_and(as_told) => Self::Died {
                acknowledged: is_acknowledged(&said),
            },
            Some(signal) => Self::Killed { signal },
        }
    }
}

impl Place {
    pub async fn create(config: &Config) -> anyhow::Result<Self> {
        let folder = temporary_folder()?;
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
        // As many in all as one server would hold: the database may allow no more.
        config.catalog.connections = share(config.catalog.connections);
        // A server of the trial's is nobody else's.
        config.listen = (Ipv4Addr::LOCALHOST, 0).into();
        let place = Self {
            folder,
            config,
            schema,
        };
        place
            .write_configuration()
            .context("cannot write the trial's configuration")?;
        Ok(place)
    }

    /// Readable by its owner alone: it holds every secret of the user's own.
    #[expect(clippy::disallowed_methods, reason = "in a scratch folder")]
    fn write_configuration(&self) -> anyhow::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(self.configuration())?;
        Ok(file.write_all(toml::to_string(&self.config)?.as_bytes())?)
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
            // A signal from the terminal is for whoever started it; that one kills its children.
            .process_group(0)
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
                Ok(Ended::of(&output, death))
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
        empty(self.folder.path()).await;
        self.folder
            .close()
            .context("the trial's folder could not be removed")
    }
}

/// Of the connections, for one of the trials that run at a time.
fn share(connections: u32) -> u32 {
    let trials = u32::try_from(super::at_once()).unwrap_or(u32::MAX);
    (connections / trials).max(LEAST_CONNECTIONS)
}

/// A child that was killed may still be writing its last when its folder is removed.
#[expect(clippy::disallowed_methods, reason = "a scratch folder")]
async fn empty(folder: &Path) {
    for _ in 0..TRIES {
        match std::fs::remove_dir_all(folder.join("data")) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            _ => break,
        }
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

#[cfg(test)]
mod tests {
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn only_a_death_at_the_point_counts_as_one() {
        let death: CrashAt = "index.flush:before:2".parse().unwrap();
        let ended = |status: i32, said: &str| {
            let output = Output {
                status: ExitStatus::from_raw(status),
                stdout: Vec::new(),
                stderr: said.into(),
            };
            Ended::of(&output, Some(&death))
        };
        let said = format!("1 of 2 ready\n{}\n", death.last_words());
        let died = Ended::Died {
            acknowledged: false,
        };
        assert_eq!(ended(6, &said), died);
        assert_eq!(ended(6, "out of memory\n"), Ended::Killed { signal: 6 });
        assert_eq!(ended(9, ""), Ended::Killed { signal: 9 });
        assert_eq!(ended(1 << 8, ""), Ended::Exited);
    }
}
