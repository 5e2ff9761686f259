//! Where the peers live: Python environments and our model under `.tools`, made when needed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::ensure;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The python of an environment with these packages.
pub fn python(name: &str, packages: &[&str]) -> anyhow::Result<String> {
    script("bench/peers/venv", &[&[name], packages].concat())
}

pub fn model_folder() -> anyhow::Result<PathBuf> {
    script("scripts/fetch-model", &[])?;
    Ok(root().join(".tools/models/all-MiniLM-L6-v2"))
}

/// The evaluation sets: `EVAL_DIR`, or `../shared/eval` beside the project.
pub fn eval_folder() -> Option<PathBuf> {
    let given = std::env::var_os("EVAL_DIR").map(PathBuf::from);
    let folder = given.unwrap_or_else(|| root().join("../shared/eval"));
    folder.is_dir().then_some(folder)
}

/// Runs one of our scripts and gives the line it prints.
fn script(path: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(root().join(path))
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "`{path}` failed");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
