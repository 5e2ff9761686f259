//! What only a person can mend: tried again where it was dropped, replayed, let go.

use testkit::double::{self, Answer, Double};

use super::Room;
use super::every_page::Walk;
use super::tab::Tab;
use crate::letters::fails_for_good;
use crate::mill::{Folder, embeds_at};

/// A service that refuses the first text, takes it the next time, fails for good on the one after
/// it until that is brought again, and on the last.
async fn moody() -> Double {
    let refused = || Answer::status(400).body(double::UNHEARD_OF);
    let mut script = vec![refused(), Answer::good(), refused(), Answer::good()];
    script.extend(fails_for_good());
    script.push(Answer::good());
    script.extend(fails_for_good());
    Double::start(script).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_say_why_and_are_replayed_or_dropped() {
    let double = moody().await;
    let url = double.url();
    let Some(room) = Room::open_with("browser::letters", &embeds_at(&url)) else {
        return;
    };
    let tab = room.signed_in("admin").await;
    fails(&tab, "barley", "that will not do").await;
    tab.click_on("[data-uploads] button", "Try again").await;
    tab.until("document.querySelector('[data-uploads] li[data-stage=good]')")
        .await;
    tab.go("/runs").await;
    assert_eq!(
        tab.eval("!document.querySelector('#dead-letters')").await,
        true
    );

    tab.go("/kb/default").await;
    fails(&tab, "oats", "500").await;
    let walk = Walk::of(tab);
    walk.visit("dead-letters", "/runs").await;
    let tab = walk.tab;
    tab.until(
        "document.querySelector('#dead-letters ~ table .name')?.innerText.includes('oats.md')",
    )
    .await;
    tab.until("document.querySelector('#dead-letters ~ table .reason').innerText.includes('500')")
        .await;
    tab.click_on("button", "Replay").await;
    tab.until("!document.querySelector('#dead-letters')").await;
    tab.until("document.querySelectorAll('#runs .state.good').length === 2")
        .await;
    tab.go("/kb/default/search?q=oats&mode=text").await;
    tab.until("document.querySelector('.hits .hit')?.innerText.includes('rolled')")
        .await;

    tab.go("/kb/default").await;
    fails(&tab, "spelt", "500").await;
    tab.go("/admin").await;
    tab.sees("One step was tried and came to nothing").await;
    tab.go("/runs").await;
    tab.click_on("button", "Drop").await;
    tab.until("!document.querySelector('#dead-letters')").await;
    tab.until("document.querySelector('#runs .state.bad')")
        .await;
    tab.is_blameless();
}

/// Drops a file, and sees that it failed and why.
async fn fails(tab: &Tab, grain: &str, why: &str) {
    let desktop = Folder::of(&[]);
    let name = format!("{grain}.md");
    let text = format!("# {grain}\n\nThe {grain} is rolled before it is sold.\n");
    desktop.write(&name, &text);
    tab.until("document.documentElement.hasAttribute('data-ready')")
        .await;
    tab.drop_files(&[&desktop.file(&name)]).await;
    let reason = "document.querySelector('[data-uploads] li[data-stage=bad] .said')?.innerText";
    tab.until(&format!("{reason}.includes('{why}')")).await;
}
