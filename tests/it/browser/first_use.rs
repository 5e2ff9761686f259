//! Somebody who has never seen the product.

use testkit::papers::{HANDBOOK_SENTENCE, REPORT_SENTENCE, handbook, report};

use super::Room;
use super::tab::Tab;
use crate::mill::Folder;
use crate::served::PASSWORD;

/// Of everything received from the first request to a page that can be used.
const MOST_RECEIVED: u64 = 100_000;

/// Writes down everything the list of uploads ever says.
pub const RECORD: &str = "window.said = new Set(); new MutationObserver(() => { \
    for (const li of document.querySelectorAll('[data-uploads] li')) window.said.add(li.innerText.replace(/\\s+/g, ' ')); \
    }).observe(document.querySelector('[data-uploads]'), { childList: true, subtree: true, characterData: true, attributes: true })";

#[tokio::test]
async fn a_newcomer_drops_a_pdf_and_a_word_file_and_finds_a_sentence_on_its_page() {
    let Some(room) = Room::open("browser::first_use") else {
        return;
    };
    let tab = room.tab().await;
    signs_in_to_an_empty_house(&tab).await;
    drops_two_files_and_watches(&tab).await;
    finds_the_page_of_the_pdf(&tab).await;
    finds_the_passage_of_the_word_file(&tab).await;
    asks(&tab).await;
    tab.is_blameless();
}

async fn signs_in_to_an_empty_house(tab: &Tab) {
    tab.go("/").await;
    tab.until("location.pathname === '/sign-in'").await;
    tab.fill("[name=login]", "admin").await;
    tab.fill("[name=password]", PASSWORD).await;
    tab.press("Enter").await;
    tab.sees("Drop files or folders anywhere").await;
    tab.sees("Nothing here yet").await;
    tab.until("document.documentElement.hasAttribute('data-ready')")
        .await;
    let received = tab.received();
    assert!(received < MOST_RECEIVED, "{received} bytes");
    eprintln!("{received} bytes until the first page was interactive");
}

async fn drops_two_files_and_watches(tab: &Tab) {
    let desktop = Folder::of(&[]);
    let (pdf, word) = (
        desktop.file("mill-handbook.pdf"),
        desktop.file("milling-report.docx"),
    );
    std::fs::write(&pdf, handbook()).unwrap();
    std::fs::write(&word, report()).unwrap();
    tab.eval(RECORD).await;
    tab.drop_files(&[&pdf, &word]).await;
    tab.until("document.querySelectorAll('[data-uploads] li[data-stage=good]').length === 2")
        .await;
    tab.sees("2 of 2 ready").await;
    let said = tab.eval("[...window.said].join('\\n')").await;
    let said = said.as_str().unwrap();
    for name in ["mill-handbook.pdf", "milling-report.docx"] {
        for stage in [
            "Uploading",
            "Parsing",
            "Chunking",
            "Embedding",
            "Indexing",
            "Ready",
        ] {
            let line = |line: &str| line.contains(name) && line.contains(stage);
            assert!(said.lines().any(line), "{name} was never {stage}:\n{said}");
        }
    }
    // The list below renews itself.
    tab.until("document.querySelectorAll('#documents tbody tr .state.good').length === 2")
        .await;
}

async fn finds_the_page_of_the_pdf(tab: &Tab) {
    tab.fill(".searchbar input", HANDBOOK_SENTENCE).await;
    tab.press("Enter").await;
    tab.until("document.querySelector('.hits .hit mark')").await;
    let first = tab
        .eval("document.querySelector('.hits li').innerText")
        .await;
    assert!(first.as_str().unwrap().contains("page 4"), "{first}");
    tab.click_on(".hits summary", "Why this").await;
    tab.sees("By meaning").await;
    tab.click(".hits .hit").await;
    tab.until("document.querySelector('#goto')?.value === '4'")
        .await;
    tab.until("document.querySelector('.sheet img').naturalWidth > 500")
        .await;
    tab.until("document.querySelector('#chosen mark')").await;
    let marked = "(() => { const page = document.querySelector('.sheet img').getBoundingClientRect(); \
        const boxes = [...document.querySelectorAll('.sheet .chosen rect')].map((rect) => rect.getBoundingClientRect()); \
        return boxes.some((box) => box.width > 200 && box.top >= 0 && box.bottom <= innerHeight) \
          && boxes.every((box) => box.height > 5 && box.left >= page.left && box.right <= page.right \
            && box.top >= page.top && box.bottom <= page.bottom); })()";
    tab.until(marked).await;
}

