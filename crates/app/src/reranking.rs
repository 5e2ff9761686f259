//! Who reranks, from the configuration's plain values; nobody unless somebody is named.

use std::sync::Arc;
use std::time::Duration;

use providers::cohere::MOST_PASSAGES;
use providers::{CohereReranker, CohereSettings, Error, Reranker, Secret};

use crate::config::{Config, Rerank};
use crate::explain::hinted;

/// Passages leave this machine only where an address is configured; a key alone, which may be
/// there for others, sends nothing.
pub fn open(config: &Config) -> anyhow::Result<Option<Arc<dyn Reranker>>> {
    let rerank = &config.rerank;
    if rerank.url.is_empty() {
        if rerank.model.is_empty() {
            return Ok(None);
        }
        return Err(hinted(
            "`rerank.model` is set, but not `rerank.url`",
            "set rerank.url, such as https://api.cohere.com/v2, or leave both out",
        ));
    }
    check(config)?;
    let reranker = CohereReranker::open(&settings(rerank)).map_err(explained)?;
    Ok(Some(Arc::new(reranker)))
}

fn check(config: &Config) -> anyhow::Result<()> {
    let rerank = &config.rerank;
    if rerank.candidates > MOST_PASSAGES {
        return Err(hinted(
            format!("`rerank.candidates` is more than {MOST_PASSAGES}"),
            "set it lower, or leave it out for the default",
        ));
    }
    // Otherwise the request would be over before its search could go on without.
    if deadline(rerank) >= Duration::from_secs(config.http.timeout_seconds) {
        return Err(hinted(
            "`rerank.deadline_ms` is not shorter than `http.timeout_seconds`",
            "set it lower, or leave it out for the default",
        ));
    }
    Ok(())
}

fn settings(rerank: &Rerank) -> CohereSettings {
    CohereSettings {
        key: (!rerank.api_key.is_empty()).then(|| Secret::new(&rerank.api_key)),
        deadline: deadline(rerank),
        ..CohereSettings::of(&rerank.url, &rerank.model)
    }
}

fn deadline(rerank: &Rerank) -> Duration {
    Duration::from_millis(rerank.deadline_ms)
}

fn explained(error: Error) -> anyhow::Error {
    match error {
        Error::Setting { name, what } => hinted(
            format!("`rerank.{name}` {what}"),
            "correct it, or leave rerank.url out to search without a reranker",
        ),
        other => anyhow::Error::new(other).context("the reranker cannot be used"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut Rerank);

    fn config(change: Change) -> Config {
        let mut config = Config::default();
        config.rerank.url = "https://api.cohere.com/v2".to_owned();
        config.rerank.model = "rerank-v3.5".to_owned();
        change(&mut config.rerank);
        config
    }

    #[test]
    fn nobody_reranks_unless_an_address_is_configured() {
        let mut only_a_key = Config::default();
        only_a_key.rerank.api_key = "hunter2".to_owned();
        assert!(open(&only_a_key).unwrap().is_none());
        let reranker = open(&config(|_| {})).unwrap().unwrap();
        assert_eq!(reranker.model(), "rerank-v3.5");
    }

    #[test]
    fn a_value_that_cannot_be_meant_is_named_by_its_key() {
        let cases: [(Change, &str); 6] = [
            (|r| r.url.clear(), "`rerank.url`"),
            (|r| r.url = "cohere".to_owned(), "`rerank.url` is not"),
            (|r| r.model.clear(), "`rerank.model` must be given"),
            (
                |r| r.api_key = "hunter\n2".to_owned(),
                "`rerank.api_key` holds",
            ),
            (|r| r.candidates = 1001, "`rerank.candidates` is more"),
            (|r| r.deadline_ms = 60_000, "`rerank.deadline_ms` is not"),
        ];
        for (change, said) in cases {
            let Err(error) = open(&config(change)) else {
                panic!("accepted, not {said}");
            };
            assert!(error.to_string().contains(said), "{error}");
            assert!(!format!("{error:?}").contains("hunter"), "{error:?}");
        }
    }
}
