//! Takes a delta of samples to the store, as one batch.
//!
//! New series are numbered here and nowhere else, one flush at a time: two first
//! writes of a series meet in one delta or in two flushes, and get one number
//! either way. Dictionary, labels, bitmaps and samples go in the same batch, so
//! no sample is ever without its series.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use coordinator::{BoxError, Epochs, FlushError, FlushHandler, Flushed};
use roaring::RoaringBitmap;
use slatedb::{Db, DbSnapshot, ErrorKind, WriteBatch};
use tokio::sync::Mutex;

use crate::birth::Births;
use crate::codec::encode_samples;
use crate::delta::Samples;
use crate::key::{self, Number};
use crate::label::{ByFingerprint, Fingerprint, Labels};
use crate::merge::{encode_bitmap, latest_of_each};
use crate::page::{self, Page};
use crate::sample::Sample;
use crate::store::{Meta, scan_options};
use crate::tier::{Bucket, Tier};
use crate::{Error, Settings, expire};

/// Numbers remembered, about 64 MB of them; beyond it they are read from the store.
const REMEMBERED: usize = 1 << 20;

pub(crate) struct Slate {
    pub db: Db,
    pub settings: Settings,
    pub horizon: Arc<AtomicI64>,
    /// Samples that were accepted before the horizon had passed them.
    pub overtaken: AtomicU64,
    state: Mutex<State>,
}

/// What the last flush left. Changed only after the store has taken a batch.
struct State {
    meta: Meta,
    numbers: ByFingerprint<Number>,
    /// `numbers` holds every series there is: one that is not in it is new.
    complete: bool,
    /// Of pages that were written to.
    births: BTreeMap<Page, Births>,
}

/// A batch in the making, with what becomes true once it is written.
pub(crate) struct Draft {
    pub batch: WriteBatch,
    pub meta: Meta,
    overtaken: u64,
    fresh: ByFingerprint<Number>,
    /// Of every page it writes to.
    births: BTreeMap<Page, Births>,
    pairs: BTreeMap<Vec<u8>, RoaringBitmap>,
}

impl Slate {
    pub async fn new(db: Db, settings: Settings, meta: Meta) -> Result<Self, Error> {
        let numbers = remember(&db, &meta).await?;
        Ok(Self {
            db,
            settings,
            horizon: Arc::new(AtomicI64::new(meta.horizon(Tier::Samples))),
            overtaken: AtomicU64::new(0),
            state: Mutex::new(State {
                meta,
                complete: numbers.is_some(),
                numbers: numbers.unwrap_or_default(),
                births: BTreeMap::new(),
            }),
        })
    }

    async fn draft(&self, state: &State, delta: &Samples, flush: u64) -> Result<Draft, Error> {
        let mut draft = Draft::new(&state.meta, flush);
        let mut numbers = Vec::with_capacity(delta.series.len());
        for labels in &delta.series {
            let number = match state.numbers.get(&labels.fingerprint()) {
                Some(number) => *number,
                // Tried again after a lost answer, the same delta gives the same numbers.
                None if state.complete => draft.add_series(labels),
                None => self.number(&mut draft, labels).await?,
            };
            numbers.push(number);
        }
        draft.births = self.births(state, &numbers).await?;
        let numbered = delta.samples.iter();
        draft.add_samples(numbered.map(|(place, sample)| (numbers[*place as usize], *sample)));
        if state.meta.flush == flush {
            // Tried again: what is too old by now was in time when it was written.
            draft.overtaken = 0;
        }
        draft.finish();
        Ok(draft)
    }

    /// The number of a series that is not remembered: from the store, or a new one.
    async fn number(&self, draft: &mut Draft, labels: &Labels) -> Result<Number, Error> {
        let fingerprint = labels.fingerprint();
        let number = match self.db.get(key::number_of(fingerprint)).await? {
            Some(stored) => read_number(&stored)?,
            None => draft.add_series(labels),
        };
        draft.fresh.insert(fingerprint, number);
        Ok(number)
    }

