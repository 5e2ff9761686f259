//! Pages as pictures: on demand, ahead of it, and printed where a document has none.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Method;
use samples::office::{docx, docx_body};
use samples::pdf::{Page, pdf};
use serde_json::Value;
use tempfile::TempDir;

use crate::api::served::{Served, send};
use crate::mill::{Mill, text};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

async fn read(served: &Served, name: &str, bytes: Vec<u8>) -> String {
    let queued = served.upload(name, bytes).await.expect(202);
    let kinds = served.follow(&served.token, text(&queued["run_id"])).await;
    assert_eq!(kinds.last().map(String::as_str), Some("run.succeeded"));
    text(&queued["version_id"]).to_owned()
}

async fn is_drawn(served: &Served, version: &str, page: u32) -> bool {
    let path = format!("/v1/versions/{version}/pages/{page}");
    let answer = send(served.request(Method::GET, &path)).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "image/png");
    answer.bytes().await.unwrap().starts_with(PNG)
}

/// The page images that are kept, by their numbers.
fn kept(data: &Path) -> Vec<u32> {
    let mut found = Vec::new();
    let mut folders = vec![data.join("objects/cache")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path: PathBuf = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
                let number = name.strip_suffix("@110.png");
                found.extend(number.and_then(|number| number.parse::<u32>().ok()));
            }
        }
    }
    found.sort_unstable();
    found
}

