//! The listener the router is served on: HTTP/1.1, each connection a task of its own.
//!
//! What a request may take is decided with its route; here is what a client may take before
//! there is a request, and how long the server waits for everybody when it is told to stop.

use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::serve::Listener;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service as _;

/// How long a client may take to send the head of a request, and say nothing before the next.
const HEAD: Duration = Duration::from_secs(60);
/// How long requests under way may take to end; uploads are given up before that.
const GRACE: Duration = Duration::from_secs(20);

/// Serves until stopped, then lets requests under way end; whoever does not even read its
/// answer is left behind.
pub async fn serve(mut listener: TcpListener, router: Router, stop: CancellationToken) {
    let connections = TaskTracker::new();
    loop {
        let (stream, from) = tokio::select! {
            accepted = Listener::accept(&mut listener) => accepted,
            () = stop.cancelled() => break,
        };
        // Small answers go out at once; a socket that cannot do so still works.
        let _ = stream.set_nodelay(true);
        connections.spawn(converse(stream, from, router.clone(), stop.clone()));
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(GRACE, connections.wait())
        .await
        .is_err()
    {
        tracing::warn!("some clients did not let go and are left behind");
    }
}

/// One request after the other, until either side has had enough.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    from: SocketAddr,
    router: Router,
    stop: CancellationToken,
) {
    let answer = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(from));
        router.clone().call(request)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let mut talk = pin!(http.serve_connection(TokioIo::new(stream), answer));
    let ended = tokio::select! {
        ended = talk.as_mut() => ended,
        () = stop.cancelled() => {
            talk.as_mut().graceful_shutdown();
            talk.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_ends_its_headers_is_let_go_however_busy_it_looks() {
        let (mut client, server) = tokio::io::duplex(4096);
        // An answer may take longer than a head.
        let slow = get(async || {
            tokio::time::sleep(2 * HEAD).await;
            "here"
        });
        let router = Router::new().route("/", slow);
        let from = SocketAddr::from(([127, 0, 0, 1], 1));
        let stop = CancellationToken::new();
        let served = tokio::spawn(converse(server, from, router, stop));
        let head = b"GET / HTTP/1.1\r\nhost: mill\r\n";
        client.write_all(head).await.unwrap();
        client.write_all(b"\r\n").await.unwrap();
        let mut answer = vec![0; 15];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, b"HTTP/1.1 200 OK");

        client.write_all(head).await.unwrap();
        client.write_all(b"x-drip: ").await.unwrap();
        let mut dripped = 0;
        while client.write_all(b"x").await.is_ok() {
            tokio::time::sleep(SECOND).await;
            dripped += 1;
            assert!(dripped <= HEAD.as_secs() + 1, "it still listens");
        }
        served.await.unwrap();
    }
}
