//! A figure, the limit or peer it is measured against, and where both are written.

use std::fs::{File, OpenOptions, create_dir_all};
use std::io::Write;
use std::time::Duration;

use serde::Serialize;

/// One measured value. `peer` names what `ratio` is taken against, in the same run.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    pub topic: &'static str,
    pub name: String,
    pub value: f64,
    pub unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<Peer>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Peer {
    pub name: String,
    pub value: f64,
    /// Our value over theirs.
    pub ratio: f64,
}

pub struct Report {
    topic: &'static str,
    figures: Vec<Figure>,
    lines: File,
}

impl Report {
    pub fn new(topic: &'static str) -> anyhow::Result<Self> {
        let out = concat!(env!("CARGO_MANIFEST_DIR"), "/out");
        create_dir_all(out)?;
        let lines = OpenOptions::new()
            .create(true)
            .append(true)
            .open(format!("{out}/figures.jsonl"))?;
        Ok(Self {
            topic,
            figures: Vec::new(),
            lines,
        })
    }

    pub fn figure(&mut self, name: impl Into<String>, value: f64, unit: &'static str) {
        self.push(name.into(), value, unit, None);
    }

    pub fn against(
        &mut self,
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
        (peer, peer_value): (&str, f64),
    ) {
        let peer = Peer {
            name: peer.to_owned(),
            value: peer_value,
            ratio: value / peer_value,
        };
        self.push(name.into(), value, unit, Some(peer));
    }

    fn push(&mut self, name: String, value: f64, unit: &'static str, peer: Option<Peer>) {
        let figure = Figure {
            topic: self.topic,
            name,
            value,
            unit,
            peer,
        };
        let line = serde_json::to_string(&figure).expect("a figure is plain data");
        if let Err(error) = writeln!(self.lines, "{line}") {
            eprintln!("cannot write the figure down: {error}");
        }
        self.figures.push(figure);
    }

    pub fn print(&self) {
        println!("\n{}", self.topic);
        for f in &self.figures {
            let beside = f.peer.as_ref().map_or(String::new(), |p| {
                format!(
                    "   {:>12} {}   ratio {:.2}",
                    number(p.value),
                    p.name,
                    p.ratio
                )
            });
            println!(
                "  {:<52} {:>12} {:<10}{beside}",
                f.name,
                number(f.value),
                f.unit
            );
        }
    }
}

fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 1000.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

/// CPU time of this process so far, user and system together.
pub fn cpu_time() -> Duration {
    #[expect(unsafe_code, reason = "getrusage fills a plain struct")]
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let of = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64)
    };
    of(usage.ru_utime) + of(usage.ru_stime)
}

/// Resident memory now, in bytes.
pub fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