    /// When the series of these pages began, as far as it is known before this flush.
    async fn births(
        &self,
        state: &State,
        numbers: &[Number],
    ) -> Result<BTreeMap<Page, Births>, Error> {
        let mut pages: Vec<Page> = numbers.iter().copied().map(Page::of).collect();
        pages.sort_unstable();
        pages.dedup();
        let is_new = |number: Number| number.0 >= state.meta.next_number;
        let mut births = BTreeMap::new();
        for page in pages {
            let known = match state.births.get(&page) {
                Some(known) => known.clone(),
                None if is_new(page.number(0)) => Births::unknown(),
                None => Births::read(&self.db, page).await?,
            };
            births.insert(page, known);
        }
        for number in numbers.iter().filter(|number| is_new(**number)) {
            let of_page = births.entry(Page::of(*number));
            of_page.or_insert_with(Births::unknown).add(*number);
        }
        Ok(births)
    }

    async fn write(&self, draft: Draft, state: &mut State) -> Result<u64, Error> {
        let Draft {
            batch,
            meta,
            overtaken,
            fresh,
            births,
            ..
        } = draft;
        #[expect(clippy::disallowed_methods, reason = "this is the flush")]
        let written = durable::effect("series.flush", self.db.write(batch)).await?;
        if state.numbers.len() + fresh.len() > REMEMBERED {
            state.numbers.clear();
            state.complete = false;
        }
        state.numbers.extend(fresh);
        if state.births.len() + births.len() > REMEMBERED / page::SERIES {
            state.births.clear();
        }
        state.births.extend(births);
        state.meta = meta;
        let horizon = state.meta.horizon(Tier::Samples);
        self.horizon.store(horizon, Ordering::Relaxed);
        self.overtaken.fetch_add(overtaken, Ordering::Relaxed);
        Ok(written.seqnum())
    }

    /// What made the store close. Its status says of every error that something panicked; the
    /// error itself is what it answers to everything since.
    fn died_of(&self) -> BoxError {
        match self.db.snapshot() {
            Err(cause) => cause.into(),
            Ok(_) => "the store is gone".into(),
        }
    }

    async fn put(
        &self,
        delta: &Samples,
        epochs: Epochs,
    ) -> Result<Flushed<Arc<DbSnapshot>>, Error> {
        let mut state = self.state.lock().await;
        let draft = self.draft(&state, delta, epochs.last.0).await?;
        let mut sequence = self.write(draft, &mut state).await?;
        if let Some(now) = delta.expire {
            // The finest first: what moves on may be too old for the next tier as well.
            for tier in Tier::ALL {
                for bucket in expire::due(&self.db, &state.meta, &self.settings, tier, now).await? {
                    let mut draft = Draft::new(&state.meta, epochs.last.0);
                    expire::thin_out(&self.db, bucket, &mut draft).await?;
                    sequence = self.write(draft, &mut state).await?;
                }
            }
        }
        Ok(Flushed {
            snapshot: self.db.snapshot()?,
            sequence,
        })
    }
}

/// The numbers of all series, if they are few enough.
async fn remember(db: &Db, meta: &Meta) -> Result<Option<ByFingerprint<Number>>, Error> {
    if meta.next_number as usize > REMEMBERED {
        return Ok(None);
    }
    let mut numbers = ByFingerprint::default();
    numbers.reserve(meta.next_number as usize);
    let mut records = db
        .scan_prefix_with_options([key::NUMBERS], .., &scan_options())
        .await?;
    while let Some(record) = records.next().await? {
        let fingerprint = record.key[1..].try_into();
        let fingerprint = fingerprint.map_err(|_| Error::corrupt("a key of a series"))?;
        numbers.insert(Fingerprint(fingerprint), read_number(&record.value)?);
    }
    Ok(Some(numbers))
}

fn read_number(bytes: &[u8]) -> Result<Number, Error> {
    let bytes = bytes.try_into();
    let bytes = bytes.map_err(|_| Error::corrupt("the number of a series"))?;
    Ok(Number(u32::from_be_bytes(bytes)))
}

impl Draft {
    fn new(meta: &Meta, flush: u64) -> Self {
        Self {
            batch: WriteBatch::new(),
            meta: Meta {
                flush,
                ..meta.clone()
            },
            overtaken: 0,
            fresh: ByFingerprint::default(),
            births: BTreeMap::new(),
            pairs: BTreeMap::new(),
        }
    }

