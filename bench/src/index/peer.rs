//! FAISS on the same vectors: `bench/peers/faiss_ivf.py`.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use super::data::Data;
use crate::peers;

#[derive(serde::Deserialize)]
pub struct Peer {
    pub name: String,
    pub recall: f64,
    pub rate: f64,
    /// CPU-seconds.
    pub build: f64,
}

/// The fastest settings of FAISS that find no less than `recall`.
pub fn faiss(folder: &Path, data: &Data, recall: f64) -> anyhow::Result<Vec<Peer>> {
    let python = peers::python("faiss", &["faiss-cpu", "numpy"])?;
    write_floats(&folder.join("vectors.f32"), &data.vectors)?;
    write_floats(&folder.join("queries.f32"), &data.queries)?;
    let said = Command::new(python)
        .arg(peers::root().join("bench/peers/faiss_ivf.py"))
        .args([folder.as_os_str(), recall.to_string().as_ref()])
        .output()?;
    std::fs::remove_file(folder.join("vectors.f32"))?;
    std::fs::remove_file(folder.join("queries.f32"))?;
    if !said.status.success() {
        bail!("faiss_ivf.py: {}", String::from_utf8_lossy(&said.stderr));
    }
    let lines = String::from_utf8(said.stdout)?;
    Ok(lines
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}

pub fn write_floats(path: &Path, values: &[f32]) -> anyhow::Result<()> {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    Ok(std::fs::write(path, bytes)?)
}
