//! Reads documents where they can do no harm.
//!
//! In: a document's bytes. Out: what [`parse`] makes of it. Parsing runs in a child
//! process of the same program that has no files, no network, and limits on CPU time,
//! wall time, memory and output; children are kept and used again. When a page kills its
//! child, that page is left out, the rest is read, and the gap is recorded: a document can
//! cost its own pages, never the parent.
//!
//! The program hands [`child_main`] its hidden subcommand; [`Program`] says how to call it.

mod allowance;
mod calls;
mod child;
mod confine;
mod error;
mod heap;
mod isolate;
mod pieces;
mod pool;
mod print;
mod process;
mod protocol;
mod reading;
mod recognise;
mod scratch;
mod settings;
mod tool;
mod usage;

use std::sync::Arc;

use bytes::Bytes;
use model::{Gap, Parsed};
use parse::{Checkpoint, Format, Hints, Options, Stream};

pub use child::{child_main, child_main_with};
pub use error::{Death, Error, Fault};
pub use heap::{give_back_free_memory, keep_few_arenas};
pub use protocol::Holds;
pub use reading::Reading;
pub use scratch::empty;
pub use settings::{Ocr, Office, Program, Settings};

use pool::Pool;
use protocol::{Request, Want};

/// Where documents are read. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox {
    mode: Arc<Mode>,
}

enum Mode {
    Children(Box<Pool>),
    Unconfined(Arc<Unconfined>),
}

#[derive(Default)]
struct Unconfined {
    limits: parse::Limits,
    /// Pages, counted from 0, that are taken for such as hurt.
    poison: Vec<u32>,
}

impl Unconfined {
    /// As [`isolate`] would come to it.
    fn parse(&self, bytes: &[u8], hints: &Hints) -> Result<Parsed, parse::Error> {
        let options = Options {
            skip: self.poison.clone(),
            ..Options::default()
        };
        let mut parsed = parse::parse_part(bytes, hints, &self.limits, &options)?;
        parsed.gaps.extend(self.poison.iter().map(|page| Gap {
            pages: Some((page + 1, page + 1)),
            reason: Death::Memory.to_string(),
        }));
        Ok(parsed)
    }
}

impl Sandbox {
    /// Starts no child yet: the first document does.
    pub fn new(settings: Settings, program: Program) -> Self {
        Self {
            mode: Arc::new(Mode::Children(Box::new(Pool::new(settings, program)))),
        }
    }

    /// Parses in this very process, with no protection at all: for other crates' tests.
    pub fn unconfined_for_tests() -> Self {
        Self::unconfined_and_hurt_by(Vec::new())
    }

    /// As [`Sandbox::unconfined_for_tests`], where these pages, counted from 0, cannot be read.
    pub fn unconfined_and_hurt_by(poison: Vec<u32>) -> Self {
        let by = Unconfined {
            poison,
            ..Unconfined::default()
        };
        Self {
            mode: Arc::new(Mode::Unconfined(Arc::new(by))),
        }
    }

    /// Reads a document. Pages that hurt come back as gaps, and so do pages that are pictures,
    /// unless there is a program to recognise their words.
    pub async fn parse(&self, bytes: Bytes, hints: Hints) -> Result<Parsed, Error> {
        match &*self.mode {
            Mode::Children(pool) => {
                let parsed = isolate::parse(pool, &bytes, &hints, &[]).await?;
                let words = recognise::words(pool, &bytes, &parsed).await;
                if words.is_empty() {
                    return Ok(parsed);
                }
                isolate::parse(pool, &bytes, &hints, &words).await
            }
            Mode::Unconfined(by) => {
                let by = Arc::clone(by);
                unconfined(move || by.parse(&bytes, &hints)).await
            }
        }
    }

