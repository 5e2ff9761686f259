//! Every page, light and dark, on a desk and on a phone: accessible, within the screen,
//! blameless; and pictured, where somebody wants to look at them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::papers::library;

use super::Room;
use super::tab::{DESKTOP, PHONE, Tab};
use crate::mill::Folder;

/// Every violation that keeps somebody out, in words.
const SERIOUS: &str = "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations\
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))\
    .map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join(' | ')))";

/// Where pictures go, when they are wanted.
fn pictures() -> Option<PathBuf> {
    std::env::var_os("GRISTMILL_SCREENSHOTS").map(PathBuf::from)
}

/// The checker, where it was fetched.
fn axe() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(".tools/axe-core/axe.min.js")).ok()
}

struct Walk {
    tab: Tab,
    axe: Option<String>,
    pictures: Option<PathBuf>,
}

impl Walk {
    async fn look(&self, name: &str) {
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

    async fn visit(&self, name: &str, path: &str) {
        self.tab.go(path).await;
        self.look(name).await;
    }
}

#[tokio::test]
async fn every_page_is_accessible_and_fits_in_light_and_dark_on_a_desk_and_on_a_phone() {
    let Some(room) = Room::open("browser::every_page") else {
        return;
    };
    let axe = axe();
    if axe.is_none() {
        assert!(
            std::env::var_os("GRISTMILL_BROWSER").is_none(),
            "axe-core was not fetched"
        );
        eprintln!("SKIPPED accessibility: axe-core was not fetched");
    }
    let tab = room.tab().await;
    let mut walk = Walk {
        tab,
        axe,
        pictures: pictures(),
    };
    walk.visit("sign-in", "/sign-in").await;
    walk.tab.is_blameless();
    walk.tab = room.signed_in("admin").await;
    walk.look("documents-empty").await;
    let folder = furnish(&room).await;
    for (name, path) in [
        ("documents", "/kb/default"),
        ("documents-inactive", "/kb/default?show=inactive"),
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
        ("runs", "/runs"),
        ("jobs", "/jobs"),
        ("sources", "/sources"),
        ("admin", "/admin"),
        ("trouble", "/kb/nowhere"),
    ] {
        walk.visit(name, path).await;
    }
    walk.tab.expect_wrong("404");
    walk_through(&walk).await;
    drop(folder);
    walk.tab.is_blameless();
}

/// Pages one comes to by others.
async fn walk_through(walk: &Walk) {
    let tab = &walk.tab;
    tab.go("/kb/default?text=handbook").await;
    tab.click("td.name a").await;
    tab.until("document.querySelector('.versions')").await;
    walk.look("document").await;
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
    tab.go("/sources").await;
    tab.click(".facts a").await;
    tab.until("document.querySelector('#job')").await;
    walk.look("job").await;
    tab.go("/dashboard").await;
    while tab.eval("!document.querySelector('.plot path')").await == true {
        tab.go("/dashboard").await;
    }
    walk.look("dashboard").await;
}

/// A library, a source, somebody else, a key, and something that went wrong.
async fn furnish(room: &Room) -> Folder {
    let served = &room.served;
    let session = served.session("admin").await;
    for (name, bytes) in library() {
        assert_eq!(
            served.ingest(&session, name, bytes).await,
            "succeeded",
            "{name}"
        );
    }
    let torn = served.ingest(&session, "torn.pdf", "%PDF-1.7 and nothing more");
    assert_eq!(torn.await, "failed");
    let folder = Folder::of(&[
        (
            "stones.md",
            "# Stones\n\nThe runner turns, the bed stone rests.\n",
        ),
        (
            "water.md",
            "# Water\n\nThe pond holds enough for nine hours.\n",
        ),
    ]);
    for path in ["/sources", "/jobs"] {
        let form = format!(
            "name=Handbooks&kb=default&folder={}&remove_missing=1",
            folder.path().display()
        );
        served.submit(&session, path, &form).await;
        let tab = room.signed_in("admin").await;
        tab.go(path).await;
        tab.until("document.querySelector('.job .state')?.innerText === 'completed'")
            .await;
        std::fs::remove_file(folder.file("water.md")).unwrap_or_default();
        let sync = tab
            .eval("document.querySelector('form[action$=sync]')?.getAttribute('action')")
            .await;
        if let Some(sync) = sync.as_str() {
            served.submit(&session, sync, "").await;
            tab.sees("1 gone").await;
        }
    }
    served
        .submit(
            &session,
            "/admin/users",
            "login=una&password=grist-and-grain&role=user",
        )
        .await;
    folder
}
