//! What is there after a crash, and who is who.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use coordinator::FlushHandler;
use futures::TryStreamExt;
use object_store::{ObjectStore, ObjectStoreExt};
use slatedb::Db;
use testkit::Disk;

use super::{START, inside, labels, memory, open, settings};
use crate::flush::Slate;
use crate::key::{self, Number};
use crate::label::Labels;
use crate::merge::decode_bitmap;
use crate::page::{self, Page};
use crate::query::Range;
use crate::store::Meta;
use crate::{Error, Line, Series};

/// Every number a record of samples names, after checking that its series is all there.
async fn whole_series(db: &Db) -> BTreeSet<Number> {
    let mut numbers = BTreeSet::new();
    let mut records = db.scan_prefix([key::SAMPLES], ..).await.unwrap();
    while let Some(record) = records.next().await.unwrap() {
        let (_, page) = key::read_samples(&record.key).unwrap();
        for (place, _) in page::parts(&record.value).unwrap() {
            numbers.insert(page.number(place));
        }
    }
    for number in &numbers {
        let labels = db.get(key::labels_of(*number)).await.unwrap();
        let labels = Labels::decode(&labels.expect("a sample has its series")).unwrap();
        let named = db.get(key::number_of(labels.fingerprint())).await.unwrap();
        assert_eq!(named.unwrap().as_ref(), number.0.to_be_bytes());
        for (name, value) in labels.pairs() {
            let carriers = db.get(key::pair(name, value)).await.unwrap().unwrap();
            assert!(decode_bitmap(&carriers).unwrap().contains(number.0));
        }
    }
    numbers
}

