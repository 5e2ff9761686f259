//! `backup`: one moment of everything, copied by whoever holds the folder. `restore`: a data
//! folder made of it, held against what the backup counted, opened once and verified.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use chrono::Utc;
use engine::backup::{Counts, Manifest, Restored};
use serde_json::{Value, json};

use crate::cli::{Backup, Restore, Verify};
use crate::config::Config;
use crate::explain::{Hinted, hinted};
use crate::folder::Folder;
use crate::house::catalog_settings;
use crate::session::{Needs, Session};

use super::{cell, print_line, print_text};

pub async fn run(config: &Config, args: &Backup) -> anyhow::Result<()> {
    let to = std::path::absolute(&args.to).context("cannot tell where that is")?;
    let session = Session::open(config, Needs::Answers).await?;
    let done: Value = session
        .client
        .post("/v1/backup", &json!({ "to": to }))
        .await?;
    session.close().await?;
    if args.json {
        return print_line(&done);
    }
    print_text(&format!(
        "backed up {} versions in {} files, {} MB, to {}\n",
        done["versions"],
        done["files"],
        done["bytes"].as_u64().unwrap_or(0) >> 20,
        cell(&done, "to"),
    ))?;
    for path in done["missing"].as_array().into_iter().flatten() {
        print_text(&format!(
            "missing already: {}\n",
            path.as_str().unwrap_or_default()
        ))?;
    }
    Ok(())
}

pub async fn restore(config: &Config, args: &Restore) -> anyhow::Result<ExitCode> {
    let from = args.from.clone();
    let folder = std::path::absolute(&config.data)?;
    let postgres = !config.catalog.url.is_empty();
    let manifest = Manifest::read(&from).map_err(|error| hinted(error.explain(), HINT))?;
    check_kind(&manifest, postgres)?;
    if postgres {
        check_database(config).await?;
    }
    let restored = tokio::task::spawn_blocking(move || {
        engine::backup::restore(&from, &folder).map_err(|error| hinted(error.explain(), HINT))
    });
    let restored = restored.await??;
    if postgres && let Err(error) = load_catalog(config, &restored).await {
        take_back(&config.data)?;
        return Err(error);
    }
    check_counts(config, &restored.manifest).await?;
    let verified = super::verify::run(config, &Verify { json: args.json }).await;
    verified.with_context(|| {
        let folder = config.data.display();
        format!("`{folder}` is restored, and was not verified yet (`gristmill verify` does)")
    })
}

const HINT: &str = "restore a whole backup into a data folder that is not there (--data DIR)";

fn check_kind(manifest: &Manifest, postgres: bool) -> anyhow::Result<()> {
    let here = if postgres { "postgres" } else { "sqlite" };
    if manifest.catalog == here {
        return Ok(());
    }
    Err(hinted(
        format!(
            "the backup has a catalog on {}, and this configuration one on {here}",
            manifest.catalog
        ),
        "set catalog.url to an empty PostgreSQL database, or leave it out for SQLite",
    ))
}

/// The catalog holds what it held when it was copied; that index and objects agree with it,
/// `verify` tells.
async fn check_counts(config: &Config, manifest: &Manifest) -> anyhow::Result<()> {
    let Some(copied) = manifest.counts else {
        return Ok(());
    };
    let settings = catalog_settings(&Folder::create(&config.data)?, config);
    let catalog = catalog::open(&settings)
        .await
        .context("cannot open the restored catalog")?;
    let there = Counts::of(&*catalog, Utc::now())
        .await
        .context("cannot count what was restored")?;
    if there == copied {
        return Ok(());
    }
    Err(hinted(
        format!("the restored folder is not what was backed up: {there}, instead of {copied}"),
        format!(
            "`{}` is left for you to look at; restore another backup into another folder",
            config.data.display()
        ),
    ))
}

/// Before anything is copied: a folder without its catalog would be in the way of the next try.
async fn check_database(config: &Config) -> anyhow::Result<()> {
    let settings = catalog::Settings::new(config.catalog.url.clone());
    let unused = catalog::check_unused(&settings).await;
    unused.context(Hinted::new("nothing was restored", USED))
}

const USED: &str = "set catalog.url to an empty PostgreSQL database or schema \
                    (`…?options[search_path]=SCHEMA`) whose server runs";

/// The folder was not there, or empty, before this restore made it; without a catalog it is of
/// no use, and in the way of the next.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where it becomes an effect"
)]
fn take_back(folder: &Path) -> anyhow::Result<()> {
    durable::effect_blocking("app.take_back_restored", || std::fs::remove_dir_all(folder))
        .with_context(|| format!("cannot remove what was restored to `{}`", folder.display()))
}

/// A catalog in a database of its own is loaded into it; any other came with the folder.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where it becomes an effect"
)]
async fn load_catalog(config: &Config, restored: &Restored) -> anyhow::Result<()> {
    let settings = catalog_settings(&Folder::create(&config.data)?, config);
    catalog::load(&settings, &restored.catalog)
        .await
        .context("cannot load the catalog")?;
    durable::effect_blocking("app.tidy_restored", || {
        std::fs::remove_dir_all(&restored.catalog)
    })
    .context("cannot tidy up")
}
