//! Documents that would like to be programs.

use super::Room;
use crate::mill::Folder;

const SCRIPT: &str = "<script>window.pwned = 1; alert(1)</script><img src=\"http://evil.example/x.png\" onerror=\"window.pwned = 2\">";

#[tokio::test]
async fn hostile_names_html_and_svg_run_nothing_and_reach_nobody() {
    let Some(room) = Room::open("browser::hostile") else {
        return;
    };
    let desktop = Folder::of(&[
        (
            "<img src=x onerror=alert(1)>.md",
            &format!(
                "# Rye {SCRIPT}\n\nRye bread keeps long. [link](javascript:alert(2)) {SCRIPT}\n"
            ),
        ),
        (
            "page.html",
            &format!(
                "<!doctype html><html><head><title>Rye {SCRIPT}</title></head><body><h1>Rye</h1><p>Rye flour is grey. {SCRIPT}</p><iframe src=\"http://evil.example/\"></iframe></body></html>"
            ),
        ),
        (
            "drawing.svg",
            "<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(3)\"><script>window.pwned = 3</script><text>Rye in a drawing</text></svg>",
        ),
        (
            "\"><script>alert(4)<script>.txt",
            "Rye porridge \"><svg onload=alert(5)>",
        ),
    ]);
    // A slash cannot stand in the name of a file, which is why the last one has none.
    let tab = room.signed_in("admin").await;
    let files: Vec<_> = std::fs::read_dir(desktop.path())
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    let files: Vec<_> = files.iter().map(AsRef::as_ref).collect();
    tab.drop_files(&files).await;
    tab.until(&format!(
        "document.querySelectorAll('[data-uploads] li:not([data-stage=busy])').length === {}",
        files.len()
    ))
    .await;

    tab.go("/kb/default").await;
    let documents = tab.eval("[...document.querySelectorAll('td.name a, td.act a')].map((a) => a.getAttribute('href'))").await;
    let documents = documents.as_array().unwrap().clone();
    let mut pages: Vec<String> = documents
        .iter()
        .map(|path| path.as_str().unwrap().to_owned())
        .collect();
    let query = "%3Cscript%3Ealert(6)%3C%2Fscript%3E+rye";
    pages.extend([
        format!("/kb/default/search?q={query}"),
        format!("/kb/default/ask?q={query}"),
        format!("/kb/default?text={query}"),
        "/runs".to_owned(),
        "/kb/%3Cscript%3Ealert(7)%3C%2Fscript%3E".to_owned(),
    ]);
    for page in &pages {
        tab.go(page).await;
        let alien = "document.querySelectorAll('main script, main iframe, main [onerror], main [onload], main a[href^=javascript], main img[src*=evil]').length";
        assert_eq!(tab.eval(alien).await, 0, "{page}");
        assert_eq!(tab.eval("window.pwned === undefined").await, true, "{page}");
    }
    tab.expect_wrong("404");
    tab.go(&format!("/kb/default/search?q={query}")).await;
    tab.click(".hits .hit").await;
    tab.until("document.querySelector('.reading .stretch.chosen')")
        .await;
    tab.is_blameless();
}
