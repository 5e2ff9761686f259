//! The OpenAI embedder beside a double of the service that fails in every way it documents.
//!
//! The double is a real listener on this machine; the waits it asks for are milliseconds.

use std::time::Duration;

use providers::openai::HARMLESS;
use providers::remote::Retry;
use providers::{
    Embedder, Error, HashEmbedder, HashSettings, Kind, OpenAiEmbedder, OpenAiSettings, Secret,
};
use testkit::double::{self, Answer, Double};

const DIMENSION: u32 = 8;

fn settings(double: &Double) -> OpenAiSettings {
    OpenAiSettings {
        key: Some(Secret::new("sk-test")),
        dimension: Some(DIMENSION),
        max_batch_items: 4,
        timeout: Duration::from_secs(5),
        retry: Retry {
            first_wait: Duration::from_millis(1),
            ..Retry::default()
        },
        ..OpenAiSettings::of(double.url(), "double")
    }
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("passage {n}")).collect()
}

/// Every text answered, in order, and none of them twice.
async fn assert_all_embedded_once(double: &Double, embedder: &OpenAiEmbedder, texts: &[String]) {
    let vectors = embedder.embed_passages(texts).await.unwrap();
    let expected: Vec<_> = texts.iter().map(|text| double::vector(text)).collect();
    assert_eq!(vectors, expected);
    let mut answered = double.answered();
    answered.retain(|text| text != HARMLESS);
    let mut texts = texts.to_vec();
    answered.sort();
    texts.sort();
    assert_eq!(answered, texts);
}

#[tokio::test]
async fn a_call_is_cut_into_requests_and_answered_in_order() {
    let double = Double::start(vec![]).await;
    let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
    assert_all_embedded_once(&double, &embedder, &texts(10)).await;
    assert_eq!(double.request_sizes(), [4, 4, 2]);
    assert_eq!(double.keys(), ["Bearer sk-test"; 3]);
}

#[tokio::test]
async fn prefixes_go_before_every_text_and_are_taken_off_what_the_model_reads() {
    let double = Double::start(vec![]).await;
    let plain = OpenAiSettings {
        max_tokens: Some(20),
        ..settings(&double)
    };
    let prefixed = OpenAiSettings {
        query_prefix: "query: ".to_owned(),
        passage_prefix: "passage: ".to_owned(),
        ..plain.clone()
    };
    let embedder = OpenAiEmbedder::open(&prefixed).unwrap();
    let info = embedder.info();
    assert_eq!(info.reads, 20);
    let (passage, query) = (info.max_tokens as usize, info.max_query_tokens as usize);
    // Each is bounded by what goes before it, and by nothing that goes before the other.
    assert!((1..query).contains(&passage) && query < 20, "{info:?}");

    let fits = vec!["mill"; passage].join(" ");
    let vectors = embedder
        .embed_passages(std::slice::from_ref(&fits))
        .await
        .unwrap();
    assert_eq!(vectors, [double::vector(&format!("passage: {fits}"))]);
    let too_long = embedder.embed_passages(&[format!("{fits} mill")]).await;
    assert!(matches!(too_long, Err(Error::TooLong { .. })));
    let fits = vec!["mill"; query].join(" ");
    let vector = embedder.embed_query(&fits).await.unwrap();
    assert_eq!(vector, double::vector(&format!("query: {fits}")));
    let too_long = embedder.embed_query(&format!("{fits} mill")).await;
    assert!(matches!(too_long, Err(Error::TooLong { .. })));

    let no_room = OpenAiSettings {
        max_tokens: Some(2),
        ..prefixed
    };
    assert!(OpenAiEmbedder::open(&no_room).is_err());
}

#[tokio::test]
async fn its_tokens_are_known_to_be_estimates_by_its_name() {
    let double = Double::start(vec![]).await;
    let remote = OpenAiEmbedder::open(&settings(&double)).unwrap();
    assert!(remote.info().name.estimates_tokens());
    let exact = HashEmbedder::new(&HashSettings::default());
    assert!(!exact.info().name.estimates_tokens());
}

