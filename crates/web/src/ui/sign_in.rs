//! Signing in and out.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::http::request::Parts;
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use axum::routing::{get, post};

use super::assets;
use super::page::{Filled, Frame, Shown, Trouble, Visitor, show};
use crate::api::account::{self, Login};
use crate::auth::Read;
use crate::auth::session::{self, Origin};
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
    wrong: Option<String>,
    stamp: &'static str,
}

/// The first page there is: the knowledge base.
async fn home(State(gateway): State<Gateway>, who: Visitor<Read>) -> Result<Redirect, Trouble> {
    let frame = Frame::new(&gateway, &who, "").await?;
    Ok(Redirect::to(&super::shown::kb_path(&frame.kb)))
}

async fn form() -> Shown {
    show(&SignInPage {
        login: String::new(),
        wrong: None,
        stamp: assets::stamp(),
    })
}

async fn sign_in(
    State(gateway): State<Gateway>,
    parts: Parts,
    Filled(sent): Filled<Login>,
) -> Result<Response, Trouble> {
    session::check_origin(&parts, Origin::Needed)?;
    let login = sent.login.clone();
    match account::sign_in(&gateway, sent).await {
        Ok(signed_in) => {
            let life = gateway.settings().token_life;
            let cookie = session::begin(&signed_in.token, life, &parts.headers);
            let headers = AppendHeaders([(SET_COOKIE, cookie)]);
            Ok((headers, Redirect::to("/")).into_response())
        }
        Err(problem) if problem.status().is_client_error() => {
            let body = problem.body();
            let page = SignInPage {
                login,
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
