//! What a flush holds while it goes on, and leaves open.

use std::sync::Arc;

use crate::kit::{chunk, open, space, write};
use crate::{Flush, Settings};

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
