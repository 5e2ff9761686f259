//! The binary on a data folder of its own, as a person at a terminal has it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Where the catalog of a mill lives.
pub enum Catalog {
    Sqlite,
    Postgres { url: String },
}

pub struct Mill {
    data: TempDir,
    catalog: Catalog,
}

impl Mill {
    pub fn new(catalog: Catalog) -> Self {
        let data = tempfile::tempdir().expect("a temporary folder can be made");
        Self { data, catalog }
    }

    pub fn sqlite() -> Self {
        Self::new(Catalog::Sqlite)
    }

    pub async fn postgres() -> Self {
        let url = testkit::postgres().await;
        Self::new(Catalog::Postgres { url })
    }

    /// The same folder with another catalog.
    pub fn now_on(self, url: &str) -> Self {
        let url = url.to_owned();
        let catalog = Catalog::Postgres { url };
        Self { catalog, ..self }
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        self.data.path().join("data")
    }

    /// Where a server of this mill may log.
    pub fn log(&self) -> PathBuf {
        self.data.path().join("server.log")
    }

    /// Hash embeddings, asked for by name: what is tested here is not the model.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gristmill"));
        command
            .args(args)
            .current_dir(self.data.path())
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("GRISTMILL_DATA", self.data.path().join("data"))
            .env("GRISTMILL_EMBEDDING_PROVIDER", "hash")
            .stdin(Stdio::null());
        if let Catalog::Postgres { url } = &self.catalog {
            command.env("GRISTMILL_CATALOG_URL", url);
        }
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the binary starts")
    }

    /// What a command prints when it succeeds.
    pub fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let said = String::from_utf8_lossy(&output.stderr);
        let told = String::from_utf8(output.stdout).expect("output is UTF-8");
        assert!(output.status.success(), "{args:?} failed: {said}{told}");
        told
    }

    /// One JSON object per line.
    pub fn lines(&self, args: &[&str]) -> Vec<Value> {
        let text = self.ok(args);
        text.lines()
            .map(|line| serde_json::from_str(line).expect("every line is a JSON object"))
            .collect()
    }

    pub fn ingest(&self, folder: &Path) -> Vec<Value> {
        self.lines(&["ingest", path(folder), "--json"])
    }

    pub fn digest(&self) -> String {
        let lines = self.lines(&["verify", "--json"]);
        text(&lines[0]["digest"]).to_owned()
    }
}

/// A folder with files in it.
pub struct Folder(TempDir);

impl Folder {
    pub fn of(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary folder can be made"));
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("it is made");
        std::fs::write(path, text).expect("the file is written");
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Settings under which what `url` speaks for embeds, and not this machine.
pub fn embeds_at(url: &str) -> [(&'static str, &str); 5] {
    [
        ("GRISTMILL_EMBEDDING_PROVIDER", "openai"),
        ("GRISTMILL_EMBEDDING_URL", url),
        ("GRISTMILL_EMBEDDING_MODEL", "double"),
        ("GRISTMILL_EMBEDDING_DIMENSION", "8"),
        ("GRISTMILL_EMBEDDING_MAX_TOKENS", "256"),
    ]
}

pub fn path(path: &Path) -> &str {
    path.to_str().expect("test folders have plain names")
}

pub fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("not a text: {value}"))
}

pub fn outcomes(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| text(&line["outcome"])).collect()
}
