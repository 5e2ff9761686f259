//! Quotes that are proved against the original, and answers that cite.

use serde_json::{Value, json};

use super::served::Served;
use crate::mill::text;

super::on_both_catalogs!(
    a_quote_is_proved_against_the_original_or_not_at_all,
    a_question_is_answered_with_cited_sentences_or_an_honest_no,
);

const BREAD: &str = "Rye bread keeps longer than wheat bread. Sourdough rises for twelve hours.";

async fn verify(served: &Served, body: &Value) -> Value {
    served.post("/v1/citations/verify", body).await.expect(200)
}

async fn a_quote_is_proved_against_the_original_or_not_at_all(served: &Served) {
    served.ingest("bread.txt", BREAD).await;
    let found = served.search("rye bread").await;
    let citation = &found["hits"][0]["citation"];
    let claim = |quote: &str| {
        json!({ "version_id": citation["version_id"], "quote": quote,
            "char_range": citation["char_range"], "chunk_hash": citation["chunk_hash"] })
    };
    let exact = verify(served, &claim("keeps longer than wheat")).await;
    assert_eq!(
        (&exact["verified"], &exact["match"]),
        (&json!(true), &json!("exact")),
        "{exact}"
    );
    assert_eq!(exact["text"], "keeps longer than wheat");
    let spaced = verify(served, &claim("keeps  longer\nthan")).await;
    assert_eq!(spaced["match"], "spaced", "{spaced}");
    let doubt = |answer: &Value| text(&answer["reason"]).to_owned();
    assert_eq!(
        doubt(&verify(served, &claim("keeps shorter than")).await),
        "absent"
    );
    let mut elsewhere = claim("Rye bread");
    elsewhere["char_range"] = json!([0, 100_000]);
    assert_eq!(doubt(&verify(served, &elsewhere).await), "no_such_place");
    let mut other = claim("Rye bread");
    other["chunk_hash"] = "0".repeat(64).into();
    assert_eq!(doubt(&verify(served, &other).await), "other_text");

    let stranger = served.tenant("other").await;
    let foreign = served
        .post_as(&stranger, "/v1/citations/verify", &claim("Rye"))
        .await;
    assert_eq!(foreign.problem(404), "not_found");

    // Whoever changes the stored bytes cannot have the old quote confirmed.
    let originals = served.mill.data().join("objects/originals");
    let tenant = std::fs::read_dir(originals)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let original = std::fs::read_dir(tenant.path())
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    std::fs::write(original.path(), BREAD.replace("longer", "louder")).unwrap();
    let changed = verify(served, &claim("keeps longer than wheat")).await;
    assert_eq!(doubt(&changed), "original_changed", "{changed}");
    std::fs::remove_file(original.path()).unwrap();
    let gone = verify(served, &claim("keeps longer than wheat")).await;
    assert_eq!(
        (&gone["verified"], doubt(&gone)),
        (&json!(false), "original_missing".to_owned())
    );
}

async fn a_question_is_answered_with_cited_sentences_or_an_honest_no(served: &Served) {
    served.ingest("bread.txt", BREAD).await;
    let ask = async |question: &str| {
        let body = json!({ "question": question });
        served.post("/v1/kbs/default/ask", &body).await.expect(200)
    };
    let answer = ask("How long does sourdough rise?").await;
    assert_eq!(answer["answered"], true, "{answer}");
    let sentence = &answer["sentences"][0];
    assert_eq!(sentence["text"], "Sourdough rises for twelve hours.");
    let cited = &sentence["citation"];
    let claim = json!({ "version_id": cited["version_id"], "char_range": cited["char_range"],
        "quote": sentence["text"] });
    assert_eq!(
        verify(served, &claim).await["verified"],
        true,
        "what is cited can be proved"
    );

    let nothing = ask("Who won the chess tournament in Bergen?").await;
    assert_eq!(
        (&nothing["answered"], &nothing["sentences"]),
        (&json!(false), &json!([]))
    );
    assert!(
        !nothing["missing"].as_array().unwrap().is_empty(),
        "{nothing}"
    );
    assert!(
        !nothing["nearest"].as_array().unwrap().is_empty(),
        "{nothing}"
    );
}