async fn finds_the_passage_of_the_word_file(tab: &Tab) {
    tab.go("/kb/default/search").await;
    tab.fill(".searchbar input", REPORT_SENTENCE).await;
    tab.press("Enter").await;
    tab.until("document.querySelector('.hits .hit')?.innerText.includes('sluice')")
        .await;
    tab.click(".hits .hit").await;
    tab.until("document.querySelector('.reading .stretch.chosen mark')")
        .await;
    tab.until("document.querySelector('.reading th')?.innerText === 'Month'")
        .await;
    let seen = "(() => { const box = document.querySelector('.reading .stretch.chosen').getBoundingClientRect(); \
        return box.top >= 0 && box.top <= innerHeight; })()";
    tab.until(seen).await;
}

async fn asks(tab: &Tab) {
    tab.click_on("nav a", "Ask").await;
    tab.fill(".searchbar input", "At what moisture does rye keep best?")
        .await;
    tab.press("Enter").await;
    tab.sees("What the documents say").await;
    tab.until(
        "document.querySelector('.quotes blockquote')?.innerText.includes('fourteen per cent')",
    )
    .await;
    tab.click(".quotes .cite").await;
    tab.until("document.querySelector('.sheet .chosen rect')")
        .await;
    tab.go("/kb/default/ask?q=Who+composed+the+zither+concerto%3F")
        .await;
    tab.sees("Not in these documents").await;
}

#[tokio::test]
async fn a_file_that_cannot_be_read_says_why_and_can_be_tried_again() {
    let Some(room) = Room::open("browser::broken") else {
        return;
    };
    let tab = room.signed_in("admin").await;
    let desktop = Folder::of(&[("torn.pdf", "%PDF-1.7 and nothing more")]);
    desktop.write("shelf/inner/one.md", "# One\n\nA shelf of its own.\n");
    // The same bytes twice are one document, and both are told of it.
    for name in ["shelf/two.md", "shelf/inner/again.md"] {
        desktop.write(name, "# Two\n\nStands beside the first.\n");
    }
    tab.drop_files(&[&desktop.file("torn.pdf"), &desktop.file("shelf")])
        .await;
    tab.until("document.querySelectorAll('[data-uploads] li[data-stage=good]').length === 3")
        .await;
    tab.sees("shelf/inner/one.md").await;
    let failed = "document.querySelector('[data-uploads] li[data-stage=bad] .said')";
    tab.until(&format!("{failed}?.innerText.length > 20")).await;
    tab.eval(RECORD).await;
    tab.click_on("[data-uploads] button", "Try again").await;
    // It fails again, honestly, after having been queued again.
    tab.until("[...window.said].some((line) => line.includes('torn.pdf Queued'))")
        .await;
    tab.until("document.querySelector('[data-uploads] li[data-stage=bad] button')")
        .await;
    tab.sees("3 of 4 ready, 1 failed").await;
    tab.go("/runs?status=failed").await;
    tab.until("document.querySelector('.rows .name')?.innerText.includes('torn.pdf')")
        .await;
    tab.until("document.querySelector('.rows .reason')").await;
    tab.click_on(".rows button", "Retry").await;
    tab.until("location.pathname === '/runs' && !location.search")
        .await;
    tab.is_blameless();
}
