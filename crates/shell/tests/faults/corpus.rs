//! What is taken in: a folder by a job, another by a job that is canceled, and deliveries
//! one by one, late and out of order, of documents with several versions and one removal.

use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use model::SourceOrder;

pub const CORPORA: usize = 4;

pub struct Corpus {
    pub kept: PathBuf,
    pub canceled: PathBuf,
    pub deliveries: Vec<Delivery>,
    /// Removed once it was delivered; no late delivery brings it back.
    pub removed: &'static str,
}

pub struct Delivery {
    pub uri: &'static str,
    pub text: String,
    pub order: SourceOrder,
}

impl Corpus {
    /// Writes the folders of the `nth` corpus below `folder`.
    pub fn write(folder: &Path, nth: usize) -> std::io::Result<()> {
        for name in ["kept", "canceled"] {
            std::fs::create_dir_all(folder.join(name))?;
        }
        for n in 0..3 + nth {
            std::fs::write(folder.join(format!("kept/{n}.md")), note("stone", n))?;
        }
        for n in 0..3 {
            std::fs::write(folder.join(format!("canceled/{n}.md")), note("sail", n))?;
        }
        if nth == 1 {
            std::fs::write(folder.join("kept/broken.pdf"), "%PDF-1.7 and nothing more")?;
            std::fs::write(folder.join("kept/long.md"), long())?;
        }
        Ok(())
    }

    pub fn read(folder: &Path, nth: usize) -> Self {
        let at = |uri, version: i64, text| Delivery {
            uri,
            text,
            order: of_version(version),
        };
        let mut deliveries = vec![
            at("file:///world/diary.md", 1, note("wheel", 1)),
            at("file:///world/diary.md", 2, note("wheel", 2)),
            at("file:///world/diary.md", 3, note("wheel", 3)),
            at("file:///world/gone.md", 1, note("hopper", 1)),
            at("file:///world/same.md", 1, note("sluice", 1)),
        ];
        if nth == 2 {
            // Too much to be held in memory on its way in, and little once it is read.
            let long = format!("{}{}", note("gear", 1), "\n".repeat(2 << 20));
            deliveries.push(at("file:///world/staged.txt", 1, long));
        }
        Self {
            kept: folder.join("kept"),
            canceled: folder.join("canceled"),
            deliveries,
            removed: "file:///world/gone.md",
        }
    }
}

/// Between the first version of what is removed and any other.
pub fn removal_order() -> SourceOrder {
    of_version(2)
}

fn of_version(version: i64) -> SourceOrder {
    let start: DateTime<Utc> = Utc
        .with_ymd_and_hms(2026, 1, 1, 12, 0, 0)
        .single()
        .expect("a moment that exists once");
    SourceOrder::of_time(start + TimeDelta::hours(version))
}

fn note(topic: &str, n: usize) -> String {
    format!(
        "# The {topic} {n}\n\nThe {topic} numbered {n} is checked every spring.\n\n\
         ## Care\n\nGrease the {topic} and look for cracks, {n} times in all.\n"
    )
}

/// Enough for two units.
fn long() -> String {
    let line = |n: usize| format!("Sack {n} was weighed, {} grains in it.\n\n", n * n);
    let section = |n: usize| {
        let lines: String = (n * 60..n * 60 + 60).map(line).collect();
        format!("## Part {n}\n\n{lines}")
    };
    let sections: String = (0..32).map(section).collect();
    format!("# Sacks\n\n{sections}")
}
