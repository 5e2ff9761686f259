//! The child's side of a text that is read in pieces: each piece is answered before the next
//! is sent, with the slice of text it completed or with none.

use std::io::{self, Read, Write};

use parse::{Format, Slice, Stream};

use crate::confine;
use crate::protocol::{Kind, Request, Want, read_frame, write_frame};

pub(crate) fn serve(
    request: &Request,
    head: &[u8],
    from: &mut impl Read,
    to: &mut impl Write,
) -> io::Result<()> {
    let (format, mut stream) = match &request.want {
        Want::Resume(from) => (from.format, Stream::resume(from.clone(), &request.limits)),
        _ => match Format::detect(head, &request.hints) {
            Ok(format) if format.streams() => (format, Stream::new(format, &request.limits)),
            Ok(_) => return write_frame(to, Kind::Whole, &[]),
            Err(error) => return refuse(&error, to),
        },
    };
    write_frame(to, Kind::Streams, &serde_json::to_vec(&format)?)?;
    loop {
        let frame = read_frame(from)?;
        // Every piece may take as long as a document: there is no telling how many come.
        confine::limit_cpu(request.cpu_seconds);
        match frame {
            Some((Kind::Piece, bytes)) => match stream.push(&bytes) {
                Ok(slice) => tell(slice.as_ref(), to)?,
                Err(error) => return refuse(&error, to),
            },
            Some((Kind::End, _)) => {
                return match stream.finish() {
                    Ok(last) => tell(Some(&last), to),
                    Err(error) => refuse(&error, to),
                };
            }
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

fn tell(slice: Option<&Slice>, to: &mut impl Write) -> io::Result<()> {
    write_frame(to, Kind::Slice, &serde_json::to_vec(&slice)?)
}

fn refuse(error: &parse::Error, to: &mut impl Write) -> io::Result<()> {
    write_frame(to, Kind::Refused, &serde_json::to_vec(error)?)
}
