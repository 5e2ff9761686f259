//! Words on pages that are pictures, by a program that recognises them.
//!
//! What the program is given is a picture drawn here, page by page, never the document: its
//! own readers of foreign formats see nothing foreign. A page it fails on stays the gap it was.

use bytes::Bytes;
use model::Parsed;
use parse::pdf::{Recognised, pictures};
use tokio::time::Instant;

use crate::error::Error;
use crate::pool::Pool;
use crate::settings::{Ocr, Settings};
use crate::tool::Tool;

/// What recognisers are trained on, in dots per inch.
const DPI: f32 = 300.0;

/// What can be recognised on the pages that parsing left as pictures.
pub(crate) async fn words(pool: &Pool, bytes: &Bytes, parsed: &Parsed) -> Vec<Recognised> {
    let Some(ocr) = &pool.settings().ocr else {
        return Vec::new();
    };
    let pages: Vec<u32> = parsed.gaps.iter().flat_map(pictures).collect();
    let mut all = Vec::new();
    let until = Instant::now() + ocr.wall;
    for page in pages.into_iter().take(ocr.pages) {
        if Instant::now() >= until {
            tracing::warn!(page, "no time is left to recognise words from this page on");
            break;
        }
        match of_page(pool, ocr, bytes, page).await {
            Ok(table) => all.push(Recognised { page, table }),
            Err(error) => {
                tracing::warn!(page, %error, "the words of a scanned page were not recognised");
            }
        }
    }
    all
}

async fn of_page(pool: &Pool, ocr: &Ocr, bytes: &Bytes, page: u32) -> Result<String, Error> {
    let picture = pool.draw(bytes, page, DPI / 72.0).await?;
    let table = pool.run(&tool(ocr, pool.settings()), &picture).await?;
    Ok(String::from_utf8_lossy(&table).into_owned())
}

fn tool(ocr: &Ocr, settings: &Settings) -> Tool {
    let dpi = DPI.to_string();
    let args = [
        "stdin",
        "stdout",
        "--dpi",
        &dpi,
        "-l",
        &ocr.languages,
        "tsv",
    ];
    Tool {
        path: ocr.program.clone(),
        args: args.map(str::to_owned).to_vec(),
        folder: None,
        cpu_seconds: ocr.cpu.as_secs().max(1),
        wall: ocr.cpu * 2,
        memory_bytes: settings.memory_bytes,
        output_bytes: settings.output_bytes,
        scratch_bytes: 0,
        niceness: settings.niceness,
        again: None,
    }
}
