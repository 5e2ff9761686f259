//! What becomes of samples that come when their time has been thinned out.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use coordinator::{Delta, Epoch, Epochs, FlushHandler};

use super::{HOUR, SECOND, START, inside, labels, memory, settings};
use crate::delta::{Op, Samples};
use crate::flush::Slate;
use crate::query::Range;
use crate::sample::Sample;
use crate::store::Meta;
use crate::{Micros, Series, Settings};

/// Samples for two hours, then five-minute summaries for two days.
fn brief() -> Settings {
    Settings {
        keep_samples: Duration::from_secs(2 * 3600),
        keep_minutes: Duration::from_secs(48 * 3600),
        keep_hours: Duration::from_secs(40 * 24 * 3600),
        ..settings()
    }
}

/// A day of summaries has become hourly ones; samples of that day were there for an hour only, so
/// that nothing of the rest was ever thinned out.
const LATER: Micros = START + (24 + 50 + 1) * HOUR;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_accepted_late_is_kept_and_the_rest_is_refused() {
    let series = Series::open(memory(), brief()).await.unwrap();
    let up = labels("up", "x");
    series.write(&up, START, 1.0).await.unwrap();
    for now in [START + 4 * HOUR, LATER] {
        series.expire(now).await.unwrap();
    }
    let mut accepted = vec![];
    for hour in [2, 5, 23, 24, 30, 72] {
        let late = labels("up", &hour.to_string());
        match series.write(&late, START + hour * HOUR, 1.0).await {
            Ok(()) => accepted.push(hour),
            Err(error) => assert!(error.to_string().contains("outside what is kept")),
        }
    }
    assert_eq!(accepted, [24, 30, 72]);
    // Twice: to the five-minute summaries, and on.
    for now in [LATER, LATER] {
        series.expire(now).await.unwrap();
    }
    series.sync().await.unwrap();
    let whole = Range {
        from: LATER,
        to: LATER,
        step: 100 * HOUR,
    };
    let lines = series.query("count(up)", whole).await.unwrap();
    assert_eq!(lines[0].points, [(LATER, 1.0 + accepted.len() as f64)]);
    series.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_old_for_two_tiers_leaves_nothing_behind() {
    let objects = memory();
    let series = Series::open(Arc::clone(&objects), brief()).await.unwrap();
    series.write(&labels("up", "x"), START, 1.0).await.unwrap();
    series.expire(START + 4 * HOUR).await.unwrap();
    // Hourly summaries of the month, and samples of the same month beside them.
    series.expire(LATER).await.unwrap();
    let next_day = START + 25 * HOUR;
    series
        .write(&labels("up", "x"), next_day, 1.0)
        .await
        .unwrap();
    series.expire(START + 80 * 24 * HOUR).await.unwrap();
    series.close().await.unwrap();
    let db = inside(&objects).await;
    let mut left = db.scan_prefix([crate::key::SAMPLES], ..).await.unwrap();
    assert!(left.next().await.unwrap().is_none());
    db.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_horizon_overtakes_on_the_way_is_counted() {
    let db = inside(&memory()).await;
    let meta = Meta::read(&db).await.unwrap();
    let slate = Slate::new(db, brief(), meta).await.unwrap();
    let mut first = Samples::new(Arc::clone(&slate.horizon));
    let mut behind = first.successor();
    let sample = |at| Op::Sample {
        labels: labels("up", "x"),
        sample: Sample { at, value: 1.0 },
    };
    first.apply(sample(START));
    first.apply(Op::Expire {
        now: START + 4 * HOUR,
    });
    for at in [START + SECOND, START + 3 * HOUR] {
        let late = sample(at);
        behind.check(&late).unwrap();
        behind.apply(late);
    }
    for (flush, delta) in [(1, first), (2, behind)] {
        let epochs = Epochs {
            first: Epoch(flush),
            last: Epoch(flush),
        };
        slate.flush(Arc::new(delta), epochs).await.unwrap();
    }
    assert_eq!(slate.overtaken.load(Ordering::Relaxed), 1);
    slate.db.close().await.unwrap();
}
