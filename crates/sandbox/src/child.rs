//! The child's side: give up every right, then read documents until the pipe closes.

use std::any::Any;
use std::io::{self, BufWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;

use parse::Format;

use crate::confine;
use crate::pieces;
use crate::protocol::{
    Kind, Note, ONE_PIECE, Request, Setup, Want, put_frame, read_frame, write_frame,
};
use crate::usage;

/// Sees each document before it is parsed; a test's child misbehaves here.
pub type Before = fn(&[u8]);

/// Runs a child until its parent hangs up. What the hidden subcommand calls.
pub fn child_main() -> ExitCode {
    child_main_with(|_| {})
}

/// The same with a look at each document first: for tests only.
pub fn child_main_with(before: Before) -> ExitCode {
    // What belongs together goes in one piece: the parent wakes for every one.
    let stdout = BufWriter::with_capacity(ONE_PIECE, io::stdout().lock());
    match serve(io::stdin().lock(), stdout, before) {
        Ok(()) => ExitCode::SUCCESS,
        // The parent is gone or out of step; there is nobody left to tell.
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(mut from: impl Read, mut to: impl Write, before: Before) -> io::Result<()> {
    let Some((Kind::Setup, setup)) = read_frame(&mut from)? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let setup: Setup = serde_json::from_slice(&setup)?;
    let holds = confine::confine(&setup);
    write_frame(&mut to, Kind::Hello, &serde_json::to_vec(&holds)?)?;
    if let Some(tool) = &setup.tool {
        return Err(tool.become_it(&holds));
    }
    while let Some((kind, request)) = read_frame(&mut from)? {
        let Some((Kind::Document, document)) = read_frame(&mut from)? else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        if kind != Kind::Request {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let request: Request = serde_json::from_slice(&request)?;
        confine::limit_cpu(request.cpu_seconds);
        let work = AssertUnwindSafe(|| {
            before(&document);
            match request.want {
                Want::Stream | Want::Resume(_) => {
                    pieces::serve(&request, &document, &mut from, &mut to)
                }
                _ => answer(&request, document, &mut to),
            }
        });
        match catch_unwind(work) {
            Ok(written) => written?,
            Err(panic) => write_frame(&mut to, Kind::Panicked, message(&*panic).as_bytes())?,
        }
        write_frame(&mut to, Kind::Done, &[])?;
    }
    Ok(())
}

fn answer(request: &Request, document: Vec<u8>, to: &mut impl Write) -> io::Result<()> {
    let answer = match &request.want {
        Want::Parse(_) | Want::Stream | Want::Resume(_) => parsed(request, document, to)?,
        Want::Render { page, scale } => {
            parse::pdf::render_page(&document, *page, *scale).map(|image| (Kind::Image, image.png))
        }
    };
    match answer {
        Ok((_, payload)) if payload.len() as u64 > request.output_bytes => {
            put_frame(to, Kind::TooLarge, &[])
        }
        Ok((kind, payload)) => put_frame(to, kind, &payload),
        Err(error) => put_frame(to, Kind::Refused, &serde_json::to_vec(&error)?),
    }
}

type Payload = Result<(Kind, Vec<u8>), parse::Error>;

fn parsed(request: &Request, document: Vec<u8>, to: &mut impl Write) -> io::Result<Payload> {
    let Want::Parse(options) = &request.want else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let parsed = match Format::detect(&document, &request.hints) {
        Ok(Format::Pdf) => {
            let mut told = Ok(());
            let mut tell = |page: u32| {
                let note = Note {
                    page,
                    cpu: usage::cpu(),
                };
                told = std::mem::replace(&mut told, Ok(()))
                    .and_then(|()| write_frame(to, Kind::Page, &note.encoded()));
            };
            let document = Arc::new(document);
            let parsed = parse::pdf::parse_shared(document, &request.limits, options, &mut tell);
            told?;
            parsed
        }
        Ok(_) => parse::parse_part(&document, &request.hints, &request.limits, options),
        Err(error) => Err(error),
    };
    Ok(match parsed {
        Ok(parsed) => Ok((Kind::Parsed, serde_json::to_vec(&parsed)?)),
        Err(error) => Err(error),
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without words")
}
