//! Files of a backup in the making, each on the disk before the next.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use model::ContentHash;

use super::counts::Counts;
use super::manifest::{Entry, FILE, FORMAT, Manifest};
use crate::Error;

pub struct Writing {
    folder: PathBuf,
    files: BTreeMap<String, (ContentHash, u64)>,
    folders: BTreeSet<PathBuf>,
    missing: Vec<String>,
}

pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io {
        doing,
        path,
        source,
    }
}

/// Whoever ingests a folder that holds this one must not take in its keys and originals.
pub fn keep_out_of_ingests(folder: &Path) -> Result<(), Error> {
    let rules = folder.join(sources::folder::IGNORE_FILE);
    durable::effect_blocking("backup.write", || write_new(&rules, b"*\n"))
        .map_err(io("write", &rules))
}

impl Writing {
    pub fn begin(folder: &Path) -> Result<Self, Error> {
        let taken = || Error::BadRequest {
            what: "backup",
            why: format!("`{}` is not empty", folder.display()),
        };
        if let Ok(mut entries) = fs::read_dir(folder)
            && entries.next().is_some()
        {
            return Err(taken());
        }
        let mut writing = Self {
            folder: folder.to_owned(),
            files: BTreeMap::new(),
            folders: BTreeSet::new(),
            missing: Vec::new(),
        };
        writing.make_folder(&folder.join("catalog"))?;
        keep_out_of_ingests(folder)?;
        Ok(writing)
    }

    fn make_folder(&mut self, path: &Path) -> Result<(), Error> {
        if self.folders.contains(path) {
            return Ok(());
        }
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(path);
        made.map_err(io("make the folder", path))?;
        self.folders.insert(path.to_owned());
        Ok(())
    }

    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    pub fn missing(&mut self, path: String) {
        self.missing.push(path);
    }

    pub fn write(&mut self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        let to = self.folder.join(path);
        if let Some(parent) = to.parent() {
            self.make_folder(parent)?;
        }
        durable::effect_blocking("backup.write", || write_new(&to, bytes))
            .map_err(io("write", &to))?;
        self.files.insert(path.to_owned(), super::hash(bytes));
        Ok(())
    }

    /// Takes in files that were written below a folder by somebody else.
    pub fn note_below(&mut self, folder: &str) -> Result<(), Error> {
        let path = self.folder.join(folder);
        for entry in fs::read_dir(&path).map_err(io("list", &path))? {
            let entry = entry.map_err(io("list", &path))?;
            let owner = fs::Permissions::from_mode(0o600);
            fs::set_permissions(entry.path(), owner).map_err(io("protect", &path))?;
            let bytes = fs::read(entry.path()).map_err(io("read", &path))?;
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            self.files.insert(name, super::hash(&bytes));
        }
        Ok(())
    }

    pub fn copy_beside(&mut self, path: &Path) -> Result<(), Error> {
        let Some(name) = path.file_name() else {
            return Ok(());
        };
        match fs::read(path) {
            Ok(bytes) => self.write(&format!("beside/{}", name.to_string_lossy()), &bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(io("read", path)(error)),
        }
    }

    /// Writes the list of everything, last.
    pub fn finish(
        self,
        catalog: &str,
        counts: Counts,
        now: DateTime<Utc>,
    ) -> Result<(u64, u64, Vec<String>), Error> {
        for folder in &self.folders {
            sync(folder)?;
        }
        let entry = |(path, (hash, size)): (String, (ContentHash, u64))| Entry { path, size, hash };
        let mut manifest = Manifest {
            format: FORMAT,
            made_by: env!("CARGO_PKG_VERSION").to_owned(),
            made_at: now,
            catalog: catalog.to_owned(),
            files: self.files.into_iter().map(entry).collect(),
            missing: self.missing,
            counts: Some(counts),
            sum: ContentHash::from_bytes([0; 32]),
        };
        manifest.sum = manifest.computed_sum();
        let bytes = serde_json::to_vec(&manifest).expect("a manifest is plain data");
        let path = self.folder.join(FILE);
        let beside = self.folder.join(format!("{FILE}.new"));
        write_new(&beside, &bytes).map_err(io("write", &beside))?;
        rename(&beside, &path)?;
        sync(&self.folder)?;
        let bytes = manifest.files.iter().map(|file| file.size).sum();
        Ok((manifest.files.len() as u64, bytes, manifest.missing))
    }
}

#[expect(clippy::disallowed_methods, reason = "the caller makes it an effect")]
pub fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where it becomes an effect"
)]
pub fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    let renamed = durable::effect_blocking("backup.rename", || fs::rename(from, to));
    renamed.map_err(io("rename", from))
}

pub fn sync(folder: &Path) -> Result<(), Error> {
    let synced = File::open(folder).and_then(|file| file.sync_all());
    synced.map_err(io("sync", folder))
}
