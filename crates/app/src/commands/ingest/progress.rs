//! How far an ingest is: bars on a terminal, a line now and then elsewhere.

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

pub struct Progress {
    taken: ProgressBar,
    ready: ProgressBar,
    /// Where there is no terminal: when the last line was written.
    lines: Option<Mutex<Instant>>,
}

const EVERY: Duration = Duration::from_secs(5);

impl Progress {
    /// The total is known, so a time left can be told.
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
            taken: bar("taken in", "{prefix:>9} {bar:32} {pos}/{len}"),
            ready: bar(
                "ready",
                "{prefix:>9} {bar:32} {pos}/{len}  {per_sec}, {eta} left",
            ),
            lines: (!terminal).then(|| Mutex::new(Instant::now())),
        }
    }

    pub fn at(&self, taken: u64, ready: u64) {
        self.taken.set_position(taken);
        self.ready.set_position(ready);
        let Some(last) = &self.lines else { return };
        let mut last = last.lock().expect("nothing panics while it holds the time");
        if last.elapsed() >= EVERY {
            *last = Instant::now();
            let total = self.taken.length().unwrap_or(0);
            eprintln!("{taken} of {total} taken in, {ready} ready");
        }
    }

    pub fn finish(&self) {
        self.taken.finish_and_clear();
        self.ready.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well formed")
}
