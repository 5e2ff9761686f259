//! What a caller may rely on, one index at a time.

use index::{Error, Fence, Flush, Scope, Space};
use model::{ContentHash, ModelName};

use crate::kit::*;

#[tokio::test]
async fn what_is_durable_is_found_in_both_legs_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let chunks = vec![
        chunk(0, "the water wheel turns", &[1.0, 0.0]),
        chunk(1, "the millstone grinds grain", &[0.0, 1.0]),
    ];
    let receipt = replace(&index, place(space(1), 3, "u"), 1, chunks)
        .await
        .unwrap();
    let flush = receipt.durable().await.unwrap();
    index.close().await.unwrap();

    let index = open(folder.path()).await;
    let snapshot = index.snapshot(flush).await.unwrap();
    assert!(snapshot.flush() >= flush);
    let by_vector = snapshot
        .search_vector(space(1), &[0.1, 0.9], &live([3]), 1)
        .await
        .unwrap();
    assert_eq!(by_vector[0].id.ordinal, 1);
    let by_text = snapshot
        .search_text(space(1), "turning wheels", &live([3]), 5)
        .await
        .unwrap();
    assert_eq!(by_text.len(), 1);
    assert_eq!((by_text[0].id.ordinal, by_text[0].number), (0, 3));
    let stored = snapshot.chunks_of(space(1), version(3)).await.unwrap();
    assert!(stored.iter().all(|c| c.has_vector && c.has_text));
    assert_eq!(stored.len(), 2);
    let texts = snapshot.texts_of(space(1), version(3)).await.unwrap();
    let hashes = stored.into_iter().map(|c| {
        let hash = c.chunk.text_hash();
        (c.id.unit, c.id.ordinal, hash)
    });
    assert!(texts.into_iter().eq(hashes));
    assert_eq!(
        snapshot.versions().await.unwrap(),
        [(space(1), version(3), 3)]
    );
    index.close().await.unwrap();
}

#[tokio::test]
async fn a_unit_is_read_without_the_others_of_its_version() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let two = vec![chunk(0, "alpha", &[1.0]), chunk(1, "beta", &[0.5])];
    let unit = place(space(1), 3, "u");
    replace(&index, unit.clone(), 1, two).await.unwrap();
    // A name that begins like the other's.
    let other = vec![chunk(0, "gamma", &[0.7])];
    let receipt = replace(&index, place(space(1), 3, "u-2"), 1, other);
    let flush = receipt.await.unwrap().flushed().await.unwrap();
    let snapshot = index.snapshot(flush).await.unwrap();
    let stored = snapshot.chunks_of_unit(space(1), version(3), &unit.unit);
    let stored = stored.await.unwrap();
    let texts: Vec<_> = stored.iter().map(|c| c.chunk.text.as_str()).collect();
    assert_eq!(texts, ["alpha", "beta"]);
    assert!(stored.iter().all(|c| c.has_vector && c.has_text));
    index.close().await.unwrap();
}

#[tokio::test]
async fn a_unit_is_replaced_as_a_whole_and_only_by_the_newest_lease() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let unit = || place(space(1), 0, "u");
    let two = vec![chunk(0, "alpha", &[1.0]), chunk(1, "beta", &[0.5])];
    replace(&index, unit(), 2, two).await.unwrap();
    let stale = replace(&index, unit(), 1, vec![chunk(0, "gamma", &[1.0])]).await;
    assert!(matches!(
        stale,
        Err(Error::Fenced {
            shown: 1,
            held: 2,
            ..
        })
    ));
    let again = replace(&index, unit(), 3, vec![chunk(0, "delta", &[1.0])])
        .await
        .unwrap();
    let snapshot = index
        .snapshot(again.flushed().await.unwrap())
        .await
        .unwrap();
    let found = snapshot
        .search_text(space(1), "alpha beta gamma delta", &live([0]), 9)
        .await
        .unwrap();
    assert_eq!(found.len(), 1);
    let found = snapshot
        .search_vector(space(1), &[1.0], &live([0]), 9)
        .await
        .unwrap();
    assert_eq!(found.len(), 1);
    index.close().await.unwrap();

    let index = open(folder.path()).await;
    let stale = replace(&index, unit(), 2, Vec::new()).await;
    assert!(
        matches!(stale, Err(Error::Fenced { held: 3, .. })),
        "fences survive a restart"
    );
    index.close().await.unwrap();
}

