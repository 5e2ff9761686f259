//! A store in memory that fails, stalls and forgets as it is told.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use crate::{
    BoxError, Coordinator, Delta, Epoch, Epochs, FlushError, FlushHandler, Flushed, Settings, Start,
};

/// A write: a number that can be found again, and what it weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Put {
    pub id: u64,
    pub bytes: usize,
}

pub fn put(id: u64) -> Put {
    Put { id, bytes: 100 }
}

/// A write at which the delta panics, half-way through.
pub const POISON: Put = Put {
    id: u64::MAX,
    bytes: 100,
};

/// A write no delta takes.
pub const BAD: Put = Put { id: 0, bytes: 100 };

#[derive(Debug, thiserror::Error)]
#[error("zero is no id")]
pub struct ZeroId;

#[derive(Debug, Default)]
pub struct Puts {
    pub ids: Vec<u64>,
    /// How often the coordinator has looked at a delta or changed it.
    pub touched: Arc<AtomicUsize>,
}

impl Delta for Puts {
    type Op = Put;
    type Rejected = ZeroId;

    fn weigh(op: &Put) -> usize {
        op.bytes
    }

    fn check(&self, op: &Put) -> Result<(), ZeroId> {
        self.touched.fetch_add(1, Ordering::Relaxed);
        if op.id == 0 { Err(ZeroId) } else { Ok(()) }
    }

    fn apply(&mut self, op: Put) {
        self.touched.fetch_add(1, Ordering::Relaxed);
        self.ids.push(op.id);
        assert_ne!(op.id, POISON.id, "delta told to panic");
    }

    fn successor(&self) -> Self {
        self.touched.fetch_add(1, Ordering::Relaxed);
        Self {
            touched: Arc::clone(&self.touched),
            ..Self::default()
        }
    }
}

/// What goes wrong with one attempt at a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    Before,
    /// It took effect and the answer was lost.
    After,
    Permanent,
    Hang,
    Panic,
}

#[derive(Debug, Default)]
pub struct Contents {
    pub ids: Vec<u64>,
    pub flushes: Vec<Epochs>,
    pub faults: VecDeque<Fault>,
    pub sync_faults: VecDeque<Fault>,
    pub attempts: usize,
    pub syncs: usize,
    pub closed: bool,
}

/// Cheap to clone; all clones are one store. Its sequence is the number of flushes.
#[derive(Clone)]
pub struct Store {
    pub flush_time: Duration,
    /// How long after a flush it becomes durable by itself; never, if `None`.
    pub tick: Option<Duration>,
    pub contents: Arc<Mutex<Contents>>,
    durable: watch::Sender<u64>,
}

impl Store {
    pub fn new() -> Self {
        Self {
            flush_time: Duration::from_millis(20),
            tick: None,
            contents: Arc::default(),
            durable: watch::Sender::new(0),
        }
    }

    pub fn fail_with(self, faults: impl IntoIterator<Item = Fault>) -> Self {
        self.contents.lock().unwrap().faults = faults.into_iter().collect();
        self
    }

    pub fn start(&self, settings: Settings) -> Coordinator<Self> {
        let start = Start {
            epoch: Epoch(0),
            snapshot: Arc::default(),
        };
        Coordinator::start(settings, start, Puts::default(), self.clone())
    }

    /// What a crash would leave.
    pub fn durable_ids(&self) -> Vec<u64> {
        let contents = self.contents.lock().unwrap();
        contents.ids[..contents.upto(*self.durable.borrow())].to_vec()
    }

    pub fn ids(&self) -> Vec<u64> {
        self.contents.lock().unwrap().ids.clone()
    }

    pub fn attempts(&self) -> usize {
        self.contents.lock().unwrap().attempts
    }

    pub fn close(&self) {
        self.contents.lock().unwrap().closed = true;
        self.durable.send_modify(|_| ());
    }

    fn next_fault(&self) -> Fault {
        let mut contents = self.contents.lock().unwrap();
        contents.attempts += 1;
        contents.faults.pop_front().unwrap_or(Fault::None)
    }

    /// Puts a delta in, unless an earlier attempt already did.
    fn put(&self, delta: &Puts, epochs: Epochs) -> Flushed<Arc<Vec<u64>>> {
        let mut contents = self.contents.lock().unwrap();
        if contents.flushes.last() != Some(&epochs) {
            contents.ids.extend(&delta.ids);
            contents.flushes.push(epochs);
        }
        Flushed {
            snapshot: Arc::new(contents.ids.clone()),
            sequence: contents.flushes.len() as u64,
        }
    }

    fn tick_later(&self, sequence: u64) {
        if let Some(tick) = self.tick {
            let durable = self.durable.clone();
            tokio::spawn(async move {
                sleep(tick).await;
                durable.send_modify(|at| *at = sequence.max(*at));
            });
        }
    }
}

impl Contents {
    fn upto(&self, flushes: u64) -> usize {
        match self.flushes[..flushes as usize].last() {
            Some(epochs) => epochs.last.0 as usize,
            None => 0,
        }
    }
}

impl FlushHandler for Store {
    type Delta = Puts;
    type Snapshot = Arc<Vec<u64>>;

    async fn flush(
        &self,
        delta: Arc<Puts>,
        epochs: Epochs,
    ) -> Result<Flushed<Self::Snapshot>, FlushError> {
        sleep(self.flush_time).await;
        match self.next_fault() {
            Fault::None => {}
            Fault::Before => return Err(FlushError::transient("busy")),
            Fault::After => {
                self.put(&delta, epochs);
                return Err(FlushError::transient("answer lost"));
            }
            Fault::Permanent => return Err(FlushError::permanent("disk full")),
            Fault::Hang => std::future::pending().await,
            Fault::Panic => panic!("flush handler told to panic"),
        }
        let flushed = self.put(&delta, epochs);
        self.tick_later(flushed.sequence);
        Ok(flushed)
    }

    async fn sync(&self) -> Result<(), FlushError> {
        let sequence = {
            let mut contents = self.contents.lock().unwrap();
            contents.syncs += 1;
            match contents.sync_faults.pop_front() {
                None | Some(Fault::None) => {}
                Some(Fault::Permanent) => return Err(FlushError::permanent("bad disk")),
                Some(_) => return Err(FlushError::transient("busy")),
            }
            contents.flushes.len() as u64
        };
        self.durable.send_modify(|at| *at = sequence.max(*at));
        Ok(())
    }

    async fn durable_past(&self, sequence: u64) -> Result<(), BoxError> {
        let mut durable = self.durable.subscribe();
        durable.wait_for(|at| *at >= sequence).await?;
        Ok(())
    }

    async fn closed(&self) -> BoxError {
        let mut durable = self.durable.subscribe();
        let closed = durable.wait_for(|_| self.contents.lock().unwrap().closed);
        match closed.await {
            Ok(_) => "fenced by another writer".into(),
            Err(gone) => gone.into(),
        }
    }
}
