//! ZIP archives, read part by part under one budget of inflated bytes.
//!
//! Declared sizes are never believed: what is counted is what comes out. Names
//! are only ever looked up in the archive's own table, never on a disk.

use std::cell::Cell;
use std::io::{self, Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::{Budget, Error, Format, Hints, Limits};

pub(crate) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    format: Format,
    limit: u64,
    left: Cell<u64>,
    /// What is left for a part that is read ahead.
    ahead: Cell<u64>,
}

impl<'a> Archive<'a> {
    pub(crate) fn open(bytes: &'a [u8], format: Format, limits: &Limits) -> Result<Self, Error> {
        let zip =
            ZipArchive::new(Cursor::new(bytes)).map_err(|cause| Error::damaged(format, cause))?;
        if zip.len() as u64 > limits.entries {
            return Err(Error::OverBudget {
                budget: Budget::Entries,
                limit: limits.entries,
            });
        }
        Ok(Self {
            zip,
            format,
            limit: limits.inflated_bytes,
            left: Cell::new(limits.inflated_bytes),
            ahead: Cell::new(0),
        })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(name).is_some()
    }

    /// A part as a stream that ends in an error once the budget is spent.
    pub(crate) fn part(&mut self, name: &str) -> Result<Option<Part<'_>>, Error> {
        let format = self.format;
        let file = match self.zip.by_name(name) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
                return Err(Error::Encrypted { format });
            }
            Err(cause) => return Err(Error::damaged(format, cause)),
        };
        Ok(Some(Part {
            inner: Box::new(file),
            left: &self.left,
            limit: self.limit,
        }))
    }

    /// The same for a look at what comes late in it: it is counted once it is read for good.
    pub(crate) fn part_ahead(&mut self, name: &str) -> Result<Part<'_>, Error> {
        self.ahead.set(self.left.get());
        let found = self.zip.by_name(name);
        let file = found.map_err(|cause| Error::damaged(self.format, cause))?;
        Ok(Part {
            inner: Box::new(file),
            left: &self.ahead,
            limit: self.limit,
        })
    }

    pub(crate) fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let format = self.format;
        let Some(mut part) = self.part(name)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        part.read_to_end(&mut bytes)
            .map_err(|cause| from_io(format, &cause))?;
        Ok(Some(bytes))
    }
}

pub(crate) struct Part<'a> {
    inner: Box<dyn Read + 'a>,
    left: &'a Cell<u64>,
    limit: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 {
            return Err(io::Error::other(Error::OverBudget {
                budget: Budget::InflatedBytes,
                limit: self.limit,
            }));
        }
        let room = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = self.inner.read(&mut buffer[..room])?;
        self.left.set(left - read as u64);
        Ok(read)
    }
}

/// Our own error back out of the `io::Error` it travelled in.
pub(crate) fn from_io(format: Format, cause: &io::Error) -> Error {
    let ours = cause
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>());
    ours.cloned()
        .unwrap_or_else(|| Error::damaged(format, cause))
}

/// Which document an archive is, by the parts it has.
pub(crate) fn format_of(bytes: &[u8], hints: &Hints) -> Result<Format, Error> {
    // An archive that cannot be opened is a damaged one of the kind it claims to be.
    let claimed = hints
        .suggested()
        .filter(|f| is_archive(*f))
        .unwrap_or(Format::Docx);
    let limits = Limits {
        inflated_bytes: 1 << 16,
        entries: u64::MAX,
        ..Limits::default()
    };
    let mut archive = Archive::open(bytes, claimed, &limits)?;
    if let Some(format) = by_mimetype(&mut archive) {
        return Ok(format);
    }
    let has = |name| archive.has(name);
    if has("word/document.xml") {
        Ok(Format::Docx)
    } else if has("ppt/presentation.xml") {
        Ok(Format::Pptx)
    } else if has("xl/workbook.xml") || has("xl/workbook.bin") {
        Ok(Format::Xlsx)
    } else if has("META-INF/container.xml") {
        Ok(Format::Epub)
    } else if has("[Content_Types].xml") && is_archive(claimed) {
        Ok(claimed)
    } else {
        Err(Error::Unsupported {
            what: "a ZIP archive that is no document".to_owned(),
        })
    }
}

fn is_archive(format: Format) -> bool {
    use Format::{Docx, Epub, Odt, Pptx, Xlsx};
    matches!(format, Docx | Pptx | Xlsx | Odt | Epub)
}

/// OpenDocument and EPUB say what they are in a part of their own.
fn by_mimetype(archive: &mut Archive<'_>) -> Option<Format> {
    let name = archive.read("mimetype").ok()??;
    match std::str::from_utf8(&name).ok()?.trim() {
        "application/epub+zip" => Some(Format::Epub),
        name if name.starts_with(Format::Odt.media_type()) => Some(Format::Odt),
        _ => None,
    }
}