#[tokio::test]
async fn a_sealed_or_forgotten_version_takes_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let unit = || place(space(1), 7, "u");
    let one = || vec![chunk(0, "alpha", &[1.0])];
    replace(&index, unit(), 1, one()).await.unwrap();
    index.seal(space(1), version(7)).await.unwrap();
    assert!(matches!(
        replace(&index, unit(), 2, one()).await,
        Err(Error::Sealed(_))
    ));
    let receipt = index.forget(space(1), version(7)).await.unwrap();
    assert!(matches!(
        replace(&index, unit(), 2, one()).await,
        Err(Error::Forgotten(_))
    ));
    let snapshot = index
        .snapshot(receipt.flushed().await.unwrap())
        .await
        .unwrap();
    assert!(snapshot.versions().await.unwrap().is_empty());
    assert!(
        snapshot
            .chunks_of(space(1), version(7))
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        snapshot
            .search_text(space(1), "alpha", &live([7]), 9)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        snapshot
            .search_vector(space(1), &[1.0], &live([7]), 9)
            .await
            .unwrap()
            .is_empty()
    );
    index.close().await.unwrap();

    let index = open(folder.path()).await;
    assert!(matches!(
        replace(&index, unit(), 2, one()).await,
        Err(Error::Forgotten(_))
    ));
    index.reopen(&unit(), Fence(2)).await.unwrap();
    replace(&index, unit(), 2, one()).await.unwrap();
    index.close().await.unwrap();
}

#[tokio::test]
async fn only_live_versions_of_the_one_space_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let mut other = space(1);
    other.generation = space(50).generation;
    for number in 0..10 {
        let chunks = vec![chunk(0, "grain", &[1.0, number as f32])];
        replace(&index, place(space(1), number, "u"), 1, chunks)
            .await
            .unwrap();
    }
    let last = replace(
        &index,
        place(other, 4, "u"),
        1,
        vec![chunk(0, "grain", &[1.0, 99.0])],
    )
    .await;
    let flush = last.unwrap().flushed().await.unwrap();
    let snapshot = index.snapshot(flush).await.unwrap();
    let numbers =
        |found: Vec<index::Scored>| -> Vec<u32> { found.iter().map(|s| s.number).collect() };
    let by_vector = snapshot
        .search_vector(space(1), &[0.0, 1.0], &live([4, 2]), 9)
        .await
        .unwrap();
    assert_eq!(numbers(by_vector), [4, 2]);
    let by_text = snapshot
        .search_text(space(1), "grain", &live([4, 2]), 9)
        .await
        .unwrap();
    assert_eq!(
        numbers(by_text),
        [2, 4],
        "equal scores stand in the order of their places"
    );
    index.close().await.unwrap();
}

#[tokio::test]
async fn a_snapshot_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let first = replace(
        &index,
        place(space(1), 0, "u"),
        1,
        vec![chunk(0, "old", &[1.0])],
    )
    .await
    .unwrap();
    let before = index
        .snapshot(first.flushed().await.unwrap())
        .await
        .unwrap();
    let second = replace(
        &index,
        place(space(1), 0, "u"),
        1,
        vec![chunk(0, "new", &[2.0])],
    )
    .await
    .unwrap();
    second.flushed().await.unwrap();
    let found = before
        .search_vector(space(1), &[1.0], &live([0]), 9)
        .await
        .unwrap();
    assert_eq!(found[0].score, 1.0);
    assert_eq!(
        before
            .search_text(space(1), "old", &live([0]), 9)
            .await
            .unwrap()
            .len(),
        1
    );
    assert!(
        before
            .search_text(space(1), "new", &live([0]), 9)
            .await
            .unwrap()
            .is_empty()
    );
    let id = &found[0].id;
    assert_eq!(
        before
            .passage(space(1), id)
            .await
            .unwrap()
            .unwrap()
            .chunk
            .text,
        "old"
    );
    index.close().await.unwrap();
}

