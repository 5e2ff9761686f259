//! A large text told while it is read: neither it nor the answer is ever whole in memory.
//!
//! The request has been read to its end before the answer begins, so a client that reads
//! nothing until it has sent everything is served too.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use engine::{Engine, Said};
use futures::{StreamExt as _, stream};
use parse::{Hints, Markdown};
use pipeline::units::Tiler;
use tokio::sync::mpsc;

use super::{Cutting, Format};
use crate::arrived::Arrived;
use crate::problem::Problem;

type Piece = Result<Bytes, engine::Error>;

/// What is told of a text.
pub(super) enum Told {
    Read(Format),
    Cut(Cutting),
}

/// What goes wrong before the first piece is a problem like any other; after that the answer
/// breaks off.
pub(super) async fn answer(
    engine: Arc<Engine>,
    arrived: Arrived,
    hints: Hints,
    told: Told,
) -> Result<Response, Problem> {
    let kind = match told {
        Told::Read(Format::Md | Format::Text) => "text/plain; charset=utf-8",
        Told::Read(Format::Json) | Told::Cut(_) => "application/json",
    };
    let (to, mut from) = mpsc::channel::<Piece>(1);
    let telling = Telling {
        engine,
        arrived,
        hints,
        to,
    };
    tokio::spawn(telling.tell(told));
    let first = match from.recv().await {
        Some(Err(error)) => return Err(error.into()),
        Some(Ok(piece)) => Some(Ok(piece)),
        None => None,
    };
    let rest = stream::poll_fn(move |context| from.poll_recv(context));
    let body = Body::from_stream(stream::iter(first).chain(rest));
    Ok(([(CONTENT_TYPE, kind)], body).into_response())
}

struct Telling {
    engine: Arc<Engine>,
    arrived: Arrived,
    hints: Hints,
    to: mpsc::Sender<Piece>,
}

/// The client has gone.
struct Gone;

enum Ended {
    Failed(engine::Error),
    Gone,
}

impl From<engine::Error> for Ended {
    fn from(error: engine::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Gone> for Ended {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl Telling {
    async fn tell(self, told: Told) {
        let told = match told {
            Told::Read(Format::Text) => self.text().await,
            Told::Read(Format::Md) => self.markdown().await,
            Told::Read(Format::Json) => self.json().await,
            Told::Cut(cutting) => self.chunks(cutting).await,
        };
        if let Err(Ended::Failed(error)) = told {
            tracing::warn!(%error, "a text could not be read to its end");
            // Nobody listens once the client has gone.
            let _ = self.to.send(Err(error)).await;
        }
    }

    async fn send(&self, piece: impl Into<Bytes>) -> Result<(), Gone> {
        self.to.send(Ok(piece.into())).await.map_err(|_| Gone)
    }

    async fn slices(&self) -> Result<engine::inspect::Slices<'_>, engine::Error> {
        let staged = self.arrived.staged();
        self.engine.slices(staged, self.hints.clone()).await
    }

    async fn text(&self) -> Result<(), Ended> {
        let mut slices = self.slices().await?;
        while let Some(slice) = slices.next().await? {
            self.send(slice.text).await?;
        }
        Ok(())
    }

    async fn markdown(&self) -> Result<(), Ended> {
        let mut markdown = Markdown::default();
        let mut slices = self.slices().await?;
        while let Some(slice) = slices.next().await? {
            self.send(markdown.slice(&slice)).await?;
        }
        let mut end = String::new();
        markdown.finish(&mut end);
        Ok(self.send(end).await?)
    }

    /// The chunks of units that are complete, while the next are read.
    async fn chunks(&self, cutting: Cutting) -> Result<(), Ended> {
        let cutting = Arc::new(cutting);
        let (mut tiler, mut before) = (Tiler::default(), "{\"items\":[");
        let mut slices = self.slices().await?;
        loop {
            let slice = slices.next().await?;
            let ended = slice.is_none();
            let cutting = Arc::clone(&cutting);
            let cut = tokio::task::spawn_blocking(move || {
                let (units, tiler) = match slice {
                    Some(slice) => (tiler.push(&slice.text, slice.atoms), tiler),
                    None => (tiler.finish(), Tiler::default()),
                };
                let chunks = units.iter().flat_map(|unit| cutting.chunks(unit));
                (tiler, chunks.collect::<Vec<_>>())
            });
            let chunks;
            (tiler, chunks) = cut.await.map_err(|_| engine::Error::StageStopped)?;
            let mut json = String::new();
            for chunk in &chunks {
                let chunk = serde_json::to_string(chunk).expect("a chunk is plain data");
                json.extend([before, &chunk]);
                before = ",";
            }
            self.send(json).await?;
            if ended {
                break;
            }
        }
        let begun = if before == "," { "" } else { before };
        Ok(self.send(format!("{begun}]}}")).await?)
    }

    /// The fields of a document in their order. Text and atoms do not come apart, so the file
    /// is read once for each.
    async fn json(&self) -> Result<(), Ended> {
        let mut slices = self.slices().await?;
        let media_type = quoted(slices.format().media_type());
        let begin = format!("{{\"media_type\":{media_type},\"text\":\"");
        self.send(begin).await?;
        while let Some(slice) = slices.next().await? {
            let text = quoted(&slice.text);
            self.send(text[1..text.len() - 1].to_owned()).await?;
        }
        self.send("\",\"atoms\":[").await?;
        let (mut said, mut base, mut atoms) = (Said::default(), 0, 0u64);
        let mut slices = self.slices().await?;
        let format = slices.format();
        while let Some(mut slice) = slices.next().await? {
            said.hear(&mut slice, base);
            base += slice.text.len() as u64;
            let mut json = String::new();
            for atom in &slice.atoms {
                let comma = if atoms > 0 { "," } else { "" };
                atoms += 1;
                let atom = serde_json::to_string(atom).expect("an atom is plain data");
                json.extend([comma, &atom]);
            }
            self.send(json).await?;
        }
        let about = serde_json::to_string(&said.about(format)).expect("it is plain data");
        let rest = about
            .split_once("\"atoms\":[")
            .expect("one of its fields")
            .1;
        Ok(self.send(rest.to_owned()).await?)
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is plain data")
}
