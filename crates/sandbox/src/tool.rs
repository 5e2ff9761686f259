//! Somebody else's program, as confined as it can be and still run.
//!
//! A child of ours confines itself, says so, and becomes the program: it reads what is
//! installed and nothing else, writes nowhere but into a folder made for it, has no network,
//! makes no other process, and the same limits on memory and time as any reader. It is given
//! its input through its pipe and answers through the other.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fmt, io};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::error::Error;
use crate::process::Process;
use crate::protocol::{Holds, Setup};
use crate::scratch::is_full;
use crate::settings::{Program, Settings};
use crate::usage::cpu_at_the_end_of;

/// Between two looks into its folder.
const LOOK: Duration = Duration::from_millis(500);

/// How it ended, what it printed, and the processor time it took.
struct Ended {
    status: ExitStatus,
    output: Vec<u8>,
    cpu: Duration,
}

/// What to become, and what it may touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tool {
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<String>,
    /// The only folder it may write to; its home, too.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) cpu_seconds: u64,
    pub(crate) wall: Duration,
    pub(crate) memory_bytes: u64,
    /// Of what it prints.
    pub(crate) output_bytes: u64,
    /// Of all it writes into its folder.
    pub(crate) scratch_bytes: u64,
    pub(crate) niceness: i32,
    /// The status by which it asks to be started once more.
    pub(crate) again: Option<i32>,
}

impl Tool {
    /// As it is called, without the folder it is installed in.
    fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    pub(crate) fn failed(&self, how: impl fmt::Display) -> Error {
        Error::Tool {
            program: self.name(),
            how: how.to_string(),
        }
    }

    fn wants_again(&self, status: ExitStatus) -> bool {
        self.again.is_some() && status.code() == self.again
    }

    /// What is left of its time for a second start, if anything is.
    fn with_what_is_left(&self, cpu: Duration, wall: Duration) -> Option<Self> {
        let used = cpu.as_secs() + 1;
        Some(Self {
            cpu_seconds: self
                .cpu_seconds
                .checked_sub(used)
                .filter(|left| *left > 0)?,
            wall: self.wall.checked_sub(wall)?,
            ..self.clone()
        })
    }

    /// Comes to an end once its folder holds too much.
    async fn overflows(&self) {
        let Some(folder) = &self.folder else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(LOOK).await;
            let (folder, limit) = (folder.clone(), self.scratch_bytes);
            let full = tokio::task::spawn_blocking(move || is_full(&folder, limit)).await;
            if full.unwrap_or(true) {
                return;
            }
        }
    }

    /// Who is given a folder is given a stranger's document in it.
    fn trusts(&self, holds: &Holds) -> bool {
        self.folder.is_none() || holds.all()
    }

    /// Ends this process's own life as a child, or says why not.
    pub(crate) fn become_it(&self, holds: &Holds) -> io::Error {
        use std::os::unix::process::CommandExt as _;
        if !self.trusts(holds) {
            return io::ErrorKind::PermissionDenied.into();
        }
        let home = self.folder.as_deref().unwrap_or(Path::new("/"));
        std::process::Command::new(&self.path)
            .args(&self.args)
            .current_dir(home)
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

/// Runs a tool on some bytes and returns what it printed. Its time is that of both starts.
pub(crate) async fn run(
    program: &Program,
    tool: &Tool,
    input: &[u8],
    settings: &Settings,
) -> Result<Vec<u8>, Error> {
    let began = Instant::now();
    let mut ended = once(program, tool, input, settings).await?;
    if tool.wants_again(ended.status) {
        let left = tool.with_what_is_left(ended.cpu, began.elapsed());
        let left = left.ok_or_else(|| tool.failed("its first start took all its time"))?;
        ended = once(program, &left, input, settings).await?;
    }
    if !ended.status.success() {
        return Err(tool.failed(ended.status));
    }
    Ok(ended.output)
}

async fn once(
    program: &Program,
    tool: &Tool,
    input: &[u8],
    settings: &Settings,
) -> Result<Ended, Error> {
    let setup = Setup {
        memory_bytes: tool.memory_bytes,
        niceness: tool.niceness,
        tool: Some(tool.clone()),
    };
    let (process, holds) = Process::start(program, &setup, settings).await?;
    if !tool.trusts(&holds) {
        return Err(tool.failed("this kernel cannot confine it: it needs landlock and seccomp"));
    }
    let (mut child, to, from) = process.into_parts();
    let ended = tokio::select! {
        ended = timeout(tool.wall, exchange(&mut child, to, from, input, tool.output_bytes)) => {
            ended.unwrap_or_else(|_| Err(io::Error::other("it did not come to an end")))
        }
        () = tool.overflows() => Err(io::Error::other("it wrote more than it may")),
    };
    if ended.is_err() {
        // It is gone before its folder is.
        let _ = child.kill().await;
    }
    ended.map_err(|error| tool.failed(error))
}

async fn exchange(
    child: &mut Child,
    mut to: ChildStdin,
    from: ChildStdout,
    input: &[u8],
    limit: u64,
) -> io::Result<Ended> {
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
        return Err(io::Error::other("it printed more than it may"));
    }
    let cpu = cpu_of(child).await?;
    let status = child.wait().await?;
    Ok(Ended {
        status,
        output,
        cpu,
    })
}

/// Waits for its end.
async fn cpu_of(child: &Child) -> io::Result<Duration> {
    let gone = || io::Error::other("nobody knows what time it took");
    let id = child.id().ok_or_else(gone)?;
    let cpu = tokio::task::spawn_blocking(move || cpu_at_the_end_of(id)).await?;
    cpu.ok_or_else(gone)
}
