//! The one place where errors meet HTTP.
//!
//! Every failure becomes `application/problem+json` (RFC 9457) with a code that
//! does not change and a hint that says what to do. Handlers only write `?`.
//! Causes inside us are logged here, once, and never shown.

use std::time::Duration;

use axum::Json;
use axum::http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use engine::Disposition;
use engine::delegation::BUSY;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Files of the index are not what was written.
pub const INDEX_DAMAGED: &str = "index_damaged";
const INDEX_BEHIND: &str = "index_behind";
/// Files of the figures over time are not.
pub const FIGURES_DAMAGED: &str = "figures_damaged";
/// They are whole, as far as one can tell, and still cannot be read.
const FIGURES_STOPPED: &str = "figures_stopped";
/// It can be made again where it is, with the server running.
const TEXT_SPOILT: &str = "text_index_spoilt";

/// What went wrong, as a caller sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// A name for the kind of problem, ending in its code.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    /// One plain sentence about this very case.
    pub detail: String,
    /// Stable, for programs.
    pub code: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    detail: String,
    hint: Option<String>,
    retry_after: Option<u64>,
}

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            detail: detail.into(),
            hint: usual_hint(code).map(str::to_owned),
            retry_after: None,
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn retry_after(mut self, wait: TimeDelta) -> Self {
        self.retry_after = Some(wait.num_seconds().max(1).unsigned_abs());
        self
    }

    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", detail)
    }

    /// Well-formed, and still not something that can be done.
    pub fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", detail)
    }

    pub fn not_found(what: &str, id: impl std::fmt::Display) -> Self {
        let detail = format!("there is no {what} `{id}`");
        Self::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", detail)
    }

    pub fn unauthorized(detail: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
            .hint("POST /v1/auth/login gives a token; an admin can make an API key")
    }

    pub fn forbidden(right: &str) -> Self {
        let detail = format!("you may not do this: it needs the right to {right}");
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
            .hint("ask an admin, or use a key whose scopes include it")
    }

    pub fn too_large(limit: u64) -> Self {
        let detail = format!("the file is larger than the limit of {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
            .hint("an admin can raise upload.max_mb")
    }

    pub fn busy(detail: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, BUSY, detail)
            .retry_after(TimeDelta::seconds(1))
            .hint("try again in a moment")
    }

    pub fn timeout(limit: Duration) -> Self {
        let detail = format!("the request took longer than {} seconds", limit.as_secs());
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", detail)
            .hint("ask for less, or try again when the server is less busy")
    }

    /// Our own fault; the cause goes to the log, not to the caller.
    pub fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        let causes = std::iter::successors(error.source(), |e| e.source());
        let causes: Vec<_> = causes.map(ToString::to_string).collect();
        tracing::error!(%error, ?causes, "request failed");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "something went wrong on our side",
        )
        .hint("the server's log says what; `gristmill doctor` may help")
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }

    pub fn code(&self) -> &'static str {
        self.code
    }

    pub fn body(&self) -> ProblemBody {
        ProblemBody {
            kind: format!("urn:gristmill:problem:{}", self.code),
            title: self
                .status
                .canonical_reason()
                .unwrap_or("Problem")
                .to_owned(),
            status: self.status.as_u16(),
            detail: self.detail.clone(),
            code: self.code.to_owned(),
            hint: self.hint.clone(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::PAYLOAD_TOO_LARGE {
            // The rest of the body is not read, so nothing can follow it.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // For whoever would rather show it as a page.
        response.extensions_mut().insert(self);
        response
    }
}

impl From<catalog::Error> for Problem {
    fn from(error: catalog::Error) -> Self {
        match &error {
            catalog::Error::NotFound { what, id } => Self::not_found(what, id),
            catalog::Error::Conflict { what, why } => Self::conflict(format!("{what}: {why}")),
            catalog::Error::Damaged { .. } => damaged_catalog(&error),
            error if error.is_retryable() => unavailable(error),
            error => Self::internal(error),
        }
    }
}

impl From<engine::Error> for Problem {
    fn from(error: engine::Error) -> Self {
        if let engine::Error::Catalog(error) = error {
            return error.into();
        }
        if let engine::Error::OtherModel { .. } | engine::Error::BeyondModel { .. } = error {
            return Self::conflict(error.to_string());
        }
        if let engine::Error::Index(index::Error::Damaged { .. }) = error {
            return damaged(&error);
        }
        if let engine::Error::Index(index::Error::Behind { .. }) = error {
            return behind(&error);
        }
        if let engine::Error::Index(index::Error::SpoiltText { .. }) = error {
            return spoilt(&error);
        }
        if let engine::Error::Index(index::Error::NotErased) = error {
            return Self::busy(&error.to_string())
                .hint("it goes on by itself within the hour, or at once when you ask again");
        }
        if let engine::Error::Index(index::Error::StillKept) = error {
            return Self::conflict(error.to_string())
                .hint("run `gristmill repair`, then purge the document again");
        }
        if let engine::Error::NoReranker = error {
            return Self::unprocessable(error.to_string())
                .hint("leave `rerank` out, or have rerank.url and rerank.model set");
        }
        if let engine::Error::NoOffice = error {
            return Self::conflict(error.to_string()).hint(
                "have the package libreoffice-writer-nogui installed, and parse.office on; \
                 its text needs neither: GET /v1/versions/{version}/text",
            );
        }
        if let engine::Error::Series(series::Error::Query(error)) = error {
            return Self::unprocessable(error.to_string()).hint(
                "a query is like `queue_depth`, `sum(rate(chunks_total[5m]))` or \
                 `quantile(0.99, stage_seconds{stage=\"embed\"})`",
            );
        }
        if let engine::Error::Series(cause) = &error {
            return without_figures(&error, cause.is_damage());
        }
        match error.disposition() {
            Disposition::Retry { .. } | Disposition::Wait { .. } => match error.model_is_silent() {
                Some(why) => silent(&error, why),
                None => unavailable(&error),
            },
            Disposition::Reject => match error.model_is_silent() {
                Some(why) => Self::unprocessable(why)
                    .hint("ask in other words, or search in mode `hybrid` or `text`"),
                None if matches!(error, engine::Error::Parse(_)) => {
                    Self::unprocessable(error.explain())
                        .hint("mend the file or bring it in another format, then try again")
                }
                None => Self::unprocessable(error.explain()),
            },
            Disposition::Stop { why } => Self::conflict(why),
            Disposition::Halt | Disposition::Drop => Self::internal(&error),
        }
    }
}

/// What helps in most cases, until somebody who knows this one says better.
fn usual_hint(code: &str) -> Option<&'static str> {
    match code {
        "invalid_request" | "unprocessable" => {
            Some("correct it: /docs describes the API, `--help` what a command takes")
        }
        "not_found" => Some("check its name or id; it may be gone, or never have been here"),
        "conflict" => Some("look at how it stands now, then decide again"),
        _ => None,
    }
}

/// Nothing that is asked for can mend it, so whoever runs the server must.
fn damaged(error: &engine::Error) -> Problem {
    tracing::error!(%error, "request failed");
    let detail = error.to_string();
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, INDEX_DAMAGED, detail).hint(
        "`gristmill repair`, with the server stopped, sets the index aside and makes it again \
         from the originals; or put the data folder back from a backup",
    )
}

