//! Writes each file's Markdown form into a folder: `extract OUT FILE…`.
//! One line per file that could not be read, with the reason.

#![expect(clippy::disallowed_methods, reason = "an example, not the library")]

use std::path::Path;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let out = arguments.next().unwrap_or_else(|| ".".to_owned());
    for file in arguments {
        let bytes = std::fs::read(&file)?;
        let path = Path::new(&file);
        let hints = parse::Hints::of_filename(file.as_str());
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        match parse::parse(&bytes, &hints, &parse::Limits::default()) {
            Ok(parsed) => {
                let target = Path::new(&out).join(format!("{stem}.md"));
                std::fs::write(target, parse::to_markdown(&parsed))?;
            }
            Err(error) => println!("{stem}: {error}"),
        }
    }
    Ok(())
}