#[tokio::test]
async fn a_model_of_512_tokens_keeps_its_chunks_whatever_its_prefixes() {
    let double = Double::start(vec![]).await;
    let e5 = OpenAiSettings {
        max_tokens: Some(512),
        query_prefix: "A long instruction about what is asked for: ".to_owned(),
        passage_prefix: "passage: ".to_owned(),
        ..settings(&double)
    };
    let policy = OpenAiEmbedder::open(&e5).unwrap().info().policy();
    assert_eq!((policy.target(), policy.overlap()), (400, 60));
    assert!((500..510).contains(&policy.max()), "{policy:?}");
}

#[tokio::test]
async fn whatever_passes_is_sat_out_and_nothing_is_embedded_twice() {
    let passing = [
        Answer::status(429).body(double::RATE_LIMIT),
        Answer::status(429).header("retry-after-ms", "2"),
        Answer::status(500).body("<html>oops</html>"),
        Answer::status(503).header("retry-after", "0"),
        Answer::status(200).body(r#"{"error":{"message":"slow down","code":429}}"#),
        Answer::wrong_count(),
        Answer::not_a_number(),
        Answer::truncated(),
        Answer::hang_up(),
        Answer::numbers(),
    ];
    for failure in passing {
        let double = Double::start(vec![Answer::good(), failure.clone()]).await;
        let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
        assert_all_embedded_once(&double, &embedder, &texts(9)).await;
    }
}

#[tokio::test]
async fn a_service_that_says_nothing_is_left_and_asked_again() {
    let double = Double::start(vec![Answer::silence()]).await;
    let embedder = OpenAiEmbedder::open(&OpenAiSettings {
        timeout: Duration::from_millis(50),
        ..settings(&double)
    });
    assert_all_embedded_once(&double, &embedder.unwrap(), &texts(3)).await;
}

#[tokio::test]
async fn a_long_wait_is_handed_to_the_caller_and_what_was_answered_is_kept() {
    let wait = Answer::status(429).header("retry-after-ms", "40");
    let double = Double::start(vec![Answer::good(), wait]).await;
    let mut settings = settings(&double);
    settings.retry.patience = Duration::from_millis(30);
    let embedder = OpenAiEmbedder::open(&settings).unwrap();
    let error = embedder.embed_passages(&texts(9)).await.unwrap_err();
    let asked = Duration::from_millis(40);
    let retry_after = Some(asked);
    assert_eq!(error.kind(), Kind::Throttled { retry_after });
    assert_eq!(double.request_sizes().len(), 2);

    // The caller does as it was told, then asks again.
    tokio::time::sleep(asked).await;
    assert_all_embedded_once(&double, &embedder, &texts(9)).await;
}

#[tokio::test]
async fn what_only_a_person_can_change_is_asked_once() {
    let cases = [
        (Answer::status(429).body(double::QUOTA), Kind::Quota),
        (Answer::status(401), Kind::Misconfigured),
        (Answer::status(404), Kind::Misconfigured),
        (Answer::wrong_dimension(), Kind::Misconfigured),
    ];
    for (answer, kind) in cases {
        let double = Double::start(vec![answer]).await;
        let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
        let error = embedder.embed_passages(&texts(2)).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(double.request_sizes(), [2]);
    }
}

#[tokio::test]
async fn a_request_too_large_is_halved_until_one_input_is_left_to_blame() {
    let too_large = || Answer::status(400).body(double::TOO_MANY_TOKENS);
    let double = Double::start(vec![too_large()]).await;
    let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
    assert_all_embedded_once(&double, &embedder, &texts(4)).await;
    assert_eq!(double.request_sizes(), [4, 2, 2]);

    let double = Double::start(vec![]).await;
    double.refuse("passage 0", too_large());
    let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
    let error = embedder.embed_passages(&texts(4)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Input { index: 0 });
}

#[tokio::test]
async fn how_much_a_service_takes_at_once_is_found_once() {
    let too_large = Answer::status(400).body(double::TOO_MANY_TOKENS);
    let double = Double::start(vec![too_large]).await;
    let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
    for _ in 0..3 {
        embedder.embed_passages(&texts(4)).await.unwrap();
    }
    assert_eq!(double.request_sizes(), [4, 2, 2, 2, 2, 2, 2]);
}

/// As many inputs, and as much text, as the double takes in one request.
fn more_than(inputs: usize, bytes: usize) -> impl Fn(&[String]) -> bool + Send + 'static {
    move |texts| texts.len() > inputs || texts.iter().map(String::len).sum::<usize>() > bytes
}

