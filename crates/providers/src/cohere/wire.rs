//! What goes over the wire, and the checks an answer must pass.

use serde::{Deserialize, Serialize};

use crate::Error;

/// More than this beside what each passage brings is not an answer.
const ENVELOPE: usize = 1 << 20;
/// An index and a score written out in JSON, with room to spare.
const WRITTEN_RESULT: usize = 256;
/// Some servers send the passages back; a byte written as `\u0000` takes six.
const ECHOED_BYTE: usize = 6;

/// Without `top_n`: every passage is to be scored. What is longer than the service reads of
/// one, it cuts itself.
#[derive(Serialize)]
pub struct Request<'a> {
    pub model: &'a str,
    pub query: &'a str,
    pub documents: &'a [String],
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Item>,
}

/// A score that is not a number comes as `null`.
#[derive(Deserialize)]
struct Item {
    index: usize,
    relevance_score: Option<f64>,
}

/// What the longest answer may have.
pub fn longest(passages: &[String]) -> usize {
    let each = |text: &String| WRITTEN_RESULT + ECHOED_BYTE * text.len();
    ENVELOPE + passages.iter().map(each).sum::<usize>()
}

/// The scores in the order of the passages: one for each, and a number.
pub fn scores(body: &[u8], count: usize) -> Result<Vec<f64>, Error> {
    let answer: Answer = serde_json::from_slice(body).map_err(|e| unreadable(&e))?;
    let found = answer.results.len();
    if found != count {
        return Err(bad(format!("{found} scores for {count} passages")));
    }
    let mut scores = vec![None; count];
    for Item {
        index,
        relevance_score,
    } in answer.results
    {
        let score = relevance_score.filter(|score| score.is_finite());
        let score = score.ok_or_else(|| bad(format!("the score of {index} is not a number")))?;
        let place = scores.get_mut(index).filter(|place| place.is_none());
        *place.ok_or_else(|| bad(format!("index {index} twice or out of range")))? = Some(score);
    }
    Ok(scores.into_iter().flatten().collect())
}

/// Where it cannot be read, and nothing of what stands there: it may be a passage.
fn unreadable(error: &serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    bad(format!("unreadable at line {line}, column {column}"))
}

fn bad(what: String) -> Error {
    Error::BadAnswer { what }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(results: &str) -> Result<Vec<f64>, String> {
        let body = format!(r#"{{"id":"x","results":{results},"meta":{{}}}}"#);
        scores(body.as_bytes(), 2).map_err(|error| error.to_string())
    }

    #[test]
    fn scores_are_put_in_the_order_of_the_passages() {
        let best_first = r#"[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.1}]"#;
        assert_eq!(read(best_first), Ok(vec![0.1, 0.9]));
        // Not every server keeps to 0 to 1, and some send the passages back.
        let logits = r#"[{"index":0,"relevance_score":-3,"document":{"text":"a"}},{"index":1,"relevance_score":7.5}]"#;
        assert_eq!(read(logits), Ok(vec![-3.0, 7.5]));
    }

    #[test]
    fn an_odd_answer_is_none_and_is_not_quoted() {
        for (results, why) in [
            (r#"[{"index":0,"relevance_score":1}]"#, "1 scores for 2"),
            (
                r#"[{"index":0,"relevance_score":1},{"index":0,"relevance_score":1}]"#,
                "index 0 twice",
            ),
            (
                r#"[{"index":0,"relevance_score":1},{"index":2,"relevance_score":1}]"#,
                "out of range",
            ),
            (
                r#"[{"index":0,"relevance_score":null},{"index":1,"relevance_score":1}]"#,
                "not a number",
            ),
            (
                r#"[{"index":0,"relevance_score":"hush"},{"index":1,"relevance_score":1}]"#,
                "unreadable at line 1",
            ),
            (
                r#"[{"index":-1,"relevance_score":1},{"index":1,"relevance_score":1}]"#,
                "unreadable at line 1",
            ),
            (r#""hush""#, "unreadable at line 1"),
        ] {
            let said = read(results).unwrap_err();
            assert!(said.contains(why), "{said}");
            assert!(!said.contains("hush"), "{said}");
        }
    }
}
