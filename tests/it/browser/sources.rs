//! A folder kept in step, and a document with a past.

use super::Room;
use crate::mill::Folder;

#[tokio::test]
async fn a_folder_is_kept_in_step_and_an_earlier_version_can_answer_again() {
    let Some(room) = Room::open("browser::sources") else {
        return;
    };
    let folder = Folder::of(&[
        ("hours.md", "# Hours\n\nThe mill opens at ten.\n"),
        ("rye.md", "# Rye\n\nRye grows tall.\n"),
    ]);
    let tab = room.signed_in("admin").await;
    tab.click_on("nav a", "Sources").await;
    tab.fill("[name=name]", "Handbooks").await;
    tab.fill("[name=folder]", folder.path().to_str().unwrap())
        .await;
    tab.click_on("form button", "Add and sync").await;
    tab.sees("2 new, 0 changed, 0 gone").await;
    tab.until("document.querySelector('.job .state').innerText === 'completed'")
        .await;

    folder.write("hours.md", "# Hours\n\nThe mill opens at nine.\n");
    std::fs::remove_file(folder.file("rye.md")).unwrap();
    tab.click_on("button", "Sync now").await;
    tab.sees("0 new, 1 changed, 1 gone").await;
    tab.until("document.querySelector('.job .state').innerText === 'completed'")
        .await;
    tab.click_on("button", "Pause").await;
    tab.until("document.querySelector('.job .state').innerText === 'paused'")
        .await;
    tab.until("!document.body.innerText.includes('Sync now')")
        .await;
    tab.click_on("button", "Resume").await;
    tab.sees("Sync now").await;

    // What is gone is shown on request only.
    tab.go("/kb/default").await;
    tab.until("document.querySelectorAll('#documents tbody tr').length === 1")
        .await;
    tab.go("/kb/default?show=inactive").await;
    tab.until("document.querySelector('#documents tbody').innerText.includes('removed')")
        .await;
    tab.go("/kb/default?text=hours").await;
    tab.click("#documents td.name a").await;
    tab.until("document.querySelectorAll('.versions > li').length === 2")
        .await;
    tab.click_on("button", "Roll back to this").await;
    tab.until("document.querySelector('.versions > li:last-child').innerText.includes('answers')")
        .await;
    tab.go("/kb/default/search?q=when+does+the+mill+open").await;
    tab.until("document.querySelector('.hits')?.innerText.includes('opens at ten')")
        .await;
    tab.is_blameless();
}