#[tokio::test]
async fn whatever_a_service_bounds_both_long_and_short_inputs_go_as_many_as_it_takes() {
    let short = texts(8);
    let long: Vec<_> = short.iter().map(|text| text.repeat(11)).collect();
    for (inputs, bytes, last) in [
        (4, usize::MAX, [4, 4, 4, 4].as_slice()),
        (usize::MAX, 400, &[8, 4, 4]),
    ] {
        for first in [&short, &long] {
            let double = Double::start(vec![]).await;
            // It does not say of what there is too much.
            double.refuse_where(more_than(inputs, bytes), Answer::status(413));
            let embedder = OpenAiEmbedder::open(&OpenAiSettings {
                max_batch_items: 8,
                ..settings(&double)
            });
            let embedder = embedder.unwrap();
            embedder.embed_passages(first).await.unwrap();
            for _ in 0..4 {
                embedder.embed_passages(&long).await.unwrap();
                embedder.embed_passages(&short).await.unwrap();
            }
            let before = double.request_sizes().len();
            embedder.embed_passages(&short).await.unwrap();
            embedder.embed_passages(&long).await.unwrap();
            assert_eq!(double.request_sizes()[before..], *last, "{inputs} {bytes}");
        }
    }
}

#[tokio::test]
async fn a_text_only_the_service_finds_too_long_is_embedded_by_its_parts_and_counted() {
    let double = Double::start(vec![]).await;
    let too_long = |texts: &[String]| texts.iter().any(|text| text.len() > 120);
    let answer = Answer::status(400).body(double::CONTEXT_LENGTH);
    double.refuse_where(too_long, answer);
    let embedder = OpenAiEmbedder::open(&OpenAiSettings {
        passage_prefix: "passage: ".to_owned(),
        ..settings(&double)
    });
    let embedder = embedder.unwrap();
    let mut given = texts(4);
    given[1] = "word ".repeat(40).trim().to_owned();
    let vectors = embedder.embed_passages(&given).await.unwrap();
    let whole = |text: &String| double::vector(&format!("passage: {text}"));
    for at in [0, 2, 3] {
        assert_eq!(vectors[at], whole(&given[at]));
    }
    let length: f32 = vectors[1].iter().map(|v| v * v).sum();
    assert!((length - 1.0).abs() < 1e-5, "{length}");
    assert_eq!(embedder.divided(), 1);

    let parts = double.answered();
    let parts = parts.iter();
    let parts: Vec<_> = parts
        .filter_map(|text| text.strip_prefix("passage: word"))
        .collect();
    let words: usize = parts
        .iter()
        .map(|part| part.matches("word").count() + 1)
        .sum();
    assert_eq!((parts.len(), words), (2, 40), "{parts:?}");
}

#[tokio::test]
async fn parts_that_were_answered_are_not_asked_for_again() {
    let double = Double::start(vec![]).await;
    let too_long = |texts: &[String]| texts.iter().any(|text| text.len() > 120);
    double.refuse_where(too_long, Answer::status(413));
    double.answer_after(1, Answer::status(429).body(double::QUOTA));
    let embedder = OpenAiEmbedder::open(&OpenAiSettings {
        max_batch_items: 1,
        ..settings(&double)
    });
    let embedder = embedder.unwrap();
    let given = ["grain and stones ".repeat(12)];
    let error = embedder.embed_passages(&given).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Quota, "{error}");
    double.relent();
    embedder.embed_passages(&given).await.unwrap();
    let answered = double.answered();
    assert_eq!(answered.len(), 2, "{answered:?}");
    assert_eq!(answered.join(" "), given[0].trim());
}

#[tokio::test]
async fn one_input_that_is_too_much_says_nothing_of_how_many_go_together() {
    let double = Double::start(vec![]).await;
    double.refuse("poison", Answer::status(400).body(double::CONTEXT_LENGTH));
    let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
    let error = embedder.embed_passages(&texts_with_poison_at(3)).await;
    assert_eq!(error.unwrap_err().kind(), Kind::Input { index: 3 });
    for _ in 0..3 {
        embedder.embed_passages(&texts(4)).await.unwrap();
    }
    assert_eq!(double.request_sizes().last(), Some(&4));
}

