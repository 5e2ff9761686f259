use model::{ChunkId, ContentHash, DocumentId, KbId, ModelName, TenantId, UnitName, VersionId};
use tokio::sync::oneshot::{self, Receiver};
use uuid::Uuid;

use super::super::Answer;
use super::super::lane::WINDOW;
use super::*;

fn key() -> BatchKey {
    key_of(0)
}

fn key_of(kb: u128) -> BatchKey {
    BatchKey {
        tenant: TenantId::from_uuid(Uuid::nil()),
        kb: KbId::from_uuid(Uuid::from_u128(kb)),
        model: ModelName::new("test", "model"),
    }
}

fn desk() -> Desk {
    let info = ModelInfo {
        name: ModelName::new("test", "model"),
        dimension: 1,
        reads: 100,
        max_tokens: 100,
        max_query_tokens: 100,
        max_batch_items: 4,
        max_batch_tokens: 1000,
        language_note: "",
    };
    Desk::new(Settings::default(), &info, Default::default())
}

fn ask(desk: &mut Desk, document: u128, ordinal: u32, last: bool) -> Receiver<Answer> {
    let ends = last.then_some(Reason::EndOfDocument);
    ask_in(desk, key(), (document, ordinal), ends)
}

/// For a text that no other place has.
fn ask_in(
    desk: &mut Desk,
    key: BatchKey,
    (document, ordinal): (u128, u32),
    ends: Option<Reason>,
) -> Receiver<Answer> {
    let text = format!("text {document} {ordinal}");
    ask_for(desk, key, (document, ordinal), text, ends)
}

fn ask_for(
    desk: &mut Desk,
    key: BatchKey,
    (document, ordinal): (u128, u32),
    text: String,
    ends: Option<Reason>,
) -> Receiver<Answer> {
    let chunk = ChunkId {
        version: VersionId::from_uuid(Uuid::from_u128(document)),
        unit: UnitName::new("start").unwrap(),
        ordinal,
    };
    let document = DocumentId::from_uuid(Uuid::from_u128(document));
    let (reply, answer) = oneshot::channel();
    let request = Request {
        key,
        passage: Passage::new(document, chunk, text, 5),
        ends,
        reply,
    };
    desk.take_in(request, Duration::ZERO);
    answer
}

/// The model embeds it.
fn succeed(desk: &mut Desk, (key, batch): (BatchKey, Batch<Passage>)) {
    let result = Ok(vec![vec![1.0]; batch.items.len()]);
    desk.settle(Done { key, batch, result }, Duration::ZERO);
}

fn fail(desk: &mut Desk, (key, batch): (BatchKey, Batch<Passage>), error: providers::Error) {
    let result = Err(error);
    desk.settle(Done { key, batch, result }, Duration::ZERO);
}

#[test]
fn documents_that_end_while_the_model_is_busy_share_the_next_batch() {
    let mut desk = desk();
    let _first = ask(&mut desk, 1, 0, true);
    let (_, alone) = desk.next_batch().expect("the model is free");
    assert_eq!(alone.items.len(), 1);
    // The model is busy with it: nobody asks for a batch meanwhile.
    let _others: Vec<_> = (2..5)
        .map(|document| ask(&mut desk, document, 0, true))
        .collect();
    let (_, shared) = desk.next_batch().expect("the model is free again");
    assert_eq!(
        (shared.items.len(), shared.reason),
        (3, Reason::EndOfDocument)
    );
}

#[test]
fn a_document_that_has_not_ended_waits_for_the_rest_or_for_quiet() {
    let mut desk = desk();
    let _begun = ask(&mut desk, 1, 0, false);
    assert!(desk.next_batch().is_none());
    desk.close_quiet(Settings::default().quiet);
    let (_, batch) = desk.next_batch().expect("it was quiet for long enough");
    assert_eq!(batch.reason, Reason::Time);
}

#[test]
fn a_full_batch_leaves_whoever_else_is_coming() {
    let mut desk = desk();
    let _asked: Vec<_> = (0..5)
        .map(|ordinal| ask(&mut desk, 1, ordinal, false))
        .collect();
    let (_, batch) = desk.next_batch().expect("four are a batch");
    assert_eq!((batch.items.len(), batch.reason), (4, Reason::Items));
    assert!(desk.next_batch().is_none(), "the fifth waits");
}

#[test]
fn the_same_passage_is_embedded_once_and_answered_twice() {
    let mut desk = desk();
    let mut first = ask(&mut desk, 1, 0, true);
    let mut second = ask(&mut desk, 1, 0, true);
    let batch = desk.next_batch().expect("one batch");
    assert_eq!(batch.1.items.len(), 1);
    succeed(&mut desk, batch);
    let mut late = ask(&mut desk, 1, 0, true);
    assert!(desk.next_batch().is_none(), "nothing is left to embed");
    for answer in [&mut first, &mut second, &mut late] {
        assert_eq!(&*answer.try_recv().unwrap().unwrap(), &[1.0]);
    }
    assert_eq!(locked(&desk.counts).duplicates, 2);
}

