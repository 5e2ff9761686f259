//! Paths and bucket keys as source URIs, and back.
//!
//! A path is bytes, not text. Every byte outside RFC 3986's `pchar` is written
//! `%XX`, so a name that is not UTF-8 keeps its identity and two names never share one.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use model::SourceUri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use crate::Error;

const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// The identity of a file. `path` is absolute.
pub fn of_path(path: &Path) -> SourceUri {
    let escaped = percent_encode(path.as_os_str().as_bytes(), ESCAPED);
    SourceUri::new(format!("file://{escaped}")).expect("escaping leaves no control character")
}

pub fn to_path(uri: &SourceUri) -> Result<PathBuf, Error> {
    let refused = || Error::NotAFileUri {
        uri: uri.to_string(),
    };
    let path = uri.as_str().strip_prefix("file://").ok_or_else(refused)?;
    // An authority would stand before the first slash; we only speak of this machine.
    if !path.starts_with('/') {
        return Err(refused());
    }
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

/// The identity of an object in a bucket; `key` is decoded already.
pub fn of_object(bucket: &str, key: &str) -> SourceUri {
    let key = percent_encode(key.as_bytes(), ESCAPED);
    let bucket = percent_encode(bucket.as_bytes(), ESCAPED);
    SourceUri::new(format!("s3://{bucket}/{key}")).expect("escaping leaves no control character")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_a_disk_can_hold_round_trips() {
        let names: [&[u8]; 7] = [
            b"/docs/plain.txt",
            b"/docs/with space & 100%.md",
            "/docs/Übung – 漢字.pdf".as_bytes(),
            b"/docs/latin1-\xe9\xff.txt",
            b"/docs/line\nbreak\ttab\x7f",
            b"/docs/what?#query=1",
            b"/docs/%41-not-an-A",
        ];
        for name in names {
            let path = PathBuf::from(OsString::from_vec(name.to_vec()));
            let uri = of_path(&path);
            assert!(uri.as_str().is_ascii(), "{uri}");
            assert_eq!(to_path(&uri).unwrap(), path);
        }
    }

    #[test]
    fn a_uri_reads_as_people_expect() {
        let uri = of_path(Path::new("/docs/Mill Notes (v2).md"));
        assert_eq!(uri.as_str(), "file:///docs/Mill%20Notes%20(v2).md");
        assert_eq!(
            of_object("grain", "2026/a b.txt").as_str(),
            "s3://grain/2026/a%20b.txt"
        );
    }

    #[test]
    fn another_machine_or_scheme_is_not_a_local_file() {
        for uri in ["file://host/share/a.txt", "https://host/a.txt"] {
            assert!(to_path(&SourceUri::new(uri).unwrap()).is_err());
        }
    }
}