#[tokio::test]
async fn an_input_that_cannot_be_sent_is_named_before_anything_is() {
    let double = Double::start(vec![]).await;
    let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
    let empty = [String::from("fine"), String::new()];
    let long = [String::from("word ").repeat(600)];
    let error = embedder.embed_passages(&empty).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Input { index: 1 });
    let error = embedder.embed_passages(&long).await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::TooLong {
                index: 0,
                limit: 512,
                ..
            }
        ),
        "{error}"
    );
    assert!(double.request_sizes().is_empty());
}

#[tokio::test]
async fn a_service_that_keeps_failing_is_left_alone_for_a_while() {
    let double = Double::start(vec![Answer::status(500); 6]).await;
    let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
    embedder.embed_passages(&texts(1)).await.unwrap_err();
    for _ in 0..2 {
        let error = embedder.embed_passages(&texts(1)).await.unwrap_err();
        assert!(matches!(error, Error::CircuitOpen { .. }), "{error}");
        assert_eq!(double.request_sizes().len(), 5);
    }
}

/// Four texts, one of which the double refuses.
fn texts_with_poison_at(index: usize) -> Vec<String> {
    let mut texts = texts(4);
    texts[index] = "poison".to_owned();
    texts
}

#[tokio::test]
async fn one_refused_input_is_found_in_whatever_words_and_the_others_are_embedded_once() {
    for (body, at) in [
        (double::CONTEXT_LENGTH, 0),
        (double::CONTEXT_LENGTH, 3),
        (double::UNHEARD_OF, 0),
        (double::UNHEARD_OF, 2),
    ] {
        let double = Double::start(vec![]).await;
        double.refuse("poison", Answer::status(400).body(body));
        let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
        let mut texts = texts_with_poison_at(at);
        let error = embedder.embed_passages(&texts).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Input { index: at }, "{error}");
        texts.remove(at);
        assert_all_embedded_once(&double, &embedder, &texts).await;
    }
}

#[tokio::test]
async fn a_text_the_service_fails_on_is_found_and_leaves_the_others_and_the_service_alone() {
    for answer in [Answer::status(500), Answer::zeros_for("poison")] {
        for at in 0..4 {
            let double = Double::start(vec![]).await;
            double.refuse("poison", answer.clone());
            let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
            let mut texts = texts_with_poison_at(at);
            let error = embedder.embed_passages(&texts).await.unwrap_err();
            assert_eq!(error.input(), Some(at), "{error}");
            assert_eq!(error.kind(), Kind::Transient { retry_after: None });
            // Alone, it is tried again and again; the service is not left alone for it.
            for _ in 0..3 {
                let poison = [texts[at].clone()];
                let error = embedder.embed_passages(&poison).await.unwrap_err();
                assert!(!matches!(error, Error::CircuitOpen { .. }), "{error}");
            }
            texts.remove(at);
            assert_all_embedded_once(&double, &embedder, &texts).await;
        }
    }
}

#[tokio::test]
async fn several_texts_the_service_fails_on_are_found_one_by_one_and_it_is_not_left_alone() {
    for answer in [Answer::status(500), Answer::zeros_for("poison")] {
        for bad in [vec![1, 2], vec![0, 7], vec![0, 3, 4, 7]] {
            let double = Double::start(vec![]).await;
            double.refuse("poison", answer.clone());
            let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
            let mut texts = texts(8);
            for at in &bad {
                texts[*at] = format!("a poison text, the {at}th");
            }
            let mut left = texts.clone();
            while left.len() > texts.len() - bad.len() {
                let error = embedder.embed_passages(&left).await.unwrap_err();
                let at = error.input().unwrap_or_else(|| panic!("{bad:?}: {error}"));
                assert!(left.remove(at).contains("poison"));
                // Whoever else asks is answered.
                embedder.embed_query(HARMLESS).await.unwrap();
            }
            assert_all_embedded_once(&double, &embedder, &left).await;
        }
    }
}

