//! The newcomer's way with one thumb.

use testkit::papers::{HANDBOOK_SENTENCE, handbook};

use super::Room;
use super::tab::PHONE;
use crate::mill::Folder;

#[tokio::test]
async fn a_phone_is_enough_to_add_find_and_see_a_passage() {
    let Some(room) = Room::open("browser::phone") else {
        return;
    };
    let tab = room.signed_in("admin").await;
    tab.screen(PHONE, "dark").await;
    let desktop = Folder::of(&[]);
    let pdf = desktop.file("mill-handbook.pdf");
    std::fs::write(&pdf, handbook()).unwrap();
    tab.choose_files("[data-files][multiple]", &[&pdf]).await;
    tab.until("document.querySelector('[data-uploads] li[data-stage=good]')")
        .await;
    tab.fill(".searchbar input", HANDBOOK_SENTENCE).await;
    tab.press("Enter").await;
    tab.click(".hits .hit").await;
    let in_sight = "(() => { const box = document.querySelector('.sheet .chosen rect').getBoundingClientRect(); \
        return box.top >= 0 && box.bottom <= innerHeight && box.left >= 0 && box.right <= innerWidth; })()";
    tab.until(in_sight).await;
    // A passage at the foot of a page is brought into sight too.
    tab.screen(super::tab::Screen(390, 420, true), "dark").await;
    tab.click(".chunks li:last-child a").await;
    tab.until("document.querySelector('.chunks li:last-child [aria-current]')")
        .await;
    tab.until(in_sight).await;
    // The tab one is at is in sight, wherever it stands in the row.
    tab.go("/admin").await;
    let tab_in_sight = "(() => { const box = document.querySelector('.top nav [aria-current]').getBoundingClientRect(); \
        return box.left >= 0 && box.right <= innerWidth; })()";
    tab.until(tab_in_sight).await;
    tab.is_blameless();
}
