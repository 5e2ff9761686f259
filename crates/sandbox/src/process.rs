//! One child, from the parent's side: start it, hand it a document, learn how it ended.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout};

use crate::allowance::Time;
use crate::error::{Death, Error};
use crate::protocol::{
    Answer, HEAD, Holds, Kind, Note, ONE_PIECE, Reached, Request, Setup, head, head_of,
};
use crate::settings::{Program, Settings};
use crate::usage::{cpu_of, peak_bytes};

/// Notes and the like are small; answers have their own budget.
const SMALL: u64 = 1 << 20;
/// What is kept of what a child says on its way out.
const LAST_WORDS: usize = 4096;

pub(crate) struct Process {
    child: Child,
    to: ChildStdin,
    from: ChildStdout,
    pub(crate) documents: u32,
    pub(crate) peak_bytes: u64,
    /// When it was asked last, and what it had used by then.
    begun: (Instant, Option<Duration>),
}

/// A frame that did not come.
enum Missing {
    Closed,
    Silent,
    Wrong(io::Error),
}

/// What a child has said of its way through the pages.
#[derive(Default)]
struct Progress {
    note: Option<Note>,
    last: u32,
}

impl Progress {
    fn take(&mut self, note: &[u8]) {
        self.note = Note::decoded(note);
        self.last = self.last.max(self.note.map_or(0, |note| note.page));
    }
}

impl Process {
    pub(crate) async fn start(
        program: &Program,
        setup: &Setup,
        settings: &Settings,
    ) -> Result<(Self, Holds), Error> {
        let failed = |source: io::Error| Error::Start {
            program: program.path.display().to_string(),
            source,
        };
        let mut child = Command::new(&program.path)
            .args(&program.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let mut process = Self {
            to: to.expect("stdin is piped"),
            from: from.expect("stdout is piped"),
            child,
            documents: 0,
            peak_bytes: 0,
            begun: (Instant::now(), None),
        };
        let holds = process
            .greet(setup, settings.silence)
            .await
            .map_err(failed)?;
        Ok((process, holds))
    }

    /// Its pipes alone: for a child that has become another program.
    pub(crate) fn into_parts(self) -> (Child, ChildStdin, ChildStdout) {
        (self.child, self.to, self.from)
    }

    async fn greet(&mut self, setup: &Setup, wait: Duration) -> io::Result<Holds> {
        self.send(Kind::Setup, &serde_json::to_vec(setup)?).await?;
        match self.next(wait, SMALL).await {
            Ok((Kind::Hello, holds)) => Ok(serde_json::from_slice(&holds)?),
            Err(Missing::Wrong(error)) => Err(error),
            _ => Err(io::Error::other("it did not say hello")),
        }
    }

    async fn send(&mut self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        self.send_all(&[(kind, payload)]).await
    }

    /// Small frames go in one piece: a child that waits wakes for every one.
    async fn send_all(&mut self, frames: &[(Kind, &[u8])]) -> io::Result<()> {
        let mut together = Vec::new();
        for (kind, payload) in frames {
            together.extend_from_slice(&head_of(*kind, payload.len()));
            if together.len() + payload.len() <= ONE_PIECE {
                together.extend_from_slice(payload);
            } else {
                self.to.write_all(&together).await?;
                self.to.write_all(payload).await?;
                together.clear();
            }
        }
        self.to.write_all(&together).await?;
        self.to.flush().await
    }

    async fn next(&mut self, wait: Duration, limit: u64) -> Result<(Kind, Vec<u8>), Missing> {
        let read = async {
            let mut bytes = [0; HEAD];
            self.from.read_exact(&mut bytes).await?;
            let (kind, length) = head(bytes, limit)?;
            let mut payload = vec![0; length];
            self.from.read_exact(&mut payload).await?;
            io::Result::Ok((kind, payload))
        };
        match timeout(wait, read).await {
            Ok(Ok(frame)) => Ok(frame),
            Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                Err(Missing::Wrong(error))
            }
            Ok(Err(_)) => Err(Missing::Closed),
            Err(_) => Err(Missing::Silent),
        }
    }

