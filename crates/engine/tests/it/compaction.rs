//! What no longer answers is set aside in the index, and the room of what is gone given back.

use index::Flush;

use crate::filters::engine_of;
use crate::house::take_in;

/// More chunks than are scanned whole: postings are what a compaction relieves.
fn a_long_text(about: &str) -> String {
    let paragraph =
        |n: usize| format!("Paragraph {n} of {about}. {}\n\n", "It grinds. ".repeat(90));
    (0..2_400).map(paragraph).collect()
}

#[tokio::test]
async fn what_no_longer_answers_is_set_aside_once_it_is_more_than_what_does() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, place) = engine_of(folder.path()).await;
    let file = |text: String| [("mills.txt".to_owned(), text)];
    take_in(&engine, &place, file(a_long_text("wheat"))).await;
    assert_eq!(engine.tidy().await.unwrap().compacted, 0);

    take_in(&engine, &place, file("A short one.".to_owned())).await;
    assert_eq!(engine.tidy().await.unwrap().compacted, 1);
    assert_eq!(engine.tidy().await.unwrap().compacted, 0, "twice");
}

#[tokio::test]
async fn the_room_of_what_is_forgotten_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, place) = engine_of(folder.path()).await;
    let file = [("mills.txt".to_owned(), a_long_text("wheat"))];
    take_in(&engine, &place, file).await;
    assert_eq!(engine.tidy().await.unwrap().merged, 0);

    let index = &engine.parts().index;
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    for (space, version, _) in snapshot.versions().await.unwrap() {
        let gone = index.forget(space, version).await.unwrap();
        gone.durable().await.unwrap();
    }
    drop(snapshot);
    let tidied = engine.tidy().await.unwrap();
    assert_eq!((tidied.compacted, tidied.merged), (1, 1));
    let again = engine.tidy().await.unwrap();
    assert_eq!((again.compacted, again.merged), (0, 0), "twice");
}
