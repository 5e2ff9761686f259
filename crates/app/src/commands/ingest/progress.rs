//! How far an ingest is: a bar per stage on a terminal, a line now and then elsewhere.

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use catalog::Pace;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Deserialize;

/// How many documents have passed each stage.
#[derive(Debug, Default, Deserialize)]
pub struct Passed {
    taken_in: u64,
    parsed: u64,
    embedded: u64,
    ended: u64,
}

pub struct Progress {
    taken_in: ProgressBar,
    parsed: ProgressBar,
    embedded: ProgressBar,
    /// The total: only this one says how fast it goes, because only it ends the waiting.
    done: ProgressBar,
    /// Where there is no terminal: when the last line was written.
    lines: Option<Mutex<Instant>>,
}

const EVERY: Duration = Duration::from_secs(5);
const STAGE: &str = "{prefix:>9} {bar:32} {pos}/{len}";
const TOTAL: &str = "{prefix:>9} {bar:32} {pos}/{len}  {msg}";

impl Progress {
    /// The number of files is known, so it can be told how many are left.
    pub fn start(files: u64) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bars = MultiProgress::new();
        let bar = |name: &'static str, template: &str| {
            let bar = if terminal {
                bars.add(ProgressBar::new(files))
            } else {
                ProgressBar::hidden()
            };
            bar.set_length(files);
            bar.set_style(style(template));
            bar.set_prefix(name);
            bar
        };
        Self {
            taken_in: bar("taken in", STAGE),
            parsed: bar("parsed", STAGE),
            embedded: bar("embedded", STAGE),
            done: bar("done", TOTAL),
            lines: (!terminal).then(|| Mutex::new(Instant::now())),
        }
    }

    /// `failed` of those that ended have failed or were refused.
    pub fn at(&self, passed: &Passed, failed: u64, pace: Option<&Pace>) {
        let failed = (failed > 0).then(|| format!("{failed} of them failed"));
        let told = failed.into_iter().chain(pace.map(web::pace::words));
        let told: Vec<String> = told.filter(|part| !part.is_empty()).collect();
        let told = told.join("; ");
        self.taken_in.set_position(passed.taken_in);
        self.parsed.set_position(passed.parsed);
        self.embedded.set_position(passed.embedded);
        self.done.set_position(passed.ended);
        self.done.set_message(told.clone());
        let Some(last) = &self.lines else { return };
        let mut last = last.lock().expect("nothing panics while it holds the time");
        if last.elapsed() >= EVERY {
            *last = Instant::now();
            let total = self.done.length().unwrap_or(0);
            let Passed {
                taken_in,
                parsed,
                embedded,
                ended,
            } = passed;
            let told = if told.is_empty() {
                told
            } else {
                format!("; {told}")
            };
            eprintln!(
                "of {total}: {taken_in} taken in, {parsed} parsed, {embedded} embedded, {ended} done{told}"
            );
        }
    }

    /// A line that stays, above the bars.
    pub fn tell(&self, line: &str) {
        match self.lines {
            Some(_) => eprintln!("{line}"),
            None => self.done.println(line),
        }
    }

    pub fn finish(&self) {
        for bar in [&self.taken_in, &self.parsed, &self.embedded, &self.done] {
            bar.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well formed")
}
