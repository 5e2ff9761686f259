//! What every page has: its frame, who looks at it, and how trouble is shown.

use askama::Template;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{Html, IntoResponse, Redirect, Response};
use catalog::{Kb, Role};
use serde::de::DeserializeOwned;

use super::assets;
use crate::auth::{Ingest, May, Principal, Right};
use crate::gateway::Gateway;
use crate::problem::{Problem, ProblemBody};

/// Around every page: which knowledge base, which tab, who.
pub struct Frame {
    pub kb: String,
    pub kbs: Vec<String>,
    pub at: &'static str,
    pub admin: bool,
    /// An admin of whoever runs this server.
    pub operator: bool,
    /// Whether files may be dropped here.
    pub uploads: bool,
    pub upload_limit: u64,
    /// The newest event this page knows of: its stream goes on from there.
    pub events: i64,
    /// Whether there is a session to end.
    pub signed_in: bool,
    pub stamp: &'static str,
}

impl Frame {
    /// For a page of one knowledge base.
    pub async fn of_kb(
        gateway: &Gateway,
        who: &Principal,
        at: &'static str,
        name: &str,
    ) -> Result<(Self, Kb), Problem> {
        let kb = gateway.kb(who.tenant, name).await?;
        let frame = Self::new(gateway, who, at).await?;
        let name = kb.name.clone();
        Ok((Self { kb: name, ..frame }, kb))
    }

    /// For a page of the whole house; its tabs lead to the first knowledge base.
    pub async fn new(
        gateway: &Gateway,
        who: &Principal,
        at: &'static str,
    ) -> Result<Self, Problem> {
        // Asked first: what happens while the page is made is told again, never missed.
        let events = gateway.catalog().last_event(who.tenant).await?;
        let kbs = gateway.catalog().kbs(who.tenant).await?;
        let kbs: Vec<String> = kbs.into_iter().map(|kb| kb.name).collect();
        let named = |name: &&String| name.as_str() == "default";
        let first = kbs.iter().find(named).or(kbs.first());
        Ok(Self {
            kb: first.cloned().unwrap_or_default(),
            kbs,
            at,
            admin: who.role == Role::Admin,
            operator: who.role == Role::Admin && gateway.is_operator(who),
            uploads: who.may::<Ingest>(),
            upload_limit: gateway.settings().upload_limit,
            events,
            signed_in: gateway.settings().auth_enabled,
            stamp: assets::stamp(),
        })
    }
}

pub type Shown = Result<Html<String>, Trouble>;

pub fn show(page: &impl Template) -> Shown {
    match page.render() {
        Ok(html) => Ok(Html(html)),
        Err(error) => Err(Problem::internal(&error).into()),
    }
}

/// A problem as a page; whoever is not signed in is led to where one can.
#[derive(Debug)]
pub struct Trouble(Problem);

#[derive(Template)]
#[template(path = "trouble.html")]
struct TroublePage {
    problem: ProblemBody,
    stamp: &'static str,
}

impl<P: Into<Problem>> From<P> for Trouble {
    fn from(problem: P) -> Self {
        Self(problem.into())
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        if self.0.status() == StatusCode::UNAUTHORIZED {
            return Redirect::to("/sign-in").into_response();
        }
        let page = TroublePage {
            problem: self.0.body(),
            stamp: assets::stamp(),
        };
        match show(&page) {
            Ok(html) => (self.0.status(), html).into_response(),
            Err(_) => self.0.into_response(),
        }
    }
}

/// Whoever looks at a page, allowed to do `R`.
pub struct Visitor<R>(pub May<R>);

impl<R> std::ops::Deref for Visitor<R> {
    type Target = Principal;

    fn deref(&self) -> &Principal {
        &self.0
    }
}

impl<R: Right> FromRequestParts<Gateway> for Visitor<R> {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Trouble> {
        Ok(Self(May::from_request_parts(parts, gateway).await?))
    }
}

/// A form as a browser sends it.
pub struct Filled<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Filled<T> {
    type Rejection = Trouble;

    async fn from_request(request: Request, state: &S) -> Result<Self, Trouble> {
        match Form::<T>::from_request(request, state).await {
            Ok(Form(value)) => Ok(Self(value)),
            Err(rejection) => Err(unreadable(&rejection).into()),
        }
    }
}

fn unreadable(rejection: &FormRejection) -> Problem {
    Problem::invalid(rejection.body_text()).hint("go back and fill in the form again")
}
