//! What a server makes of a place after a death, when nobody tells it anything.

use std::process::Output;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::ChildStdout;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::place::{Place, broken};
use crate::client::Client;
use crate::commands::Rows;
use crate::session::{Needs, Session};

const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How it ended.
pub enum Resumed {
    /// Nothing is left to do.
    Quiet(Began),
    Stuck {
        left: String,
    },
}

/// What the dead process had begun, as far as that was durable.
pub enum Began {
    Nothing,
    Job,
}

/// What is left to do.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Left {
    jobs_live: u64,
    runs_queued: u64,
    runs_running: u64,
    work: u64,
}

impl Left {
    const NOTHING: Self = Self {
        jobs_live: 0,
        runs_queued: 0,
        runs_running: 0,
        work: 0,
    };

    fn words(&self) -> String {
        format!(
            "{} jobs, {} runs and {} steps are left",
            self.jobs_live,
            self.runs_queued + self.runs_running,
            self.work
        )
    }
}

#[derive(Debug, Deserialize)]
struct Job {
    status: String,
}

impl Place {
    /// Lets a server go on with what is there until nothing is left, and stops it.
    pub async fn resume(&self, patience: Duration) -> anyhow::Result<Resumed> {
        let server = timeout(patience, Server::start(self))
            .await
            .context("the restarted server does not answer")??;
        let session = Session::open(&self.config, Needs::Answers).await?;
        let client = &session.client;
        let resumed = match timeout(patience, until_quiet(client)).await {
            Ok(quiet) => {
                quiet?;
                Resumed::Quiet(began(client).await?)
            }
            Err(_) => Resumed::Stuck {
                left: left(client).await?.words(),
            },
        };
        session.close().await?;
        timeout(patience, server.stop())
            .await
            .context("the restarted server does not stop")??;
        Ok(resumed)
    }
}

async fn until_quiet(client: &Client) -> anyhow::Result<()> {
    while left(client).await? != Left::NOTHING {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Ok(())
}

async fn left(client: &Client) -> anyhow::Result<Left> {
    client.get("/v1/status").await
}

/// The place is the trial's own: any job in it is that of its ingest.
async fn began(client: &Client) -> anyhow::Result<Began> {
    let jobs: Rows<Job> = client.get("/v1/jobs").await?;
    let begun = |job: &Job| job.status != "not_started";
    Ok(if jobs.items.iter().any(begun) {
        Began::Job
    } else {
        Began::Nothing
    })
}

/// Killed when it is dropped.
struct Server {
    pid: Pid,
    ended: JoinHandle<std::io::Result<Output>>,
    /// Held open: a server nobody listens to would end.
    _said: Lines<BufReader<ChildStdout>>,
}

impl Server {
    /// Once it answers.
    async fn start(place: &Place) -> anyhow::Result<Self> {
        let mut child = place
            .child(&["serve"])?
            .spawn()
            .context("the server could not be started")?;
        let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let pid = pid.context("the server ended at once")?;
        let said = child.stdout.take().context("the server says nothing")?;
        let mut said = BufReader::new(said).lines();
        let ended = tokio::spawn(child.wait_with_output());
        // Its first line is where it answers.
        match said.next_line().await? {
            Some(_) => Ok(Self {
                pid,
                ended,
                _said: said,
            }),
            None => Err(broken("the restarted server", &ended.await??)),
        }
    }

    async fn stop(mut self) -> anyhow::Result<()> {
        kill_process(self.pid, Signal::TERM).context("the server could not be stopped")?;
        let output = (&mut self.ended).await??;
        if output.status.success() {
            Ok(())
        } else {
            Err(broken("the restarted server", &output))
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.abort();
    }
}
