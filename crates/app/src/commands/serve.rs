//! The server: pages, API and workers until it is told to stop.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::cli::Serve;
use crate::config::{self, Config};
use crate::explain::{Hinted, hinted};
use crate::folder::{Claimed, Folder, Holder};
use crate::house::House;
use crate::secrets;

use super::stop_on_signal;

/// A worker says at once whether it takes a run.
const ANSWER: Duration = Duration::from_secs(30);
const STOPPING: &str = "stopping; work under way is finished or given back";

pub async fn run(config: &Config, args: &Serve) -> anyhow::Result<()> {
    check_exposure(config)?;
    let token = shared_token(config)?;
    let folder = Folder::create(&config.data)?;
    let lock = match folder.claim()? {
        Claimed::Ours(lock) => lock,
        Claimed::Theirs(holder) => return Err(held(&folder, holder)),
    };
    let listener = TcpListener::bind(config.listen).await.with_context(|| {
        let taken = format!("cannot listen on {}", config.listen);
        Hinted::new(taken, "choose another address with --listen")
    })?;
    let address = listener.local_addr().context("cannot tell the address")?;
    let mut house = House::open(&folder, lock, config).await?;
    if !args.no_workers {
        let runtime = runtime(config, token, reachable(address), house.stop().clone())?;
        house.start_workers(config, runtime).await?;
    }
    let holder = Holder {
        pid: std::process::id(),
        address: reachable(address),
        tenant_id: house.first.tenant,
        admin_id: house.first.admin,
    };
    house.lock().publish(&holder)?;
    greet(&house, &folder, config, address)?;
    let stop = stop_on_signal(house.stop().clone(), STOPPING)?;
    let hooks = tokio::spawn(web::send_hooks(house.gateway.clone(), stop.clone()));
    web::serve(listener, house.router(), stop).await;
    // What it holds is due again by itself; what it holds open must not be.
    hooks.abort();
    let _ = hooks.await;
    house.close().await
}

/// Without sign-in everyone is admin, so only this machine may reach it.
fn check_exposure(config: &Config) -> anyhow::Result<()> {
    if config.auth.enabled || config.listen.ip().is_loopback() {
        return Ok(());
    }
    Err(hinted(
        format!(
            "auth.enabled is false, and {} is not only this machine",
            config.listen
        ),
        "listen on 127.0.0.1, or leave sign-in on",
    ))
}

/// What runs are posted with, where they are posted.
fn shared_token(config: &Config) -> anyhow::Result<Option<String>> {
    let token = match config.runtime {
        config::Runtime::Inline => return Ok(None),
        config::Runtime::Http => secrets::internal_token(&config.auth)?,
    };
    token.map(Some).ok_or_else(|| {
        hinted(
            "runtime is http, and auth.internal_token is empty",
            "give servers and workers the same one, made with `openssl rand -base64 32`",
        )
    })
}

/// The worker is this server itself unless another is named.
fn runtime(
    config: &Config,
    token: Option<String>,
    address: SocketAddr,
    closing: CancellationToken,
) -> anyhow::Result<shell::Runtime> {
    let Some(token) = token else {
        return Ok(shell::Runtime::Inline);
    };
    let base = match config.workers.url.trim_end_matches('/') {
        "" => format!("http://{address}"),
        named => checked_url(named)?,
    };
    let post = shell::Post {
        http: client()?,
        url: format!("{base}/internal/process"),
        token,
        closing,
    };
    Ok(shell::Runtime::Http(post))
}

/// The address itself may hold a password, and is not repeated.
fn checked_url(url: &str) -> anyhow::Result<String> {
    let read = reqwest::Url::parse(url).ok();
    let web = |url: &reqwest::Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    if read.as_ref().is_some_and(web) {
        return Ok(url.to_owned());
    }
    Err(hinted(
        "workers.url is not the address of a server",
        "write it like http://worker.example:8470, or leave it empty for this server itself",
    ))
}

/// Workers are neighbours: no proxy knows them, and none sends us elsewhere.
fn client() -> anyhow::Result<reqwest::Client> {
    // Whoever embeds over HTTPS may have installed one before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(ANSWER)
        .build()
        .context("cannot make an HTTP client")
}

fn held(folder: &Folder, holder: Option<Holder>) -> anyhow::Error {
    let shown = folder.path().display();
    match holder {
        Some(holder) => hinted(
            format!("`{shown}` is already served at http://{}", holder.address),
            format!("use that one, or stop it (process {})", holder.pid),
        ),
        None => hinted(
            format!("another gristmill command is working in `{shown}`"),
            "wait for it to end, or choose another folder with --data",
        ),
    }
}

/// The address others on this machine can call: `0.0.0.0` is everywhere, but no place.
fn reachable(address: SocketAddr) -> SocketAddr {
    if !address.ip().is_unspecified() {
        return address;
    }
    let loopback: std::net::IpAddr = if address.is_ipv6() {
        std::net::Ipv6Addr::LOCALHOST.into()
    } else {
        std::net::Ipv4Addr::LOCALHOST.into()
    };
    SocketAddr::new(loopback, address.port())
}

fn greet(
    house: &House,
    folder: &Folder,
    config: &Config,
    address: SocketAddr,
) -> anyhow::Result<()> {
    println!("Gristmill is at http://{}", reachable(address));
    if let Some(password) = &house.password {
        println!(
            "Sign in as `{}` with the password `{password}`.",
            config.auth.admin_login
        );
        println!("It is shown this once; change it once you are in.");
        secrets::forget_password(folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_address_of_a_server_is_posted_to() {
        for good in ["http://worker:8470", "https://u:p@worker.example/mill"] {
            assert_eq!(checked_url(good).unwrap(), good);
        }
        for bad in ["localhost:7879", "not a url", "ftp://x", "http://"] {
            let refused = checked_url(bad).unwrap_err().to_string();
            assert!(refused.contains("workers.url"), "{refused}");
        }
    }
}