async fn until_kept(data: &Path, pages: &[u32]) {
    while kept(data) != pages {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn eight_pages() -> Vec<u8> {
    let words: Vec<String> = (1..=8)
        .map(|n| format!("Sack {n} of the harvest"))
        .collect();
    let pages: Vec<Page<'_>> = words.iter().map(|words| Page::Text(words)).collect();
    pdf(&pages)
}

#[tokio::test]
async fn the_pages_after_the_one_looked_at_are_drawn_before_they_are_asked_for() {
    let served = Served::with(Mill::sqlite(), &[("GRISTMILL_PARSE_PAGES_AHEAD", "3")]);
    let version = read(&served, "sacks.pdf", eight_pages()).await;
    let data = served.mill.data();
    assert!(
        kept(&data).is_empty(),
        "a document nobody looks at costs nothing"
    );
    assert!(is_drawn(&served, &version, 2).await);
    until_kept(&data, &[2, 3, 4, 5]).await;
    // Further on only what is not there yet, and nothing past the last.
    assert!(is_drawn(&served, &version, 6).await);
    until_kept(&data, &[2, 3, 4, 5, 6, 7, 8]).await;
    let nowhere = served.get(&format!("/v1/versions/{version}/pages/9")).await;
    assert_eq!(nowhere.problem(404), "not_found");
    let figures = served.get("/metrics").await.text;
    assert!(figures.contains("{outcome=\"asked\"} 2"), "{figures}");
    assert!(figures.contains("{outcome=\"ahead\"} 5"), "{figures}");
}

#[tokio::test]
async fn a_picture_that_was_damaged_is_drawn_again() {
    let served = Served::sqlite();
    let version = read(&served, "sacks.pdf", eight_pages()).await;
    let page = format!("/v1/versions/{version}/pages/8");
    let drawn = async || {
        let answer = send(served.request(Method::GET, &page)).await;
        answer.bytes().await.unwrap()
    };
    let whole = drawn().await;
    assert!(whole.starts_with(PNG));
    let [kept] = &testkit::holding(&served.mill.data().join("objects/cache"), PNG)[..] else {
        panic!("one page is kept");
    };
    let mut bytes = std::fs::read(kept).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(kept, bytes).unwrap();
    assert_eq!(drawn().await, whole);
    std::fs::write(kept, "").unwrap();
    assert_eq!(drawn().await, whole);
    assert_eq!(drawn().await, whole);
    let figures = served.get("/metrics").await.text;
    assert!(figures.contains("{outcome=\"asked\"} 3"), "{figures}");
}

#[tokio::test]
async fn a_document_without_pages_says_who_could_print_it() {
    let served = Served::with(Mill::sqlite(), &[("GRISTMILL_PARSE_OFFICE", "false")]);
    let version = read(&served, "mill.docx", docx(&docx_body())).await;
    let refused = served.get(&format!("/v1/versions/{version}/pages/1")).await;
    assert_eq!(refused.problem(409), "conflict");
    let said: Value = refused.json();
    assert!(text(&said["detail"]).contains("LibreOffice"), "{said}");
    assert!(text(&said["hint"]).contains("libreoffice-writer"), "{said}");
}

/// A folder to be looked for programs in, where LibreOffice does what the script says.
fn pretended(script: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["soffice", "soffice.bin"] {
        let program = folder.path().join(name);
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", folder.path().display());
    (folder, path)
}

fn paragraphs(texts: &[&str]) -> String {
    let paragraph = |text: &&str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    texts.iter().map(paragraph).collect()
}

#[tokio::test]
async fn a_document_is_printed_once_and_its_chunks_are_outlined_where_they_are_found() {
    let found = "The miller keeps the sluice closed until the harvest is in";
    let print = pdf(&[Page::Text("A title page"), Page::Text(found)]);
    let print = String::from_utf8(print).unwrap();
    let (_programs, path) = pretended(&format!(
        "exec cat >\"$HOME/document.pdf\" <<'END'\n{print}\nEND"
    ));
    let served = Served::with(Mill::sqlite(), &[("PATH", &path)]);
    let version = read(&served, "mill.docx", docx(&paragraphs(&[found]))).await;
    assert!(is_drawn(&served, &version, 2).await);
    let nowhere = served.get(&format!("/v1/versions/{version}/pages/3")).await;
    assert_eq!(nowhere.problem(404), "not_found");

    let inspector = |more: &str| format!("/versions/{version}?view=page{more}");
    let first = served.get(&inspector("")).await.text;
    assert!(first.contains("/pages/1\""), "{first}");
    assert!(!first.contains("<rect"), "{first}");
    let second = served.get(&inspector("&page=2")).await.text;
    assert!(second.contains("<rect"), "{second}");
    assert!(!second.contains("not found"), "{second}");
    let figures = served.get("/metrics").await.text;
    assert!(figures.contains("{outcome=\"printed\"} 1"), "{figures}");
    let scratch = std::fs::read_dir(served.mill.data().join("scratch"));
    assert_eq!(scratch.unwrap().count(), 0);

    // Words it does not print have no place on it, and that is said.
    let other = "Quite another passage that was never printed on any page";
    let other = read(&served, "other.docx", docx(&paragraphs(&[other]))).await;
    let page = served.get(&format!("/versions/{other}?view=page")).await;
    assert!(!page.text.contains("<rect"), "{}", page.text);
    assert!(
        page.text.contains("1 of its chunks was not found"),
        "{}",
        page.text
    );
}

#[tokio::test]
async fn a_document_that_cannot_be_printed_is_not_tried_again_at_once() {
    let (_programs, path) = pretended("exit 7");
    let served = Served::with(Mill::sqlite(), &[("PATH", &path)]);
    let version = read(&served, "mill.docx", docx(&docx_body())).await;
    for _ in 0..3 {
        let refused = served.get(&format!("/v1/versions/{version}/pages/1")).await;
        assert_eq!(refused.problem(422), "unprocessable");
    }
    let figures = served.get("/metrics").await.text;
    assert!(figures.contains("{outcome=\"not_printed\"} 1"), "{figures}");
    // Its text is there all the same.
    let usual = served.get(&format!("/versions/{version}")).await;
    assert_eq!(usual.status, 200, "{}", usual.text);
}

#[tokio::test]
async fn libreoffice_prints_documents_where_it_is_installed() {
    if !installed("soffice") {
        let needed = std::env::var_os("GRISTMILL_OFFICE").is_some();
        assert!(!needed, "LibreOffice is not installed");
        eprintln!("LibreOffice is not installed: this was not tried (`make office`)");
        return;
    }
    let served = Served::sqlite();
    let said: Vec<String> = (1..=80)
        .map(|n| format!("Sack {n} was carried to the mill on day {n}, and the miller weighed it."))
        .collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let version = read(&served, "mill.docx", docx(&paragraphs(&said))).await;
    assert!(is_drawn(&served, &version, 2).await);
    // Passages may cost seconds to find, so the text is what is shown first.
    let inspector = |more: &str| format!("/versions/{version}{more}");
    let usual = served.get(&inspector("")).await.text;
    assert!(!usual.contains("/pages/1\""), "{usual}");
    assert!(usual.contains("view=page"), "{usual}");
    for page in 1..=2 {
        let place = inspector(&format!("?view=page&page={page}"));
        let printed = served.get(&place).await.text;
        assert!(printed.contains("<rect"), "{printed}");
        assert!(!printed.contains("not found"), "{printed}");
    }
}

fn installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}
