//! Finds series by their labels, and what they hold in a stretch of time.

use std::collections::BTreeMap;

use roaring::RoaringBitmap;
use slatedb::DbSnapshot;

use crate::Error;
use crate::birth::Births;
use crate::expire::{first_bucket, read};
use crate::key::{self, Number};
use crate::label::{Labels, NAME};
use crate::merge::decode_bitmap;
use crate::page::{self, Page};
use crate::query::{Matcher, QueryError, Selector};
use crate::sample::{Micros, Summary};
use crate::store::{Meta, scan_options};
use crate::tier::{Bucket, Tier};

/// Below this many series a bucket is read page by page, above it is scanned.
const SCAN_FROM: u64 = 64;

/// How far back the last value before a time is looked for first: most are not older.
const SHORT_WHILE: Micros = 300_000_000;
/// If it is, it is looked for so many times as far.
const FURTHER: Micros = 12;

/// Values that a question may hold in memory, and points that an answer may have.
/// Tests come to fewer of them sooner.
pub(crate) const MOST_VALUES: usize = if cfg!(test) { 20_000 } else { 2_000_000 };

/// A series and what it holds, in order of time.
pub(crate) struct Found {
    pub labels: Labels,
    pub summaries: Vec<Summary>,
}

/// What is asked of series: the time after `after` and up to `upto`, and what of it is told apart.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub after: Micros,
    pub upto: Micros,
    pub apart: Apart,
}

/// What is summed up while it is read. A long time is read in the memory of what is told of it.
#[derive(Clone, Copy)]
pub(crate) enum Apart {
    /// Nothing: every value counts.
    Each,
    /// What no window tells apart: windows this wide end at `first`, then every `step`.
    Windows {
        first: Micros,
        step: Micros,
        window: Micros,
    },
    /// Everything.
    Nothing,
}

impl Apart {
    /// Up to when what follows is summed up with what ends here.
    fn edge(self, until: Micros) -> Micros {
        match self {
            Self::Each => Micros::MIN,
            Self::Windows {
                first,
                step,
                window,
            } => {
                let ends = next_edge(first, step, until);
                ends.min(next_edge(first.saturating_sub(window), step, until))
            }
            Self::Nothing => Micros::MAX,
        }
    }
}

/// The first of `first`, `first + step`, … that is not before `at`.
fn next_edge(first: Micros, step: Micros, at: Micros) -> Micros {
    let [first, step, at] = [first, step, at].map(i128::from);
    let steps = (at - first + step - 1).div_euclid(step).max(0);
    Micros::try_from(first + steps * step).unwrap_or(Micros::MAX)
}

/// What series hold, as far as it is read.
struct Held {
    asked: Asked,
    of: BTreeMap<Number, OfOne>,
    values: usize,
}

struct OfOne {
    summaries: Vec<Summary>,
    /// What ends up to here belongs to the last of them.
    edge: Micros,
}

impl Held {
    fn new(asked: Asked) -> Self {
        Self {
            asked,
            of: BTreeMap::new(),
            values: 0,
        }
    }

    /// Adds what follows in time.
    fn add(&mut self, number: Number, summaries: Vec<Summary>) -> Result<(), QueryError> {
        let Asked { after, upto, apart } = self.asked;
        for summary in summaries {
            if summary.until <= after || summary.until > upto {
                continue;
            }
            let held = self.of.entry(number).or_insert_with(|| OfOne {
                summaries: vec![],
                edge: Micros::MIN,
            });
            match held.summaries.last_mut() {
                Some(last) if summary.until <= held.edge => *last = last.then(summary),
                _ => {
                    held.summaries.push(summary);
                    held.edge = apart.edge(summary.until);
                    self.values += 1;
                }
            }
        }
        self.check()
    }

    fn add_before(&mut self, number: Number, summary: Summary) -> Result<(), QueryError> {
        if let Some(held) = self.of.get_mut(&number) {
            held.summaries.insert(0, summary);
            self.values += 1;
        }
        self.check()
    }

    fn check(&self) -> Result<(), QueryError> {
        match self.values > MOST_VALUES {
            true => Err(QueryError::TooMuch { most: MOST_VALUES }),
            false => Ok(()),
        }
    }
}

/// Time that is looked for in one tier, up to `end` and without it.
struct Stretch {
    tier: Tier,
    from: Micros,
    end: Micros,
}

pub(crate) struct Reader<'a> {
    snapshot: &'a DbSnapshot,
    meta: Meta,
}

