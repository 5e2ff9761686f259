//! Looking for what should be gone in every byte of every file.

use std::path::{Path, PathBuf};

/// Files below a folder that hold some bytes.
pub fn holding(folder: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).expect("the folder can be listed");
    for entry in entries {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            found.extend(holding(&path, bytes));
        } else {
            let all = std::fs::read(&path).expect("nobody else is at the folder");
            let holds = all.windows(bytes.len()).any(|window| window == bytes);
            found.extend(holds.then_some(path));
        }
    }
    found
}
