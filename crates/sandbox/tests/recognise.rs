//! Pages that are pictures, with and without somebody to recognise their words.

#![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use parse::Hints;
use samples::pdf::{Page, pdf, scan};
use sandbox::{Ocr, Program, Sandbox, Settings};

const WORDS: &str = "The miller keeps the sluice";

fn sandbox(ocr: Option<Ocr>) -> Sandbox {
    let settings = Settings {
        children: 1,
        ocr,
        ..Settings::default()
    };
    let program = Program::new(env!("CARGO_BIN_EXE_sandbox-test-child"), &[]);
    Sandbox::new(settings, program)
}

/// A printed page, scanned: what it says is in its pixels only.
fn scanned() -> Bytes {
    let drawn = parse::pdf::render_page(&pdf(&[Page::Text(WORDS)]), 1, 3.0).unwrap();
    scan(&drawn.png).unwrap().into()
}

async fn read(sandbox: &Sandbox) -> model::Parsed {
    sandbox.parse(scanned(), Hints::default()).await.unwrap()
}

/// A recogniser that says the same whatever it is shown, after it has tried to break out.
fn parrot(folder: &Path, words: &str) -> PathBuf {
    let mut table = String::from("1\\t1\\t0\\t0\\t0\\t0\\t0\\t0\\t2550\\t3300\\t-1\\t\\n");
    for (at, word) in words.split(' ').enumerate() {
        let left = 300 + 120 * at;
        table.push_str(&format!(
            "5\\t1\\t1\\t1\\t1\\t{at}\\t{left}\\t340\\t100\\t46\\t96\\t{word}\\n"
        ));
    }
    let program = folder.join("parrot");
    let secret = folder.join("secret");
    std::fs::write(&secret, "sesame").unwrap();
    let script = format!(
        "#!/bin/sh\n\
         printf '{table}'\n\
         if true <'{0}' || echo x >'{0}'; then printf '5\\t1\\t1\\t1\\t1\\t1\\t9\\t340\\t9\\t46\\t96\\tescaped\\n'; fi\n\
         exit 0\n",
        secret.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[tokio::test]
async fn a_scanned_page_is_a_gap_where_nobody_recognises_words() {
    let parsed = read(&sandbox(None)).await;
    assert!(parsed.text.is_empty(), "{}", parsed.text);
    let [gap] = &parsed.gaps[..] else {
        panic!("one gap was expected, not {:?}", parsed.gaps);
    };
    assert_eq!(gap.pages, Some((1, 1)));
    assert!(gap.reason.contains("picture"), "{}", gap.reason);
}

#[tokio::test]
async fn recognised_words_are_text_with_a_place_and_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let ocr = Ocr::new(parrot(folder.path(), WORDS), "eng");
    let parsed = read(&sandbox(Some(ocr))).await;
    // It could neither read nor write a file beside itself.
    assert_eq!(parsed.text, WORDS);
    assert!(parsed.gaps.is_empty(), "{:?}", parsed.gaps);
    let warning = &parsed.warnings[0].message;
    assert!(warning.contains("recognised from pictures"), "{warning}");
    let place = &parsed.atoms[0].boxes[0];
    assert_eq!(place.page, 1);
    assert!((place.left - 72.0).abs() < 1.0, "{place:?}");
}

#[tokio::test]
async fn a_recogniser_that_fails_or_sees_nothing_leaves_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    for program in [parrot(folder.path(), ""), PathBuf::from("/bin/false")] {
        let parsed = read(&sandbox(Some(Ocr::new(program, "eng")))).await;
        assert_eq!(parsed.gaps.len(), 1, "{:?}", parsed.gaps);
    }
}

#[tokio::test]
async fn tesseract_reads_a_scanned_page_where_it_is_installed() {
    let Some(tesseract) = installed("tesseract") else {
        eprintln!("tesseract is not installed: nothing to see here");
        return;
    };
    let parsed = read(&sandbox(Some(Ocr::new(tesseract, "eng")))).await;
    assert_eq!(parsed.text, WORDS);
    let place = &parsed.atoms[0].boxes[0];
    assert!((place.left - 72.0).abs() < 3.0, "{place:?}");
    assert!((place.top - 82.0).abs() < 6.0, "{place:?}");
}

fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}
