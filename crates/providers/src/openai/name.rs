//! What a remote model is called here, so that models whose vectors must not meet are not
//! called the same.

use model::{ContentHash, ModelName};

use crate::OpenAiSettings;

/// The service's name for it, its dimension and, where there are any, a hash of the prefixes
/// and the revision somebody gave it. Not the address: a model may move, and one that is asked
/// through a proxy is the same; whether it is, only those who run it know.
pub fn name(settings: &OpenAiSettings, dimension: u32) -> ModelName {
    let prefixes = [&settings.query_prefix, &settings.passage_prefix];
    let mut name = format!("{}@{dimension}", settings.model);
    if prefixes.iter().any(|prefix| !prefix.is_empty()) {
        let hash = ContentHash::of_fields(prefixes.map(String::as_bytes));
        name = format!("{name}-{}", &hash.to_string()[..8]);
    }
    if !settings.revision.is_empty() {
        name = format!("{name}+{}", settings.revision);
    }
    ModelName::new("openai", &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_dimension_prefix_or_revision_is_another_model_and_another_address_is_not() {
        let here = OpenAiSettings::of("http://localhost:11434/v1", "bge");
        let there = OpenAiSettings::of("http://elsewhere:8080/v1", "bge");
        let prefixed = OpenAiSettings {
            passage_prefix: "passage: ".to_owned(),
            ..here.clone()
        };
        assert_eq!(name(&here, 256).as_str(), "openai:bge@256");
        assert_eq!(name(&here, 256), name(&there, 256));
        assert_ne!(name(&here, 256), name(&here, 1024));
        assert_ne!(name(&here, 256), name(&prefixed, 256));
        let requantised = OpenAiSettings {
            revision: "q4".to_owned(),
            ..here
        };
        assert_eq!(name(&requantised, 256).as_str(), "openai:bge@256+q4");
    }
}
