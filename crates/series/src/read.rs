//! Finds series by their labels, and what they hold in a stretch of time.

use std::collections::BTreeMap;

use roaring::RoaringBitmap;
use slatedb::DbSnapshot;

use crate::Error;
use crate::expire::{first_bucket, read};
use crate::key::{self, Number};
use crate::label::{Labels, NAME};
use crate::merge::decode_bitmap;
use crate::page::{self, Page};
use crate::query::{Matcher, Selector};
use crate::sample::{Micros, Summary};
use crate::store::{Meta, scan_options};
use crate::tier::{Bucket, Tier};

/// Below this many series a bucket is read page by page, above it is scanned.
const SCAN_FROM: u64 = 64;

/// How far back the last value before a time is looked for first: most are not older.
const SHORT_WHILE: Micros = 300_000_000;
/// If it is, it is looked for so many times as far.
const FURTHER: Micros = 12;

/// A series and what it holds, in order of time.
pub(crate) struct Found {
    pub labels: Labels,
    pub summaries: Vec<Summary>,
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

    /// What the selected series hold after `after` and up to `upto`.
    pub async fn find(
        &self,
        selector: &Selector,
        after: Micros,
        upto: Micros,
    ) -> Result<Vec<Found>, Error> {
        let numbers = self.select(selector).await?;
        let held = self.read_numbers(&numbers, after, upto).await?;
        self.named(held).await
    }

    /// The same, and of each series that holds anything there the last before, however old.
    pub async fn find_rising(
        &self,
        selector: &Selector,
        after: Micros,
        upto: Micros,
    ) -> Result<Vec<Found>, Error> {
        let numbers = self.select(selector).await?;
        let mut held = self.read_numbers(&numbers, after, upto).await?;
        let mut wanted: RoaringBitmap = held.keys().map(|number| number.0).collect();
        let (mut reach, mut known) = (SHORT_WHILE, after);
        while !wanted.is_empty() && known > 0 {
            let from = after.saturating_sub(reach);
            for (number, mut earlier) in self.read_numbers(&wanted, from, known).await? {
                let last = earlier.pop().expect("what holds nothing is left out");
                held.entry(number).or_default().insert(0, last);
                wanted.remove(number.0);
            }
            (reach, known) = (reach.saturating_mul(FURTHER), from);
        }
        self.named(held).await
    }

    /// Of those that hold anything after `after` and up to `upto`.
    async fn read_numbers(
        &self,
        numbers: &RoaringBitmap,
        after: Micros,
        upto: Micros,
    ) -> Result<BTreeMap<Number, Vec<Summary>>, Error> {
        let mut held: BTreeMap<Number, Vec<Summary>> = BTreeMap::new();
        if !numbers.is_empty() {
            for stretch in self.stretches(after, upto) {
                self.read_stretch(stretch, numbers, &mut held).await?;
            }
        }
        for summaries in held.values_mut() {
            summaries.retain(|summary| summary.until > after && summary.until <= upto);
        }
        held.retain(|_, summaries| !summaries.is_empty());
        Ok(held)
    }

    async fn named(&self, held: BTreeMap<Number, Vec<Summary>>) -> Result<Vec<Found>, Error> {
        let mut found = vec![];
        for (number, summaries) in held {
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
    async fn read_stretch(
        &self,
        Stretch { tier, from, end }: Stretch,
        numbers: &RoaringBitmap,
        held: &mut BTreeMap<Number, Vec<Summary>>,
    ) -> Result<(), Error> {
        let mut next = first_bucket(self.snapshot, tier, from).await?;
        while let Some(bucket) = next.filter(|bucket| bucket.start() < end) {
            self.read_bucket(bucket, numbers, held).await?;
            next = first_bucket(self.snapshot, tier, bucket.end()).await?;
        }
        Ok(())
    }

    async fn read_bucket(
        &self,
        bucket: Bucket,
        numbers: &RoaringBitmap,
        held: &mut BTreeMap<Number, Vec<Summary>>,
    ) -> Result<(), Error> {
        if numbers.len() >= SCAN_FROM {
            return self.scan_bucket(bucket, numbers, held).await;
        }
        let mut pages: Vec<Page> = numbers.iter().map(Number).map(Page::of).collect();
        pages.dedup();
        for page in pages {
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
        held: &mut BTreeMap<Number, Vec<Summary>>,
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

/// Adds what a page has of some series to what they hold.
fn take_in(
    (bucket, page): (Bucket, Page),
    value: &[u8],
    numbers: &RoaringBitmap,
    held: &mut BTreeMap<Number, Vec<Summary>>,
) -> Result<(), Error> {
    for (place, part) in page::parts(value)? {
        let number = page.number(place);
        if numbers.contains(number.0) {
            let held = held.entry(number).or_default();
            held.extend(read(bucket.tier, part)?);
        }
    }
    Ok(())
}
