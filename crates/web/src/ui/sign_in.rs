//! Signing in and out.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::http::request::Parts;
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use serde::Deserialize;

use super::assets;
use super::page::{Filled, Frame, Shown, Trouble, Visitor, show};
use crate::api::account::{self, Login};
use crate::auth::Read;
use crate::auth::session::{self, Origin};
use crate::extract::Asked;
use crate::gateway::Gateway;

pub fn routes() -> Router<Gateway> {
    Router::new()
        .route("/", get(home))
        .route("/sign-in", get(form).post(sign_in))
        .route("/sign-out", post(sign_out))
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    login: String,
    /// Where to go then.
    next: String,
    wrong: Option<String>,
    stamp: &'static str,
}

/// The first page there is: the knowledge base.
async fn home(State(gateway): State<Gateway>, who: Visitor<Read>) -> Result<Redirect, Trouble> {
    let frame = Frame::new(&gateway, &who, "").await?;
    Ok(Redirect::to(&super::shown::kb_path(&frame.kb)))
}

#[derive(Debug, Deserialize)]
struct Wanted {
    #[serde(default)]
    next: String,
}

async fn form(Asked(wanted): Asked<Wanted>) -> Shown {
    show(&SignInPage {
        login: String::new(),
        next: wanted.next,
        wrong: None,
        stamp: assets::stamp(),
    })
}

#[derive(Deserialize)]
struct Sent {
    login: String,
    password: String,
    #[serde(default)]
    next: String,
}

/// A page of this server, whatever else somebody wrote into the address.
fn ours(next: &str) -> &str {
    let inside = next.starts_with('/') && !next.starts_with("//");
    let plain = next.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    if inside && plain { next } else { "/" }
}

async fn sign_in(
    State(gateway): State<Gateway>,
    parts: Parts,
    Filled(sent): Filled<Sent>,
) -> Result<Response, Trouble> {
    session::check_origin(&parts, Origin::Needed)?;
    let login = sent.login.clone();
    let asked = Login {
        login: sent.login,
        password: sent.password,
    };
    match account::sign_in(&gateway, asked).await {
        Ok(signed_in) => {
            let life = gateway.settings().token_life;
            let cookie = session::begin(&signed_in.token, life, &parts.headers);
            let headers = AppendHeaders([(SET_COOKIE, cookie)]);
            Ok((headers, Redirect::to(ours(&sent.next))).into_response())
        }
        Err(problem) if problem.status().is_client_error() => {
            let body = problem.body();
            let page = SignInPage {
                login,
                next: sent.next,
                wrong: Some(body.detail),
                stamp: assets::stamp(),
            };
            Ok((StatusCode::UNAUTHORIZED, show(&page)?).into_response())
        }
        Err(problem) => Err(problem.into()),
    }
}

async fn sign_out(_who: Visitor<Read>) -> impl IntoResponse {
    let headers = AppendHeaders([(SET_COOKIE, session::end())]);
    (headers, Redirect::to("/sign-in"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_leads_to_our_own_pages_only() {
        assert_eq!(
            ours("/versions/1?page=4&q=a%20b"),
            "/versions/1?page=4&q=a%20b"
        );
        for foreign in [
            "",
            "https://evil.example",
            "//evil.example",
            "/\\evil.example",
            "/\n/evil",
        ] {
            assert_eq!(ours(foreign), "/", "{foreign:?}");
        }
    }
}
