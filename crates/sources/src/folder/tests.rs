#![expect(
    clippy::disallowed_methods,
    reason = "a test may write and damage what it likes"
)]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use rustix::fs::{Mode, OFlags};
use tempfile::TempDir;

use super::*;

/// Writes each file with its own name as content; missing folders are made.
fn folder(files: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for file in files {
        write(&dir, file, file);
    }
    dir
}

fn write(dir: &TempDir, file: &str, content: &str) {
    let path = dir.path().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn names(dir: &TempDir, found: &[Found]) -> Vec<String> {
    let root = dir.path().canonicalize().unwrap();
    let name = |f: &Found| f.path.strip_prefix(&root).unwrap().display().to_string();
    found.iter().map(name).collect()
}

fn all(dir: &TempDir) -> Vec<String> {
    let folder = Folder::new(&[dir.path().to_owned()]).unwrap();
    names(dir, &folder.walk(Cursor::default()).next_batch(1000).found)
}

#[test]
fn a_walk_is_depth_first_and_siblings_stand_by_their_bytes() {
    let dir = folder(&["b.txt", "a/z.txt", "a.txt", "a/b/c.txt", "B.txt"]);
    assert_eq!(
        all(&dir),
        ["B.txt", "a/b/c.txt", "a/z.txt", "a.txt", "b.txt"]
    );
}

#[test]
fn ignore_files_hide_and_ours_has_the_last_word() {
    let dir = folder(&[
        "keep.md",
        "drop.log",
        "sub/keep.log",
        "sub/x.tmp",
        ".hidden",
        "out/a.md",
    ]);
    write(&dir, ".gitignore", "*.log\nout/\n");
    write(&dir, "sub/.gristmillignore", "!keep.log\n*.tmp\n");
    assert_eq!(all(&dir), ["keep.md", "sub/keep.log"]);
}

#[test]
fn a_walk_resumed_at_any_cursor_misses_nothing_and_repeats_nothing() {
    let dir = folder(&["a/1", "a/2", "a.b", "b/c/d/3", "b/c.x", "b/c/e", "z"]);
    let folder = Folder::new(&[dir.path().to_owned()]).unwrap();
    let whole = folder.walk(Cursor::default()).next_batch(100);
    assert!(whole.exhausted);
    for size in 1..=whole.found.len() {
        let mut seen = Vec::new();
        let mut cursor = Cursor::default();
        loop {
            // Through JSON, as the catalog keeps it.
            let stored = serde_json::to_string(&cursor).unwrap();
            let batch = folder
                .walk(serde_json::from_str(&stored).unwrap())
                .next_batch(size);
            seen.extend(batch.found);
            cursor = batch.cursor;
            if batch.exhausted {
                break;
            }
        }
        assert_eq!(seen, whole.found, "batches of {size}");
    }
}

#[test]
fn overlapping_roots_are_walked_once() {
    let dir = folder(&["a/1", "b/2"]);
    let roots = [
        dir.path().join("a/1"),
        dir.path().join("b/.."),
        dir.path().join("a"),
    ];
    let folder = Folder::new(&roots).unwrap();
    assert_eq!(folder.roots().len(), 1);
    let found = folder.walk(Cursor::default()).next_batch(10).found;
    assert_eq!(names(&dir, &found), ["a/1", "b/2"]);
}

#[test]
fn a_file_asked_for_by_name_is_found_whatever_the_rules_say() {
    let dir = folder(&[".secret.log", "other.log"]);
    write(&dir, ".gitignore", "*.log\n");
    let folder = Folder::new(&[dir.path().join(".secret.log")]).unwrap();
    let found = folder.walk(Cursor::default()).next_batch(10).found;
    assert_eq!(names(&dir, &found), [".secret.log"]);
}

#[test]
fn links_are_not_followed_and_pipes_are_not_opened() {
    let dir = folder(&["real.txt", "elsewhere/x.txt"]);
    symlink(dir.path().join("real.txt"), dir.path().join("link.txt")).unwrap();
    symlink(dir.path().join("elsewhere"), dir.path().join("linked")).unwrap();
    assert_eq!(all(&dir), ["elsewhere/x.txt", "real.txt"]);
    assert!(open(&dir.path().join("link.txt")).is_err());
    assert!(matches!(open(dir.path()), Err(Error::NotAFile { .. })));
}

#[test]
fn a_name_that_is_not_text_is_found_under_its_own_identity() {
    let dir = folder(&[]);
    for name in [b"caf\xe9".as_slice(), b"caf\xe8"] {
        fs::write(dir.path().join(OsStr::from_bytes(name)), "x").unwrap();
    }
    let folder = Folder::new(&[dir.path().to_owned()]).unwrap();
    let found = folder.walk(Cursor::default()).next_batch(10).found;
    let ends: Vec<_> = found
        .iter()
        .map(|f| f.uri.as_str().rsplit('/').next().unwrap())
        .collect();
    assert_eq!(ends, ["caf%E8", "caf%E9"]);
}

#[test]
fn a_replaced_file_is_newer_even_when_its_time_is_set_back() {
    let dir = folder(&["doc.txt", "old.txt"]);
    let before = open(&dir.path().join("doc.txt")).unwrap().order;
    let old = fs::File::options()
        .write(true)
        .open(dir.path().join("old.txt"))
        .unwrap();
    old.set_modified(std::time::UNIX_EPOCH).unwrap();
    fs::rename(dir.path().join("old.txt"), dir.path().join("doc.txt")).unwrap();
    assert!(open(&dir.path().join("doc.txt")).unwrap().order >= before);
}

#[test]
fn a_folder_knows_what_it_would_still_find() {
    let dir = folder(&["a/1.txt", "a/2.log"]);
    let folder = Folder::new(&[dir.path().to_owned()]).unwrap();
    let root = dir.path().canonicalize().unwrap();
    let uri = |name: &str| uri::of_path(&root.join(name));
    assert!(folder.contains(&uri("a/1.txt")).unwrap());
    assert!(folder.contains(&uri("a/2.log")).unwrap());
    write(&dir, ".gitignore", "*.log\n");
    assert!(!folder.contains(&uri("a/2.log")).unwrap());
    fs::remove_file(root.join("a/1.txt")).unwrap();
    assert!(!folder.contains(&uri("a/1.txt")).unwrap());
    assert!(folder.covers(&uri("a/1.txt")));
    assert!(!folder.covers(&uri::of_path(Path::new("/elsewhere.txt"))));
}

#[test]
fn what_lies_below_a_folder_that_cannot_be_read_is_not_called_gone() {
    let dir = folder(&["a.txt"]);
    let root = dir.path().canonicalize().unwrap();
    // Too long a way for anybody, an administrator too; each step of it is short enough.
    let name = "d".repeat(255);
    let mut at = fs::File::open(&root).unwrap();
    let mut path = root.clone();
    for _ in 0..17 {
        rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let below = rustix::fs::openat(&at, &name, flags, Mode::empty()).unwrap();
        at = below.into();
        path.push(&name);
    }
    let folder = Folder::new(std::slice::from_ref(&root)).unwrap();
    let below = folder.contains(&uri::of_path(&path.join("1.txt")));
    assert!(matches!(below, Err(Error::Unreadable { .. })), "{below:?}");
    assert!(folder.contains(&uri::of_path(&root.join("a.txt"))).unwrap());
    assert!(
        !folder
            .contains(&uri::of_path(&root.join("b/1.txt")))
            .unwrap()
    );
    fs::remove_file(root.join("a.txt")).unwrap();
    assert!(!folder.contains(&uri::of_path(&root.join("a.txt"))).unwrap());
}

#[test]
fn nothing_of_a_folder_that_was_taken_away_is_called_gone() {
    let dir = folder(&["a.txt"]);
    let root = dir.path().canonicalize().unwrap();
    let folder = Folder::new(std::slice::from_ref(&root)).unwrap();
    drop(dir);
    let asked = folder.contains(&uri::of_path(&root.join("a.txt")));
    assert!(matches!(asked, Err(Error::Unreadable { .. })), "{asked:?}");
}
