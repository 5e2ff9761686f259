//! A sentence-transformers folder: what its own files say about the model.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::pooling::Pooling;
use crate::Error;

/// `config.json`, as far as a BERT needs it.
#[derive(Debug, Clone, Deserialize)]
pub struct Config {
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub num_attention_heads: usize,
    pub num_hidden_layers: usize,
    pub max_position_embeddings: usize,
    pub layer_norm_eps: f32,
    #[serde(default)]
    pub hidden_act: Activation,
    model_type: String,
    position_embedding_type: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// By the error function.
    #[default]
    Gelu,
    /// By the hyperbolic tangent.
    #[serde(alias = "gelu_pytorch_tanh", alias = "gelu_fast")]
    GeluNew,
    Relu,
}

/// Put before every text, as the model was trained.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prefixes {
    pub query: String,
    pub passage: String,
}

pub struct Folder {
    pub path: PathBuf,
    pub config: Config,
    pub pooling: Pooling,
    pub prefixes: Prefixes,
    /// Tokens of one input, special tokens included.
    pub max_length: usize,
    /// Text goes to the tokenizer in lower case, whatever the tokenizer does with it then.
    pub lower_case: bool,
}

#[derive(Deserialize)]
struct Module {
    path: String,
    r#type: String,
}

#[derive(Default, Deserialize)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
    do_lower_case: Option<bool>,
}

#[derive(Default, Deserialize)]
struct Prompts {
    #[serde(default)]
    prompts: HashMap<String, String>,
    default_prompt_name: Option<String>,
}

impl Folder {
    pub fn read(path: &Path) -> Result<Self, Error> {
        require(path, "config.json")?;
        require(path, "tokenizer.json")?;
        require(path, "model.safetensors")?;
        let config: Config = json(path, "config.json")?.expect("required above");
        check(path, &config)?;
        let sentence: SentenceConfig = json(path, "sentence_bert_config.json")?.unwrap_or_default();
        let prompts = json(path, "config_sentence_transformers.json")?.unwrap_or_default();
        let prefixes = prefixes(prompts);
        let limit = config.max_position_embeddings;
        Ok(Self {
            path: path.to_owned(),
            pooling: pooling(path, &prefixes)?,
            prefixes,
            lower_case: sentence.do_lower_case == Some(true),
            max_length: sentence.max_seq_length.map_or(limit, |max| max.min(limit)),
            config,
        })
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, Error> {
        let path = self.file(name);
        std::fs::read(&path).map_err(|source| Error::Unreadable { path, source })
    }

    pub fn malformed(&self, file: &str, what: impl Into<String>) -> Error {
        Error::Malformed {
            path: self.file(file),
            what: what.into(),
        }
    }
}

fn require(folder: &Path, missing: &'static str) -> Result<(), Error> {
    if folder.join(missing).is_file() {
        return Ok(());
    }
    Err(Error::NoWeights {
        folder: folder.to_owned(),
        missing,
    })
}

/// `None` when there is no such file.
fn json<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Option<T>, Error> {
    let path = folder.join(name);
    let bytes = match std::fs::read(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(Error::Unreadable { path, source }),
        Ok(bytes) => bytes,
    };
    let parsed = serde_json::from_slice(&bytes).map_err(|e| Error::Malformed {
        path,
        what: e.to_string(),
    })?;
    Ok(Some(parsed))
}

fn check(folder: &Path, config: &Config) -> Result<(), Error> {
    let unsupported = |what: String| Error::Unsupported {
        path: folder.join("config.json"),
        what,
    };
    if config.model_type != "bert" {
        return Err(unsupported(format!("a `{}` model", config.model_type)));
    }
    match config.position_embedding_type.as_deref() {
        None | Some("absolute") => {}
        Some(other) => return Err(unsupported(format!("`{other}` positions"))),
    }
    if config.num_attention_heads == 0
        || !config
            .hidden_size
            .is_multiple_of(config.num_attention_heads)
    {
        return Err(unsupported(
            "heads that do not divide the hidden size".into(),
        ));
    }
    Ok(())
}

/// A folder without modules is a plain BERT, and those are pooled by the mean.
fn pooling(folder: &Path, prefixes: &Prefixes) -> Result<Pooling, Error> {
    let modules: Vec<Module> = json(folder, "modules.json")?.unwrap_or_default();
    let mut pooling = Pooling::Mean;
    for module in modules {
        match module.r#type.rsplit('.').next().unwrap_or_default() {
            "Transformer" | "Normalize" => {}
            "Pooling" => pooling = pooling_of(folder, &module.path, prefixes)?,
            other => {
                return Err(Error::Unsupported {
                    path: folder.join("modules.json"),
                    what: format!("a `{other}` module"),
                });
            }
        }
    }
    Ok(pooling)
}

fn pooling_of(folder: &Path, module: &str, prefixes: &Prefixes) -> Result<Pooling, Error> {
    let name = format!("{module}/config.json");
    let config: serde_json::Value = json(folder, &name)?.unwrap_or_default();
    let unsupported = |what: String| Error::Unsupported {
        path: folder.join(&name),
        what,
    };
    let pooling = Pooling::from_config(&config).map_err(unsupported)?;
    // The first token is pooled alone with or without a prompt behind it.
    let leaves_out = config["include_prompt"] == false && pooling != Pooling::Cls;
    if leaves_out && *prefixes != Prefixes::default() {
        return Err(unsupported("pooling that leaves out the prompt".into()));
    }
    Ok(pooling)
}

/// Passages take the prompt named for them, else the default one.
fn prefixes(prompts: Prompts) -> Prefixes {
    let named = |names: &[&str]| names.iter().find_map(|name| prompts.prompts.get(*name));
    let default = prompts.default_prompt_name.as_deref();
    let default = default.and_then(|name| prompts.prompts.get(name));
    let choose = |names: &[&str]| named(names).or(default).cloned().unwrap_or_default();
    Prefixes {
        query: choose(&["query"]),
        passage: choose(&["passage", "document"]),
    }
}
