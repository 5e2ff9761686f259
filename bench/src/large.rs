//! Large documents: a PDF of 4,000 pages, a text of 1 GB. Each is read alone, in a process of
//! its own with a child of its own, so that the peaks are theirs: `bench read-alone FILE`.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use ::parse::{Format, Hints};
use anyhow::Context;
use bytes::Bytes;
use pipeline::units::Tiler;
use sandbox::{Program, Sandbox, Settings};

use crate::report::Report;

const PIECE: usize = 1 << 20;
const MIB: f64 = (1 << 20) as f64;

/// What reading one file alone came to.
pub struct Cost {
    pub seconds: f64,
    /// The most memory of each, in MiB.
    pub parent: f64,
    pub child: f64,
}

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut seconds = Vec::new();
    for pages in [1000, 2000, 4000] {
        let file = folder.path().join("book.pdf");
        std::fs::write(&file, samples::pdf::book(pages))?;
        let cost = alone(&file)?;
        tell(report, &format!("PDF of {pages} pages"), 300.0, &cost);
        seconds.push(cost.seconds);
    }
    growth(report, "PDF", &seconds);
    seconds.clear();
    for megabytes in [256, 512, 1024] {
        let file = folder.path().join("long.txt");
        write_text(&file, megabytes << 20)?;
        let cost = alone(&file)?;
        tell(report, &format!("text of {megabytes} MiB"), 150.0, &cost);
        seconds.push(cost.seconds);
    }
    growth(report, "text", &seconds);
    Ok(())
}

/// How much longer the largest took than the smallest, which is a quarter of it.
fn growth(report: &mut Report, what: &str, seconds: &[f64]) {
    if let [smallest, .., largest] = seconds {
        let name = format!("{what}, four times the size takes so many times as long");
        report.against(name, largest / smallest, "x", ("linear", 4.0));
    }
}

fn tell(report: &mut Report, what: &str, aim: f64, cost: &Cost) {
    report.figure(format!("{what}, time"), cost.seconds, "s");
    report.figure(format!("{what}, peak of the parent"), cost.parent, "MiB");
    report.figure(format!("{what}, peak of the child"), cost.child, "MiB");
    let both = cost.parent + cost.child;
    report.against(
        format!("{what}, peaks together"),
        both,
        "MiB",
        ("the aim", aim),
    );
}

fn write_text(file: &Path, bytes: usize) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    let mut written = 0;
    for n in 0.. {
        let paragraph = format!(
            "Paragraph {n} tells of the wheel, the stone and the sack,\nof what each of them \
             costs, and who in the village has paid for it.\n\n"
        );
        out.write_all(paragraph.as_bytes())?;
        written += paragraph.len();
        if written >= bytes {
            break;
        }
    }
    out.flush()
}

/// Reads a file in a process of its own.
pub fn alone(file: &Path) -> anyhow::Result<Cost> {
    let mut call = Command::new(std::env::current_exe()?);
    let output = call.arg("read-alone").arg(file).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "reading failed: {said}");
    let text = String::from_utf8(output.stdout)?;
    let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    let [seconds, parent, child] = numbers?[..] else {
        anyhow::bail!("three numbers were expected, not `{text}`");
    };
    Ok(Cost {
        seconds,
        parent,
        child,
    })
}

/// Reads one file to its units and prints seconds, then both peaks in MiB.
pub fn read_alone(file: &str) -> anyhow::Result<()> {
    let program = Program::new(std::env::current_exe()?, &["parse-child"]);
    let settings = Settings {
        children: 1,
        ..Settings::default()
    };
    let sandbox = Sandbox::new(settings, program);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let begun = Instant::now();
    let units = runtime.block_on(units(&sandbox, Path::new(file)))?;
    anyhow::ensure!(units > 0, "nothing was read");
    let seconds = begun.elapsed().as_secs_f64();
    let child = sandbox.largest_child() as f64 / MIB;
    println!("{seconds} {} {child}", own_peak()? / MIB);
    Ok(())
}

async fn units(sandbox: &Sandbox, file: &Path) -> anyhow::Result<usize> {
    let hints = Hints::of_filename(file.to_string_lossy());
    let mut source = File::open(file)?;
    let mut head = vec![0; Format::HEAD_BYTES];
    source.read_exact(&mut head)?;
    let Some(mut reading) = sandbox.stream(&head, hints.clone()).await? else {
        let parsed = sandbox.parse(std::fs::read(file)?.into(), hints).await?;
        return Ok(pipeline::units::units(&parsed).len());
    };
    let (mut tiler, mut count) = (Tiler::default(), 0);
    let mut piece = Bytes::from(head);
    while !piece.is_empty() {
        if let Some(slice) = reading.push(piece).await? {
            count += tiler.push(&slice.text, slice.atoms).len();
        }
        let mut next = Vec::with_capacity(PIECE);
        (&mut source).take(PIECE as u64).read_to_end(&mut next)?;
        piece = next.into();
    }
    let last = reading.finish().await?;
    count += tiler.push(&last.text, last.atoms).len();
    Ok(count + tiler.finish().len())
}

fn own_peak() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    let kib: f64 = kib.context("the kernel does not tell")?.trim().parse()?;
    Ok(kib * 1024.0)
}
