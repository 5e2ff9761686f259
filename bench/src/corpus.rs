//! Real documents of this machine: crates' Markdown, and the HTML of the toolchain's and the
//! system's documentation.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Smallest and largest, in bytes.
pub type Sizes = (u64, u64);

pub fn markdown(sizes: Sizes) -> Vec<PathBuf> {
    let home = PathBuf::from(std::env::var("HOME").unwrap_or_default());
    let cargo = std::env::var_os("CARGO_HOME").map_or(home.join(".cargo"), PathBuf::from);
    found(
        &[cargo.join("registry/src"), "/usr/share/doc".into()],
        "md",
        sizes,
    )
}

pub fn html(sizes: Sizes) -> anyhow::Result<Vec<PathBuf>> {
    let sysroot = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()?;
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout)?.trim());
    let roots = [sysroot.join("share/doc"), "/usr/share/doc".into()];
    Ok(found(&roots, "html", sizes))
}

fn found(roots: &[PathBuf], kind: &str, sizes: Sizes) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for root in roots {
        find(root, kind, sizes, &mut found);
    }
    found.sort();
    found
}

fn find(folder: &Path, kind: &str, sizes: Sizes, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let (path, Ok(known)) = (entry.path(), entry.file_type()) else {
            continue;
        };
        if known.is_dir() {
            find(&path, kind, sizes, found);
        } else if known.is_file() && path.extension().is_some_and(|end| end == kind) {
            let size = entry.metadata().map_or(0, |meta| meta.len());
            if (sizes.0..=sizes.1).contains(&size) {
                found.push(path);
            }
        }
    }
}
