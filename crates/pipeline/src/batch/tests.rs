use proptest::prelude::*;

use super::*;

const NOW: Duration = Duration::from_secs(5);

fn limits() -> BatchLimits {
    BatchLimits {
        tokens: 100,
        items: 4,
        ..BatchLimits::default()
    }
}

fn item(document: &str, seq: u64, tokens: u32) -> ChunkEnvelope {
    ChunkEnvelope {
        doc_id: document.to_owned(),
        chunk_id: format!("{document}/{seq}"),
        seq,
        text: format!("text {seq}"),
        byte_range: (0, 0),
        token_count: tokens,
        metadata: model::contract::ChunkMetadata {
            tenant_id: "t".to_owned(),
            index_id: "i".to_owned(),
            model: "local:m".to_owned(),
            source_id: None,
        },
    }
}

#[test]
fn a_batch_closes_on_items_on_tokens_and_never_holds_too_many() {
    let mut batcher = Batcher::new(limits());
    for seq in 0..3 {
        assert!(batcher.push(item("d", seq, 10), NOW).closed.is_empty());
    }
    let by_items = batcher.push(item("d", 3, 10), NOW).closed;
    assert_eq!(
        (by_items[0].items.len(), by_items[0].reason),
        (4, Reason::Items)
    );
    batcher.push(item("d", 4, 60), NOW);
    let by_tokens = batcher.push(item("d", 5, 60), NOW).closed;
    assert_eq!(
        (by_tokens[0].tokens, by_tokens[0].reason),
        (60, Reason::Tokens)
    );
    assert_eq!(batcher.len(), 1);
}

#[test]
fn the_last_open_document_to_end_closes_the_batch() {
    let mut batcher = Batcher::new(limits());
    batcher.push(item("a", 0, 10), NOW);
    batcher.push(item("b", 0, 10), NOW);
    assert!(batcher.end_document("a").is_none());
    let batch = batcher.end_document("b").unwrap();
    assert_eq!(
        (batch.items.len(), batch.reason),
        (2, Reason::EndOfDocument)
    );
    assert!(batcher.end_document("b").is_none());
}

#[test]
fn a_document_that_is_left_holds_no_batch_back_and_closes_none() {
    let mut batcher = Batcher::new(limits());
    batcher.push(item("a", 0, 10), NOW);
    batcher.push(item("b", 0, 10), NOW);
    assert_eq!(batcher.may_leave(), None);
    batcher.leave_document("a", Reason::Window);
    assert_eq!(batcher.len(), 2);
    assert_eq!(batcher.may_leave(), Some(Reason::Window));
    let batch = batcher.end_document("b").unwrap();
    assert_eq!(batch.items.len(), 2);
}

#[test]
fn a_batch_may_leave_with_the_last_of_a_document_in_it_and_with_no_other() {
    let mut batcher = Batcher::new(limits());
    batcher.leave_document("nobody", Reason::EndOfDocument);
    assert_eq!(batcher.may_leave(), None, "there is nothing in it");
    batcher.push(item("a", 0, 60), NOW);
    batcher.leave_document("a", Reason::EndOfDocument);
    // A stronger reason stays when a weaker one comes.
    batcher.leave_document("b", Reason::Window);
    assert_eq!(batcher.may_leave(), Some(Reason::EndOfDocument));
    let full = batcher.push(item("c", 0, 60), NOW).closed;
    assert_eq!(full[0].reason, Reason::Tokens);
    assert_eq!(batcher.may_leave(), None, "more of c is to come");
}

#[test]
fn reasons_are_counted_under_the_names_they_are_stored_by() {
    for reason in Reason::ALL {
        let stored = serde_json::to_value(reason).unwrap();
        assert_eq!(stored, reason.name());
    }
    let mut batcher = Batcher::new(limits());
    batcher.push(item("a", 0, 10), NOW);
    batcher.take(Reason::Window);
    let mut sum = batcher.counts().clone();
    sum.add(batcher.counts());
    assert_eq!((sum.batches, sum.items, sum.tokens), (2, 2, 20));
    assert_eq!(sum.reasons, BTreeMap::from([(Reason::Window, 2)]));
}

#[test]
fn a_duplicate_is_answered_with_the_batch_it_went_out_in() {
    let mut batcher = Batcher::new(limits());
    batcher.push(item("d", 0, 10), NOW);
    let open = batcher.push(item("d", 0, 10), NOW);
    assert_eq!(open.answer, Answer::Duplicate(None));
    let batch = batcher.take(Reason::Time).unwrap();
    let later = batcher.push(item("d", 0, 10), NOW);
    assert_eq!(later.answer, Answer::Duplicate(Some(batch.id)));
    assert_eq!(batcher.counts().duplicates, 2);
    batcher.forget(&batch);
    assert_eq!(batcher.push(item("d", 0, 10), NOW).answer, Answer::Taken);
}

#[test]
fn the_same_chunks_make_the_same_batch_whenever_they_come() {
    let batch = |at: u64| {
        let mut batcher = Batcher::new(limits());
        batcher.push(item("d", 0, 10), Duration::from_secs(at));
        batcher.push(item("d", 1, 10), Duration::from_secs(at + 1));
        assert_eq!(
            batcher.deadline(),
            Some(Duration::from_secs(at + 1) + limits().quiet)
        );
        batcher.take(Reason::Time).unwrap().id
    };
    assert_eq!(batch(1), batch(1_000_000));
}

#[test]
fn a_stored_batcher_goes_on_where_it_was() {
    let mut batcher = Batcher::new(limits());
    batcher.push(item("d", 0, 10), NOW);
    let stored = serde_json::to_string(&batcher).unwrap();
    let restored: Batcher<ChunkEnvelope> = serde_json::from_str(&stored).unwrap();
    assert_eq!(restored, batcher);
}

proptest! {
    #[test]
    fn every_chunk_leaves_exactly_once(pushes in prop::collection::vec((0_u64..40, 1_u32..130, any::<bool>()), 0..200)) {
        let mut batcher = Batcher::new(limits());
        let mut batches = Vec::new();
        for (seq, tokens, end) in &pushes {
            batches.extend(batcher.push(item("d", *seq, *tokens), NOW).closed);
            if *end {
                batches.extend(batcher.end_document("d"));
            }
        }
        batches.extend(batcher.take(Reason::Drain));
        let mut left: Vec<u64> = batches.iter().flat_map(|b| b.items.iter().map(|i| i.seq)).collect();
        left.sort_unstable();
        let mut pushed: Vec<u64> = pushes.iter().map(|(seq, _, _)| *seq).collect();
        pushed.sort_unstable();
        pushed.dedup();
        prop_assert_eq!(left, pushed);
        for batch in &batches {
            prop_assert!(batch.items.len() <= 4);
            prop_assert!(batch.tokens <= 100 || batch.items.len() == 1);
        }
        prop_assert_eq!(batcher.counts().batches, batches.len() as u64);
    }
}
