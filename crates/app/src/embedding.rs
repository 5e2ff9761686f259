//! Which model embeds, from the configuration's plain values.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use providers::{Embedder, HashSettings, LocalSettings, OpenAiSettings, Secret, Settings};

use crate::config::{Config, Embedding};
use crate::explain::{Hinted, hinted};

/// Where `make run` puts the weights it fetches.
const FETCHED: &str = ".tools/models/all-MiniLM-L6-v2";

pub fn open(config: &Config) -> anyhow::Result<Arc<dyn Embedder>> {
    open_one(&config.embedding)
}

/// The second model, where one is configured.
pub fn open_also(config: &Config) -> anyhow::Result<Option<Arc<dyn Embedder>>> {
    if config.also.provider.is_empty() {
        return Ok(None);
    }
    open_one(&config.also.clone().into()).map(Some)
}

fn open_one(embedding: &Embedding) -> anyhow::Result<Arc<dyn Embedder>> {
    let settings = settings(embedding)?;
    providers::open(&settings).map_err(|error| {
        let hint = hint(&error);
        anyhow::Error::new(error).context(Hinted::new("the embedding model cannot be used", hint))
    })
}

/// What helps where a model cannot be opened.
fn hint(error: &providers::Error) -> &'static str {
    use providers::Error as E;
    match error {
        E::NoWeights { .. } => {
            "`make model` fetches the default model; `gristmill doctor` says where to"
        }
        E::Unreadable { .. } => "check who may read it",
        E::Malformed { .. } => "copy the model's folder anew, or name another one",
        E::Unsupported { .. } => "name another folder, or an endpoint that serves this model",
        _ => "correct it; `gristmill config show` says what is set, and where",
    }
}

/// Whether there is no model in the folder it is looked for in.
pub fn is_missing(error: &anyhow::Error) -> bool {
    let found = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<providers::Error>());
    matches!(found, Some(providers::Error::NoWeights { .. }))
}

fn settings(embedding: &Embedding) -> anyhow::Result<Settings> {
    let prefixed = !embedding.query_prefix.is_empty() || !embedding.passage_prefix.is_empty();
    if prefixed && embedding.provider != "openai" {
        return Err(hinted(
            format!("the {} provider takes no prefixes", embedding.provider),
            "a local model's are the prompts in its folder's config_sentence_transformers.json; \
             leave query_prefix and passage_prefix to remote models",
        ));
    }
    if !embedding.revision.is_empty() && embedding.provider != "openai" {
        return Err(hinted(
            format!("the {} provider takes no revision", embedding.provider),
            "a local model is known by its weights; leave revision to remote models",
        ));
    }
    match embedding.provider.as_str() {
        "local" => Ok(Settings::Local(LocalSettings {
            precision: embedding.precision,
            ..LocalSettings::of(folder_of(embedding))
        })),
        "hash" => {
            let mut hash = HashSettings::default();
            if embedding.dimension > 0 {
                hash.dimension = embedding.dimension;
            }
            if embedding.max_tokens > 0 {
                hash.max_tokens = embedding.max_tokens;
            }
            Ok(Settings::Hash(hash))
        }
        "openai" => Ok(Settings::OpenAi(remote(embedding)?)),
        other => Err(hinted(
            format!("`{other}` is not an embedding provider"),
            "set embedding.provider to local, openai or hash",
        )),
    }
}

fn remote(embedding: &Embedding) -> anyhow::Result<OpenAiSettings> {
    if embedding.url.is_empty() || embedding.model.is_empty() {
        return Err(hinted(
            "the openai provider needs to know where and what",
            "set embedding.url (such as http://localhost:11434/v1) and embedding.model",
        ));
    }
    if embedding.max_batch_items > providers::openai::MOST_INPUTS {
        return Err(hinted(
            "`max_batch_items` is more than any endpoint takes in one request",
            format!(
                "set it to {} or less, or leave it out for the default",
                providers::openai::MOST_INPUTS
            ),
        ));
    }
    let said = |value: u32| (value > 0).then_some(value);
    let mut remote = OpenAiSettings::of(&embedding.url, &embedding.model);
    remote.key = (!embedding.api_key.is_empty()).then(|| Secret::new(&embedding.api_key));
    remote.dimension = said(embedding.dimension);
    remote.max_tokens = said(embedding.max_tokens);
    remote.max_batch_items = embedding.max_batch_items;
    remote.timeout = Duration::from_secs(embedding.timeout_seconds);
    remote.revision.clone_from(&embedding.revision);
    remote.query_prefix.clone_from(&embedding.query_prefix);
    remote.passage_prefix.clone_from(&embedding.passage_prefix);
    Ok(remote)
}

