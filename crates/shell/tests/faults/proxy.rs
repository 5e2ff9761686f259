//! A real connection that really breaks: between the catalog and PostgreSQL.
//!
//! Bytes go through as they are, until a commit is cut off: before it reaches the server,
//! or after the server has answered and before the answer reaches us.

use std::path::Path;
use std::sync::Arc;

use testkit::{Dice, Lot};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

const SOCKET: &str = ".s.PGSQL.5432";

/// Listens in `folder` and gives the URL that leads through here.
pub fn start(url: &str, folder: &Path, dice: Arc<Dice>) -> anyhow::Result<String> {
    let (address, host) = url
        .split_once("?host=")
        .ok_or_else(|| anyhow::anyhow!("a URL without a socket"))?;
    let server = Path::new(&host.replace("%2F", "/")).join(SOCKET);
    std::fs::create_dir_all(folder)?;
    let ours = folder.join(SOCKET);
    let _ = std::fs::remove_file(&ours);
    let listener = UnixListener::bind(ours)?;
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (server, dice) = (server.clone(), dice.clone());
            tokio::spawn(async move {
                if let Ok(server) = UnixStream::connect(server).await {
                    carry(client, server, &dice).await;
                }
            });
        }
    });
    let folder = folder.display().to_string().replace('/', "%2F");
    Ok(format!("{address}?host={folder}"))
}

/// Until either side ends or the lot falls on a commit; then both are dropped.
async fn carry(mut client: UnixStream, mut server: UnixStream, dice: &Dice) {
    let mut asked = [0; 16 << 10];
    let mut answered = [0; 16 << 10];
    let mut deaf = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(n @ 1..) = read else { return };
                if commits(&asked[..n]) {
                    match dice.throw().await {
                        Lot::Well => {}
                        Lot::LostBefore => return,
                        Lot::LostAfter => deaf = true,
                    }
                }
                if server.write_all(&asked[..n]).await.is_err() { return }
            }
            read = server.read(&mut answered) => {
                let Ok(n @ 1..) = read else { return };
                if deaf { return }
                if client.write_all(&answered[..n]).await.is_err() { return }
            }
        }
    }
}

/// A simple query of the one word, as the driver sends it.
fn commits(bytes: &[u8]) -> bool {
    bytes.windows(8).any(|some| some[1..] == *b"COMMIT\0")
}
