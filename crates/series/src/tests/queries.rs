//! What a reader of figures sees.

use std::time::Duration;

use super::{HOUR, SECOND, START, labels, memory, open, settings};
use crate::query::{QueryError, Range};
use crate::read::MOST_VALUES;
use crate::{Error, Labels, Line, Series, Settings};

fn at(t: i64) -> Range {
    Range {
        from: t,
        to: t,
        step: 60 * SECOND,
    }
}

/// Lines as text: labels, then the values.
fn text(lines: &[Line]) -> Vec<String> {
    let one = |line: &Line| {
        let values: Vec<_> = line.points.iter().map(|(_, value)| value).collect();
        format!("{} {values:?}", line.labels)
    };
    lines.iter().map(one).collect()
}

async fn ask(series: &Series, query: &str, range: Range) -> Vec<String> {
    text(&series.query(query, range).await.unwrap())
}

/// A counter per knowledge base that gains 1 (a), 2 (b) and 3 (c) per second, seen every 10 s.
async fn counters(series: &Series, seconds: i64) {
    for second in (0..=seconds).step_by(10) {
        for (kb, speed) in [("a", 1), ("b", 2), ("c", 3)] {
            let labels = labels("documents_total", kb);
            let value = (second * speed) as f64;
            series
                .write(&labels, START + second * SECOND, value)
                .await
                .unwrap();
        }
    }
    series.sync().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_are_found_by_their_labels() {
    let series = open(&memory()).await;
    counters(&series, 600).await;
    let (a, b, c) = (
        r#"documents_total{kb="a"} [1.0]"#,
        r#"documents_total{kb="b"} [2.0]"#,
        r#"documents_total{kb="c"} [3.0]"#,
    );
    let end = at(START + 600 * SECOND);
    for (matchers, found) in [
        ("", vec![a, b, c]),
        (r#"{kb="b"}"#, vec![b]),
        (r#"{kb!="b"}"#, vec![a, c]),
        (r#"{kb=~"a|c*"}"#, vec![a, c]),
        (r#"{kb!~"a|c*"}"#, vec![b]),
        (r#"{kb="x"}"#, vec![]),
        (r#"{node=""}"#, vec![a, b, c]),
        (r#"{node!=""}"#, vec![]),
        (r#"{kb="a",kb!="a"}"#, vec![]),
    ] {
        let query = format!("rate(documents_total{matchers}[5m])");
        assert_eq!(ask(&series, &query, end).await, found, "{query}");
    }
    series.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asker_held_to_a_label_sees_only_what_carries_it_or_lacks_it() {
    let series = open(&memory()).await;
    counters(&series, 600).await;
    let end = at(START + 600 * SECOND);
    for (query, label, found) in [
        ("rate(documents_total[5m])", "kb", 1),
        (r#"rate(documents_total{kb="a"}[5m])"#, "kb", 0),
        ("sum(rate(documents_total[5m]))", "kb", 1),
        ("rate(documents_total[5m])", "tenant", 3),
    ] {
        let lines = series.query_within(query, end, (label, "b")).await.unwrap();
        assert_eq!(lines.len(), found, "{query}");
        let own = lines
            .iter()
            .all(|line| label == "tenant" || line.points[0].1 == 2.0);
        assert!(own, "{query} saw others: {lines:?}");
    }
    series.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_add_up() {
    let series = open(&memory()).await;
    counters(&series, 600).await;
    for n in 1..=100 {
        let stage = if n % 2 == 0 { "embed" } else { "parse" };
        let labels = Labels::new("stage_seconds", [("stage", stage)]).unwrap();
        series.record(&labels, START + n * SECOND, n as f64);
    }
    series.sync().await.unwrap();
    let range = Range {
        from: START + 300 * SECOND,
        to: START + 600 * SECOND,
        step: 150 * SECOND,
    };
    for (query, expected) in [
        (
            r#"documents_total{kb="a"}"#,
            r#"documents_total{kb="a"} [300.0, 450.0, 600.0]"#,
        ),
        ("sum(rate(documents_total[5m]))", "{} [6.0, 6.0, 6.0]"),
        ("max(documents_total)", "{} [900.0, 1350.0, 1800.0]"),
        (
            "min by (node) (documents_total)",
            "{} [300.0, 450.0, 600.0]",
        ),
        ("avg(rate(documents_total[1m]))", "{} [2.0, 2.0, 2.0]"),
        ("count(documents_total)", "{} [3.0, 3.0, 3.0]"),
        (
            "quantile(0.5, rate(documents_total[5m]))",
            "{} [2.0, 2.0, 2.0]",
        ),
        (
            r#"increase(documents_total{kb="b"}[5m])"#,
            r#"documents_total{kb="b"} [600.0, 600.0, 600.0]"#,
        ),
        ("quantile(0.99, stage_seconds[5m])", "{} [99.0]"),
        (
            r#"quantile(0.5, stage_seconds{stage="embed"}[10m])"#,
            "{} [50.0, 50.0, 50.0]",
        ),
        (
            r#"quantile by (stage) (1, stage_seconds{stage="parse"}[10m])"#,
            r#"{stage="parse"} [99.0, 99.0, 99.0]"#,
        ),
    ] {
        assert_eq!(ask(&series, query, range).await, [expected], "{query}");
    }
    let by = ask(&series, "sum by (kb) (documents_total)", at(START)).await;
    assert_eq!(
        by,
        [
            r#"{kb="a"} [0.0]"#,
            r#"{kb="b"} [0.0]"#,
            r#"{kb="c"} [0.0]"#
        ]
    );
    series.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_that_restarts_has_lost_nothing() {
    let series = open(&memory()).await;
    let labels = labels("documents_total", "x");
    for (second, value) in [(0, 90.0), (10, 100.0), (20, 5.0), (30, 15.0)] {
        series.record(&labels, START + second * SECOND, value);
    }
    series.sync().await.unwrap();
    let gained = ask(
        &series,
        "increase(documents_total[1m])",
        at(START + 30 * SECOND),
    )
    .await;
    assert_eq!(gained, [r#"documents_total{kb="x"} [25.0]"#]);
    series.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_has_gained_the_same_wherever_the_range_begins() {
    let series = open(&memory()).await;
    let labels = labels("documents_total", "x");
    let day = 24 * HOUR;
    for (t, value) in [(0, 1.0), (9 * day, 2.0), (9 * day + 2 * HOUR, 1_002.0)] {
        series.record(&labels, START + t, value);
    }
    series.sync().await.unwrap();
    let to = START + 9 * day + 2 * HOUR;
    for hours in [0, 1, 3] {
        let range = Range {
            from: to - hours * HOUR,
            to,
            step: HOUR,
        };
        let lines = ask(&series, "increase(documents_total[1h])", range).await;
        assert!(lines[0].ends_with("1000.0]"), "{lines:?}");
    }
    // Nine days after its last value.
    let first = ask(
        &series,
        "increase(documents_total[1h])",
        at(START + 9 * day),
    )
    .await;
    assert_eq!(first, [r#"documents_total{kb="x"} [1.0]"#]);
    series.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quantile_is_the_least_value_that_its_share_does_not_exceed() {
    let series = open(&memory()).await;
    let labels = labels("pages", "x");
    for n in 1..=100 {
        series.record(&labels, START + n * SECOND, n as f64);
    }
    series.sync().await.unwrap();
    for share in [7, 14, 28, 29, 55, 56, 57, 58, 99, 100] {
        let query = format!("quantile({}, pages[5m])", share as f64 / 100.0);
        let told = ask(&series, &query, at(START + 100 * SECOND)).await;
        assert!(
            told[0].ends_with(&format!("[{share}.0]")),
            "{query}: {told:?}"
        );
    }
    series.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_is_spread_over_the_window_it_is_looked_at_through() {
    let series = open(&memory()).await;
    let labels = labels("documents_total", "x");
    for (micros, value) in [(-1, 0.0), (0, 1.0), (50, 6.0)] {
        series.record(&labels, START + micros, value);
    }
    series.sync().await.unwrap();
    let later = at(START + 10 * SECOND);
    let rate = ask(&series, "rate(documents_total[1m])", later).await;
    assert_eq!(rate, [r#"documents_total{kb="x"} [0.1]"#]);
    series.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn thinning_out_keeps_what_counts() {
    let objects = memory();
    let settings = Settings {
        keep_samples: Duration::from_secs(2 * 3600),
        keep_minutes: Duration::from_secs(48 * 3600),
        keep_hours: Duration::from_secs(40 * 24 * 3600),
        ..settings()
    };
    let series = Series::open(objects.clone(), settings).await.unwrap();
    counters(&series, 6 * 3600).await;
    let end = START + 6 * HOUR;
    let whole = at(end);
    let before = ask(&series, "increase(documents_total[7h])", whole).await;
    assert_eq!(before[0], r#"documents_total{kb="a"} [21600.0]"#);

    // First to five-minute summaries, then on to hourly ones: nothing counted is lost.
    for now in [end, end + 80 * HOUR] {
        series.expire(now).await.unwrap();
        series.sync().await.unwrap();
        let after = ask(&series, "increase(documents_total[7h])", whole).await;
        assert_eq!(after, before);
    }
    series.close().await.unwrap();

    // The horizon is remembered: a sample from before it has no place any more.
    let series = Series::open(objects, settings).await.unwrap();
    let late = series
        .write(&labels("documents_total", "a"), START, 1.0)
        .await;
    assert!(
        late.unwrap_err()
            .to_string()
            .contains("outside what is kept")
    );
    series.expire(end + 80 * 24 * HOUR).await.unwrap();
    series.expire(end + 80 * 24 * HOUR).await.unwrap();
    let gone = ask(&series, "increase(documents_total[7h])", whole).await;
    assert!(gone.is_empty(), "{gone:?}");
    series.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn time_that_holds_nothing_costs_nothing_however_long_it_is() {
    let series = open(&memory()).await;
    counters(&series, 600).await;
    // So late an hour that all of them up to it could not be listed, let alone be looked for.
    let end = START + 50_000_000 * HOUR;
    let range = Range {
        from: START,
        to: end,
        step: end - START,
    };
    let asked = ask(&series, r#"documents_total{kb="a"}"#, range);
    let found = tokio::time::timeout(Duration::from_secs(30), asked).await;
    let found = found.expect("gaps are stepped over");
    assert_eq!(found, [r#"documents_total{kb="a"} [0.0, 600.0]"#]);
    series.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_is_at_each_moment_what_is_told_of_that_moment_alone() {
    let series = open(&memory()).await;
    let labels = labels("documents_total", "x");
    let (mut second, mut value) = (0, 0);
    for n in 0..400 {
        // Neither evenly spaced nor without restarts.
        second += 1 + n * n % 7;
        value = if n % 50 == 49 { 0 } else { value + n % 4 };
        series.record(&labels, START + second * SECOND, value as f64);
    }
    series.sync().await.unwrap();
    let step = 11 * SECOND;
    let range = Range {
        from: START + 300 * SECOND,
        to: START + 1_000 * SECOND,
        step,
    };
    for query in [
        "documents_total",
        "increase(documents_total[37s])",
        "increase(documents_total[7s])",
        "rate(documents_total[5m])",
    ] {
        let line = series.query(query, range).await.unwrap().remove(0);
        let mut alone = vec![];
        for moment in (range.from..=range.to).step_by(step as usize) {
            let range = Range {
                from: moment,
                to: moment,
                step,
            };
            let lines = series.query(query, range).await.unwrap();
            alone.extend(lines.into_iter().flat_map(|line| line.points));
        }
        assert_eq!(line.points, alone, "{query}");
    }
    series.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_holds_no_more_than_what_is_told_of_the_time_it_looks_at() {
    let series = open(&memory()).await;
    // More samples than a question may hold values.
    let samples = MOST_VALUES as i64 + 1;
    for n in 0..samples {
        series.record(
            &labels("documents_total", "x"),
            START + n * SECOND,
            n as f64,
        );
    }
    for kb in ["x", "y"] {
        series.record(&labels("up", kb), START, 1.0);
    }
    series.sync().await.unwrap();
    let end = START + samples * SECOND;
    let whole = |step| Range {
        from: end,
        to: end,
        step,
    };
    for (query, value) in [
        ("count(documents_total)", 1.0),
        ("increase(documents_total[1d])", samples as f64 - 1.0),
    ] {
        let lines = series.query(query, whole(24 * HOUR)).await.unwrap();
        assert_eq!(lines[0].points, [(end, value)], "{query}");
    }
    // Of a quantile each value counts, and a line is held too.
    let hours = Range {
        from: START,
        to: START + 10_999 * SECOND,
        step: SECOND,
    };
    for (query, range) in [
        ("quantile(0.5, documents_total[1d])", whole(HOUR)),
        ("count(quantile by (kb) (0.5, up[1d]))", hours),
    ] {
        let error = series.query(query, range).await.unwrap_err();
        assert!(
            matches!(error, Error::Query(QueryError::TooMuch { .. })),
            "{query}: {error}"
        );
        assert!(error.to_string().contains("a shorter time"), "{error}");
    }
    series.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_recorded_is_counted_and_what_cannot_be_asked_is_explained() {
    let series = open(&memory()).await;
    let labels = labels("up", "x");
    series.record(&labels, START, f64::NAN);
    series.record(&labels, -1, 1.0);
    series.record(&labels, START, 1.0);
    assert_eq!(series.dropped(), 2);
    series.sync().await.unwrap();
    let endless = Range {
        from: 0,
        to: START,
        step: 1,
    };
    let error = series.query("up", endless).await.unwrap_err();
    assert!(error.to_string().contains("take a longer step"), "{error}");
    let backwards = Range {
        from: START,
        to: 0,
        step: 1,
    };
    assert!(matches!(
        series.query("up", backwards).await,
        Err(Error::Query(_))
    ));
    series.close().await.unwrap();
    series.record(&labels, START, 1.0);
    assert_eq!(series.dropped(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_holds_the_series_and_a_file_in_its_place_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("metrics");
    let series = Series::open_folder(&place, settings()).await.unwrap();
    series.record(&labels("up", "x"), START, 1.0);
    series.close().await.unwrap();
    let series = Series::open_folder(&place, settings()).await.unwrap();
    assert_eq!(ask(&series, "up", at(START)).await, [r#"up{kb="x"} [1.0]"#]);
    series.close().await.unwrap();

    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    let error = Series::open_folder(&file, settings()).await.err().unwrap();
    assert!(matches!(error, Error::Folder(_)), "{error}");
}
