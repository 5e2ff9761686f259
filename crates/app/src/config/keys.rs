//! Every setting, once: its place in the file, its names in the environment, what it is.

/// How the environment's text becomes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Flag,
    Number,
}

#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// `section.name`, or `name` at the top of the file.
    pub path: &'static str,
    pub kind: Kind,
    pub secret: bool,
    /// A name other systems of this kind use, accepted as well.
    pub alias: Option<&'static str>,
    pub about: &'static str,
}

impl Key {
    const fn new(path: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            path,
            kind,
            secret: false,
            alias: None,
            about,
        }
    }

    const fn secret(self) -> Self {
        Self {
            secret: true,
            ..self
        }
    }

    const fn alias(self, alias: &'static str) -> Self {
        Self {
            alias: Some(alias),
            ..self
        }
    }

    /// `GRISTMILL_SECTION_NAME`.
    pub fn env(&self) -> String {
        format!("GRISTMILL_{}", self.path.replace('.', "_").to_uppercase())
    }
}

use Kind::{Flag, Number, Text};

pub const KEYS: &[Key] = &[
    Key::new("data", Text, "the data folder"),
    Key::new("listen", Text, "address and port the server listens on"),
    Key::new(
        "runtime",
        Text,
        "who is given runs: inline (worker tasks in the server) or http (posted to workers.url)",
    )
    .alias("INGEST_MODE"),
    Key::new(
        "catalog.url",
        Text,
        "postgres://… for PostgreSQL; empty for SQLite in the data folder",
    )
    .secret(),
    Key::new("catalog.connections", Number, "most connections to hold"),
    Key::new(
        "auth.enabled",
        Flag,
        "false signs everyone in as admin, and only on loopback",
    )
    .alias("AUTH_ENABLED"),
    Key::new(
        "auth.jwt_secret",
        Text,
        "signs tokens, 32 bytes or more; empty for one made on first start",
    )
    .secret()
    .alias("JWT_SECRET"),
    Key::new(
        "auth.jwt_old_secrets",
        Text,
        "sign no more, with commas between; what they signed is good until it expires",
    )
    .secret(),
    Key::new("auth.token_hours", Number, "how long a sign-in lasts"),
    Key::new("auth.admin_login", Text, "the first admin's login name"),
    Key::new(
        "auth.admin_password",
        Text,
        "the first admin's password; empty for one made up on first start",
    )
    .secret(),
    Key::new(
        "auth.internal_token",
        Text,
        "what servers and workers show each other, 32 bytes or more; empty for no such door",
    )
    .secret()
    .alias("INTERNAL_AUTH_TOKEN"),
    Key::new("upload.max_mb", Number, "largest file accepted").alias("UPLOAD_MAX_SIZE_MB"),
    Key::new("http.timeout_seconds", Number, "longest a request may take"),
    Key::new(
        "http.concurrency",
        Number,
        "requests worked on at the same time",
    ),
    Key::new(
        "http.streams_per_tenant",
        Number,
        "event streams a tenant may have open at the same time",
    ),
    Key::new(
        "http.idle_seconds",
        Number,
        "longest an upload may send nothing",
    ),
    Key::new(
        "http.public_url",
        Text,
        "how callers reach the server; empty for as each of them did",
    ),
    Key::new(
        "embedding.provider",
        Text,
        "local, with a model made for English unless path names another; openai, any endpoint that \
         is compatible; or hash, for tests",
    ),
    Key::new(
        "embedding.path",
        Text,
        "folder of a sentence-transformers model that is BERT with WordPiece; the default one is \
         made for English",
    ),
    Key::new(
        "embedding.url",
        Text,
        "base URL of an OpenAI-compatible API",
    ),
    Key::new("embedding.model", Text, "name of the remote model"),
    Key::new(
        "embedding.revision",
        Text,
        "any word, another one whenever the remote model has other weights under the same name",
    ),
    Key::new(
        "embedding.dimension",
        Number,
        "length of a vector (openai, hash)",
    ),
    Key::new(
        "embedding.max_tokens",
        Number,
        "tokens the remote model reads of one input, a prefix included",
    ),
    Key::new(
        "embedding.max_batch_items",
        Number,
        "inputs the remote model takes in one request, 1 to 2048",
    ),
    Key::new(
        "embedding.timeout_seconds",
        Number,
        "longest one request to the remote model may take",
    ),
    Key::new(
        "embedding.query_prefix",
        Text,
        "put before every query for a remote model trained with one, such as `query: `",
    ),
    Key::new(
        "embedding.passage_prefix",
        Text,
        "put before every passage for such a model, such as `passage: `",
    ),
    Key::new(
        "embedding.precision",
        Text,
        "of the local model: full, or eight_bit, which is faster and finds a little less",
    ),
    Key::new("embedding.api_key", Text, "key of the remote model").secret(),
    Key::new(
        "also.provider",
        Text,
        "a second model, for knowledge bases that serve it while their next generation is built",
    ),
    Key::new("also.path", Text, "as embedding.path"),
    Key::new("also.url", Text, "as embedding.url"),
    Key::new("also.model", Text, "as embedding.model"),
    Key::new("also.revision", Text, "as embedding.revision"),
    Key::new("also.dimension", Number, "as embedding.dimension"),
    Key::new("also.max_tokens", Number, "as embedding.max_tokens"),
    Key::new(
        "also.max_batch_items",
        Number,
        "as embedding.max_batch_items",
    ),
    Key::new(
        "also.timeout_seconds",
        Number,
        "as embedding.timeout_seconds",
    ),
    Key::new("also.query_prefix", Text, "as embedding.query_prefix"),
    Key::new("also.passage_prefix", Text, "as embedding.passage_prefix"),
    Key::new("also.precision", Text, "as embedding.precision"),
    Key::new("also.api_key", Text, "as embedding.api_key").secret(),
    Key::new(
        "rerank.url",
        Text,
        "base URL of a Cohere-compatible API that passages found are sent to; empty for none",
    ),
    Key::new("rerank.model", Text, "name of the reranking model"),
    Key::new("rerank.api_key", Text, "key of the reranking model")
        .secret()
        .alias("COHERE_API_KEY"),
    Key::new(
        "rerank.candidates",
        Number,
        "how many of the best passages are reranked, 1 to 1000",
    ),
    Key::new(
        "rerank.deadline_ms",
        Number,
        "longest a search waits for it before it answers without",
    ),
    Key::new(
        "chunks.strategy",
        Text,
        "structural, fixed, sentence, markdown or streaming",
    ),
    Key::new(
        "workers.parse_slots",
        Number,
        "documents parsed at the same time",
    )
    .alias("WORKER_MAX_CONCURRENT_JOBS"),
    Key::new(
        "workers.run_slots",
        Number,
        "runs taken from /internal/process at the same time",
    )
    // The same limit, seen by the run: a worker of other systems parses what it takes.
    .alias("WORKER_MAX_CONCURRENT_JOBS"),
    Key::new(
        "workers.url",
        Text,
        "where runs are posted with runtime = http; empty for this server itself",
    ),
    Key::new(
        "guard.every_seconds",
        Number,
        "how often missing work is looked for",
    ),
    Key::new(
        "guard.queued_hours",
        Number,
        "a queued run without work gets it back after this; with runtime = http one that no \
         worker took ends",
    )
    .alias("CRASH_GUARD_QUEUED_TTL_HOURS"),
    Key::new(
        "guard.running_minutes",
        Number,
        "a running one without work, and not heard from, after this",
    )
    .alias("CRASH_GUARD_RUNNING_STALE_MIN"),
    Key::new(
        "janitor.every_minutes",
        Number,
        "how often what nobody refers to is looked for",
    ),
    Key::new(
        "janitor.orphans_hours",
        Number,
        "bytes nobody refers to are deleted after this",
    ),
    Key::new(
        "janitor.failed_uploads_days",
        Number,
        "bytes of failed uploads are deleted after this",
    ),
    Key::new(
        "janitor.events_days",
        Number,
        "events are kept this long for those who follow along",
    ),
    Key::new("parse.timeout_seconds", Number, "longest a parse may take"),
    Key::new("parse.memory_mb", Number, "most memory a parse may use"),
    Key::new(
        "parse.ocr",
        Flag,
        "false leaves scanned pages as gaps even where tesseract is installed",
    ),
    Key::new(
        "parse.ocr_languages",
        Text,
        "what scanned pages are written in, as tesseract names it: eng+deu",
    ),
    Key::new(
        "parse.office",
        Flag,
        "false draws no pages of DOCX even where LibreOffice is installed",
    ),
    Key::new(
        "parse.pages_ahead",
        Number,
        "pages drawn ahead of the one looked at; 0 for none",
    ),
    Key::new(
        "disk.reserve_mb",
        Number,
        "ingest refuses to begin with less free space than this",
    ),
    Key::new("log.format", Text, "text or json"),
    Key::new(
        "otel.endpoint",
        Text,
        "where traces go, as OTLP over HTTP; empty for nowhere",
    )
    .alias("OTEL_EXPORTER_OTLP_ENDPOINT"),
    Key::new("otel.service_name", Text, "as whom they are sent").alias("OTEL_SERVICE_NAME"),
];

/// Variables with our prefix that are not settings.
pub const OTHER_VARIABLES: &[&str] = &[
    "GRISTMILL_CONFIG",
    "GRISTMILL_COUNT_POINTS",
    "GRISTMILL_CRASH_AT",
    "GRISTMILL_PLANT",
];

/// Every variable that is heeded, by all its names.
pub fn variables() -> impl Iterator<Item = String> {
    let names = KEYS
        .iter()
        .flat_map(|key| [Some(key.env()), key.alias.map(str::to_owned)]);
    // A planted bug is meant for the children too.
    let others = OTHER_VARIABLES
        .iter()
        .filter(|name| **name != "GRISTMILL_PLANT");
    names.flatten().chain(others.map(|name| (*name).to_owned()))
}
