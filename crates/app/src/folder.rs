//! The data folder: who holds it, where they answer, and the secrets kept in it.
//!
//! Whoever opens anything in the folder first holds its lock file (`flock`, so a
//! crash lets go of it). The holder writes into that file where it answers; everyone
//! else calls there. Two processes never write one folder.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use engine::damaged_index::DAMAGED;
use model::{TenantId, UserId};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::explain::hinted;
use crate::secrets;

/// Where the holder answers, and as whom the command line may call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub address: SocketAddr,
    pub tenant_id: TenantId,
    pub admin_id: UserId,
}

/// The folder is ours until this is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

#[derive(Debug)]
pub enum Claimed {
    Ours(Lock),
    /// `None` while the holder has not said where it answers, or never will.
    Theirs(Option<Holder>),
}

#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes the folder where it is not; only its owner may look inside.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        refuse_anothers(path)?;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .with_context(|| format!("cannot make the data folder `{}`", path.display()))?;
        let path = path
            .canonicalize()
            .with_context(|| format!("cannot open the data folder `{}`", path.display()))?;
        let folder = Self { path };
        folder.keep_out_of_ingests()?;
        Ok(folder)
    }

    /// Whoever ingests a folder that holds this one must not take in its keys and originals.
    fn keep_out_of_ingests(&self) -> anyhow::Result<()> {
        let rules = self.join(sources::folder::IGNORE_FILE);
        if rules.exists() {
            return Ok(());
        }
        write_rules(&rules).with_context(|| format!("cannot write `{}`", rules.display()))
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a lock outlives nobody: who holds it says so anew"
    )]
    pub fn claim(&self) -> anyhow::Result<Claimed> {
        let path = self.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("cannot open `{}`", path.display()))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                // What the holder before us wrote is no longer true.
                file.set_len(0).context("cannot clear the lock file")?;
                Ok(Claimed::Ours(Lock { file }))
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut text = String::new();
                file.read_to_string(&mut text)
                    .context("cannot read the lock file")?;
                Ok(Claimed::Theirs(serde_json::from_str(&text).ok()))
            }
            Err(errno) => Err(std::io::Error::from(errno)).context("cannot lock the data folder"),
        }
    }

    /// Sees to it that only the owner reads the folder, its catalog and its secrets; a folder
    /// copied here or made by an older release may be open to others.
    pub fn tighten(&self, has_catalog: bool) -> anyhow::Result<()> {
        if has_catalog {
            // The database gives its own mode to the files it keeps beside itself.
            let path = self.join(CATALOG);
            make_owned(&path).with_context(|| format!("cannot open `{}`", path.display()))?;
        }
        restrict(&self.path, 0o700)?;
        let beside = ["-wal", "-shm"].map(|end| format!("{CATALOG}{end}"));
        let secrets = [CATALOG, secrets::FILE, secrets::FIRST_PASSWORD, "lock"];
        for name in secrets
            .iter()
            .copied()
            .chain(beside.iter().map(String::as_str))
        {
            restrict(&self.join(name), 0o600)?;
        }
        Ok(())
    }

    /// Refuses a folder whose catalog is gone while its index or its originals are there: an
    /// empty catalog made in its place knows none of them, and would have them swept away as
    /// nobody's. The stores are made after the catalog, so a first start that was cut off
    /// anywhere is not mistaken for this.
    pub fn refuse_without_catalog(&self) -> anyhow::Result<()> {
        let has_stores = STORES.iter().any(|name| self.join(name).exists());
        let catalog = self.join(CATALOG);
        // Its log alone is no catalog: SQLite would begin a new one and throw the log away, and
        // with it what the file that is put back still needs.
        let holds = fs::metadata(&catalog).is_ok_and(|found| found.len() > 0);
        if !has_stores || holds {
            return Ok(());
        }
        let folder = self.path.display();
        let how = if catalog.exists() { "empty" } else { "gone" };
        Err(hinted(
            format!(
                "`{folder}` has an index or originals, and its catalog `{}` is {how}",
                catalog.display()
            ),
            format!(
                "put {CATALOG} back, or restore a backup into another folder; where its catalog \
                 is in PostgreSQL, set catalog.url; to begin anew, choose another folder with \
                 --data"
            ),
        ))
    }

    /// Refuses a catalog that knows nobody while originals are kept here: its database was
    /// emptied, or it is another.
    pub fn refuse_unknown_originals(&self) -> anyhow::Result<()> {
        let originals = fs::read_dir(self.join(OBJECTS));
        if !originals.is_ok_and(|mut entries| entries.next().is_some()) {
            return Ok(());
        }
        Err(hinted(
            format!(
                "`{}` keeps originals, and its catalog is empty",
                self.path.display()
            ),
            "put the catalog's database back (catalog.url names it), or restore a backup into \
             another folder and an empty database; to begin anew, choose another folder with \
             --data",
        ))
    }

    /// An empty place for what lives no longer than this process. Whoever died over something
    /// has left it there; the folder is ours, so nobody is at it now.
    pub fn scratch(&self) -> anyhow::Result<PathBuf> {
        let path = self.join("scratch");
        let emptied = durable::effect_blocking("app.empty_scratch", || sandbox::empty(&path));
        emptied.with_context(|| format!("cannot empty `{}`", path.display()))?;
        path.canonicalize()
            .with_context(|| format!("cannot find `{}`", path.display()))
    }

    /// Moves a store out of the way, whole, for whoever wants to look into it; says where to.
    /// The next to open the folder begins with an empty one.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is where it becomes an effect"
    )]
    pub fn set_aside(&self, store: &str, _ours: &Lock) -> anyhow::Result<PathBuf> {
        let when = chrono::Utc::now().format("%Y%m%dT%H%M%S%3fZ");
        let (store, aside) = (
            self.join(store),
            self.join(&format!("{store}{DAMAGED}{when}")),
        );
        let moved = durable::effect_blocking("app.set_store_aside", || {
            fs::rename(&store, &aside)?;
            File::open(&self.path)?.sync_all()
        });
        let told = || format!("cannot move `{}` to `{}`", store.display(), aside.display());
        moved.with_context(told)?;
        Ok(aside)
    }

    /// Writes a small file whole or not at all: beside, synced, then renamed.
    #[expect(clippy::disallowed_methods, reason = "the caller makes it an effect")]
    pub fn write_whole(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let beside = self.join(&format!("{name}.new"));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&beside)
            .with_context(|| format!("cannot write `{}`", beside.display()))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, self.join(name))?;
        fs::File::open(self.path())?.sync_all()?;
        Ok(())
    }

    /// Bytes of disk a writer here may still use.
    pub fn free_bytes(&self) -> anyhow::Result<u64> {
        let stat = rustix::fs::statvfs(&self.path)
            .map_err(std::io::Error::from)
            .context("cannot see how much room is left on the disk")?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    /// Whether nothing durable can be written any more.
    pub fn is_full(&self) -> bool {
        self.free_bytes().is_ok_and(|free| free < FULL)
    }
}

