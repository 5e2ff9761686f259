//! Every page, light and dark, on a desk and on a phone: accessible, within the screen,
//! blameless; and pictured, where somebody wants to look at them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::papers::{Part, library, pdf};

use super::Room;
use super::tab::{DESKTOP, PHONE, Tab};
use crate::mill::Folder;

/// Every violation that keeps somebody out, in words.
const SERIOUS: &str = "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations\
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))\
    .map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join(' | ')))";

/// Enough that nobody is too slow to press a button while they are read.
const SACKS: usize = 2000;

/// Where pictures go, when they are wanted.
fn pictures() -> Option<PathBuf> {
    std::env::var_os("GRISTMILL_SCREENSHOTS").map(PathBuf::from)
}

/// The checker, where it was fetched.
fn axe() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(".tools/axe-core/axe.min.js")).ok()
}

/// Somebody who looks at every page in every way.
pub struct Walk {
    pub tab: Tab,
    axe: Option<String>,
    pictures: Option<PathBuf>,
}

impl Walk {
    pub fn of(tab: Tab) -> Self {
        let axe = axe();
        if axe.is_none() {
            assert!(
                std::env::var_os("GRISTMILL_BROWSER").is_none(),
                "axe-core was not fetched"
            );
            eprintln!("SKIPPED accessibility: axe-core was not fetched");
        }
        Self {
            tab,
            axe,
            pictures: pictures(),
        }
    }

    pub async fn look(&self, name: &str) {
        if let Some(axe) = &self.axe {
            self.tab.eval(&format!("{axe}; null")).await;
        }
        for (place, screen) in [("desktop", DESKTOP), ("phone", PHONE)] {
            for scheme in ["light", "dark"] {
                self.tab.screen(screen, scheme).await;
                let shown = format!("{name}-{place}-{scheme}");
                self.fits(&shown).await;
                self.picture(&shown).await;
                self.is_accessible(&shown).await;
            }
        }
        self.tab.screen(DESKTOP, "light").await;
    }

    async fn fits(&self, shown: &str) {
        let wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(
            self.tab.eval(wide).await,
            0,
            "{shown} is wider than its screen"
        );
    }

    async fn picture(&self, shown: &str) {
        if let Some(folder) = &self.pictures {
            std::fs::create_dir_all(folder).unwrap();
            let picture = self.tab.picture().await;
            std::fs::write(folder.join(format!("{shown}.png")), picture).unwrap();
        }
    }

    async fn is_accessible(&self, shown: &str) {
        if self.axe.is_some() {
            let found = self.tab.eval(SERIOUS).await;
            assert_eq!(found, Value::Array(vec![]), "{shown}");
        }
    }

    pub async fn visit(&self, name: &str, path: &str) {
        self.tab.go(path).await;
        self.look(name).await;
    }
}

#[tokio::test]
async fn every_page_is_accessible_and_fits_in_light_and_dark_on_a_desk_and_on_a_phone() {
    let Some(room) = Room::open("browser::every_page") else {
        return;
    };
    let mut walk = Walk::of(room.tab().await);
    walk.visit("sign-in", "/sign-in").await;
    refused(&walk.tab).await;
    walk.look("sign-in-refused").await;
    walk.tab.expect_wrong("401");
    walk.tab.is_blameless();
    walk.tab = room.signed_in("admin").await;
    walk.look("documents-empty").await;
    drop_a_library(&walk.tab).await;
    walk.look("uploads").await;
    let folder = furnish(&room).await;
    for (name, path) in [
        ("documents", "/kb/default"),
        ("documents-inactive", "/kb/default?show=inactive"),
        ("search-before", "/kb/default/search"),
        (
            "search-nothing",
            "/kb/default/search?mode=text&q=zither+concerto",
        ),
        (
            "search",
            "/kb/default/search?q=Rye+keeps+best+at+a+moisture+of",
        ),
        (
            "ask",
            "/kb/default/ask?q=At+what+moisture+does+rye+keep+best",
        ),
        (
            "ask-nothing",
            "/kb/default/ask?q=Who+composed+the+zither+concerto",
        ),
        ("ask-before", "/kb/default/ask"),
        ("runs", "/runs"),
        ("sources", "/sources"),
        ("admin", "/admin"),
        ("api", "/docs"),
        ("trouble", "/kb/nowhere"),
    ] {
        walk.visit(name, path).await;
    }
    walk.tab.expect_wrong("404");
    walk_through(&walk, &folder).await;
    walk.tab.is_blameless();
}

/// Somebody mistypes a password.
async fn refused(tab: &Tab) {
    tab.fill("[name=login]", "admin").await;
    tab.fill("[name=password]", "not-the-password").await;
    tab.press("Enter").await;
    tab.until("document.querySelector('.notice.bad')").await;
}

