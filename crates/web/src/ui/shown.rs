//! Figures, times and states in the words of a page.

use std::borrow::Borrow;
use std::fmt;

use catalog::{DocumentRow, DocumentState, JobOutcome, Run};
use chrono::{DateTime, Utc};
use model::{JobStatus, ModelName, RunStatus, StepKind};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// One part of a path, or the value of a parameter.
pub fn encoded(text: &str) -> impl fmt::Display + '_ {
    utf8_percent_encode(text, PATH)
}

pub fn kb_path(kb: &str) -> String {
    format!("/kb/{}", encoded(kb))
}

/// A time, for a `<time>` element: the script says how long ago it was.
#[derive(Debug, Clone, Copy)]
pub struct Moment(pub DateTime<Utc>);

impl Moment {
    pub fn of(time: impl Borrow<DateTime<Utc>>) -> Self {
        Self(*time.borrow())
    }

    pub fn exact(&self) -> String {
        self.0.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.format("%-d %b %Y, %H:%M UTC"))
    }
}

/// Takes references too, which is what templates hand over.
pub fn size(bytes: impl Borrow<u64>) -> String {
    let bytes = *bytes.borrow() as f64;
    let (figure, unit) = match bytes {
        b if b < 1024.0 => (b, "B"),
        b if b < 1_048_576.0 => ((b / 1024.0).round(), "kB"),
        b if b < 1_073_741_824.0 => (b / 1_048_576.0, "MB"),
        b => (b / 1_073_741_824.0, "GB"),
    };
    let figure = format!("{figure:.1}");
    format!("{} {unit}", figure.trim_end_matches(".0"))
}

/// 12345 as `12,345`.
pub fn count(number: impl Borrow<u64>) -> String {
    let digits = number.borrow().to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// `1 chunk`, `12 chunks`.
pub fn many(number: impl Borrow<u64>, thing: &str) -> String {
    let number = *number.borrow();
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", count(number))
}

/// `12 tokens`, or `about 12 tokens` where a model's are estimated.
pub fn tokens(number: impl Borrow<u64>, model: &ModelName) -> String {
    let about = if model.estimates_tokens() {
        "about "
    } else {
        ""
    };
    format!("{about}{}", many(number, "token"))
}

/// A word and the colour it is shown in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    pub word: String,
    pub tone: &'static str,
}

impl State {
    pub fn new(word: impl Into<String>, tone: &'static str) -> Self {
        let word = word.into();
        Self { word, tone }
    }
}

/// Where a run is, in the words of its reader rather than those of the queue.
pub fn run_state(run: &Run) -> State {
    match (run.status, &run.waiting, run.stage) {
        (RunStatus::Succeeded, ..) if run.superseded => State::new("overtaken", "quiet"),
        (RunStatus::Succeeded, ..) => State::new("ready", "good"),
        (RunStatus::Failed, ..) => State::new("failed", "bad"),
        (RunStatus::Canceled, ..) => State::new("canceled", "quiet"),
        _ if run.job_status == Some(JobStatus::Paused) && run.leased_until.is_none() => {
            State::new("paused", "wait")
        }
        (_, Some(what), _) => State::new(format!("waiting: {what}"), "wait"),
        (_, None, Some(stage)) => State::new(stage_word(stage, run), "busy"),
        (_, None, None) => State::new("queued", "busy"),
    }
}

fn stage_word(stage: StepKind, run: &Run) -> String {
    match stage {
        StepKind::Prep => "parsing".to_owned(),
        StepKind::Extract if run.units_total > 1 => {
            format!("embedding {} of {}", run.units_done, run.units_total)
        }
        StepKind::Extract => "embedding".to_owned(),
        StepKind::Finalize => "indexing".to_owned(),
    }
}

/// How a run stands, in as few words as a list has room for.
pub fn status_state(status: impl Borrow<RunStatus>) -> State {
    match status.borrow() {
        RunStatus::Queued | RunStatus::Running => State::new("on its way", "busy"),
        RunStatus::Succeeded => State::new("ready", "good"),
        RunStatus::Failed => State::new("failed", "bad"),
        RunStatus::Canceled => State::new("canceled", "quiet"),
    }
}

