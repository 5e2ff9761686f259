//! What is held and left open: by a flush, and by those who read after it.

use std::sync::Arc;

use crate::kit::{chunk, open, space, write};
use crate::{Error, Flush, Settings};

#[tokio::test]
async fn a_flush_over_many_spaces_leaves_no_more_texts_open_than_there_may_be() {
    const SPACES: u128 = 12;
    let (objects, folder) = (Arc::default(), tempfile::tempdir().unwrap());
    let settings = Settings {
        open_texts: 3,
        ..Settings::default()
    };
    let index = open(settings, &objects, folder.path()).await;
    // The second time all of them have text already.
    for unit in ["first", "second"] {
        let mut last = None;
        for n in 0..SPACES {
            last = Some(write(&index, space(n), unit, vec![chunk(0, vec![1.0])]).await);
        }
        last.unwrap().durable().await.unwrap();
        let open = index.open_texts().await;
        assert!(open <= settings.open_texts, "{open} are open");
    }
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    for n in 0..SPACES {
        let live = [0].into_iter().collect();
        let found = snapshot.search_text(space(n), "grain", &live, 9).await;
        assert_eq!(found.unwrap().len(), 2);
    }
    index.close().await.unwrap();
}

#[tokio::test]
async fn a_snapshot_that_everything_is_read_from_holds_no_more_than_it_may() {
    const SPACES: u128 = 70;
    let (objects, folder) = (Arc::default(), tempfile::tempdir().unwrap());
    let settings = Settings {
        open_texts: 3,
        ..Settings::default()
    };
    let index = open(settings, &objects, folder.path()).await;
    let mut last = None;
    for n in 0..SPACES {
        last = Some(write(&index, space(n), "u", vec![chunk(0, vec![1.0])]).await);
    }
    last.unwrap().durable().await.unwrap();
    let before = index.snapshot(Flush(0)).await.unwrap();
    let live = [0].into_iter().collect();
    for n in (0..SPACES).chain(0..SPACES) {
        let found = before.search_text(space(n), "grain", &live, 9).await;
        assert_eq!(found.unwrap().len(), 1);
        let (views, texts) = before.held();
        assert!(
            views <= 64 && texts <= settings.open_texts,
            "{views}, {texts}"
        );
    }

    // What changes after it was given away is not what it gets back.
    let more = write(&index, space(0), "v", vec![chunk(0, vec![1.0])]).await;
    more.durable().await.unwrap();
    for n in 1..SPACES {
        let found = before.search_text(space(n), "grain", &live, 9).await;
        assert_eq!(found.unwrap().len(), 1);
    }
    let after = index.snapshot(Flush(0)).await.unwrap();
    for (snapshot, count) in [(&before, 1), (&after, 2), (&before, 1)] {
        let found = snapshot.search_text(space(0), "grain", &live, 9).await;
        assert_eq!(found.unwrap().len(), count);
    }
    index.close().await.unwrap();
}

#[tokio::test]
async fn a_text_that_takes_long_to_open_keeps_nobody_from_another() {
    let (objects, folder) = (Arc::default(), tempfile::tempdir().unwrap());
    let index = open(Settings::default(), &objects, folder.path()).await;
    for n in 0..2 {
        let written = write(&index, space(n), "u", vec![chunk(0, vec![1.0])]).await;
        written.durable().await.unwrap();
    }
    index.close().await.unwrap();

    let index = open(Settings::default(), &objects, folder.path()).await;
    let opening = index.store.shelf.turn(space(0));
    let opening = opening.lock().await;
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let live = [0].into_iter().collect();
    let search = |n| snapshot.search_text(space(n), "grain", &live, 9);
    let written = write(&index, space(1), "v", vec![chunk(0, vec![1.0])]).await;
    written.durable().await.unwrap();
    assert_eq!(search(1).await.unwrap().len(), 1);

    drop(opening);
    assert_eq!(search(0).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_text_is_made_anew_though_who_asked_for_it_gives_up() {
    let (objects, folder) = (Arc::default(), tempfile::tempdir().unwrap());
    let index = open(Settings::default(), &objects, folder.path()).await;
    let written = write(&index, space(0), "u", vec![chunk(0, vec![1.0])]).await;
    written.durable().await.unwrap();
    index.close().await.unwrap();

    let lost = tempfile::tempdir().unwrap();
    let index = open(Settings::default(), &objects, lost.path()).await;
    let shelf = &index.store.shelf;
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let live = [0].into_iter().collect();
    let search = || snapshot.search_text(space(0), "grain", &live, 9);
    let turn = shelf.turn(space(0));
    let opening = turn.lock().await;
    tokio::select! {
        _ = search() => panic!("it is not its turn"),
        () = shelf.began_to_open(space(0)) => {}
    }
    drop(opening);
    while index.open_texts().await == 0 {
        tokio::task::yield_now().await;
    }
    // Nor is it made once more for the next who asks.
    let _none_is_opened = turn.lock().await;
    assert_eq!(search().await.unwrap().len(), 1);
    index.close().await.unwrap();
}

#[tokio::test]
async fn a_text_that_is_being_made_anew_does_not_keep_the_index_from_closing() {
    let (objects, folder) = (Arc::default(), tempfile::tempdir().unwrap());
    let index = open(Settings::default(), &objects, folder.path()).await;
    let written = write(&index, space(0), "u", vec![chunk(0, vec![1.0])]).await;
    written.durable().await.unwrap();
    index.close().await.unwrap();

    let lost = tempfile::tempdir().unwrap();
    let index = open(Settings::default(), &objects, lost.path()).await;
    let shelf = Arc::clone(&index.store.shelf);
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let live = [0].into_iter().collect();
    let search = || snapshot.search_text(space(0), "grain", &live, 9);
    let turn = shelf.turn(space(0));
    let opening = turn.lock().await;
    let closing = async {
        shelf.began_to_open(space(0)).await;
        let close = async { index.close().await };
        let go_on = async {
            shelf.ended().await;
            drop(opening);
        };
        tokio::join!(close, go_on).0
    };
    let (closed, one, other) = tokio::join!(closing, search(), search());
    closed.unwrap();
    // Everyone who waited for it is told.
    assert!(matches!(one, Err(Error::Stopped)), "{one:?}");
    assert!(matches!(other, Err(Error::Stopped)), "{other:?}");

    let index = open(Settings::default(), &objects, lost.path()).await;
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    let found = snapshot.search_text(space(0), "grain", &live, 9).await;
    assert_eq!(found.unwrap().len(), 1);
    index.close().await.unwrap();
}
