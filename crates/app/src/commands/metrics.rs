//! `metrics`: figures over time.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use crate::cli::Metrics;
use crate::client::with_query;
use crate::config::Config;
use crate::session::{Needs, Session};

use super::{cell, print_line, print_text, table};

pub async fn run(config: &Config, args: &Metrics) -> anyhow::Result<()> {
    let session = Session::open(config, Needs::Answers).await?;
    let from = ago(args.since, Utc::now());
    let path = with_query(
        "/v1/metrics/query",
        &[
            ("query", Some(args.query.clone())),
            ("from", Some(from.to_rfc3339())),
            ("step", args.step.map(|step| step.to_string())),
        ],
    );
    let answer: Value = session.client.get(&path).await?;
    session.close().await?;
    let lines = answer["lines"].as_array().map_or(&[][..], Vec::as_slice);
    if args.json {
        return lines.iter().try_for_each(print_line);
    }
    let rows: Vec<_> = lines.iter().map(row).collect();
    let head = ["SERIES", "LATEST", "LEAST", "MOST", "OVER TIME"];
    print_text(&table(&head, &rows))
}

/// No figure is older than 1970, and the server takes no year with a sign.
fn ago(seconds: u64, now: DateTime<Utc>) -> DateTime<Utc> {
    let seconds = i64::try_from(seconds).ok();
    let since = seconds.and_then(TimeDelta::try_seconds);
    let from = since.and_then(|since| now.checked_sub_signed(since));
    from.unwrap_or_default().max(DateTime::UNIX_EPOCH)
}

fn row(line: &Value) -> Vec<String> {
    let points = line["points"].as_array().map_or(&[][..], Vec::as_slice);
    let values: Vec<f64> = points
        .iter()
        .filter_map(|point| point[1].as_f64())
        .collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let latest = values.last().copied().unwrap_or(f64::NAN);
    vec![
        cell(line, "name"),
        short(latest),
        short(least),
        short(most),
        sketch(&values, least, most),
    ]
}

/// Four digits that matter.
fn short(value: f64) -> String {
    let whole = value.abs().log10().floor().max(0.0);
    let places = if value.fract() == 0.0 {
        0.0
    } else {
        3.0 - whole
    };
    format!("{value:.*}", places.max(0.0) as usize)
}

/// The line as a row of bars.
fn sketch(values: &[f64], least: f64, most: f64) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let height = |value: &f64| match most > least {
        true => ((value - least) / (most - least) * 7.0).round() as usize,
        false => 0,
    };
    values
        .iter()
        .map(|value| BARS[height(value).min(7)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_long_ago_it_is_no_earlier_than_there_are_figures() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let epoch = DateTime::UNIX_EPOCH;
        assert_eq!(ago(0, now), now);
        assert_eq!(ago(800_000_000, now).timestamp(), 1_000_000_000);
        // To before 1970, before the year 0, before any year there is, and beyond all counting.
        for seconds in [1_800_000_001, 70_000_000_000, 9_000_000_000_000, u64::MAX] {
            assert_eq!(ago(seconds, now), epoch, "{seconds}");
        }
    }

    #[test]
    fn a_line_is_told_in_a_row() {
        let line =
            serde_json::json!({"name": "x", "points": [[0, 0.0], [1, 0.123456], [2, 1234.5]]});
        assert_eq!(row(&line), ["x", "1234", "0", "1234", "▁▁█"]);
        assert_eq!([short(0.000_5), short(12.345)], ["0.001", "12.35"]);
    }
}