    fn add_series(&mut self, labels: &Labels) -> Number {
        let fingerprint = labels.fingerprint();
        let number = Number(self.meta.next_number);
        self.meta.next_number += 1;
        self.fresh.insert(fingerprint, number);
        let id = number.0.to_be_bytes();
        self.batch.put(key::number_of(fingerprint), id);
        self.batch.put(key::labels_of(number), labels.encode());
        for (name, value) in labels.pairs() {
            let bitmap = self.pairs.entry(key::pair(name, value)).or_default();
            bitmap.insert(number.0);
        }
        number
    }

    fn add_samples(&mut self, samples: impl Iterator<Item = (Number, Sample)>) {
        // A sample may be overtaken by the horizon after it was checked; its bucket is gone then.
        let horizon = self.meta.horizon(Tier::Samples);
        let mut placed: Vec<(Bucket, Number, Sample)> = vec![];
        for (number, sample) in samples {
            if sample.at < horizon {
                self.overtaken += 1;
                continue;
            }
            let bucket = Tier::Samples.bucket(sample.at);
            placed.push((bucket.expect("checked by the delta"), number, sample));
        }
        // In the order of their keys; those of a series stay as they were recorded.
        placed.sort_by_key(|(bucket, number, _)| (*bucket, *number));
        let record = |of: &(Bucket, Number, Sample)| (of.0, Page::of(of.1));
        for together in placed.chunk_by(|a, b| record(a) == record(b)) {
            let (bucket, at) = record(&together[0]);
            let births = self.births.get_mut(&at).expect("read for every page");
            let mut page = page::empty();
            for of_one in together.chunk_by(|a, b| a.1 == b.1) {
                let samples = of_one.iter().map(|(_, _, sample)| *sample).collect();
                let samples = encode_samples(&latest_of_each(samples, |sample| sample.at));
                page::push(&mut page, page::place(of_one[0].1), &samples);
                births.note(of_one[0].1, bucket);
            }
            self.batch.merge(key::samples(bucket, at), page);
        }
    }

    /// A tier holds nothing from before the end of this bucket any more. Nor do finer ones take
    /// anything: thinned out, it would come to where nobody looks.
    pub fn set_horizon(&mut self, emptied: Bucket) {
        for horizon in &mut self.meta.horizons[..=emptied.tier as usize] {
            *horizon = emptied.end().max(*horizon);
        }
        self.batch.put(key::META, self.meta.encode());
    }

    fn finish(&mut self) {
        for (pair, numbers) in std::mem::take(&mut self.pairs) {
            self.batch.merge(pair, encode_bitmap(&numbers));
        }
        for (page, births) in self.births.iter_mut().filter(|(_, births)| births.changed) {
            self.batch.put(key::births(*page), births.encode());
            // Remembered once the store has it.
            births.changed = false;
        }
        self.batch.put(key::META, self.meta.encode());
    }
}

impl FlushHandler for Slate {
    type Delta = Samples;
    type Snapshot = Arc<DbSnapshot>;

    async fn flush(
        &self,
        delta: Arc<Samples>,
        epochs: Epochs,
    ) -> Result<Flushed<Self::Snapshot>, FlushError> {
        self.put(&delta, epochs).await.map_err(flush_error)
    }

    async fn sync(&self) -> Result<(), FlushError> {
        #[expect(clippy::disallowed_methods, reason = "this is the flush")]
        let synced = durable::effect("series.sync", self.db.flush()).await;
        synced.map_err(|error| flush_error(error.into()))
    }

    async fn durable_past(&self, sequence: u64) -> Result<(), BoxError> {
        let mut status = self.db.subscribe();
        let reached = status.wait_for(|at| at.durable_seq >= sequence || at.close_reason.is_some());
        match reached.await.is_ok_and(|at| at.durable_seq >= sequence) {
            true => Ok(()),
            false => Err(self.died_of()),
        }
    }

    async fn closed(&self) -> BoxError {
        let mut status = self.db.subscribe();
        // An error would mean that it is gone, which is all the same.
        drop(status.wait_for(|at| at.close_reason.is_some()).await);
        self.died_of()
    }
}

fn flush_error(error: Error) -> FlushError {
    let again = match &error {
        Error::Read(cause) => matches!(
            cause.kind(),
            ErrorKind::Unavailable | ErrorKind::Transaction
        ),
        _ => false,
    };
    match again {
        true => FlushError::transient(error),
        false => FlushError::permanent(error),
    }
}
