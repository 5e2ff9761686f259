//! A job from its page: seen, paused, resumed, taken back.

use super::Room;
use crate::mill::Folder;

/// Enough that nobody is too slow to press a button while it runs.
const FILES: usize = 200;

#[tokio::test]
async fn a_job_is_paused_resumed_and_taken_back_from_its_page() {
    let Some(room) = Room::open("browser::jobs") else {
        return;
    };
    let folder = Folder::of(&[]);
    for n in 0..FILES {
        let text = format!("# Sack {n}\n\nThe sack numbered {n} weighs {n} pounds.\n");
        folder.write(&format!("{n}.md"), &text);
    }
    let tab = room.signed_in("admin").await;
    tab.go("/jobs").await;
    tab.sees("No job yet").await;
    tab.fill("[name=folder]", folder.path().to_str().unwrap())
        .await;
    tab.click_on("form button", "Read it").await;
    tab.click_on(".job button", "Pause").await;
    tab.until("document.querySelector('.job .state').innerText === 'paused'")
        .await;
    tab.sees("Waiting for you to resume it").await;
    tab.click(".job a.strong").await;
    tab.until("document.querySelector('h1 .state')?.innerText === 'paused'")
        .await;
    tab.click_on("button", "Resume").await;
    tab.until("['running', 'completed'].includes(document.querySelector('h1 .state')?.innerText)")
        .await;
    tab.sees("documents/s").await;
    tab.until("/[1-9]\\d* documents seen/.test(document.body.innerText)")
        .await;
    // Whether it still runs or not: what it brought is taken back.
    tab.click("form[action$=cancel] button").await;
    tab.sees("Canceled by user").await;
    tab.go("/kb/default").await;
    tab.sees("Nothing here yet").await;
    tab.is_blameless();
}