#[test]
fn what_is_not_indexed_yet_is_kept_however_much_was_answered_since() {
    let mut desk = desk();
    let embed_all = |desk: &mut Desk| {
        let mut embedded = 0;
        for ordinal in 0..2 * WINDOW as u32 {
            let mut asked = ask(desk, 1, ordinal, true);
            if let Some(batch) = desk.next_batch() {
                embedded += batch.1.items.len();
                succeed(desk, batch);
            }
            assert!(asked.try_recv().unwrap().is_ok());
        }
        embedded
    };
    assert_eq!(embed_all(&mut desk), 2 * WINDOW);
    assert_eq!(embed_all(&mut desk), 0, "its unit comes again");
    for ordinal in 0..2 * WINDOW {
        let input = ContentHash::of(format!("text 1 {ordinal}").as_bytes());
        locked(&desk.unindexed).forget(key().tenant, input);
    }
    let oldest = ask(&mut desk, 1, 0, true);
    assert!(desk.next_batch().is_some(), "the index knows it now");
    drop(oldest);
}

#[test]
fn a_text_that_two_documents_share_is_embedded_once() {
    let mut desk = desk();
    let mut answers: Vec<_> = [(1, 0), (2, 7)]
        .into_iter()
        .map(|place| {
            let end = Some(Reason::EndOfDocument);
            ask_for(&mut desk, key(), place, "the licence".to_owned(), end)
        })
        .collect();
    let batch = desk.next_batch().expect("one batch");
    assert_eq!(batch.1.items.len(), 1);
    succeed(&mut desk, batch);
    for answer in &mut answers {
        assert_eq!(&*answer.try_recv().unwrap().unwrap(), &[1.0]);
    }
}

#[test]
fn a_failed_batch_tells_everyone_and_may_be_asked_again() {
    let mut desk = desk();
    let mut asked = ask(&mut desk, 1, 0, true);
    let batch = desk.next_batch().expect("one batch");
    fail(&mut desk, batch, providers::Error::Stopped);
    assert!(asked.try_recv().unwrap().is_err());
    let _again = ask(&mut desk, 1, 0, true);
    assert!(desk.next_batch().is_some());
}

#[test]
fn a_passage_the_model_refuses_fails_alone_and_the_others_go_again() {
    let mut desk = desk();
    let mut asked: Vec<_> = (1..=4)
        .map(|document| ask(&mut desk, document, 0, true))
        .collect();
    let batch = desk.next_batch().expect("four are a batch");
    let refused = providers::Error::InputRefused {
        index: 2,
        message: "too long".to_owned(),
    };
    fail(&mut desk, batch, refused);
    let again = desk.next_batch().expect("three are left");
    assert_eq!(again.1.items.len(), 3);
    succeed(&mut desk, again);
    let answers = asked.iter_mut().map(|answer| answer.try_recv().unwrap());
    let embedded: Vec<bool> = answers.map(|answer| answer.is_ok()).collect();
    assert_eq!(embedded, [true, true, false, true]);
    assert!(!desk.has_batches());
}

#[test]
fn a_batch_is_counted_by_why_it_left() {
    let mut desk = desk();
    for ends in [None, Some(Reason::Window)] {
        let ordinal = u32::from(ends.is_some());
        let _asked = ask_in(&mut desk, key(), (1, ordinal), ends);
    }
    assert!(desk.next_batch().is_some(), "its window is full");
    let _end = ask(&mut desk, 1, 2, true);
    assert!(desk.next_batch().is_some(), "it has ended");
    let counts = locked(&desk.counts);
    assert_eq!((counts.batches, counts.items, counts.tokens), (2, 3, 15));
    assert_eq!(counts.reasons[&Reason::Window], 1);
    assert_eq!(counts.reasons[&Reason::EndOfDocument], 1);
}

#[test]
fn a_known_passage_at_the_end_of_a_document_holds_nothing_back() {
    let mut desk = desk();
    let _known = ask(&mut desk, 1, 0, true);
    let batch = desk.next_batch().expect("one batch");
    succeed(&mut desk, batch);
    let _new = ask(&mut desk, 1, 1, false);
    let _known = ask(&mut desk, 1, 0, true);
    assert!(desk.next_batch().is_some());
}

#[test]
fn knowledge_bases_nobody_asks_for_any_more_cost_nothing() {
    let mut desk = desk();
    let _waits = ask_in(&mut desk, key_of(0), (1, 0), None);
    for kb in 1..=3 * IDLE_LANES as u128 {
        let end = Some(Reason::EndOfDocument);
        let mut asked = ask_in(&mut desk, key_of(kb), (kb, 0), end);
        let batch = desk.next_batch().expect("one batch");
        succeed(&mut desk, batch);
        assert!(asked.try_recv().unwrap().is_ok());
    }
    assert_eq!(desk.lanes.len(), IDLE_LANES + 1);
    assert!(desk.lanes.contains_key(&key_of(0)), "somebody waits there");
}
