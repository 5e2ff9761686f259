//! What is asked of the server and how long it takes, as Prometheus counts it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Upper ends of the duration's buckets, in seconds.
const BUCKETS: [f64; 11] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0,
];

#[derive(Debug, Default)]
pub struct Traffic {
    in_flight: AtomicI64,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// By method, route and status.
    requests: BTreeMap<(String, String, u16), u64>,
    /// By route.
    durations: BTreeMap<String, Durations>,
}

#[derive(Debug, Default)]
struct Durations {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

/// A request under way; over when dropped, however it ends.
pub struct UnderWay<'a>(&'a Traffic);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Traffic {
    pub fn begin(&self) -> UnderWay<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        UnderWay(self)
    }

    /// `route` is the path as declared, so there are no more of them than routes.
    pub fn answered(&self, method: &str, route: &str, status: u16, took: Duration) {
        let mut counts = self.counts();
        let key = (method.to_owned(), route.to_owned(), status);
        *counts.requests.entry(key).or_default() += 1;
        let durations = counts.durations.entry(route.to_owned()).or_default();
        let seconds = took.as_secs_f64();
        durations.count += 1;
        durations.sum += seconds;
        for (bucket, end) in durations.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= end);
        }
    }

    pub fn write(&self, out: &mut String) {
        let counts = self.counts();
        let _ = writeln!(out, "# TYPE gristmill_http_requests_in_flight gauge");
        let under_way = self.in_flight.load(Ordering::Relaxed);
        let _ = writeln!(out, "gristmill_http_requests_in_flight {under_way}");
        let _ = writeln!(out, "# TYPE gristmill_http_requests_total counter");
        for ((method, route, status), count) in &counts.requests {
            let _ = writeln!(
                out,
                "gristmill_http_requests_total{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}} {count}"
            );
        }
        let name = "gristmill_http_request_duration_seconds";
        let _ = writeln!(out, "# TYPE {name} histogram");
        for (route, durations) in &counts.durations {
            for (count, end) in durations.buckets.iter().zip(BUCKETS) {
                let _ = writeln!(
                    out,
                    "{name}_bucket{{route=\"{route}\",le=\"{end}\"}} {count}"
                );
            }
            let Durations { count, sum, .. } = durations;
            let _ = writeln!(
                out,
                "{name}_bucket{{route=\"{route}\",le=\"+Inf\"}} {count}"
            );
            let _ = writeln!(out, "{name}_sum{{route=\"{route}\"}} {sum}");
            let _ = writeln!(out, "{name}_count{{route=\"{route}\"}} {count}");
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts
            .lock()
            .expect("nothing panics while it holds the counts")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_and_buckets_add_up() {
        let traffic = Traffic::default();
        let under_way = traffic.begin();
        traffic.answered("GET", "/v1/kbs", 200, Duration::from_millis(7));
        traffic.answered("GET", "/v1/kbs", 200, Duration::from_millis(300));
        let mut text = String::new();
        traffic.write(&mut text);
        drop(under_way);
        for line in [
            "gristmill_http_requests_in_flight 1",
            "gristmill_http_requests_total{method=\"GET\",route=\"/v1/kbs\",status=\"200\"} 2",
            "gristmill_http_request_duration_seconds_bucket{route=\"/v1/kbs\",le=\"0.005\"} 0",
            "gristmill_http_request_duration_seconds_bucket{route=\"/v1/kbs\",le=\"0.01\"} 1",
            "gristmill_http_request_duration_seconds_bucket{route=\"/v1/kbs\",le=\"+Inf\"} 2",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
    }
}