    /// Hands over a document and waits for what becomes of it. After `Died` the process
    /// is of no further use.
    pub(crate) async fn ask(
        &mut self,
        request: &Request,
        document: &Bytes,
        settings: &Settings,
    ) -> Result<Answer, Error> {
        self.documents += 1;
        self.begun = (Instant::now(), self.cpu());
        let until = Instant::now() + request.wall;
        let encoded = serde_json::to_vec(request).expect("a request is plain data");
        let frames = [(Kind::Request, &encoded[..]), (Kind::Document, document)];
        let sending = self.send_all(&frames);
        match timeout(request.wall, sending).await {
            Ok(Ok(())) => self.answer(until, settings).await,
            Ok(Err(_)) => Ok(self.died(&Progress::default()).await),
            Err(_) => Ok(self.ended(Death::Wall, &Progress::default()).await),
        }
    }

    /// Begins a text in pieces: what the child makes of its head.
    pub(crate) async fn open(
        &mut self,
        request: &Request,
        head: &[u8],
        settings: &Settings,
    ) -> Result<(Kind, Vec<u8>), Error> {
        self.documents += 1;
        let encoded = serde_json::to_vec(request).expect("a request is plain data");
        if self.send(Kind::Request, &encoded).await.is_err() {
            let death = self.death().await;
            return Err(Error::Deadly { death });
        }
        self.exchange(Kind::Document, head, settings).await
    }

    /// Sends a frame and waits for the one that answers it. After an error the process is of
    /// no further use.
    pub(crate) async fn exchange(
        &mut self,
        kind: Kind,
        payload: &[u8],
        settings: &Settings,
    ) -> Result<(Kind, Vec<u8>), Error> {
        let limit = settings.output_bytes.max(SMALL);
        let death = match timeout(settings.wall, self.send(kind, payload)).await {
            Ok(Ok(())) => match self.next(settings.silence, limit).await {
                Ok((Kind::Panicked, words)) => panicked(&words),
                Ok(frame) => return Ok(frame),
                Err(Missing::Silent) => self.kill().await,
                Err(Missing::Closed) => self.death().await,
                Err(Missing::Wrong(error)) => return Err(Error::Protocol(error.to_string())),
            },
            Ok(Err(_)) => self.death().await,
            Err(_) => self.kill().await,
        };
        Err(Error::Deadly { death })
    }