impl<'a> Reader<'a> {
    pub async fn new(snapshot: &'a DbSnapshot) -> Result<Self, Error> {
        let meta = Meta::read(snapshot).await?;
        Ok(Self { snapshot, meta })
    }

    /// What the selected series hold of the time asked for.
    pub async fn find(&self, selector: &Selector, asked: Asked) -> Result<Vec<Found>, Error> {
        let numbers = self.select(selector).await?;
        let held = self.read_numbers(&numbers, asked).await?;
        self.named(held).await
    }

    /// The same, and of each series that holds anything there the last before, however old.
    pub async fn find_rising(
        &self,
        selector: &Selector,
        asked: Asked,
    ) -> Result<Vec<Found>, Error> {
        let numbers = self.select(selector).await?;
        let mut held = self.read_numbers(&numbers, asked).await?;
        let mut wanted: RoaringBitmap = held.of.keys().map(|number| number.0).collect();
        let (mut reach, mut known) = (SHORT_WHILE, asked.after);
        while !wanted.is_empty() && known > 0 {
            let from = asked.after.saturating_sub(reach);
            for (number, last) in self.last_of_each(&mut wanted, from, known).await? {
                held.add_before(number, last)?;
            }
            (reach, known) = (reach.saturating_mul(FURTHER), from);
            self.give_up_unborn(&mut wanted, known).await?;
        }
        self.named(held).await
    }

    /// What each holds last up to `upto`, of what is looked for from `from` on. What is found is
    /// wanted no longer.
    async fn last_of_each(
        &self,
        wanted: &mut RoaringBitmap,
        from: Micros,
        upto: Micros,
    ) -> Result<Vec<(Number, Summary)>, Error> {
        let mut found = vec![];
        let asked = Asked {
            after: Micros::MIN,
            upto,
            apart: Apart::Nothing,
        };
        // Newest first, and page by page however many are wanted: most are found soon.
        for stretch in self.stretches(from, upto).into_iter().rev() {
            for bucket in self.buckets(stretch).await?.into_iter().rev() {
                let mut held = Held::new(asked);
                self.read_pages(bucket, wanted, &mut held).await?;
                for (number, of_one) in held.of {
                    found.extend(of_one.summaries.last().map(|last| (number, *last)));
                    wanted.remove(number.0);
                }
            }
        }
        Ok(found)
    }

    /// Those that began at `known` or later have nothing before it to be found.
    async fn give_up_unborn(&self, wanted: &mut RoaringBitmap, known: Micros) -> Result<(), Error> {
        let mut unborn = RoaringBitmap::new();
        for page in pages(wanted) {
            let births = Births::read(self.snapshot, page).await?;
            let numbers = (0..page::SERIES).map(|place| page.number(place));
            unborn.extend(numbers.filter(|n| births.of(*n) >= known).map(|n| n.0));
        }
        *wanted -= unborn;
        Ok(())
    }

    /// Of those that hold anything of the time asked for.
    async fn read_numbers(&self, numbers: &RoaringBitmap, asked: Asked) -> Result<Held, Error> {
        let mut held = Held::new(asked);
        if !numbers.is_empty() {
            for stretch in self.stretches(asked.after, asked.upto) {
                for bucket in self.buckets(stretch).await? {
                    self.read_bucket(bucket, numbers, &mut held).await?;
                }
            }
        }
        Ok(held)
    }

    async fn named(&self, held: Held) -> Result<Vec<Found>, Error> {
        let mut found = vec![];
        for (number, OfOne { summaries, .. }) in held.of {
            let labels = self.labels(number).await?;
            found.push(Found { labels, summaries });
        }
        found.sort_by(|a, b| a.labels.cmp(&b.labels));
        Ok(found)
    }

    /// How finely the time from `after` on is kept: two windows of the coarsest tier in it.
    pub fn grain(&self, after: Micros) -> Micros {
        let coarsest = Tier::ALL
            .into_iter()
            .find(|tier| self.meta.horizon(*tier) <= after)
            .unwrap_or(Tier::Hours);
        match coarsest {
            Tier::Samples => 0,
            tier => 2 * tier.window(),
        }
    }

    /// The numbers of the series a selector means.
    async fn select(&self, selector: &Selector) -> Result<RoaringBitmap, Error> {
        let mut numbers = self.equal(NAME, &selector.figure).await?;
        for matcher in &selector.matchers {
            if numbers.is_empty() {
                break;
            }
            match matcher {
                Matcher::Is(label, value) if !value.is_empty() => {
                    numbers &= self.equal(label, value).await?;
                }
                // Without the label a series matches as if its value were empty.
                matcher => numbers -= self.unlike(matcher, &numbers).await?,
            }
        }
        Ok(numbers)
    }

