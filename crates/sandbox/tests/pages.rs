//! Documents with pages that hurt.

use std::time::Duration;

use bytes::Bytes;
use parse::Hints;
use samples::pdf::{Page, pdf};
use sandbox::{Fault, Program, Sandbox, Settings};

/// Pages, more than fit into the memory of one that is to read them.
const LONG: u32 = 1200;

fn settings() -> Settings {
    Settings {
        children: 2,
        cpu: Duration::from_secs(60),
        wall: Duration::from_secs(3600),
        silence: Duration::from_secs(3600),
        memory_bytes: 160 << 20,
        ..Settings::default()
    }
}

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_sandbox-test-child"), &[])
}

fn sandbox() -> Sandbox {
    Sandbox::new(settings(), program())
}

#[tokio::test]
async fn one_poison_page_costs_that_page_and_is_disclosed() {
    let texts: Vec<String> = (1..=30)
        .map(|n| format!("These are the words of page {n}"))
        .collect();
    let mut pages: Vec<Page<'_>> = texts.iter().map(|text| Page::Text(text)).collect();
    pages[16] = Page::Poison;
    let parsed = sandbox()
        .parse(pdf(&pages).into(), Hints::default())
        .await
        .unwrap();
    let gaps: Vec<_> = parsed.gaps.iter().filter_map(|gap| gap.pages).collect();
    assert_eq!(gaps, [(17, 17)]);
    assert!(
        parsed.gaps[0].reason.contains("memory"),
        "{}",
        parsed.gaps[0].reason
    );
    let missing: Vec<_> = (0..30)
        .filter(|n| !parsed.text.contains(&texts[*n]))
        .collect();
    assert_eq!(missing, [16]);
    assert_eq!(parsed.pages.len(), 30);
}

#[tokio::test]
async fn a_page_is_rendered_in_the_child() {
    let document = Bytes::from(pdf(&[Page::Text("A picture of words")]));
    let png = sandbox().render(document, 1, 0.5).await.unwrap();
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
}

#[tokio::test]
async fn a_page_that_cannot_be_drawn_costs_its_child_and_nobody_else() {
    let sandbox = sandbox().beside();
    let document = Bytes::from(pdf(&[Page::Poison, Page::Text("A picture of words")]));
    let died = sandbox.render(document.clone(), 1, 0.5).await.unwrap_err();
    assert_eq!(died.fault(), Fault::Budget, "{died}");
    let png = sandbox.render(document, 2, 0.5).await.unwrap();
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
}

#[tokio::test]
async fn a_document_too_large_for_its_memory_is_read_as_far_as_it_goes() {
    let lines = ") Tj 0 -13 Td (of many lines that are put together".repeat(50);
    let name = |page: u32| format!("These are the words of page {page}.");
    let texts: Vec<String> = (1..=LONG).map(|n| name(n) + &lines).collect();
    let pages: Vec<Page<'_>> = texts.iter().map(|text| Page::Text(text)).collect();
    let settings = Settings {
        memory_bytes: 64 << 20,
        ..settings()
    };
    let parsed = Sandbox::new(settings, program())
        .parse(pdf(&pages).into(), Hints::default())
        .await
        .unwrap();
    let gap = parsed.gaps.first().and_then(|gap| gap.pages);
    let (first, last) = gap.expect("it does not fit");
    assert_eq!(last, LONG);
    for (page, is_there) in [(1, true), (first - 1, true), (first, false)] {
        assert_eq!(parsed.text.contains(&name(page)), is_there, "page {page}");
    }
}