/// Writes rounds of new and old series and gives back how many rounds were said to be durable.
async fn write_until_the_power_goes(objects: Arc<dyn ObjectStore>) -> u64 {
    let Ok(series) = Series::open(objects, settings()).await else {
        return 0;
    };
    for round in 0..5u64 {
        for kb in 0..=round {
            series.record(
                &labels("documents_total", &kb.to_string()),
                START + round as i64,
                round as f64,
            );
        }
        if series.sync().await.is_err() {
            return round;
        }
    }
    5
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_leaves_no_sample_without_its_series() {
    for writes_left in 0..12 {
        let objects = memory();
        let disk = disk(&objects);
        disk.leave(writes_left);
        let durable = write_until_the_power_goes(disk).await;
        let db = inside(&objects).await;
        let whole = whole_series(&db).await;
        assert!(whole.len() as u64 >= durable, "cut at {writes_left}");
        db.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_synced_is_gone_whole_and_its_numbers_are_given_again() {
    let objects = memory();
    let before = open(&objects).await;
    before.record(&labels("up", "kept"), START, 1.0);
    before.sync().await.unwrap();
    before.record(&labels("up", "lost"), START, 1.0);
    // Opening again fences the first handle: as after a crash, it can write no more.
    let after = open(&objects).await;
    after.record(&labels("up", "next"), START, 1.0);
    after.close().await.unwrap();
    assert!(before.sync().await.is_err());
    let db = inside(&objects).await;
    assert_eq!(whole_series(&db).await, [1, 2].map(Number).into());
    db.close().await.unwrap();
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(|cause| format!("{cause}; ")).collect()
}

fn disk(objects: &Arc<dyn ObjectStore>) -> Arc<Disk> {
    // SlateDB does not try this again: no test waits for the disk to be emptied.
    let refusal = |cause: io::Error| object_store::Error::NotSupported {
        source: cause.into(),
    };
    Disk::roomy(Arc::clone(objects), io::ErrorKind::StorageFull, refusal)
}

fn is_full(told: &str) -> bool {
    told.contains(&io::Error::from(io::ErrorKind::StorageFull).to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_named_as_what_ended_the_store() {
    let disk = disk(&memory());
    let series = Series::open(Arc::clone(&disk) as Arc<dyn ObjectStore>, settings());
    let series = series.await.unwrap();
    let up = labels("up", "x");
    series.record(&up, START, 1.0);
    series.sync().await.unwrap();
    disk.leave(0);
    series.record(&up, START + 1, 1.0);
    for told in [
        series.sync().await.unwrap_err(),
        series.write(&up, START + 2, 1.0).await.unwrap_err(),
        series.close().await.unwrap_err(),
    ] {
        let told = with_causes(&told);
        assert!(is_full(&told), "{told}");
    }
}

/// What is recorded and logged where nobody waits: the test above may be told by the flush itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_a_full_disk_has_closed_says_so() {
    let disk = disk(&memory());
    let db = inside(&(Arc::clone(&disk) as Arc<dyn ObjectStore>)).await;
    let meta = Meta::read(&db).await.unwrap();
    let slate = Slate::new(db, settings(), meta).await.unwrap();
    disk.leave(0);
    // Accepted or refused: the disk is asked either way.
    drop(slate.db.put(b"x", b"").await);
    for told in [
        slate.closed().await,
        slate.durable_past(u64::MAX).await.unwrap_err(),
    ] {
        let told = with_causes(&*told);
        assert!(is_full(&told), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_first_writes_of_a_series_give_one_number() {
    let objects = memory();
    let series = open(&objects).await;
    let writers = (0..16).map(|writer| {
        let series = series.clone();
        tokio::spawn(async move {
            for n in 0..20 {
                // Labels of its own each time: nothing is shared but what they say.
                let at = START + writer * 100 + n;
                series.record(&labels("up", "x"), at, 1.0);
                if n % 5 == 0 {
                    series.sync().await.unwrap();
                }
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    series.close().await.unwrap();

    let series = open(&objects).await;
    series.record(&labels("up", "x"), START + 5_000, 1.0);
    series.sync().await.unwrap();
    let range = Range {
        from: START + 10_000,
        to: START + 10_000,
        step: 1,
    };
    let lines = series.query("increase(up[1s])", range).await.unwrap();
    assert_eq!(lines.len(), 1);
    series.close().await.unwrap();
    let db = inside(&objects).await;
    assert_eq!(whole_series(&db).await.len(), 1);
    let bucket = crate::tier::Tier::Samples.bucket(START).unwrap();
    let stored = db.get(key::samples(bucket, Page(0))).await.unwrap();
    let stored = stored.unwrap();
    let [(1, held)] = page::parts(&stored).unwrap()[..] else {
        panic!("the page holds another series than the first");
    };
    assert_eq!(
        crate::codec::decode_samples(held).unwrap().len(),
        16 * 20 + 1
    );
    db.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_told_or_does_no_harm() {
    let mut told = 0;
    for tenth in 0..10 {
        let objects = memory();
        let series = open(&objects).await;
        series.record(&labels("up", "x"), START, 1.0);
        series.close().await.unwrap();
        damage_tables(&objects, tenth).await;
        match ask_up(objects).await {
            Ok(lines) => assert_eq!(lines[0].points, [(START, 1.0)], "{tenth} tenths in"),
            Err(error) if error.is_damage() => told += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(told > 0, "some of the damage was where figures are");
}

/// A manifest is read on trust. Whatever the library does then, a panic included: what is asked is
/// answered with what was written, or with an error that tells of damage.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_manifest_is_told() {
    let objects = memory();
    let series = open(&objects).await;
    series.record(&labels("up", "x"), START, 1.0);
    series.close().await.unwrap();
    let all: Vec<_> = objects.list(None).try_collect().await.unwrap();
    let manifests = all.iter().map(|object| &object.location);
    let newest = manifests
        .filter(|at| at.as_ref().ends_with(".manifest"))
        .max();
    let newest = newest.expect("a manifest");
    let whole = objects.get(newest).await.unwrap().bytes().await.unwrap();
    let mut told = 0;
    let bits = (0..2_000.min(whole.len() * 8)).step_by(17);
    for bit in bits {
        let mut bytes = whole.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let copy = memory();
        for object in &all {
            let stored = objects.get(&object.location).await.unwrap();
            let stored = stored.bytes().await.unwrap();
            copy.put(&object.location, stored.into()).await.unwrap();
        }
        copy.put(newest, bytes.into()).await.unwrap();
        match ask_up(copy).await {
            Ok(lines) => assert_eq!(lines[0].points, [(START, 1.0)], "bit {bit}"),
            Err(error) if error.is_damage() => told += 1,
            Err(other) => panic!("bit {bit}: {other:?}"),
        }
    }
    assert!(told > 0, "some of the damage was where it matters");
}

async fn ask_up(objects: Arc<dyn ObjectStore>) -> Result<Vec<Line>, Error> {
    let range = Range {
        from: START,
        to: START,
        step: 1,
    };
    let series = Series::open(objects, settings()).await?;
    series.query("up", range).await
}

/// Turns over a byte of every table, as many tenths in.
async fn damage_tables(objects: &Arc<dyn ObjectStore>, tenths: usize) {
    let all: Vec<_> = objects.list(None).try_collect().await.unwrap();
    for object in all.iter().filter(|o| o.location.as_ref().ends_with(".sst")) {
        let stored = objects.get(&object.location).await.unwrap();
        let mut bytes = stored.bytes().await.unwrap().to_vec();
        let place = bytes.len() * tenths / 10;
        if let Some(byte) = bytes.get_mut(place) {
            *byte ^= 0xff;
        }
        objects.put(&object.location, bytes.into()).await.unwrap();
    }
}
