//! A text read in pieces, from the parent's side. Neither side ever holds more of it than a
//! piece and the slice that comes of it.

use bytes::Bytes;
use parse::{Format, Slice, Stream};

use crate::error::Error;
use crate::pool::{Lease, Pool};
use crate::protocol::{Kind, Request};

/// Holds a child until the text has ended. Dropped before that, the child is ended.
pub struct Reading<'s> {
    format: Format,
    by: By<'s>,
}

enum By<'s> {
    Child(&'s Pool, Box<Lease<'s>>),
    Ourselves(Box<Stream>),
}

impl<'s> Reading<'s> {
    /// `None` where the format is not read in pieces.
    pub(crate) async fn begin(
        pool: &'s Pool,
        request: &Request,
        head: &[u8],
    ) -> Result<Option<Self>, Error> {
        let settings = pool.settings();
        let mut lease = pool.lease().await?;
        let opened = lease.process.open(request, head, settings).await?;
        match opened {
            (Kind::Streams, format) => Ok(Some(Self {
                format: serde_json::from_slice(&format).map_err(wrong)?,
                by: By::Child(pool, Box::new(lease)),
            })),
            (Kind::Whole, _) => {
                lease.process.done(settings).await?;
                pool.put_back(lease.process);
                Ok(None)
            }
            other => Err(unexpected(other)),
        }
    }

    pub(crate) fn unconfined(format: Format, stream: Stream) -> Self {
        Self {
            format,
            by: By::Ourselves(Box::new(stream)),
        }
    }

    pub fn format(&self) -> Format {
        self.format
    }

    /// Takes the next bytes; answers once enough text has come together.
    pub async fn push(&mut self, bytes: Bytes) -> Result<Option<Slice>, Error> {
        let (pool, lease) = match &mut self.by {
            By::Child(pool, lease) => (pool, lease),
            By::Ourselves(stream) => return Ok(stream.push(&bytes)?),
        };
        let settings = pool.settings();
        match lease
            .process
            .exchange(Kind::Piece, &bytes, settings)
            .await?
        {
            (Kind::Slice, slice) => serde_json::from_slice(&slice).map_err(wrong),
            other => Err(unexpected(other)),
        }
    }

    /// The text has ended: its last slice, which may be empty.
    pub async fn finish(self) -> Result<Slice, Error> {
        let (pool, mut lease) = match self.by {
            By::Child(pool, lease) => (pool, lease),
            By::Ourselves(stream) => return Ok(stream.finish()?),
        };
        let settings = pool.settings();
        let slice: Option<Slice> = match lease.process.exchange(Kind::End, &[], settings).await? {
            (Kind::Slice, slice) => serde_json::from_slice(&slice).map_err(wrong)?,
            other => return Err(unexpected(other)),
        };
        lease.process.done(settings).await?;
        pool.put_back(lease.process);
        slice.ok_or_else(|| Error::Protocol("no last slice".to_owned()))
    }
}

fn wrong(error: serde_json::Error) -> Error {
    Error::Protocol(error.to_string())
}

/// A refusal is the document's; anything else is out of turn.
fn unexpected((kind, payload): (Kind, Vec<u8>)) -> Error {
    if kind != Kind::Refused {
        return Error::Protocol(format!("{kind:?} out of turn"));
    }
    match serde_json::from_slice::<parse::Error>(&payload) {
        Ok(refusal) => refusal.into(),
        Err(error) => wrong(error),
    }
}
