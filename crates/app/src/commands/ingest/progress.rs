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
    pub fn start() -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bars = MultiProgress::new();
        let bar = |name: &'static str| {
            let bar = if terminal {
                bars.add(ProgressBar::new(0))
            } else {
                ProgressBar::hidden()
            };
            bar.set_style(counting());
            bar.set_prefix(name);
            bar
        };
        Self {
            taken: bar("taken in"),
            ready: bar("ready"),
            lines: (!terminal).then(|| Mutex::new(Instant::now())),
        }
    }

    pub fn found(&self, files: u64) {
        self.taken.inc_length(files);
        self.ready.inc_length(files);
    }

    /// From here on the total is known, so a time left can be told.
    pub fn all_found(&self) {
        self.ready.set_style(timed());
    }

    pub fn taken(&self) {
        self.taken.inc(1);
        self.line();
    }

    pub fn ended(&self) {
        self.ready.inc(1);
        self.line();
    }

    pub fn finish(&self) {
        self.taken.finish_and_clear();
        self.ready.finish_and_clear();
    }

    fn line(&self) {
        let Some(last) = &self.lines else { return };
        let mut last = last.lock().expect("nothing panics while it holds the time");
        if last.elapsed() >= EVERY {
            *last = Instant::now();
            let (taken, ready) = (self.taken.position(), self.ready.position());
            let total = self.taken.length().unwrap_or(0);
            eprintln!("{taken} of {total} taken in, {ready} ready");
        }
    }
}

fn counting() -> ProgressStyle {
    style("{prefix:>9} {bar:32} {pos}/{len}")
}

fn timed() -> ProgressStyle {
    style("{prefix:>9} {bar:32} {pos}/{len}  {per_sec}, {eta} left")
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well formed")
}
