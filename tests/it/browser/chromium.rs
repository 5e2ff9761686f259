//! A headless Chromium, told what to do over its own pipe.
//!
//! With `--remote-debugging-pipe` it reads commands from descriptor 3 and answers on 4,
//! JSON ended by a zero byte: no port, no library, no second runtime.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};

/// How the program is called, in the order they are looked for.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// What a session sends by itself: the name of the event and what belongs to it.
pub type Event = (String, Value);

type Answers = Mutex<HashMap<u64, oneshot::Sender<Result<Value, String>>>>;
type Listeners = Mutex<HashMap<String, mpsc::UnboundedSender<Event>>>;

pub struct Chromium {
    commands: mpsc::UnboundedSender<String>,
    shared: Arc<Shared>,
    next: AtomicU64,
    _child: Child,
    _profile: TempDir,
}

#[derive(Default)]
struct Shared {
    answers: Answers,
    listeners: Listeners,
}

pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |at| at.join(name)));
    places.into_iter().find(|place| place.is_file())
}

impl Chromium {
    pub fn start(program: PathBuf) -> Self {
        let profile = tempfile::tempdir().expect("a temporary folder can be made");
        let mut child = command(program, &profile)
            .spawn()
            .expect("a shell can be started");
        let shared = Arc::new(Shared::default());
        let (commands, to_send) = mpsc::unbounded_channel();
        tokio::spawn(write(child.stdin.take().expect("piped"), to_send));
        tokio::spawn(read(child.stdout.take().expect("piped"), shared.clone()));
        Self {
            commands,
            shared,
            next: AtomicU64::new(1),
            _child: child,
            _profile: profile,
        }
    }

    /// Sends a command, to a session or to the browser itself, and waits for its answer.
    pub async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        lock(&self.shared.answers).insert(id, answer);
        let mut command = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            command["sessionId"] = session.into();
        }
        let gone = |_| "the browser is gone".to_owned();
        self.commands.send(command.to_string()).map_err(gone)?;
        match answered.await {
            Ok(answer) => answer.map_err(|why| format!("{method}: {why}")),
            Err(_) => Err(format!("{method}: the browser is gone")),
        }
    }

    /// From now on what the session says goes here.
    pub fn listen(&self, session: &str) -> mpsc::UnboundedReceiver<Event> {
        let (told, heard) = mpsc::unbounded_channel();
        lock(&self.shared.listeners).insert(session.to_owned(), told);
        heard
    }
}

/// The shell moves the pipes to where the browser looks for them. Killed with its handle.
fn command(program: PathBuf, profile: &TempDir) -> Command {
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1",
        ])
        .arg(program)
        .args([
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-first-run",
        ])
        .args([
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
        ])
        .args(["--disable-extensions", "--disable-sync", "--mute-audio"])
        // Tests run as root in containers, where it refuses its own sandbox.
        .arg("--no-sandbox")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("about:blank")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    command
}

async fn write(mut pipe: ChildStdin, mut commands: mpsc::UnboundedReceiver<String>) {
    while let Some(command) = commands.recv().await {
        let mut bytes = command.into_bytes();
        bytes.push(0);
        if pipe.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

async fn read(pipe: ChildStdout, shared: Arc<Shared>) {
    let mut pipe = BufReader::new(pipe);
    let mut bytes = Vec::new();
    while pipe.read_until(0, &mut bytes).await.is_ok_and(|n| n > 0) {
        bytes.pop();
        if let Ok(message) = serde_json::from_slice(&bytes) {
            shared.take(message);
        }
        bytes.clear();
    }
    // Whoever still waits is told that nothing will come.
    lock(&shared.answers).clear();
}

impl Shared {
    fn take(&self, mut message: Value) {
        if let Some(id) = message["id"].as_u64() {
            let waiting = lock(&self.answers).remove(&id);
            let answer = match message["error"]["message"].as_str() {
                Some(error) => Err(error.to_owned()),
                None => Ok(message["result"].take()),
            };
            waiting.map(|waiting| waiting.send(answer));
            return;
        }
        let session = message["sessionId"].as_str().unwrap_or_default().to_owned();
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        if let Some(listener) = lock(&self.listeners).get(&session) {
            let _ = listener.send((method, message["params"].take()));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .expect("nothing panics while it holds the lock")
}