#[tokio::test]
async fn an_embedding_is_reused_within_its_tenant_while_anything_refers_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let tenant = space(1).tenant;
    let another_kb = Space {
        tenant,
        ..space(40)
    };
    for (space, number) in [(space(1), 0), (another_kb, 1)] {
        let chunks = vec![chunk(0, "alpha", &[0.25, 0.5])];
        replace(&index, place(space, number, "u"), 1, chunks)
            .await
            .unwrap();
    }
    let known = async |tenant, model: &ModelName, input: &[u8]| {
        let input = [ContentHash::of(input)];
        index.embeddings(tenant, model, &input).await.unwrap()
    };
    let first = index.forget(space(1), version(0)).await.unwrap();
    first.flushed().await.unwrap();
    let found = known(tenant, &model_name(), b"alpha").await;
    assert_eq!(found, [Some(vec![0.25, 0.5])], "another kb refers to it");
    let other_model = ModelName::new("local", "another");
    for missing in [
        known(space(90).tenant, &model_name(), b"alpha").await,
        known(tenant, &other_model, b"alpha").await,
        known(tenant, &model_name(), b"alpha ").await,
    ] {
        assert_eq!(missing, [None]);
    }
    let last = index.forget(another_kb, version(1)).await.unwrap();
    last.flushed().await.unwrap();
    assert_eq!(known(tenant, &model_name(), b"alpha").await, [None]);
    index.close().await.unwrap();
}

#[tokio::test]
async fn a_forgotten_space_is_empty_and_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let unit = |n| place(space(n), 0, "u");
    let one = || vec![chunk(0, "alpha", &[1.0])];
    replace(&index, unit(1), 1, one()).await.unwrap();
    replace(&index, unit(9), 1, one())
        .await
        .unwrap()
        .flushed()
        .await
        .unwrap();
    let scope = Scope::Kb {
        tenant: space(1).tenant,
        kb: space(1).kb,
    };
    let receipt = index.forget_space(scope).await.unwrap();
    assert!(matches!(
        replace(&index, unit(1), 2, one()).await,
        Err(Error::ForgottenSpace)
    ));
    receipt.durable().await.unwrap();
    index.close().await.unwrap();
    let index = open(folder.path()).await;
    assert!(matches!(
        replace(&index, unit(1), 2, one()).await,
        Err(Error::ForgottenSpace)
    ));
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    assert_eq!(
        snapshot.versions().await.unwrap(),
        [(space(9), version(0), 0)]
    );
    assert!(
        snapshot
            .search_text(space(1), "alpha", &live([0]), 9)
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        snapshot
            .search_text(space(9), "alpha", &live([0]), 9)
            .await
            .unwrap()
            .len(),
        1
    );
    index.close().await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_indexed_is_refused_before_it_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let unit = || place(space(1), 0, "u");
    replace(&index, unit(), 1, vec![chunk(0, "a", &[1.0, 0.0])])
        .await
        .unwrap();
    let other = replace(
        &index,
        place(space(1), 1, "u"),
        1,
        vec![chunk(0, "a", &[1.0])],
    )
    .await;
    assert!(matches!(
        other,
        Err(Error::Dimensions {
            expected: 2,
            got: 1
        })
    ));
    let twice = vec![chunk(0, "a", &[1.0, 0.0]), chunk(0, "b", &[1.0, 0.0])];
    assert!(matches!(
        replace(&index, unit(), 1, twice).await,
        Err(Error::BadChunk { .. })
    ));
    let nan = vec![chunk(0, "a", &[f32::NAN, 0.0])];
    assert!(matches!(
        replace(&index, unit(), 1, nan).await,
        Err(Error::BadChunk { .. })
    ));
    index.close().await.unwrap();
}

