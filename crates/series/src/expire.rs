//! Moves what has become too old to the next tier, or out.

use slatedb::{Db, DbReadOps, KeyValue};

use crate::codec::{decode_samples, decode_summaries, encode_summaries};
use crate::flush::Draft;
use crate::key;
use crate::page::{self, Page};
use crate::sample::{Micros, Summary};
use crate::store::{Meta, scan_options};
use crate::tier::{Bucket, Tier};
use crate::{Error, Settings};

/// The buckets of a tier that are too old now, oldest first.
pub(crate) async fn due(
    db: &Db,
    meta: &Meta,
    settings: &Settings,
    tier: Tier,
    now: Micros,
) -> Result<Vec<Bucket>, Error> {
    let mut due = vec![];
    let oldest = now.saturating_sub(tier.keep(settings));
    let mut next = first_bucket(db, tier, meta.horizon(tier)).await?;
    while let Some(bucket) = next.filter(|bucket| bucket.end() <= oldest) {
        due.push(bucket);
        next = first_bucket(db, tier, bucket.end()).await?;
    }
    Ok(due)
}

/// The first bucket at or after a time that holds anything: gaps cost nothing.
pub(crate) async fn first_bucket(
    store: &(impl DbReadOps + Sync),
    tier: Tier,
    from: Micros,
) -> Result<Option<Bucket>, Error> {
    let Some(bucket) = tier.bucket(from) else {
        return Ok(None);
    };
    let first = key::samples_in(bucket);
    let end = [key::SAMPLES, tier as u8 + 1];
    let mut keys = store.scan(first.to_vec()..end.to_vec()).await?;
    let found = keys.next().await?;
    Ok(found.and_then(|found| Some(key::read_samples(&found.key)?.0)))
}

/// Replaces a bucket by its summaries in the next tier, for every series in it.
pub(crate) async fn thin_out(db: &Db, bucket: Bucket, draft: &mut Draft) -> Result<(), Error> {
    let mut records = db
        .scan_prefix_with_options(key::samples_in(bucket), .., &scan_options())
        .await?;
    while let Some(record) = records.next().await? {
        let (_, page) =
            key::read_samples(&record.key).ok_or_else(|| Error::corrupt("a key of samples"))?;
        if let Some(tier) = bucket.tier.next() {
            summarise((bucket, page), &record, tier, draft)?;
        }
        draft.batch.delete(&record.key);
    }
    draft.set_horizon(bucket);
    Ok(())
}

fn summarise(
    (from, page): (Bucket, Page),
    record: &KeyValue,
    tier: Tier,
    draft: &mut Draft,
) -> Result<(), Error> {
    let mut summed_up = page::empty();
    for (place, held) in page::parts(&record.value)? {
        let summaries = by_window(&read(from.tier, held)?, tier.window());
        page::push(&mut summed_up, place, &encode_summaries(&summaries));
    }
    let bucket = tier.bucket(from.start()).expect("a later tier is coarser");
    draft.batch.merge(key::samples(bucket, page), summed_up);
    Ok(())
}

/// What a series holds in any tier as summaries; a sample is a summary of one.
pub(crate) fn read(tier: Tier, held: &[u8]) -> Result<Vec<Summary>, Error> {
    match tier {
        Tier::Samples => Ok(decode_samples(held)?.into_iter().map(Into::into).collect()),
        Tier::Minutes | Tier::Hours => decode_summaries(held),
    }
}

fn by_window(summaries: &[Summary], window: Micros) -> Vec<Summary> {
    summaries
        .chunk_by(|a, b| a.since.div_euclid(window) == b.since.div_euclid(window))
        .filter_map(|same| same.iter().copied().reduce(Summary::then))
        .collect()
}
