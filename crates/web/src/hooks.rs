//! Posts to webhooks what is on its way to them, again and again until it has arrived.
//!
//! A delivery is a row written in the transaction of what it tells; here it is claimed for
//! a minute, posted, and marked. Killed in between, it is posted again: receivers tell
//! repetitions by `webhook-id`. Redirects are not followed, and a tenant other than the
//! operator's reaches only public addresses, so that nobody calls our neighbours through us.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use catalog::{Attempt, DeliveryState, DueDelivery};
use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use reqwest::{Client, Url, redirect};
use tokio_util::sync::CancellationToken;

use crate::gateway::Gateway;
use crate::network::Network;
use crate::signature;

const AT_ONCE: u32 = 16;
const LEASE: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(1);
const MOST_ATTEMPTS: u32 = 10;
const FIRST_WAIT: TimeDelta = TimeDelta::seconds(2);
const LONGEST_WAIT: TimeDelta = TimeDelta::hours(6);

/// Networks that are nobody's but ours or our neighbours'.
const PRIVATE: &[&str] = &[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/3",
    "::/127",
    "64:ff9b::/96",
    "fc00::/7",
    "fe80::/10",
    "ff00::/8",
];

/// Sends until told to stop.
pub async fn send_hooks(gateway: Gateway, stop: CancellationToken) {
    // Whoever embeds over HTTPS may have installed one before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    while !stop.is_cancelled() {
        let due = gateway
            .catalog()
            .due_deliveries(AT_ONCE, LEASE, gateway.now())
            .await;
        let due = due.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot look for deliveries");
            Vec::new()
        });
        if due.is_empty() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(IDLE) => continue,
            }
        }
        join_all(due.iter().map(|due| deliver(&gateway, due))).await;
    }
}

async fn deliver(gateway: &Gateway, due: &DueDelivery) {
    let answer = post(gateway, due).await;
    let now = gateway.now();
    let attempt = attempted(answer, due.delivery.attempts, now);
    let (id, webhook_id, state) = (due.delivery.id, due.delivery.webhook, attempt.state);
    let tenant_id = due.delivery.tenant;
    tracing::info!(%tenant_id, %webhook_id, delivery_id = %id, %state, status = ?attempt.status, "webhook tried");
    if let Err(error) = gateway.catalog().attempted(id, attempt, now).await {
        tracing::warn!(%error, delivery_id = %id, "cannot mark a delivery; it will be made again");
    }
}

/// The status that was answered, or why there was none.
async fn post(gateway: &Gateway, due: &DueDelivery) -> Result<u16, String> {
    let url: Url = due
        .url
        .parse()
        .map_err(|_| "the URL cannot be read".to_owned())?;
    let client = client(gateway, due, &url).await?;
    let body = due.delivery.payload.to_string();
    let (id, now) = (format!("msg_{}", due.delivery.id.simple()), gateway.now());
    let sent = client
        .post(url)
        .header("content-type", "application/json")
        .header(signature::ID, &id)
        .header(signature::TIMESTAMP, now.timestamp().to_string())
        .header(
            signature::SIGNATURE,
            signature::sign(&due.secret, &id, now, body.as_bytes()),
        )
        .body(body)
        .send()
        .await;
    match sent {
        Ok(answer) => Ok(answer.status().as_u16()),
        Err(error) if error.is_timeout() => Err("no answer in time".to_owned()),
        Err(error) if error.is_connect() => Err("cannot connect".to_owned()),
        Err(_) => Err("the request failed".to_owned()),
    }
}

/// A client that goes where the name was seen to lead, and nowhere else.
async fn client(gateway: &Gateway, due: &DueDelivery, url: &Url) -> Result<Client, String> {
    let host = url.host_str().ok_or("the URL has no host")?;
    let port = url.port_or_known_default().unwrap_or(443);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = tokio::net::lookup_host((bare, port)).await;
    let found: Vec<SocketAddr> = found.map_err(|_| "the host is unknown")?.collect();
    let operator = gateway.is_operator_tenant(due.delivery.tenant);
    if !operator && found.iter().any(|address| is_private(address.ip())) {
        return Err("the host is not a public one".to_owned());
    }
    Client::builder()
        .redirect(redirect::Policy::none())
        .resolve_to_addrs(host, &found)
        .no_proxy()
        .timeout(TIMEOUT)
        .user_agent(concat!("gristmill/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|_| "no client can be made".to_owned())
}

fn is_private(address: IpAddr) -> bool {
    let inside = |network: &&str| {
        let network: Network = network.parse().expect("the list is well-formed");
        network.contains(address)
    };
    PRIVATE.iter().any(inside)
}

fn attempted(answer: Result<u16, String>, attempts: u32, now: DateTime<Utc>) -> Attempt {
    let (status, error) = match answer {
        Ok(status) => (Some(status), None),
        Err(error) => (None, Some(error)),
    };
    let state = match status {
        Some(200..=299) => DeliveryState::Delivered,
        _ if attempts >= MOST_ATTEMPTS => DeliveryState::Failed,
        _ => DeliveryState::Pending,
    };
    Attempt {
        state,
        status,
        error,
        again_at: now + wait(attempts),
    }
}

/// Two seconds after the first attempt, four times as long after each further one.
fn wait(attempts: u32) -> TimeDelta {
    let factor = 4_i32.saturating_pow(attempts.saturating_sub(1).min(12));
    FIRST_WAIT
        .checked_mul(factor)
        .unwrap_or(LONGEST_WAIT)
        .min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_that_fails_is_made_again_later_and_later_then_given_up() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let after = |answer, attempts| attempted(answer, attempts, now);
        assert_eq!(after(Ok(204), 1).state, DeliveryState::Delivered);
        for refused in [Ok(302), Ok(404), Ok(500), Err("cannot connect".to_owned())] {
            assert_eq!(after(refused.clone(), 1).state, DeliveryState::Pending);
            assert_eq!(after(refused, 10).state, DeliveryState::Failed);
        }
        let waits: Vec<_> = (1..=9).map(|n| wait(n).num_seconds()).collect();
        assert_eq!(waits, [2, 8, 32, 128, 512, 2048, 8192, 21600, 21600]);
    }

    #[test]
    fn our_neighbours_are_not_public() {
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "169.254.169.254",
            "::1",
            "::ffff:192.168.0.1",
            "fd00::1",
        ] {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
        for address in ["8.8.8.8", "2606:4700::1111", "172.32.0.1"] {
            assert!(!is_private(address.parse().unwrap()), "{address}");
        }
    }
}