/// As configured; else beside the working folder, else beside the program.
fn folder_of(embedding: &Embedding) -> PathBuf {
    if !embedding.path.is_empty() {
        return embedding.path.clone().into();
    }
    let here = PathBuf::from(FETCHED);
    let beside = std::env::current_exe().ok().and_then(|program| {
        let mut folders = program.ancestors().skip(1);
        folders.find_map(|f| Some(f.join(FETCHED)).filter(|model| model.is_dir()))
    });
    if here.is_dir() {
        here
    } else {
        beside.unwrap_or(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::explain;

    fn prefixed(provider: &str) -> Embedding {
        Embedding {
            provider: provider.to_owned(),
            url: "http://localhost:11434/v1".to_owned(),
            model: "e5".to_owned(),
            query_prefix: "query: ".to_owned(),
            passage_prefix: "passage: ".to_owned(),
            ..Embedding::default()
        }
    }

    #[test]
    fn prefixes_reach_a_remote_model_and_no_other_takes_them_silently() {
        let Ok(Settings::OpenAi(remote)) = settings(&prefixed("openai")) else {
            panic!("a remote model takes prefixes");
        };
        assert_eq!(remote.query_prefix, "query: ");
        assert_eq!(remote.passage_prefix, "passage: ");
        for provider in ["local", "hash"] {
            assert!(settings(&prefixed(provider)).is_err(), "{provider}");
        }
    }

    #[test]
    fn a_revision_reaches_a_remote_model_and_no_other_takes_it_silently() {
        let revised = |provider: &str| Embedding {
            query_prefix: String::new(),
            passage_prefix: String::new(),
            revision: "q4".to_owned(),
            ..prefixed(provider)
        };
        let Ok(Settings::OpenAi(remote)) = settings(&revised("openai")) else {
            panic!("a remote model takes a revision");
        };
        assert_eq!(remote.revision, "q4");
        for provider in ["local", "hash"] {
            assert!(settings(&revised(provider)).is_err(), "{provider}");
        }
    }

    #[test]
    fn the_limits_of_an_endpoint_reach_it_and_one_that_nobody_has_is_refused() {
        let limited = |max_batch_items| Embedding {
            max_batch_items,
            timeout_seconds: 7,
            ..prefixed("openai")
        };
        let Ok(Settings::OpenAi(remote)) = settings(&limited(32)) else {
            panic!("an endpoint may have limits");
        };
        assert_eq!(remote.max_batch_items, 32);
        assert_eq!(remote.timeout, Duration::from_secs(7));
        let refused = settings(&limited(2049)).unwrap_err().to_string();
        assert!(refused.contains("max_batch_items"), "{refused}");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
    fn only_where_weights_are_missing_they_are_to_be_fetched() {
        let folder = tempfile::tempdir().unwrap();
        let of_folder = Embedding {
            provider: "local".to_owned(),
            path: folder.path().to_string_lossy().into_owned(),
            ..Embedding::default()
        };
        let told = |embedding: &Embedding| {
            let error = open_one(embedding).err().expect("it cannot be opened");
            (explain(&error, false), is_missing(&error))
        };
        let (empty, missing) = told(&of_folder);
        assert!(empty.contains("make model") && missing, "{empty}");

        for file in ["config.json", "tokenizer.json", "model.safetensors"] {
            std::fs::write(folder.path().join(file), "not this").unwrap();
        }
        let sizeless = prefixed("openai");
        let unknown = Embedding {
            provider: "nobody".to_owned(),
            ..Embedding::default()
        };
        for embedding in [of_folder, sizeless, unknown] {
            let (other, missing) = told(&embedding);
            assert!(!other.contains("make model") && !missing, "{other}");
            assert!(!other.contains("--help"), "{other}");
        }
    }

    #[test]
    fn an_endpoint_is_used_as_its_provider_would_without_settings() {
        let Ok(Settings::OpenAi(remote)) = settings(&prefixed("openai")) else {
            panic!("an endpoint and its model are enough");
        };
        let plain = OpenAiSettings::of(&remote.url, &remote.model);
        assert_eq!(remote.max_batch_items, plain.max_batch_items);
        assert_eq!(remote.timeout, plain.timeout);
    }
}