/// Pages one comes to by others.
async fn walk_through(walk: &Walk, folder: &Folder) {
    let tab = &walk.tab;
    for (name, document) in [("document", "stones"), ("document-gaps", "day+book")] {
        tab.go(&format!("/kb/default?text={document}")).await;
        tab.click("td.name a").await;
        tab.until("document.querySelector('.versions')").await;
        walk.look(name).await;
    }
    // Disclosed as a gap, or as words that were only recognised.
    tab.until("document.querySelector('.versions .notice')")
        .await;
    tab.go("/kb/default/search?q=moisture").await;
    tab.click_on(".hits summary", "Why this").await;
    tab.sees("By meaning").await;
    walk.look("search-scores").await;
    for (name, query, ready) in [
        (
            "inspector-pages",
            "Rye+keeps+best+at+a+moisture+of",
            ".sheet .chosen rect",
        ),
        (
            "inspector-text",
            "The+new+sluice+gate+halved+the+water+lost+in+August",
            ".reading .chosen",
        ),
    ] {
        tab.go(&format!("/kb/default/search?q={query}")).await;
        tab.click(".hits .hit").await;
        tab.until(&format!("document.querySelector('{ready}')"))
            .await;
        tab.until("[...document.images].every((image) => image.loading === 'lazy' || image.naturalWidth > 0)").await;
        walk.look(name).await;
    }
    pause_halfway(tab, folder).await;
    walk.visit("jobs", "/jobs").await;
    tab.click(".job a.strong").await;
    tab.until("document.querySelector('#job')").await;
    walk.look("job").await;
    tab.go_until("/dashboard", "!!document.querySelector('.plot path')")
        .await;
    if walk.pictures.is_some() {
        // A picture shows a rise, which takes until the holdings are recorded again: a minute.
        let rise = "new Set(document.querySelector('.plot path:not(.area)').getAttribute('d').match(/ [0-9.]+(?=[LMh])/g)).size > 1";
        tab.go_until("/dashboard", rise).await;
    }
    walk.look("dashboard").await;
}

/// Everything at once, one of them torn, one with a page that is only a picture.
async fn drop_a_library(tab: &Tab) {
    let desktop = Folder::of(&[("torn.pdf", "%PDF-1.7 and nothing more")]);
    for (name, bytes) in library() {
        std::fs::write(desktop.file(name), bytes).unwrap();
    }
    let text = "The sluice was opened at six and closed at nine. Nothing broke.";
    let scanned = pdf(&[&[Part::Title("Day book"), Part::Text(text)], &[Part::Scan]]);
    std::fs::write(desktop.file("day-book.pdf"), scanned).unwrap();
    let files = std::fs::read_dir(desktop.path()).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let files: Vec<_> = files.iter().map(AsRef::as_ref).collect();
    tab.drop_files(&files).await;
    tab.sees(&format!(
        "{0} of {1} ready, 1 failed",
        files.len() - 1,
        files.len()
    ))
    .await;
}

/// A source with a change and a loss behind it, somebody else, a key.
async fn furnish(room: &Room) -> Folder {
    let folder = Folder::of(&[
        (
            "handbooks/stones.md",
            "# Stones\n\nThe runner turns, the bed stone rests.\n",
        ),
        (
            "handbooks/water.md",
            "# Water\n\nThe pond holds enough for nine hours.\n",
        ),
    ]);
    let tab = room.signed_in("admin").await;
    tab.go("/sources").await;
    tab.fill("[name=name]", "Handbooks").await;
    let path = folder.file("handbooks");
    tab.fill("[name=folder]", path.to_str().unwrap()).await;
    tab.click_on("form button", "Add and sync").await;
    let completed = "document.querySelector('.job .state')?.innerText === 'completed'";
    tab.until(completed).await;
    std::fs::remove_file(folder.file("handbooks/water.md")).unwrap();
    folder.write(
        "handbooks/stones.md",
        "# Stones\n\nThe runner turns, the bed stone rests. Both are dressed in spring.\n",
    );
    tab.click_on("button", "Sync now").await;
    tab.sees("0 new, 1 changed, 1 gone").await;
    tab.until(completed).await;
    let served = &room.served;
    let session = served.session("admin").await;
    let una = "login=una&password=grist-and-grain&role=user";
    served.submit(&session, "/admin/users", una).await;
    tab.go("/admin").await;
    tab.fill("#keys [name=name]", "importer").await;
    tab.click_on("button", "Make a key").await;
    tab.until("document.querySelector('.secret')").await;
    let walk = Walk::of(tab);
    walk.look("admin-key").await;
    walk.tab.is_blameless();
    folder
}

/// A job large enough that there is something to pause.
async fn pause_halfway(tab: &Tab, folder: &Folder) {
    for n in 1..=SACKS {
        let text = format!("# Sack {n}\n\nThe sack numbered {n} weighs {n} pounds.\n");
        folder.write(&format!("sacks/{n}.md"), &text);
    }
    tab.go("/jobs").await;
    tab.click(".fold summary").await;
    let path = folder.file("sacks");
    tab.fill("[name=folder]", path.to_str().unwrap()).await;
    tab.click_on("form button", "Read it").await;
    tab.until("/[1-9]\\d* documents seen/.test(document.body.innerText)")
        .await;
    tab.click_on(".job button", "Pause").await;
    tab.until("document.querySelector('.job .state').innerText === 'paused'")
        .await;
}
