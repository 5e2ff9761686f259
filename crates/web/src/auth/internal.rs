//! The door between servers and workers: one token that both hold, and nothing else opens.
//!
//! It signs nobody in: it names no tenant and no user, and no other route looks at it.

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use hmac::Mac as _;

use super::bearer;
use crate::gateway::Gateway;
use crate::layers;
use crate::problem::Problem;
use crate::signature::keyed;

/// Whoever sent the request holds the shared token.
#[derive(Debug, Clone, Copy)]
pub struct Internal(());

impl FromRequestParts<Gateway> for Internal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Problem> {
        // Where no token is configured there is no such door.
        let Some(ours) = gateway.internal_token() else {
            return Err(layers::unknown_route(parts.uri.clone()).await);
        };
        let given = parts.headers.get(AUTHORIZATION).and_then(bearer);
        if given.is_some_and(|given| same(given, ours)) {
            return Ok(Self(()));
        }
        Err(Problem::unauthorized("this door opens to workers only")
            .hint("send the auth.internal_token of this server as a bearer token"))
    }
}

/// Compares codes of both, which takes equally long wherever they differ.
fn same(given: &str, ours: &str) -> bool {
    let key = ours.as_bytes();
    let expected = keyed(key, &[key]).finalize().into_bytes();
    keyed(key, &[given.as_bytes()])
        .verify_slice(&expected)
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_the_token() {
        let ours = "a token of thirty-two bytes or more";
        assert!(same(ours, ours));
        for other in ["", "a", "a token of thirty-two bytes or mor", "A token"] {
            assert!(!same(other, ours), "{other}");
        }
        assert!(!same(&format!("{ours} "), ours));
    }
}