#[tokio::test]
async fn a_text_that_fails_alone_is_blamed_and_not_the_service() {
    for answer in [
        Answer::status(500),
        Answer::hang_up(),
        Answer::not_a_number(),
    ] {
        let double = Double::start(vec![]).await;
        double.refuse("poison", answer);
        let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
        for _ in 0..4 {
            let poison = ["a poison text".to_owned()];
            let error = embedder.embed_passages(&poison).await.unwrap_err();
            assert_eq!(error.input(), Some(0), "{error}");
        }
        embedder.embed_passages(&texts(3)).await.unwrap();
    }
}

#[tokio::test]
async fn a_text_that_brings_the_service_down_is_found_among_others() {
    let silent = |double: &Double| OpenAiSettings {
        timeout: Duration::from_secs(1),
        ..settings(double)
    };
    for answer in [Answer::hang_up(), Answer::silence()] {
        let double = Double::start(vec![]).await;
        double.refuse("poison", answer);
        let embedder = OpenAiEmbedder::open(&silent(&double)).unwrap();
        let mut texts = texts_with_poison_at(2);
        let error = embedder.embed_passages(&texts).await.unwrap_err();
        assert_eq!(error.input(), Some(2), "{error}");
        texts.remove(2);
        assert_all_embedded_once(&double, &embedder, &texts).await;
    }
}

#[tokio::test]
async fn nobody_who_asks_waits_for_a_service_that_does_not_answer() {
    let double = Double::start(vec![]).await;
    double.refuse("question", Answer::silence());
    let embedder = OpenAiEmbedder::open(&OpenAiSettings {
        query_timeout: Duration::from_millis(50),
        ..settings(&double)
    });
    let embedder = embedder.unwrap();
    let mut last = None;
    for _ in 0..10 {
        last = embedder.embed_query("a question").await.err();
    }
    // In the end it is not even asked.
    assert!(matches!(last, Some(Error::CircuitOpen { .. })), "{last:?}");
}

#[tokio::test]
async fn a_service_that_refuses_everything_is_not_put_down_to_one_input() {
    let refusals = [
        (
            Answer::status(400).body(double::UNHEARD_OF),
            "400: that will not do",
        ),
        (Answer::status(422), "422: it did not say why"),
        (
            Answer::status(400).body(double::CONTEXT_LENGTH),
            "400: the input length exceeds the context length",
        ),
        (Answer::status(413), "413: it did not say why"),
    ];
    for (answer, said) in refusals {
        let double = Double::start(vec![]).await;
        double.refuse_where(|_| true, answer);
        let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
        for count in [4, 1] {
            let before = double.request_sizes().len();
            let error = embedder.embed_passages(&texts(count)).await.unwrap_err();
            assert_eq!(error.kind(), Kind::Misconfigured, "{error}");
            assert!(error.to_string().ends_with(said), "{error}");
            // Halved down to one; then a harmless one.
            let asked = &double.request_sizes()[before..];
            assert!(asked.len() <= 4, "{asked:?}");
        }
    }
}

#[tokio::test]
async fn a_service_that_begins_to_refuse_everything_halfway_through_is_waited_for() {
    let double = Double::start(vec![]).await;
    double.answer_after(5, Answer::status(400).body(double::UNHEARD_OF));
    let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
    // What was answered is kept, and says nothing of how the service is now.
    for _ in 0..3 {
        let error = embedder.embed_passages(&texts(9)).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Misconfigured, "{error}");
    }
    double.relent();
    assert_all_embedded_once(&double, &embedder, &texts(9)).await;
}

#[tokio::test]
async fn no_text_is_blamed_for_what_was_mended_meanwhile() {
    let refused = || Answer::status(400).body(double::UNHEARD_OF);
    // Two are halved, and one is refused when another is taken.
    let double = Double::start(vec![refused(), refused()]).await;
    let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
    assert_all_embedded_once(&double, &embedder, &texts(2)).await;
}

