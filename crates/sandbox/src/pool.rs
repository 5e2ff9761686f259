//! Children kept between documents.
//!
//! As many work at a time as there are permits. A child goes back only after it has
//! answered in full; one that has grown, served its term or died is replaced.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once};

use bytes::Bytes;
use parse::Hints;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::Error;
use crate::process::Process;
use crate::protocol::{Answer, Request, Setup, Want};
use crate::settings::{Program, Settings};
use crate::tool::{self, Tool};

/// The niceness of whom nobody waits for.
const LAST: i32 = 19;

pub(crate) struct Pool {
    settings: Settings,
    program: Program,
    permits: Semaphore,
    beside: Semaphore,
    idle: Mutex<Vec<Process>>,
    reported: Once,
    largest: AtomicU64,
}

/// A child at work, and the permit it works by.
pub(crate) struct Lease<'p> {
    pub(crate) process: Process,
    _permit: SemaphorePermit<'p>,
}

impl Pool {
    pub(crate) fn new(settings: Settings, program: Program) -> Self {
        Self {
            permits: Semaphore::new(settings.children.max(1)),
            beside: Semaphore::new(1),
            settings,
            program,
            idle: Mutex::default(),
            reported: Once::new(),
            largest: AtomicU64::new(0),
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The most memory a child has had that answered.
    pub(crate) fn largest(&self) -> u64 {
        self.largest.load(Ordering::Relaxed)
    }

    /// A child of one's own, for as long as it takes.
    pub(crate) async fn lease(&self) -> Result<Lease<'_>, Error> {
        let permit = self.permits.acquire().await;
        let _permit = permit.expect("the pool never closes its permits");
        let process = match self.take() {
            Some(process) => process,
            None => self.start().await?,
        };
        Ok(Lease { process, _permit })
    }

    /// Has a child work on a document.
    pub(crate) async fn ask(&self, request: &Request, document: &Bytes) -> Result<Answer, Error> {
        let Lease {
            mut process,
            _permit,
        } = self.lease().await?;
        let answer = process.ask(request, document, &self.settings).await;
        if matches!(
            answer,
            Ok(Answer::Parsed(_) | Answer::Image(_) | Answer::Refused(_))
        ) {
            self.put_back(process);
        }
        answer
    }

    /// Has a child draw a page, counted from 1.
    pub(crate) async fn draw(&self, bytes: &Bytes, page: u32, scale: f32) -> Result<Bytes, Error> {
        let request = Request {
            want: Want::Render { page, scale },
            ..Request::parse(Hints::default(), &self.settings)
        };
        match self
            .ask(&request.within(self.settings.drawing()), bytes)
            .await?
        {
            Answer::Image(png) => Ok(png),
            Answer::Refused(error) => Err(error.into()),
            Answer::Died { death, .. } => Err(Error::Deadly { death }),
            Answer::Parsed(_) => Err(Error::Protocol("an image was asked for".to_owned())),
        }
    }

    /// Has a program of others work on some bytes, in the place of a child of ours.
    pub(crate) async fn run(&self, tool: &Tool, input: &[u8]) -> Result<Vec<u8>, Error> {
        let permit = self.permits.acquire().await;
        let _permit = permit.expect("the pool never closes its permits");
        tool::run(&self.program, tool, input, &self.settings).await
    }

    /// The same one at a time beside the readers, so that none of them waits for it.
    pub(crate) async fn run_beside(&self, tool: &Tool) -> Result<Vec<u8>, Error> {
        let permit = self.beside.acquire().await;
        let _permit = permit.expect("the pool never closes its permits");
        tool::run(&self.program, tool, &[], &self.settings).await
    }

    /// As this one, but with a single child that stands back for everybody.
    pub(crate) fn behind(&self) -> Self {
        let settings = Settings {
            children: 1,
            niceness: LAST,
            ..self.settings.clone()
        };
        Self::new(settings, self.program.clone())
    }

    /// As this one, with as many children of its own.
    pub(crate) fn beside(&self) -> Self {
        Self::new(self.settings.clone(), self.program.clone())
    }

    /// Whether whoever asks now need not wait.
    pub(crate) fn has_room(&self) -> bool {
        self.permits.available_permits() > 0
    }

    fn take(&self) -> Option<Process> {
        self.idle.lock().expect("nobody panics here").pop()
    }

    pub(crate) fn put_back(&self, process: Process) {
        self.largest
            .fetch_max(process.peak_bytes, Ordering::Relaxed);
        let young = process.documents < self.settings.documents_per_child;
        let slim = process.peak_bytes < self.settings.recycle_bytes;
        if young && slim {
            self.idle.lock().expect("nobody panics here").push(process);
        }
    }

    async fn start(&self) -> Result<Process, Error> {
        let setup = Setup {
            memory_bytes: self.settings.memory_bytes,
            niceness: self.settings.niceness,
            tool: None,
        };
        let (process, holds) = Process::start(&self.program, &setup, &self.settings).await?;
        self.reported.call_once(|| {
            tracing::info!(
                memory = holds.memory,
                landlock = holds.landlock,
                seccomp = holds.seccomp,
                "documents are read in confined processes"
            );
        });
        Ok(process)
    }
}