    /// Begins to read a text in pieces, with flat memory. `head` is its beginning, of
    /// [`Format::HEAD_BYTES`], which tells what it is and is to be pushed like the rest.
    /// `None` where its format is read only as a whole.
    pub async fn stream(&self, head: &[u8], hints: Hints) -> Result<Option<Reading<'_>>, Error> {
        match &*self.mode {
            Mode::Children(pool) => {
                let request = Request {
                    want: Want::Stream,
                    ..Request::parse(hints, pool.settings())
                };
                Reading::begin(pool, &request, head).await
            }
            Mode::Unconfined(by) => {
                let format = Format::detect(head, &hints)?;
                let reading = || Reading::unconfined(format, Stream::new(format, &by.limits));
                Ok(format.streams().then(reading))
            }
        }
    }

    /// Goes on with a text that was read in pieces, from the place a slice of it named; bytes
    /// are pushed from there on.
    pub async fn resume(&self, from: Checkpoint) -> Result<Reading<'_>, Error> {
        match &*self.mode {
            Mode::Children(pool) => {
                let request = Request {
                    want: Want::Resume(from),
                    ..Request::parse(Hints::default(), pool.settings())
                };
                let begun = Reading::begin(pool, &request, &[]).await?;
                begun.ok_or_else(|| Error::Protocol("a text that is not resumed".to_owned()))
            }
            Mode::Unconfined(by) => {
                let format = from.format;
                let stream = Stream::resume(from, &by.limits);
                Ok(Reading::unconfined(format, stream))
            }
        }
    }

    /// The most memory a child has had that answered, in bytes: for figures and reports.
    pub fn largest_child(&self) -> u64 {
        match &*self.mode {
            Mode::Children(pool) => pool.largest(),
            Mode::Unconfined(_) => 0,
        }
    }

    /// Renders a page of a PDF, counted from 1, as PNG at `scale` pixels to the point.
    pub async fn render(&self, bytes: Bytes, page: u32, scale: f32) -> Result<Bytes, Error> {
        let pool = match &*self.mode {
            Mode::Children(pool) => pool,
            Mode::Unconfined(_) => {
                let render = move || parse::pdf::render_page(&bytes, page, scale);
                return unconfined(render).await.map(|image| image.png.into());
            }
        };
        pool.draw(&bytes, page, scale).await
    }

    /// Whether there is somebody to [`print`](Self::print).
    pub fn prints(&self) -> bool {
        match &*self.mode {
            Mode::Children(pool) => pool.settings().office.is_some(),
            Mode::Unconfined(_) => false,
        }
    }

    /// A DOCX as the PDF an office suite makes of it.
    pub async fn print(&self, bytes: Bytes) -> Result<Bytes, Error> {
        match &*self.mode {
            Mode::Children(pool) => print::print(pool, bytes).await,
            Mode::Unconfined(_) => Err(print::nobody()),
        }
    }

    /// Reads such a print for its pages and for where its words stand. Those in its pictures
    /// are recognised for nobody.
    pub async fn read_print(&self, bytes: Bytes) -> Result<Parsed, Error> {
        match &*self.mode {
            Mode::Children(pool) => isolate::parse(pool, &bytes, &Hints::default(), &[]).await,
            Mode::Unconfined(_) => self.parse(bytes, Hints::default()).await,
        }
    }

    /// The same with a single child that stands back for every other process: for work that
    /// nobody waits for.
    #[must_use]
    pub fn behind(&self) -> Self {
        match &*self.mode {
            Mode::Children(pool) => Self {
                mode: Arc::new(Mode::Children(Box::new(pool.behind()))),
            },
            Mode::Unconfined(_) => self.clone(),
        }
    }

    /// The same with children of its own: neither waits for the other.
    #[must_use]
    pub fn beside(&self) -> Self {
        match &*self.mode {
            Mode::Children(pool) => Self {
                mode: Arc::new(Mode::Children(Box::new(pool.beside()))),
            },
            Mode::Unconfined(_) => self.clone(),
        }
    }

    /// Whether a document would be looked at at once. Who draws ahead of demand asks.
    pub fn has_room(&self) -> bool {
        match &*self.mode {
            Mode::Children(pool) => pool.has_room(),
            Mode::Unconfined(_) => true,
        }
    }
}

async fn unconfined<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, parse::Error> + Send + 'static,
) -> Result<T, Error> {
    let result = tokio::task::spawn_blocking(work).await;
    let result = result.map_err(|_| Error::Deadly {
        death: Death::Crashed("it panicked".to_owned()),
    })?;
    Ok(result?)
}