#[tokio::test]
async fn a_flush_writes_no_more_because_many_went_before() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let wal = folder.path().join("index/slate/wal");
    let written = || -> Vec<u64> {
        let mut files: Vec<_> = std::fs::read_dir(&wal)
            .unwrap()
            .map(|file| file.unwrap())
            .collect();
        files.sort_by_key(std::fs::DirEntry::file_name);
        files.iter().map(|f| f.metadata().unwrap().len()).collect()
    };
    for step in 0..150 {
        let one = vec![chunk(0, "the wheel turns", &[1.0, 0.0])];
        let receipt = replace(&index, place(space(1), 3, "u"), step + 1, one).await;
        receipt.unwrap().durable().await.unwrap();
    }
    let written = written();
    let most = |some: &[u64]| *some.iter().max().expect("every flush writes");
    let (early, late) = (most(&written[10..30]), most(&written[written.len() - 20..]));
    assert!(late <= early * 5 / 4, "{early} bytes, later {late}");
    index.close().await.unwrap();
}

#[tokio::test]
async fn closed_in_peace_it_leaves_no_text_to_look_into_at_the_next_opening() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    for other in 1..4 {
        let one = vec![chunk(0, "the wheel turns", &[1.0, 0.0])];
        let unit = place(space(other), 1, "u");
        replace(&index, unit, 1, one).await.unwrap();
    }
    index.close().await.unwrap();
    let stored = slatedb::Db::open("slate", objects(folder.path())).await;
    let stored = stored.unwrap();
    let mut redo = stored.scan(vec![2]..vec![3]).await.unwrap();
    assert!(redo.next().await.unwrap().is_none());
    stored.close().await.unwrap();
}

#[tokio::test]
async fn a_query_that_says_a_word_again_means_it_more() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let chunks = vec![
        chunk(0, "the wheel of the mill", &[1.0, 0.0]),
        chunk(1, "the stone of the mill", &[0.0, 1.0]),
    ];
    let receipt = replace(&index, place(space(1), 0, "u"), 1, chunks);
    let flush = receipt.await.unwrap().flushed().await.unwrap();
    let snapshot = index.snapshot(flush).await.unwrap();
    for (query, first) in [
        ("is a stone with a wheel a wheel", 0),
        ("is a wheel with a stone a stone", 1),
    ] {
        let found = snapshot.search_text(space(1), query, &live([0]), 2).await;
        let found = found.unwrap();
        assert_eq!(found[0].id.ordinal, first, "{query}");
        assert!(found[0].score > found[1].score, "{query}");
    }
    index.close().await.unwrap();
}

#[tokio::test]
async fn a_text_of_another_language_does_not_change_which_words_are_searched() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let chunks = vec![
        chunk(0, "a war within a state is called a civil war", &[1.0, 0.0]),
        chunk(1, "a civil engineer builds bridges and dams", &[0.0, 1.0]),
    ];
    let receipt = replace(&index, place(space(1), 0, "u"), 1, chunks).await;
    receipt.unwrap().flushed().await.unwrap();
    let found = async || {
        let (snapshot, first) = (index.snapshot(Flush(0)).await.unwrap(), live([0]));
        let found = snapshot.search_text(space(1), "civil war", &first, 9);
        let found = found.await.unwrap().into_iter();
        found
            .map(|hit| (hit.id.ordinal, hit.score))
            .collect::<Vec<_>>()
    };
    let before = found().await;
    assert_eq!(before[0].0, 0);
    // A function word of German, and what this is about in English.
    let mut german = chunk(0, "es war einmal eine alte Mühle", &[1.0, 0.0]);
    german.language = Some("de".to_owned());
    let receipt = replace(&index, place(space(1), 1, "u"), 1, vec![german]).await;
    receipt.unwrap().flushed().await.unwrap();
    assert_eq!(found().await, before, "while it is there");
    let receipt = index.forget(space(1), version(1)).await.unwrap();
    receipt.flushed().await.unwrap();
    assert_eq!(found().await, before, "when it is gone");
    index.close().await.unwrap();
}

#[tokio::test]
async fn who_shows_an_older_fence_opens_nothing_that_was_sealed_since() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let unit = place(space(1), 7, "u");
    let one = vec![chunk(0, "alpha", &[1.0])];
    replace(&index, unit.clone(), 7, one).await.unwrap();
    let sealed = index.seal(space(1), version(7)).await.unwrap();
    sealed.durable().await.unwrap();
    index.close().await.unwrap();

    let index = open(folder.path()).await;
    let stale = index.reopen(&unit, Fence(3)).await;
    assert!(matches!(
        stale,
        Err(Error::Fenced {
            shown: 3,
            held: 7,
            ..
        })
    ));
    assert!(index.is_sealed(space(1), version(7)).await.unwrap());
    index.reopen(&unit, Fence(8)).await.unwrap();
    assert!(!index.is_sealed(space(1), version(7)).await.unwrap());
    index.close().await.unwrap();
}

