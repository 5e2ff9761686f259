//! The inspector by mouse and by key.

use testkit::papers::handbook;

use super::Room;

const PAGE: &str = "document.querySelector('#goto').value";
const CHOSEN: &str = "document.querySelector('#chosen .passage')?.innerText";

#[tokio::test]
async fn the_inspector_is_moved_about_by_mouse_and_by_key() {
    let Some(room) = Room::open("browser::inspector") else {
        return;
    };
    let session = room.served.session("admin").await;
    let ended = room
        .served
        .ingest(&session, "mill-handbook.pdf", handbook())
        .await;
    assert_eq!(ended, "succeeded");
    let tab = room.signed_in("admin").await;
    tab.click_on("#documents a.button", "Inspect").await;
    tab.until("document.querySelectorAll('.thumbs img').length === 6")
        .await;
    tab.until("document.querySelector('.thumbs img').naturalWidth > 50")
        .await;

    // From the first key on: nobody has to point at anything.
    tab.press("j").await;
    tab.until("document.querySelector('.chunks li:first-child [aria-current]')")
        .await;
    // A click on an outline shows its chunk, with its neighbours a key away.
    tab.click(".sheet a rect").await;
    let first = tab.until(CHOSEN).await;
    assert!(first.as_str().unwrap().contains("mill"), "{first}");
    tab.sees("tokens").await;
    tab.press("j").await;
    let next = format!("{CHOSEN} !== {first} && {CHOSEN}");
    tab.until(&next).await;
    tab.press("k").await;
    tab.until(&format!("{CHOSEN} === {first}")).await;
    // And a chunk in the list shows its outline.
    tab.click(".chunks li:last-child a").await;
    tab.until("document.querySelector('.sheet a:last-of-type.chosen rect')")
        .await;

    tab.press("ArrowRight").await;
    tab.until(&format!("{PAGE} === '2'")).await;
    tab.until("document.querySelector('.thumbs [aria-current]').innerText.includes('2')")
        .await;
    tab.click_on(".thumbs a", "5").await;
    tab.until(&format!("{PAGE} === '5'")).await;
    tab.fill("#goto", "3").await;
    tab.press("Enter").await;
    tab.until("document.querySelector('.sheet img').src.endsWith('/3')")
        .await;
    tab.eval("history.back()").await;
    tab.until(&format!("{PAGE} === '5'")).await;

    let width = "document.querySelector('.sheet').getBoundingClientRect().width";
    let fitting = tab.eval(width).await;
    tab.press("+").await;
    tab.until(&format!("{width} > {fitting} * 1.2")).await;
    tab.press("0").await;
    tab.until(&format!("Math.abs({width} - {fitting}) < 2"))
        .await;
    tab.click("[data-zoom='-1']").await;
    tab.until(&format!("{width} < {fitting} * 0.8")).await;
    // What the parser read is a click away, and so is the way back.
    tab.click_on(".strip a", "Text").await;
    tab.until("[...document.querySelectorAll('.reading .block.head')].some((head) => head.innerText.includes('7. Rye'))")
        .await;
    tab.go("/kb/default/search?q=rye").await;
    tab.click(".hits .hit").await;
    tab.click_on(".strip a", "Text").await;
    tab.until("document.querySelector('.reading .chosen mark')")
        .await;
    tab.click_on(".strip a", "Page").await;
    tab.until("document.querySelector('.sheet img')").await;
    tab.is_blameless();
}
