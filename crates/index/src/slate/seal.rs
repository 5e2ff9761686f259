//! A record that can tell whether it was changed.
//!
//! ```text
//! 02 | first 8 bytes of the SHA-256 of what follows | what follows
//! ```
//!
//! The store's own checksums find bytes a disk has lost; this finds a record something
//! wrote over. Readers skip it, the audit and the reuse of vectors ask it.

use model::ContentHash;

/// Stands where an unsealed record has its version.
pub const SEALED: u8 = 2;
/// Version and sum.
pub const HEAD: usize = 9;

/// The head of a record that is about to be written; [`close`] completes it.
pub fn begin() -> Vec<u8> {
    let mut bytes = vec![0; HEAD];
    bytes[0] = SEALED;
    bytes
}

pub fn close(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = sum(&bytes[HEAD..]);
    bytes[1..HEAD].copy_from_slice(&sum);
    bytes
}

/// Whether a record is as it was written; one without a seal cannot tell.
pub fn is_whole(bytes: &[u8]) -> bool {
    match bytes.split_first() {
        Some((&SEALED, rest)) => rest
            .split_at_checked(HEAD - 1)
            .is_some_and(|(sealed, body)| sealed == sum(body)),
        _ => true,
    }
}

fn sum(body: &[u8]) -> [u8; 8] {
    let hash = ContentHash::of(body);
    let (first, _) = hash
        .as_bytes()
        .split_first_chunk()
        .expect("a hash is longer");
    *first
}
