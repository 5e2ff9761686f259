//! `write-samples FOLDER`: every sample in a folder named after its format, where the fuzz
//! targets look for what to begin with.

#![expect(clippy::disallowed_methods, reason = "an example, not the library")]

use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    for sample in samples::all() {
        let extension = sample.name.rsplit('.').next().unwrap_or_default();
        let folder = Path::new(&folder).join(extension);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(&sample.name), &sample.bytes)?;
        if let Some(parts) = samples::unpacked(&sample) {
            std::fs::write(folder.join("parts"), parts)?;
        }
    }
    Ok(())
}
