//! What every page has: its frame, who looks at it, and how trouble is shown.

use askama::Template;
use axum::body::{Body, Bytes};
use axum::extract::{Form, FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{Html, IntoResponse, Redirect, Response};
use catalog::{Kb, Role, every};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use super::assets;
use super::shown::encoded;
use crate::auth::{Ingest, May, Principal, Right, session};
use crate::extract::{has_escaped_nul, nul};
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
    /// Whether the page is of one knowledge base, which the others then lead back to.
    pub of_kb: bool,
    /// The newest event this page knows of: its stream goes on from there.
    pub events: i64,
    /// Whether there is a session to end.
    pub signed_in: bool,
    pub stamp: &'static str,
}

impl Frame {
    /// For a page of one knowledge base.
    pub async fn of_kb<R: Right>(
        gateway: &Gateway,
        who: &Visitor<R>,
        at: &'static str,
        name: &str,
    ) -> Result<(Self, Kb), Problem> {
        let kb = gateway.kb(who.tenant, name).await?;
        let frame = Self::new(gateway, who, at).await?;
        let frame = Self {
            kb: kb.name.clone(),
            of_kb: true,
            ..frame
        };
        Ok((frame, kb))
    }

    /// For a page of the whole house; its tabs lead to the knowledge base last looked at,
    /// else to the first.
    pub async fn new<R: Right>(
        gateway: &Gateway,
        who: &Visitor<R>,
        at: &'static str,
    ) -> Result<Self, Problem> {
        // Asked first: what happens while the page is made is told again, never missed.
        let events = gateway.catalog().last_event(who.tenant).await?;
        let kbs = every(|page| gateway.catalog().kbs(who.tenant, page)).await?;
        let kbs: Vec<String> = kbs.into_iter().map(|kb| kb.name).collect();
        let named = |wanted: &str| kbs.iter().find(|name| *name == wanted);
        let last = who.last_kb.as_deref().and_then(named);
        let first = last.or_else(|| named("default")).or(kbs.first());
        Ok(Self {
            kb: first.cloned().unwrap_or_default(),
            kbs,
            at,
            admin: who.role == Role::Admin,
            operator: who.role == Role::Admin && gateway.is_operator(who),
            of_kb: false,
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
pub struct Trouble {
    problem: Problem,
    /// Where whoever must sign in first wanted to go.
    wanted: Option<String>,
}

#[derive(Template)]
#[template(path = "trouble.html")]
struct TroublePage {
    problem: ProblemBody,
    stamp: &'static str,
}

impl<P: Into<Problem>> From<P> for Trouble {
    fn from(problem: P) -> Self {
        Self {
            problem: problem.into(),
            wanted: None,
        }
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        if self.problem.status() == StatusCode::UNAUTHORIZED {
            let wanted = self.wanted.iter();
            let next = wanted.map(|place| format!("?next={}", encoded(place)));
            let next: String = next.collect();
            return Redirect::to(&format!("/sign-in{next}")).into_response();
        }
        let page = TroublePage {
            problem: self.problem.body(),
            stamp: assets::stamp(),
        };
        match show(&page) {
            Ok(html) => (self.problem.status(), html).into_response(),
            Err(_) => self.problem.into_response(),
        }
    }
}

/// Where the script keeps the name of the knowledge base last looked at.
const LAST_KB: &str = "gristmill_kb";

/// Whoever looks at a page, allowed to do `R`.
pub struct Visitor<R> {
    who: May<R>,
    last_kb: Option<String>,
}

impl<R> std::ops::Deref for Visitor<R> {
    type Target = Principal;

    fn deref(&self) -> &Principal {
        &self.who
    }
}

impl<R: Right> FromRequestParts<Gateway> for Visitor<R> {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Trouble> {
        let last = session::cookie_named(&parts.headers, LAST_KB);
        let last_kb = last.map(|name| percent_decode_str(name).decode_utf8_lossy().into_owned());
        match May::from_request_parts(parts, gateway).await {
            Ok(who) => Ok(Self { who, last_kb }),
            Err(problem) => Err(Trouble {
                problem,
                wanted: wanted(parts),
            }),
        }
    }
}

/// The page that was asked for, if one may come back to it and it is not the first.
fn wanted(parts: &Parts) -> Option<String> {
    let place = parts.uri.path_and_query()?.as_str();
    (parts.method == Method::GET && place != "/").then(|| place.to_owned())
}

/// A form as a browser sends it, every field a text that can be kept.
pub struct Filled<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Filled<T> {
    type Rejection = Trouble;

    async fn from_request(request: Request, state: &S) -> Result<Self, Trouble> {
        let (parts, body) = request.into_parts();
        let whole = Request::from_parts(parts.clone(), body);
        let bytes = Bytes::from_request(whole, state).await;
        let bytes = bytes.map_err(|rejection| unreadable(rejection.body_text()))?;
        if has_escaped_nul(&bytes) {
            return Err(nul().into());
        }
        let form = Request::from_parts(parts, Body::from(bytes));
        match Form::<T>::from_request(form, state).await {
            Ok(Form(value)) => Ok(Self(value)),
            Err(rejection) => Err(unreadable(rejection.body_text()).into()),
        }
    }
}

fn unreadable(why: String) -> Problem {
    Problem::invalid(why).hint("go back and fill in the form again")
}