/// With less than this nothing durable can be written any more.
const FULL: u64 = 4 << 20;
const CATALOG: &str = "catalog.db";
/// The folder of the index's store.
pub const INDEX: &str = "index";
/// The folder of the originals and what was read from them.
pub const OBJECTS: &str = "objects";
/// The folder of the figures over time.
pub const SERIES: &str = "series";

#[expect(
    clippy::disallowed_methods,
    reason = "this is where it becomes an effect"
)]
fn write_rules(path: &Path) -> std::io::Result<()> {
    durable::effect_blocking("app.write_ignore_rules", || fs::write(path, "*\n"))
}

/// A file only its owner reads, empty unless it is there.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where it becomes an effect"
)]
fn make_owned(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    durable::effect_blocking("app.make_catalog_file", || options.open(path)).map(drop)
}

/// Takes away what a mode gives to others, and says so.
fn restrict(path: &Path, mode: u32) -> anyhow::Result<()> {
    let found = match fs::metadata(path) {
        Ok(found) => found.permissions().mode() & 0o777,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("`{}`", path.display())),
    };
    if found & !mode != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(found & mode))
            .with_context(|| format!("cannot close `{}` to others", path.display()))?;
        let was = format!("{found:o}");
        tracing::warn!(path = %path.display(), was, "was open to others; now its owner's alone");
    }
    Ok(())
}

