//! `mutations COUNT [FOLDER…]`: damages this project's sample documents, and the files of the
//! folders, COUNT times in ways drawn from the number of the try, and has each read in a
//! confined child. Prints what became of them; fails if one was our own fault, took longer
//! than its budget or left a child larger than allowed. `mutations =53 [FOLDER…]` does the one
//! of that number again.

use std::collections::BTreeMap;
use std::num::ParseIntError;
use std::ops::Range;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use parse::Hints;
use samples::{Dice, Sample, damaged};
use sandbox::{Error, Fault, Program, Sandbox, Settings};

const CHILD: &str = "parse-child";
/// Larger originals would make this a test of copying.
const LARGEST: u64 = 8 << 20;
/// What the parent needs to notice that a budget is spent, on a busy machine.
const GRACE: Duration = Duration::from_secs(10);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == [CHILD] {
        return Ok(sandbox::child_main());
    }
    let numbers = numbers(arguments.first().map_or("5000", String::as_str))?;
    let mut originals = samples::all();
    for folder in arguments.iter().skip(1) {
        originals.extend(files(folder)?);
    }
    let mut run = Run::new(&originals)?;
    for number in numbers {
        run.read(number).await;
    }
    Ok(run.report())
}

fn numbers(argument: &str) -> Result<Range<u64>, ParseIntError> {
    match argument.strip_prefix('=') {
        Some(one) => one.parse().map(|one| one..one + 1),
        None => argument.parse().map(|count| 0..count),
    }
}

fn files(folder: &str) -> std::io::Result<Vec<Sample>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_file() && (1..=LARGEST).contains(&about.len()) {
            found.push(Sample {
                name: entry.file_name().to_string_lossy().into_owned(),
                bytes: std::fs::read(entry.path())?,
            });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

struct Run<'o> {
    originals: &'o [Sample],
    settings: Settings,
    sandbox: Sandbox,
    ends: BTreeMap<String, u32>,
    faults: Vec<String>,
    slowest: (Duration, String),
}

impl<'o> Run<'o> {
    fn new(originals: &'o [Sample]) -> std::io::Result<Self> {
        let settings = Settings {
            children: 1,
            cpu: Duration::from_secs(10),
            wall: Duration::from_secs(40),
            silence: Duration::from_secs(20),
            memory_bytes: 512 << 20,
            ..Settings::default()
        };
        let program = Program::new(std::env::current_exe()?, &[CHILD]);
        Ok(Self {
            originals,
            sandbox: Sandbox::new(settings.clone(), program),
            settings,
            ends: BTreeMap::new(),
            faults: Vec::new(),
            slowest: (Duration::ZERO, String::new()),
        })
    }

    async fn read(&mut self, number: u64) {
        let mut dice = Dice::new(number);
        let original = &self.originals[number as usize % self.originals.len()];
        let other = &self.originals[dice.roll(self.originals.len())];
        let bytes = damaged(&original.bytes, &other.bytes, &mut dice);
        let name = format!("{} with damage {number}", original.name);
        let begun = Instant::now();
        let hints = Hints::of_filename(original.name.as_str());
        let ended = self.sandbox.parse(bytes.into(), hints).await;
        let took = begun.elapsed();
        if took > self.settings.wall_in_all() + GRACE {
            self.faults.push(format!("{name} took {took:?}"));
        }
        let end = match ended {
            Ok(parsed) if parsed.gaps.is_empty() => "read".to_owned(),
            Ok(_) => "read, with gaps".to_owned(),
            Err(error) if error.fault() == Fault::Ours => {
                self.faults.push(format!("{name}: {error}"));
                "our own fault".to_owned()
            }
            Err(error) => kind(&error),
        };
        if end.starts_with("deadly") {
            println!("{name}: {end}, {took:.1?}");
        }
        *self.ends.entry(end).or_default() += 1;
        if took > self.slowest.0 {
            self.slowest = (took, name);
        }
    }

    fn report(mut self) -> ExitCode {
        for (end, count) in &self.ends {
            println!("{count:>7}  {end}");
        }
        println!("slowest: {:.1?}, {}", self.slowest.0, self.slowest.1);
        let largest = self.sandbox.largest_child();
        println!("largest child: {} MiB", largest >> 20);
        if largest > self.settings.memory_bytes {
            self.faults.push("a child grew beyond its limit".to_owned());
        }
        for fault in &self.faults {
            println!("FAULT: {fault}");
        }
        if self.faults.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

fn kind(error: &Error) -> String {
    match error {
        Error::Document(parse::Error::Damaged { .. }) => "refused: damaged".to_owned(),
        Error::Document(parse::Error::Unsupported { .. }) => "refused: unsupported".to_owned(),
        Error::Document(parse::Error::OverBudget { budget, .. }) => {
            format!("refused: beyond its budget of {budget}")
        }
        Error::Deadly { death } => format!("deadly: {death}"),
        other => format!("refused: {other}"),
    }
}
