//! Children kept between documents.
//!
//! As many work at a time as there are permits. A child goes back only after it has
//! answered in full; one that has grown, served its term or died is replaced.

use std::sync::{Mutex, Once};

use bytes::Bytes;
use tokio::sync::Semaphore;

use crate::error::Error;
use crate::process::Process;
use crate::protocol::{Answer, Request};
use crate::settings::{Program, Settings};

pub(crate) struct Pool {
    settings: Settings,
    program: Program,
    permits: Semaphore,
    idle: Mutex<Vec<Process>>,
    reported: Once,
}

impl Pool {
    pub(crate) fn new(settings: Settings, program: Program) -> Self {
        Self {
            permits: Semaphore::new(settings.children.max(1)),
            settings,
            program,
            idle: Mutex::default(),
            reported: Once::new(),
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Has a child work on a document.
    pub(crate) async fn ask(&self, request: &Request, document: &Bytes) -> Result<Answer, Error> {
        let permit = self.permits.acquire().await;
        let _permit = permit.expect("the pool never closes its permits");
        let mut process = match self.take() {
            Some(process) => process,
            None => self.start().await?,
        };
        let answer = process.ask(request, document, &self.settings).await;
        if matches!(
            answer,
            Ok(Answer::Parsed(_) | Answer::Image(_) | Answer::Refused(_))
        ) {
            self.put_back(process);
        }
        answer
    }

    fn take(&self) -> Option<Process> {
        self.idle.lock().expect("nobody panics here").pop()
    }

    fn put_back(&self, process: Process) {
        let young = process.documents < self.settings.documents_per_child;
        let slim = process.peak_bytes < self.settings.recycle_bytes;
        if young && slim {
            self.idle.lock().expect("nobody panics here").push(process);
        }
    }

    async fn start(&self) -> Result<Process, Error> {
        let (process, holds) = Process::start(&self.program, &self.settings).await?;
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
