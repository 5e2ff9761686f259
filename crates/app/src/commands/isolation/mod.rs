//! `doctor isolation`: does any route show one tenant what is another's?
//!
//! In a folder that is gone afterwards, the first tenant gets one of everything and another
//! is made beside it. Then every operation of the OpenAPI description is tried as the other,
//! with the first one's ids wherever an id can stand: in the path, in the query, in the body.
//! Whatever answers with something of the first, or succeeds on a path of the first, is a
//! leak; so is any change to what the first one has. A parameter nobody has a value for is
//! reported too, and a thing that is not shown even to its owner: a route that was not tried
//! proves nothing.

mod bodies;
mod furniture;
mod routes;
mod world;

use std::process::ExitCode;

use axum::Router;
use axum::http::Method;
use serde_json::json;

use self::routes::Operation;
use self::world::World;
use super::{print_line, print_text};
use crate::config::Config;
use crate::session::{Needs, Session};

/// What was found on one operation.
struct Finding {
    operation: String,
    status: u16,
    leak: Option<String>,
}

pub async fn run(config: &Config, json: bool) -> anyhow::Result<ExitCode> {
    let mut session = Session::isolated(config, Needs::Answers).await?;
    let found = examine(&mut session, config).await;
    session.close().await?;
    report(&found?, json)
}

async fn examine(session: &mut Session, config: &Config) -> anyhow::Result<Vec<Finding>> {
    let world = World::build(session, config, planted).await?;
    let mut found = walk(&world).await?;
    found.extend(world.changed().await?.map(|what| Finding {
        operation: "everything together".to_owned(),
        status: 0,
        leak: Some(what),
    }));
    Ok(found)
}

async fn walk(world: &World) -> anyhow::Result<Vec<Finding>> {
    let description = world.description().await?;
    let mut found = Vec::new();
    for operation in routes::all(&description) {
        found.push(probe(world, &description, &operation).await?);
    }
    Ok(found)
}

async fn probe(
    world: &World,
    description: &serde_json::Value,
    operation: &Operation,
) -> anyhow::Result<Finding> {
    let name = format!("{} {}", operation.method, operation.path);
    let finding = |status, leak| Finding {
        operation: name.clone(),
        status,
        leak,
    };
    let asked = match operation.fill(world.things(), description) {
        Ok(asked) => asked,
        Err(unknown) => {
            return Ok(finding(
                0,
                Some(format!("not tried: no value for `{unknown}`")),
            ));
        }
    };
    if asked.names_a_thing && operation.method == Method::GET {
        let own = world.as_owner(&asked).await?.status;
        if !(200..300).contains(&own) {
            let why = format!("not tried: its owner is answered {own}");
            return Ok(finding(own, Some(why)));
        }
    }
    let answer = world.as_stranger(&asked).await?;
    let shown = world.shows(&answer.body, &asked.sent);
    let entered = asked.names_a_thing && (200..300).contains(&answer.status);
    let leak = match (shown, entered) {
        (Some(what), _) => Some(format!("shows {what}")),
        (None, true) => Some("succeeds on what is another's".to_owned()),
        (None, false) => None,
    };
    Ok(finding(answer.status, leak))
}

fn report(found: &[Finding], as_json: bool) -> anyhow::Result<ExitCode> {
    let leaks = found
        .iter()
        .filter(|finding| finding.leak.is_some())
        .count();
    for finding in found {
        let Finding {
            operation,
            status,
            leak,
        } = finding;
        if as_json {
            let ok = leak.is_none();
            print_line(
                &json!({ "operation": operation, "status": status, "ok": ok, "leak": leak }),
            )?;
        } else if let Some(leak) = leak {
            print_text(&format!("LEAK  {operation} ({status}): {leak}\n"))?;
        } else {
            print_text(&format!("ok    {operation} ({status})\n"))?;
        }
    }
    let tried = found.len();
    if as_json {
        print_line(&json!({ "operations": tried, "leaks": leaks }))?;
    } else {
        print_text(&format!("{tried} operations tried, {leaks} leaks\n"))?;
    }
    Ok(if leaks == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// A leak on purpose, for the proof that it is noticed; no release has it.
fn planted(router: Router, owner: &str) -> Router {
    #[cfg(debug_assertions)]
    let bug = std::env::var("GRISTMILL_PLANT").unwrap_or_default();
    #[cfg(debug_assertions)]
    if let Some(parts) = bug.strip_prefix("leaky:").map(str::to_owned) {
        let owner = format!("Bearer {owner}");
        return router.layer(axum::middleware::from_fn(
            move |mut request: axum::extract::Request, next: axum::middleware::Next| {
                let owner = owner.parse().expect("a token is a header value");
                let path = request.uri().path();
                if parts.split(',').any(|part| path.contains(part)) {
                    request.headers_mut().insert("authorization", owner);
                }
                next.run(request)
            },
        ));
    }
    #[cfg(not(debug_assertions))]
    let _ = owner;
    router
}