    async fn answer(&mut self, until: Instant, settings: &Settings) -> Result<Answer, Error> {
        let mut progress = Progress::default();
        let limit = settings.output_bytes.max(SMALL);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.next(settings.silence.min(left), limit).await {
                Ok((Kind::Page, note)) => progress.take(&note),
                Ok((kind, payload)) => {
                    let answer = self.decode(kind, payload, &progress, settings)?;
                    self.done(settings).await?;
                    return Ok(answer);
                }
                Err(Missing::Silent) if Instant::now() >= until => {
                    return Ok(self.ended(Death::Wall, &progress).await);
                }
                Err(Missing::Silent) => return Ok(self.ended(Death::Silence, &progress).await),
                Err(Missing::Closed) => return Ok(self.died(&progress).await),
                Err(Missing::Wrong(error)) => return Err(Error::Protocol(error.to_string())),
            }
        }
    }

    fn decode(
        &self,
        kind: Kind,
        payload: Vec<u8>,
        progress: &Progress,
        settings: &Settings,
    ) -> Result<Answer, Error> {
        let wrong = |error: serde_json::Error| Error::Protocol(error.to_string());
        Ok(match kind {
            Kind::Parsed => Answer::Parsed(serde_json::from_slice(&payload).map_err(wrong)?),
            Kind::Refused => Answer::Refused(serde_json::from_slice(&payload).map_err(wrong)?),
            Kind::Image => Answer::Image(payload.into()),
            Kind::Panicked => self.dead(panicked(&payload), progress),
            Kind::TooLarge => {
                let limit = settings.output_bytes;
                return Err(Error::Output { limit });
            }
            kind => return Err(Error::Protocol(format!("{kind:?} out of turn"))),
        })
    }

    pub(crate) async fn done(&mut self, settings: &Settings) -> Result<(), Error> {
        match self.next(settings.silence, SMALL).await {
            Ok((Kind::Done, _)) => {
                self.peak_bytes = self.child.id().and_then(peak_bytes).unwrap_or(0);
                Ok(())
            }
            _ => Err(Error::Protocol("no word after an answer".to_owned())),
        }
    }

    async fn kill(&mut self) -> Death {
        let _ = self.child.start_kill();
        let _ = self.child.wait().await;
        Death::Silence
    }

    /// Ends it for a reason of ours.
    async fn ended(&mut self, death: Death, progress: &Progress) -> Answer {
        let answer = self.dead(death, progress);
        let _ = self.kill().await;
        answer
    }

    /// It ended by itself.
    async fn died(&mut self, progress: &Progress) -> Answer {
        // Before it is asked how it ended: after that nobody knows what it used.
        let (reached, used) = (self.reached(progress), self.used());
        let death = self.death().await;
        Answer::Died {
            death,
            reached,
            used,
        }
    }

    fn dead(&self, death: Death, progress: &Progress) -> Answer {
        Answer::Died {
            death,
            reached: self.reached(progress),
            used: self.used(),
        }
    }

    fn reached(&self, progress: &Progress) -> Reached {
        match progress.note {
            None => Reached::NoPage,
            Some(note) if note.page == 0 => Reached::End {
                last: progress.last,
            },
            Some(note) => {
                let here = self.cpu().map(|now| now.saturating_sub(note.cpu));
                Reached::Page {
                    page: note.page,
                    most: here.is_none_or(|here| here * 2 >= self.used().cpu),
                }
            }
        }
    }

    /// Since it was asked last.
    fn used(&self) -> Time {
        let (since, before) = self.begun;
        let wall = since.elapsed();
        // One thread works: where the system does not say, the clock does.
        let cpu = self.cpu().zip(before);
        Time {
            cpu: cpu.map_or(wall, |(now, before)| now.saturating_sub(before)),
            wall,
        }
    }

    fn cpu(&self) -> Option<Duration> {
        self.child.id().and_then(cpu_of)
    }

    /// What it died of.
    async fn death(&mut self) -> Death {
        // It closed its pipe; should it still run, it has no business to.
        let _ = self.child.start_kill();
        let mut words = vec![0; LAST_WORDS];
        let mut length = 0;
        if let Some(mut stderr) = self.child.stderr.take() {
            while length < LAST_WORDS {
                match stderr.read(&mut words[length..]).await {
                    Ok(0) | Err(_) => break,
                    Ok(more) => length += more,
                }
            }
        }
        let words = String::from_utf8_lossy(&words[..length]).into_owned();
        match self.child.wait().await {
            Ok(status) => cause(status, &words),
            Err(error) => Death::Crashed(error.to_string()),
        }
    }
}

fn panicked(words: &[u8]) -> Death {
    Death::Crashed(first_line(&String::from_utf8_lossy(words)))
}

fn cause(status: ExitStatus, words: &str) -> Death {
    match status.signal() {
        Some(libc::SIGXCPU) => Death::Cpu,
        Some(libc::SIGSYS) => Death::Forbidden,
        _ if words.contains("memory allocation of") => Death::Memory,
        _ if words.contains("stack overflow") || words.contains("overflowed its stack") => {
            Death::Crashed("its parts are nested too deeply".to_owned())
        }
        Some(signal) => Death::Crashed(format!("signal {signal}")),
        None => Death::Crashed(first_line(words)),
    }
}

fn first_line(words: &str) -> String {
    let line = words.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or("without a word");
    line[..line.floor_char_boundary(200)].to_owned()
}
