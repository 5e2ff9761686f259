//! How long a service asks us to wait, in the several ways it says so.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

/// A longer wait is believed for a day: a moment much further away cannot even be told.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The first of: an exact header, the reset of whichever limit is used up, the message.
pub fn asked(headers: &HeaderMap, message: &str) -> Option<Duration> {
    let text = |name: &str| text(headers, name);
    let milliseconds = || positive(text("retry-after-ms")?).map(|ms| ms.div_f64(1000.0));
    let seconds = || positive(text("retry-after")?);
    let date = || until(text("retry-after")?, text("date")?);
    let reset = || {
        let limits = ["requests", "tokens"].map(|what| Limit::of(headers, what));
        let spent = limits.into_iter().flatten().filter(|l| l.remaining == 0.0);
        spent.map(|limit| limit.reset).max()
    };
    milliseconds()
        .or_else(seconds)
        .or_else(date)
        .or_else(reset)
        .or_else(|| in_words(message))
        .map(|wait| wait.min(LONGEST))
}

/// How long until a service that has just answered bears another request of so many tokens;
/// `None` when it does already, or does not tell.
pub fn refill(headers: &HeaderMap, tokens: usize) -> Option<Duration> {
    [("requests", 1), ("tokens", tokens)]
        .into_iter()
        .filter_map(|(what, wanted)| Limit::of(headers, what)?.until(wanted as f64))
        .max()
}

/// What is left of a limit, and when it is whole again.
struct Limit {
    whole: Option<f64>,
    remaining: f64,
    reset: Duration,
}

impl Limit {
    fn of(headers: &HeaderMap, what: &str) -> Option<Self> {
        let text = |part: &str| text(headers, &format!("x-ratelimit-{part}-{what}"));
        let number = |part: &str| text(part)?.parse::<f64>().ok().filter(|n| *n >= 0.0);
        Some(Self {
            whole: number("limit"),
            remaining: number("remaining")?,
            reset: go_duration(text("reset")?)?.min(LONGEST),
        })
    }

    /// It fills steadily, so a share of what is missing takes a share of the time.
    fn until(&self, wanted: f64) -> Option<Duration> {
        let short = wanted - self.remaining;
        if short <= 0.0 {
            return None;
        }
        let missing = self.whole.map_or(short, |whole| whole - self.remaining);
        Some(self.reset.mul_f64(short / missing.max(short)))
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Some proxies send 0 or -1 where they mean that they do not know.
fn positive(text: &str) -> Option<Duration> {
    let seconds = text.parse::<f64>().ok().filter(|s| *s > 0.0)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Both dates are the service's where it gives them, so its clock may be wrong.
fn until(then: &str, now: &str) -> Option<Duration> {
    let parse = |text| httpdate::parse_http_date(text).ok();
    let (then, now): (SystemTime, SystemTime) = (parse(then)?, parse(now)?);
    then.duration_since(now).ok()
}

/// `Please try again in 2.812s`, `in 120ms`, `in 6m0s`.
fn in_words(message: &str) -> Option<Duration> {
    let (_, rest) = message.split_once("try again in ")?;
    let word = rest.split_whitespace().next()?;
    go_duration(word.trim_end_matches(['.', ',']))
}

/// `12ms`, `1.5s`, `6m0s`, `1h2m3s`.
fn go_duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let unit = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let number: f64 = rest[..unit].parse().ok()?;
        let after = &rest[unit..];
        let end = after.find(|c: char| !c.is_ascii_alphabetic());
        let (name, next) = after.split_at(end.unwrap_or(after.len()));
        let seconds = match name {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(number * seconds).ok()?;
        total = total.checked_add(part)?;
        rest = next;
    }
    (!total.is_zero()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_saying_it_is_understood() {
        type Case = (
            &'static [(&'static str, &'static str)],
            &'static str,
            Option<u64>,
        );
        let cases: [Case; 11] = [
            (&[("retry-after", "3")], "", Some(3000)),
            (
                &[("retry-after-ms", "250"), ("retry-after", "1")],
                "",
                Some(250),
            ),
            (&[("retry-after", "-1")], "", None),
            (&[("retry-after", "1e18")], "", Some(86_400_000)),
            (&[], "try again in 5000000000000000h5000000000000000h", None),
            (
                &[
                    ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"),
                    ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
                ],
                "",
                Some(10_000),
            ),
            (
                &[
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "6m0s"),
                    ("x-ratelimit-reset-requests", "9h"),
                ],
                "",
                Some(360_000),
            ),
            (&[], "Please try again in 2.812s. Visit", Some(2812)),
            (&[], "try again in 12ms", Some(12)),
            (&[], "try again in a while", None),
            (&[], "", None),
        ];
        for (pairs, message, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, value.parse().unwrap());
            }
            let asked = asked(&headers, message).map(|d| d.as_millis() as u64);
            assert_eq!(asked, expected, "{pairs:?} {message}");
        }
    }
    #[test]
    fn an_answer_that_used_up_a_limit_says_when_there_is_room_again() {
        type Case = (&'static [(&'static str, &'static str)], Option<u64>);
        let cases: [Case; 6] = [
            (&[], None),
            // One of ten requests comes back in a tenth of the time.
            (
                &[
                    ("x-ratelimit-limit-requests", "10"),
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-requests", "1m"),
                ],
                Some(6000),
            ),
            // Two hundred are wanted and fifty are left: a sixth of the missing nine hundred.
            (
                &[
                    ("x-ratelimit-limit-tokens", "950"),
                    ("x-ratelimit-remaining-tokens", "50"),
                    ("x-ratelimit-reset-tokens", "6s"),
                ],
                Some(1000),
            ),
            (
                &[
                    ("x-ratelimit-limit-tokens", "950"),
                    ("x-ratelimit-remaining-tokens", "200"),
                    ("x-ratelimit-reset-tokens", "6s"),
                ],
                None,
            ),
            // Without the whole, the reset is all there is to go by.
            (
                &[
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-requests", "2s"),
                ],
                Some(2000),
            ),
            // Unknown, as some proxies say it.
            (
                &[
                    ("x-ratelimit-remaining-requests", "-1"),
                    ("x-ratelimit-reset-requests", "2s"),
                ],
                None,
            ),
        ];
        for (pairs, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, value.parse().unwrap());
            }
            let wait = refill(&headers, 200).map(|d| d.as_millis() as u64);
            assert_eq!(wait, expected, "{pairs:?}");
        }
    }
}