#[tokio::test]
async fn texts_that_are_refused_alone_or_together_are_refused_and_not_the_service() {
    let double = Double::start(vec![]).await;
    double.refuse("poison", Answer::status(400).body(double::UNHEARD_OF));
    let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
    for count in [1, 2, 3] {
        let poison: Vec<_> = (0..count).map(|n| format!("poison {n}")).collect();
        let error = embedder.embed_passages(&poison).await.unwrap_err();
        assert!(matches!(error.kind(), Kind::Input { .. }), "{error}");
    }
    let error = embedder.embed_query("is this poison").await.unwrap_err();
    assert_eq!(error.kind(), Kind::Input { index: 0 }, "{error}");
    embedder.embed_passages(&texts(3)).await.unwrap();
}

#[tokio::test]
async fn a_refused_request_is_halved_itself_however_much_others_may_send() {
    let too_large = Answer::status(400).body(double::TOO_MANY_TOKENS);
    let double = Double::start(vec![too_large]).await;
    let embedder = OpenAiEmbedder::open(&OpenAiSettings {
        max_batch_items: 128,
        ..settings(&double)
    });
    assert_all_embedded_once(&double, &embedder.unwrap(), &texts(2)).await;
    assert_eq!(double.request_sizes(), [2, 1, 1]);
}

#[tokio::test]
async fn a_call_of_many_inputs_is_tried_again() {
    let double = Double::start(vec![Answer::status(500)]).await;
    let embedder = OpenAiEmbedder::open(&OpenAiSettings {
        max_batch_items: 128,
        ..settings(&double)
    });
    assert_all_embedded_once(&double, &embedder.unwrap(), &texts(100)).await;
}

#[tokio::test]
async fn a_service_pushed_too_hard_is_sent_half_and_then_a_little_more_each_time() {
    let hard = [
        Answer::status(429),
        Answer::status(503),
        Answer::hang_up(),
        Answer::truncated(),
    ];
    for failure in hard {
        let double = Double::start(vec![failure]).await;
        let embedder = OpenAiEmbedder::open(&OpenAiSettings {
            max_batch_items: 8,
            ..settings(&double)
        });
        assert_all_embedded_once(&double, &embedder.unwrap(), &texts(22)).await;
        assert_eq!(double.request_sizes(), [8, 4, 5, 6, 7]);
    }
}

#[tokio::test]
async fn a_limit_on_requests_that_speaks_of_billing_is_a_limit() {
    let limit = Answer::status(429).body(double::TOO_MANY_REQUESTS);
    let double = Double::start(vec![limit.header("retry-after", "12")]).await;
    let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
    let error = embedder.embed_passages(&texts(1)).await.unwrap_err();
    let retry_after = Some(Duration::from_secs(12));
    assert_eq!(error.kind(), Kind::Throttled { retry_after }, "{error}");
}

#[tokio::test]
async fn a_wait_is_kept_by_every_call_whatever_names_it() {
    let busy = Answer::status(503).header("retry-after", "12");
    let nearly_spent = Answer::good()
        .header("x-ratelimit-limit-requests", "10")
        .header("x-ratelimit-remaining-requests", "0")
        .header("x-ratelimit-reset-requests", "2m0s");
    for answer in [busy, nearly_spent] {
        let double = Double::start(vec![answer]).await;
        let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
        // Answered or not, it says that there is nothing for twelve seconds.
        let _ = embedder.embed_passages(&texts(1)).await;
        for _ in 0..3 {
            let error = embedder.embed_query("anything").await.unwrap_err();
            assert!(matches!(error, Error::Throttled { .. }), "{error}");
        }
        assert_eq!(double.request_sizes(), [1], "nothing else has left");
        later(Duration::from_secs(12)).await;
        embedder.embed_query("anything").await.unwrap();
    }
}

#[tokio::test]
async fn a_date_to_come_back_at_is_understood_of_a_service_that_tells_no_date() {
    let answer = Answer::status(429).header("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT");
    let double = Double::start(vec![answer]).await;
    let embedder = OpenAiEmbedder::open(&settings(&double)).unwrap();
    let error = embedder.embed_passages(&texts(1)).await.unwrap_err();
    let retry_after = Some(Duration::from_secs(24 * 60 * 60));
    assert_eq!(error.kind(), Kind::Throttled { retry_after }, "{error}");
}

/// Moves the clock; it runs on afterwards, as what is on the network does not wait for it.
async fn later(by: Duration) {
    tokio::time::pause();
    tokio::time::advance(by).await;
    tokio::time::resume();
}