/// Any of these says that a folder is ours already; so do all the stores together, as a
/// backup brings them.
const OURS: [&str; 3] = ["lock", secrets::FILE, CATALOG];
const STORES: [&str; 2] = [INDEX, OBJECTS];

/// A folder with files of somebody's own is not made into a data folder: what we put there
/// would mix with them and hide them all from ingests.
fn refuse_anothers(path: &Path) -> anyhow::Result<()> {
    let has = |name: &&str| path.join(name).exists();
    if OURS.iter().any(has) || STORES.iter().all(has) {
        return Ok(());
    }
    let Ok(entries) = fs::read_dir(path) else {
        return Ok(());
    };
    let harmless = |name: &str| name.starts_with('.') || name == "lost+found";
    let mut names = entries.flatten().map(|entry| entry.file_name());
    match names.find(|name| !harmless(&name.to_string_lossy())) {
        None => Ok(()),
        Some(name) => Err(hinted(
            format!(
                "`{}` is no data folder: it holds `{}`",
                path.display(),
                name.display()
            ),
            "name a new or an empty folder with --data",
        )),
    }
}

impl Lock {
    /// Tells others where to call.
    #[expect(
        clippy::disallowed_methods,
        reason = "a lock outlives nobody: who holds it says so anew"
    )]
    pub fn publish(&mut self, holder: &Holder) -> anyhow::Result<()> {
        let text = serde_json::to_string(holder).context("cannot describe this server")?;
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file
            .write_all(text.as_bytes())
            .context("cannot write the lock file")
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_was_open_to_others_is_closed_when_it_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(dir.path()).unwrap();
        let mode = |name: &str| {
            fs::metadata(folder.join(name))
                .unwrap()
                .permissions()
                .mode()
        };
        for name in ["catalog.db", secrets::FILE] {
            fs::write(folder.join(name), "").unwrap();
            fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o644)).unwrap();
        }
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        folder.tighten(true).unwrap();
        assert_eq!(mode("catalog.db") & 0o777, 0o600);
        assert_eq!(mode(secrets::FILE) & 0o777, 0o600);
        assert_eq!(mode("") & 0o777, 0o700);
    }

    #[test]
    fn a_folder_of_somebodys_own_files_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("notes.txt"), "mine").unwrap();
        let error = Folder::create(dir.path()).unwrap_err();
        assert!(error.to_string().contains("notes.txt"), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_second_claim_learns_where_the_first_answers() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(&dir.path().join("data")).unwrap();
        let Claimed::Ours(mut lock) = folder.claim().unwrap() else {
            panic!("nobody holds a new folder")
        };
        assert!(matches!(folder.claim().unwrap(), Claimed::Theirs(None)));
        let holder = Holder {
            pid: 7,
            address: "127.0.0.1:8470".parse().unwrap(),
            tenant_id: TenantId::from_uuid(Uuid::nil()),
            admin_id: UserId::from_uuid(Uuid::nil()),
        };
        lock.publish(&holder).unwrap();
        assert!(matches!(folder.claim().unwrap(), Claimed::Theirs(Some(found)) if found == holder));
        drop(lock);
        assert!(matches!(folder.claim().unwrap(), Claimed::Ours(_)));
    }
}