#[tokio::test]
async fn what_is_asked_of_a_forgotten_space_leaves_nothing_there() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let unit = place(space(1), 7, "u");
    let one = vec![chunk(0, "alpha", &[1.0])];
    replace(&index, unit.clone(), 1, one).await.unwrap();
    let gone = index.forget_space(Scope::Generation(space(1))).await;
    gone.unwrap().durable().await.unwrap();

    let opened = index.reopen(&unit, Fence(2)).await;
    assert!(matches!(opened, Err(Error::ForgottenSpace)));
    index.scour(space(1), version(7)).await.unwrap();
    index.forget(space(1), version(8)).await.unwrap();
    index.close().await.unwrap();
    let index = open(folder.path()).await;
    let snapshot = index.snapshot(Flush(0)).await.unwrap();
    assert_eq!(snapshot.versions().await.unwrap(), []);
    index.close().await.unwrap();
}

#[tokio::test]
async fn who_reads_from_before_a_space_was_forgotten_does_not_bring_its_folder_back() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let one = vec![chunk(0, "alpha", &[1.0])];
    replace(&index, place(space(1), 7, "u"), 1, one)
        .await
        .unwrap();
    index.close().await.unwrap();

    let index = open(folder.path()).await;
    let before = index.snapshot(Flush(0)).await.unwrap();
    let vectors = before.search_vector(space(1), &[1.0], &live([7]), 1).await;
    assert_eq!(vectors.unwrap().len(), 1);
    let gone = index.forget_space(Scope::Generation(space(1))).await;
    gone.unwrap().durable().await.unwrap();
    let words = before.search_text(space(1), "alpha", &live([7]), 1).await;
    assert!(matches!(words, Err(Error::ForgottenSpace)));
    let of_tenant = folder.path().join("text").join(space(1).tenant.to_string());
    let left = std::fs::read_dir(of_tenant.join(space(1).kb.to_string()));
    assert!(left.is_err() || left.unwrap().next().is_none());
    index.close().await.unwrap();
}

#[tokio::test]
async fn a_version_that_was_scoured_counts_for_nothing_before_a_restart_as_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let many = |word: &str| {
        let of = |n| chunk(n, &format!("{word} grain flour"), &[n as f32, 1.0]);
        (0..20).map(of).collect()
    };
    for (number, word) in [(1, "mill"), (2, "rye")] {
        let unit = place(space(1), number, "u");
        replace(&index, unit, 1, many(word)).await.unwrap();
    }
    let scoured = index.scour(space(1), version(2)).await.unwrap();
    let flush = scoured.durable().await.unwrap();
    let both = live([1, 2]);
    let mut told = Vec::new();
    let mut index = index;
    for _ in 0..2 {
        let snapshot = index.snapshot(flush).await.unwrap();
        let found = snapshot.search_text(space(1), "mill", &both, 1).await;
        let burden = snapshot.burden(space(1), &live([1])).await.unwrap();
        told.push((found.unwrap()[0].score, burden));
        drop(snapshot);
        index.close().await.unwrap();
        index = open(folder.path()).await;
    }
    assert_eq!(told[0], told[1]);
    assert_eq!((told[0].1.live, told[0].1.idle), (20, 0));
}

#[tokio::test]
async fn each_who_asks_for_a_compaction_is_told_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path()).await;
    let unit = place(space(1), 1, "u");
    let one = vec![chunk(0, "mill", &[1.0])];
    let receipt = replace(&index, unit, 1, one).await.unwrap();
    receipt.durable().await.unwrap();
    let live = live([1]);
    let (a, b) = tokio::join!(
        index.compact(space(1), &live),
        index.compact(space(1), &live)
    );
    assert_eq!((a.unwrap().hot, b.unwrap().hot), (1, 1));
    index.close().await.unwrap();
}