/// Answering from it would leave out documents, unsaid.
fn behind(error: &engine::Error) -> Problem {
    tracing::error!(%error, "request failed");
    let detail = error.to_string();
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, INDEX_BEHIND, detail).hint(
        "`gristmill verify` names what is missing, and `gristmill repair` makes it again from the \
         originals; or put the data folder back from a backup",
    )
}

/// Searches by meaning do not need it, and the store has all it is made of.
fn spoilt(error: &engine::Error) -> Problem {
    tracing::error!(%error, "request failed");
    let detail = error.to_string();
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, TEXT_SPOILT, detail)
        .hint("`gristmill verify` names it, and `gristmill repair` makes it again from the store")
}

/// Documents are taken in and searched without them.
fn without_figures(error: &engine::Error, damaged: bool) -> Problem {
    let why = error.explain();
    tracing::error!(error = why, "request failed");
    let (code, hint) = match damaged {
        true => (
            FIGURES_DAMAGED,
            "`gristmill repair`, with the server stopped, sets the folder `series` of the data \
             folder aside, and figures begin anew; documents and searches do not need it",
        ),
        false => (
            FIGURES_STOPPED,
            "see that the folder `series` of the data folder can be read and written, then start \
             the server again; documents and searches do not need it",
        ),
    };
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, code, why).hint(hint)
}

fn damaged_catalog(error: &catalog::Error) -> Problem {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(%error, ?cause, "request failed");
    let (status, detail) = (StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    Problem::new(status, "catalog_damaged", detail).hint(
        "restore a backup into another folder (`gristmill restore`), or put catalog.db back with \
         the server stopped",
    )
}

/// Of a search by meaning alone: one by words as well would have been answered.
fn silent(error: &engine::Error, why: &'static str) -> Problem {
    tracing::warn!(%error, "request could not be served now");
    Problem::busy(why).hint("search in mode `hybrid` or `text`, or try again later")
}

fn unavailable(error: &(dyn std::error::Error + 'static)) -> Problem {
    tracing::warn!(%error, "request could not be served now");
    Problem::busy("a part we depend on does not answer right now")
}