    async fn equal(&self, label: &str, value: &str) -> Result<RoaringBitmap, Error> {
        match self.snapshot.get(key::pair(label, value)).await? {
            Some(bitmap) => decode_bitmap(&bitmap),
            None => Ok(RoaringBitmap::new()),
        }
    }

    /// Those of `among` that a matcher does not accept.
    async fn unlike(
        &self,
        matcher: &Matcher,
        among: &RoaringBitmap,
    ) -> Result<RoaringBitmap, Error> {
        let label = matcher.label();
        let (mut with_label, mut unlike) = (RoaringBitmap::new(), RoaringBitmap::new());
        let mut values = self.snapshot.scan_prefix(key::pairs(label), ..).await?;
        while let Some(record) = values.next().await? {
            let value = key::value_of(&record.key, label)
                .ok_or_else(|| Error::corrupt("a key of a label"))?;
            let carriers = decode_bitmap(&record.value)?;
            if !matcher.accepts(value) {
                unlike |= &carriers;
            }
            with_label |= carriers;
        }
        if !matcher.accepts("") {
            unlike |= among - with_label;
        }
        Ok(unlike)
    }

    async fn labels(&self, number: Number) -> Result<Labels, Error> {
        let stored = self.snapshot.get(key::labels_of(number)).await?;
        stored
            .and_then(|bytes| Labels::decode(&bytes))
            .ok_or_else(|| Error::corrupt(format!("the labels of series {}", number.0)))
    }

    /// Where each tier may hold something, from old to new.
    fn stretches(&self, after: Micros, upto: Micros) -> Vec<Stretch> {
        let mut stretches = vec![];
        let mut end = upto.saturating_add(1);
        for tier in Tier::ALL {
            let from = self.meta.horizon(tier).max(after).max(0);
            if from < end {
                stretches.push(Stretch { tier, from, end });
            }
            // What a finer tier holds no longer is in the next.
            end = end.min(self.meta.horizon(tier));
        }
        stretches.reverse();
        stretches
    }

    /// Goes from one bucket that holds anything to the next: a stretch may be as long as one asks.
    async fn buckets(&self, Stretch { tier, from, end }: Stretch) -> Result<Vec<Bucket>, Error> {
        let mut buckets = vec![];
        let mut next = first_bucket(self.snapshot, tier, from).await?;
        while let Some(bucket) = next.filter(|bucket| bucket.start() < end) {
            buckets.push(bucket);
            next = first_bucket(self.snapshot, tier, bucket.end()).await?;
        }
        Ok(buckets)
    }

    async fn read_bucket(
        &self,
        bucket: Bucket,
        numbers: &RoaringBitmap,
        held: &mut Held,
    ) -> Result<(), Error> {
        if numbers.len() >= SCAN_FROM {
            return self.scan_bucket(bucket, numbers, held).await;
        }
        self.read_pages(bucket, numbers, held).await
    }

    async fn read_pages(
        &self,
        bucket: Bucket,
        numbers: &RoaringBitmap,
        held: &mut Held,
    ) -> Result<(), Error> {
        for page in pages(numbers) {
            if let Some(value) = self.snapshot.get(key::samples(bucket, page)).await? {
                take_in((bucket, page), &value, numbers, held)?;
            }
        }
        Ok(())
    }

    async fn scan_bucket(
        &self,
        bucket: Bucket,
        numbers: &RoaringBitmap,
        held: &mut Held,
    ) -> Result<(), Error> {
        let prefix = key::samples_in(bucket);
        let mut records = self
            .snapshot
            .scan_prefix_with_options(prefix, .., &scan_options())
            .await?;
        while let Some(record) = records.next().await? {
            let (_, page) =
                key::read_samples(&record.key).ok_or_else(|| Error::corrupt("a key of samples"))?;
            take_in((bucket, page), &record.value, numbers, held)?;
        }
        Ok(())
    }
}

/// The pages that these are on.
fn pages(numbers: &RoaringBitmap) -> Vec<Page> {
    let mut pages: Vec<Page> = numbers.iter().map(Number).map(Page::of).collect();
    pages.dedup();
    pages
}

/// Adds what a page has of some series to what they hold.
fn take_in(
    (bucket, page): (Bucket, Page),
    value: &[u8],
    numbers: &RoaringBitmap,
    held: &mut Held,
) -> Result<(), Error> {
    for (place, part) in page::parts(value)? {
        let number = page.number(place);
        if numbers.contains(number.0) {
            held.add(number, read(bucket.tier, part)?)?;
        }
    }
    Ok(())
}
