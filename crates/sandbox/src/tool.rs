//! Somebody else's program, as confined as it can be and still run.
//!
//! A child of ours confines itself, says so, and becomes the program: it reads what is
//! installed and nothing else, writes nowhere but into a folder made for it, has no network,
//! and the same limits on memory and time as any reader. It is given its input through its
//! pipe and answers through the other.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::error::Error;
use crate::process::Process;
use crate::protocol::Setup;
use crate::settings::{Program, Settings};

/// What to become, and what it may touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tool {
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<String>,
    /// The only folder it may write to; its home, too.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) cpu_seconds: u64,
}

impl Tool {
    /// Ends this process's own life as a child, or says why not.
    pub(crate) fn become_it(&self) -> std::io::Error {
        use std::os::unix::process::CommandExt as _;
        let home = self.folder.as_deref().unwrap_or(Path::new("/"));
        std::process::Command::new(&self.path)
            .args(&self.args)
            .env_clear()
            .env("HOME", home)
            .env("TMPDIR", home)
            .env("LC_ALL", "C.UTF-8")
            // One page at a time is enough; cores are shared with other readers.
            .env("OMP_THREAD_LIMIT", "1")
            .stderr(Stdio::null())
            .exec()
    }
}

/// Runs a tool on some bytes and returns what it printed.
pub(crate) async fn run(
    program: &Program,
    tool: &Tool,
    input: &[u8],
    settings: &Settings,
) -> Result<Vec<u8>, Error> {
    let name = tool.path.display();
    let failed = |how: String| Error::Tool {
        program: name.to_string(),
        how,
    };
    let setup = Setup {
        memory_bytes: settings.memory_bytes,
        tool: Some(tool.clone()),
    };
    let (process, _) = Process::start(program, &setup, settings).await?;
    let wall = Duration::from_secs(tool.cpu_seconds) * 2;
    match timeout(wall, exchange(process, input, settings.output_bytes)).await {
        Ok(Ok((status, output))) if status.success() => Ok(output),
        Ok(Ok((status, _))) => Err(failed(status.to_string())),
        Ok(Err(error)) => Err(failed(error.to_string())),
        // The process is dropped with the future, and killed with it.
        Err(_) => Err(failed("it did not come to an end".to_owned())),
    }
}

async fn exchange(
    process: Process,
    input: &[u8],
    limit: u64,
) -> std::io::Result<(ExitStatus, Vec<u8>)> {
    let (mut child, mut to, from) = process.into_parts();
    let sending = async {
        // A tool that has read enough hangs up early, which is its own affair.
        let _ = to.write_all(input).await;
        drop(to);
    };
    let mut output = Vec::new();
    let mut from = from.take(limit + 1);
    let ((), read) = tokio::join!(sending, from.read_to_end(&mut output));
    read?;
    if output.len() as u64 > limit {
        return Err(std::io::Error::other("it printed more than it may"));
    }
    Ok((child.wait().await?, output))
}
