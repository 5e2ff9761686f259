//! How far back the value is looked for that a counter came into a range with.

use std::sync::Arc;

use object_store::ObjectStore;

use super::{HOUR, SECOND, START, inside, labels, memory, open};
use crate::key;
use crate::page::Page;
use crate::query::Range;
use crate::tier::Tier;
use crate::{Error, Line};

/// Ten hours into a history of which nothing can be read.
const BEGUN: i64 = START + 10 * HOUR;

/// What `up` of one knowledge base, or of them all, has gained a minute after [`BEGUN`].
async fn gained(objects: &Arc<dyn ObjectStore>) -> Result<Vec<Line>, Error> {
    let at = BEGUN + 60 * SECOND;
    let range = Range {
        from: at,
        to: at,
        step: SECOND,
    };
    let series = open(objects).await;
    let lines = series.query("increase(up[2m])", range).await;
    series.close().await.unwrap();
    lines
}

/// Leaves a record in the hours before [`BEGUN`] that whoever reads it cannot read.
async fn spoil_history(objects: &Arc<dyn ObjectStore>, page: Page) {
    let db = inside(objects).await;
    for hour in [0, 4, 8] {
        let bucket = Tier::Samples.bucket(START + hour * HOUR).unwrap();
        db.put(key::samples(bucket, page), b"\xff").await.unwrap();
    }
    db.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_read_of_the_time_before_a_counter_began() {
    // So few that pages are read one by one, and so many that buckets are read whole.
    for count in [1, 100] {
        let objects = memory();
        let series = open(&objects).await;
        for second in [0, 30] {
            for kb in 0..count {
                let labels = labels("up", &kb.to_string());
                series.record(&labels, BEGUN + second * SECOND, second as f64);
            }
        }
        series.close().await.unwrap();
        for page in [0, 1, 900] {
            spoil_history(&objects, Page(page)).await;
        }
        let lines = gained(&objects).await.unwrap();
        assert_eq!(lines.len(), count);
        assert!(lines.iter().all(|line| line.points[0].1 == 30.0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_that_comes_late_is_the_value_a_counter_came_in_with() {
    let objects = memory();
    let up = labels("up", "x");
    let series = open(&objects).await;
    series.record(&up, BEGUN, 10.0);
    series.sync().await.unwrap();
    series.record(&up, BEGUN - 3 * HOUR, 7.0);
    series.close().await.unwrap();
    assert_eq!(gained(&objects).await.unwrap()[0].points[0].1, 3.0);

    // After a start nothing is remembered, and it comes later still.
    let series = open(&objects).await;
    series.record(&up, BEGUN - 2 * HOUR, 8.0);
    series.record(&labels("up", "y"), BEGUN, 5.0);
    series.record(&labels("up", "y"), BEGUN - 9 * HOUR, 1.0);
    series.close().await.unwrap();
    let lines = gained(&objects).await.unwrap();
    let gains: Vec<_> = lines.iter().map(|line| line.points[0].1).collect();
    assert_eq!(gains, [2.0, 4.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_series_older_than_the_notes_of_births_all_is_looked_through() {
    let objects = memory();
    let series = open(&objects).await;
    series.record(&labels("up", "x"), BEGUN - 9 * HOUR, 4.0);
    series.record(&labels("up", "x"), BEGUN, 10.0);
    series.close().await.unwrap();
    let db = inside(&objects).await;
    db.delete(key::births(Page(0))).await.unwrap();
    db.close().await.unwrap();
    assert_eq!(gained(&objects).await.unwrap()[0].points[0].1, 6.0);

    // Nor is it forgotten when one is noted beside it.
    let series = open(&objects).await;
    series.record(&labels("up", "y"), BEGUN, 1.0);
    series.record(&labels("up", "x"), BEGUN + SECOND, 11.0);
    series.close().await.unwrap();
    assert_eq!(gained(&objects).await.unwrap()[0].points[0].1, 7.0);
}
