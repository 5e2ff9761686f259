//! Reading PDFs: pages per CPU-second, text with boxes, beside two others on the same files.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ::parse::{Limits, Options};
use anyhow::Context;

use crate::large;
use crate::report::{Report, cpu_time};

/// Every so many pages one is rendered: pictures are slow, and alike within a book.
const RENDER_EVERY: u32 = 40;
const SCALE: f32 = 150.0 / 72.0;

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let files = files()?;
    let (pages, ours) = text(&files)?;
    anyhow::ensure!(pages >= 1000, "only {pages} pages to read");
    let rate = |time: Duration| f64::from(pages) / time.as_secs_f64();
    let name = format!("text with boxes, {pages} pages of {} files", files.len());
    match pdftotext(&files)? {
        Some(theirs) => {
            report.against(
                &name,
                rate(ours),
                "pages/CPU-s",
                ("pdftotext -bbox-layout", rate(theirs)),
            );
        }
        None => report.figure(&name, rate(ours), "pages/CPU-s"),
    }
    match pdfium(&files) {
        Ok(theirs) => {
            report.against(name, rate(ours), "pages/CPU-s", ("pypdfium2", rate(theirs)));
        }
        Err(error) => eprintln!("pypdfium2 is not beside it: {error:#}"),
    }
    render(report, &files)?;
    largest(report, &files)
}

/// The file with the most pages, read alone as the product would: by a parent with a child.
fn largest(report: &mut Report, files: &[PathBuf]) -> anyhow::Result<()> {
    let mut most: Option<(usize, &PathBuf)> = None;
    for file in files {
        let pages = ::parse::pdf::page_sizes(&std::fs::read(file)?)?.len();
        most = most.max(Some((pages, file)));
    }
    let (pages, file) = most.context("there are no files")?;
    let cost = large::alone(file)?;
    let name = format!("the largest, {pages} pages, peaks of parent and child");
    report.figure(name, cost.parent + cost.child, "MiB");
    Ok(())
}

fn files() -> anyhow::Result<Vec<PathBuf>> {
    let folder = output(Command::new(peer("pdfs")))?;
    let entries = std::fs::read_dir(folder.trim())?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "pdf"))
        .collect();
    files.sort();
    Ok(files)
}

fn peer(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("peers")
        .join(name)
}

fn output(mut command: Command) -> anyhow::Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start a peer")?;
    anyhow::ensure!(output.status.success(), "a peer failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

fn text(files: &[PathBuf]) -> anyhow::Result<(u32, Duration)> {
    let mut pages = 0;
    let begun = cpu_time();
    for file in files {
        let bytes = Arc::new(std::fs::read(file)?);
        let (limits, options) = (Limits::default(), Options::default());
        let parsed = ::parse::pdf::parse_shared(bytes, &limits, &options, &mut |_| {});
        let parsed = parsed.with_context(|| file.display().to_string())?;
        pages += parsed.pages.len() as u32;
    }
    Ok((pages, cpu_time() - begun))
}

/// CPU time that children which have ended took.
fn cpu_of_children() -> Duration {
    #[expect(unsafe_code, reason = "getrusage fills a plain struct")]
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let time = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// CPU time of one call per file of a program, if it is installed.
fn of_program(calls: impl Iterator<Item = Command>) -> anyhow::Result<Option<Duration>> {
    let before = cpu_of_children();
    for mut call in calls {
        match call.stdout(Stdio::null()).stderr(Stdio::null()).status() {
            // One that gave up early would look fast.
            Ok(status) => anyhow::ensure!(status.success(), "a peer failed: {call:?}: {status}"),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(cpu_of_children() - before))
}

fn pdftotext(files: &[PathBuf]) -> anyhow::Result<Option<Duration>> {
    of_program(files.iter().map(|file| {
        let mut call = Command::new("pdftotext");
        call.arg("-bbox-layout").arg(file).arg("-");
        call
    }))
}

fn pdfium(files: &[PathBuf]) -> anyhow::Result<Duration> {
    let mut venv = Command::new(peer("venv"));
    venv.args(["pdfium", "pypdfium2==5.0.0"]);
    let python = output(venv)?;
    let mut call = Command::new(python.trim());
    call.arg(peer("pdfium.py")).args(files);
    let line = output(call)?;
    let seconds = line
        .split_whitespace()
        .nth(1)
        .context("pdfium said nothing")?;
    Ok(Duration::from_secs_f64(seconds.parse()?))
}

fn render(report: &mut Report, files: &[PathBuf]) -> anyhow::Result<()> {
    let mut wanted = Vec::new();
    for file in files {
        let bytes = std::fs::read(file)?;
        let count = ::parse::pdf::page_sizes(&bytes)?.len() as u32;
        let some = (1..=count).step_by(RENDER_EVERY as usize);
        wanted.extend(some.map(|page| (file.clone(), page)));
    }
    let begun = cpu_time();
    for (file, page) in &wanted {
        ::parse::pdf::render_page(&std::fs::read(file)?, *page, SCALE)?;
    }
    let rate = |time: Duration| wanted.len() as f64 / time.as_secs_f64();
    let ours = rate(cpu_time() - begun);
    let theirs = of_program(wanted.iter().map(|(file, page)| {
        let mut call = Command::new("pdftoppm");
        let page = page.to_string();
        call.args(["-png", "-r", "150", "-f", &page, "-l", &page])
            .arg(file);
        call
    }))?;
    let name = format!("{} pages as PNG at 150 dpi, one call each", wanted.len());
    match theirs {
        Some(theirs) => report.against(name, ours, "pages/CPU-s", ("pdftoppm", rate(theirs))),
        None => report.figure(name, ours, "pages/CPU-s"),
    }
    Ok(())
}