/// What a document's row says: does it answer, is something on its way?
pub fn document_state(row: &DocumentRow) -> State {
    match (row.active.is_some(), row.run_status) {
        _ if row.state == Some(DocumentState::Purging) => State::new("being purged", "quiet"),
        (true, Some(RunStatus::Queued | RunStatus::Running)) => State::new("updating", "busy"),
        (true, Some(RunStatus::Failed)) => State::new("ready, update failed", "wait"),
        (true, _) => State::new("ready", "good"),
        (false, Some(RunStatus::Queued | RunStatus::Running)) => State::new("on its way", "busy"),
        (false, Some(RunStatus::Failed)) => State::new("failed", "bad"),
        (false, Some(RunStatus::Canceled)) => State::new("canceled", "quiet"),
        (false, _) if row.state == Some(DocumentState::Removed) => State::new("removed", "quiet"),
        (false, _) => State::new("inactive", "quiet"),
    }
}

/// What a job found of a document.
pub fn outcome(outcome: JobOutcome) -> &'static str {
    match outcome {
        JobOutcome::New => "new",
        JobOutcome::NewVersion => "changed",
        JobOutcome::Skipped => "unchanged",
    }
}

/// What a document is called on a page.
pub fn document_name(row: &DocumentRow) -> String {
    let named = [&row.title, &row.filename];
    let named = named
        .into_iter()
        .flatten()
        .find(|name| !name.trim().is_empty());
    named
        .cloned()
        .unwrap_or_else(|| last_part(row.source_uri.as_str()))
}

/// What a run's document is called; an upload nobody can name any more by its hash.
pub fn run_name(title: Option<&str>, filename: Option<&str>, uri: &str) -> String {
    let named = [filename, title].into_iter().flatten();
    match named.map(str::trim).find(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None => last_part(uri),
    }
}

/// The end of a URI, which is what people call a thing.
pub fn last_part(uri: &str) -> String {
    if let Some(hash) = uri.strip_prefix("upload://sha256:") {
        return format!("upload {}", hash.get(..12).unwrap_or(hash));
    }
    let last = uri.rsplit('/').find(|part| !part.is_empty());
    let last = last.unwrap_or(uri);
    percent_decode_str(last).decode_utf8_lossy().into_owned()
}

/// How long something takes, as people say it.
pub fn duration(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_owned(),
        s if s < 0.001 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 90.0 => format!("{s:.1} s").replace(".0 s", " s"),
        s if s < 5_400.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3_600.0).replace(".0 h", " h"),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// A number with the digits that matter.
pub fn figure(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => count(v.round() as u64),
        v if v >= 10.0 => format!("{v:.0}"),
        v if v == 0.0 || v.fract() == 0.0 => format!("{v:.0}"),
        v if v >= 0.1 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimated_tokens_are_shown_as_that() {
        let [exact, estimated] = ["local", "openai"].map(|by| ModelName::new(by, "mill"));
        assert_eq!(tokens(1, &exact), "1 token");
        assert_eq!(tokens(1234, &estimated), "about 1,234 tokens");
    }

    #[test]
    fn figures_are_shown_as_people_read_them() {
        assert_eq!(
            [count(7), count(1234), count(1_234_567)],
            ["7", "1,234", "1,234,567"]
        );
        assert_eq!(
            [size(12), size(34_500), size(5_600_000)],
            ["12 B", "34 kB", "5.3 MB"]
        );
        assert_eq!(kb_path("a b/ü"), "/kb/a%20b%2F%C3%BC");
        assert_eq!(last_part("file:///a/my%20report.pdf"), "my report.pdf");
        let nameless = run_name(None, Some(" "), "upload://sha256:0123456789abcdef");
        assert_eq!(nameless, "upload 0123456789ab");
        let spans = [0.0004, 0.25, 42.0, 600.0, 7_200.0, 400_000.0].map(duration);
        assert_eq!(
            spans,
            ["400 µs", "250 ms", "42 s", "10 min", "2 h", "5 days"]
        );
        let figures = [0.0, 0.042, 0.5, 3.0, 12.4, 1234.0].map(figure);
        assert_eq!(figures, ["0", "0.04", "0.5", "3", "12", "1,234"]);
    }
}
