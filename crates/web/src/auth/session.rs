//! A browser's session: the same token as everywhere, in a cookie no script can read.
//!
//! The cookie goes only with requests that begin on our own pages (`SameSite=Strict`),
//! and what changes something must also come from there by its `Origin`.

use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use chrono::TimeDelta;

use crate::problem::Problem;

const NAME: &str = "gristmill_session";

/// Whether a request must say where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Needed,
    /// For programs, which send none.
    MayBeAbsent,
}

pub fn token(headers: &HeaderMap) -> Option<&str> {
    cookie_named(headers, NAME)
}

/// What a browser keeps for us under a name, unless that is nothing.
pub fn cookie_named<'h>(headers: &'h HeaderMap, wanted: &str) -> Option<&'h str> {
    let cookies = headers.get_all(COOKIE).iter();
    let pairs = cookies
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    pairs
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == wanted && !value.is_empty()).then_some(value))
}

/// The cookie that begins a session. `Secure` where the browser came over TLS.
pub fn begin(token: &str, life: TimeDelta, headers: &HeaderMap) -> HeaderValue {
    let tls = headers
        .get("x-forwarded-proto")
        .is_some_and(|proto| proto == "https");
    cookie(token, life.num_seconds(), tls)
}

pub fn end() -> HeaderValue {
    cookie("", 0, false)
}

fn cookie(value: &str, seconds: i64, tls: bool) -> HeaderValue {
    let secure = if tls { "; Secure" } else { "" };
    let text =
        format!("{NAME}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).expect("a token is made of header characters")
}

/// Refuses what changes something and was asked for by another site's page.
pub fn check_origin(parts: &Parts, rule: Origin) -> Result<(), Problem> {
    if parts.method.is_safe() {
        return Ok(());
    }
    let ours = match parts.headers.get(ORIGIN) {
        None => rule == Origin::MayBeAbsent,
        Some(origin) => is_ours(origin, &parts.headers),
    };
    if ours {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "foreign_origin",
        "the request did not come from one of our pages",
    )
    .hint("use the pages of this server, or sign the request with a token or a key"))
}

/// Where nobody signs in, a page elsewhere must not reach us by giving this machine's address a
/// name of its own: the browser would call that page and us one site.
pub fn check_host(parts: &Parts) -> Result<(), Problem> {
    let named = parts.headers.get(HOST).map(|host| host.to_str());
    let near = match named {
        // Only programs ask without one.
        None => true,
        Some(host) => host.is_ok_and(is_near),
    };
    if near {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "foreign_host",
        "without sign-in this server answers only as localhost",
    )
    .hint("open it as http://localhost or http://127.0.0.1, or turn sign-in on"))
}

fn is_near(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let loopback = name.parse::<std::net::IpAddr>();
    name.eq_ignore_ascii_case("localhost") || loopback.is_ok_and(|address| address.is_loopback())
}

fn is_ours(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let origin = origin.to_str().ok();
    let site = origin.and_then(|origin| origin.split_once("://"));
    site.zip(host).is_some_and(|((_, site), host)| site == host)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn asked(method: &str, origin: Option<&str>) -> Parts {
        let mut request = Request::builder()
            .method(method)
            .header(HOST, "mill.example:8470");
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        request.body(()).expect("a plain request").into_parts().0
    }

    #[test]
    fn only_our_own_pages_change_something_with_a_cookie() {
        let ours = Some("https://mill.example:8470");
        let check = |method, origin, rule| check_origin(&asked(method, origin), rule).is_ok();
        assert!(check("POST", ours, Origin::Needed));
        assert!(check("GET", Some("https://evil.example"), Origin::Needed));
        assert!(check("POST", None, Origin::MayBeAbsent));
        for foreign in [Some("https://evil.example"), Some("null"), None] {
            assert!(!check("POST", foreign, Origin::Needed), "{foreign:?}");
        }
        assert!(!check(
            "DELETE",
            Some("https://evil.example"),
            Origin::MayBeAbsent
        ));
    }

    #[test]
    fn without_sign_in_only_this_machine_is_answered_to() {
        let of = |host: &str| {
            let request = Request::builder().header(HOST, host);
            request.body(()).expect("a plain request").into_parts().0
        };
        for near in ["localhost:8470", "LOCALHOST", "127.0.0.1:1", "[::1]:8470"] {
            assert!(check_host(&of(near)).is_ok(), "{near}");
        }
        for far in [
            "evil.example:8470",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "",
        ] {
            assert!(check_host(&of(far)).is_err(), "{far}");
        }
    }

    #[test]
    fn the_session_is_found_among_other_cookies() {
        let mut headers = HeaderMap::new();
        let value = HeaderValue::from_static("a=b; gristmill_session=x.y.z; c=d");
        headers.insert(COOKIE, value);
        assert_eq!(token(&headers), Some("x.y.z"));
        headers.insert(COOKIE, HeaderValue::from_static("gristmill_session="));
        assert_eq!(token(&headers), None);
    }
}
