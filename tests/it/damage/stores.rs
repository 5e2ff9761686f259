//! The stores of a data folder, opened from behind.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use object_store::local::LocalFileSystem;
use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use slatedb::Db;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, SqliteConnection};
use tantivy::{Index, IndexWriter, TantivyDocument, Term};
use uuid::Uuid;

use super::harm::{Harm, Target, Thing};

/// The kinds of records, as the index's key layout has them.
pub const VERSION: u8 = 0x10;
pub const UNIT: u8 = 0x11;
pub const CHUNK: u8 = 0x12;
pub const VECTOR: u8 = 0x21;
const SPACE: u8 = 0x20;
const REUSE: u8 = 0x30;
/// Kind, tenant, knowledge base, generation.
const SPACE_END: usize = 1 + 48;

pub struct Stores {
    data: PathBuf,
    sqlite: SqliteConnection,
    pub db: Db,
    text: IndexWriter<TantivyDocument>,
    flush: String,
}

type Record = (Vec<u8>, Vec<u8>);

impl Stores {
    pub async fn open(data: &Path) -> Self {
        let sqlite = SqliteConnectOptions::new()
            .filename(data.join("catalog.db"))
            .foreign_keys(false);
        let index = Arc::new(LocalFileSystem::new_with_prefix(data.join("index")).unwrap());
        let text = Index::open_in_dir(only_below(&data.join("text"), 3)).unwrap();
        let flush = text.load_metas().unwrap().payload.unwrap();
        Self {
            data: data.to_owned(),
            sqlite: sqlite.connect().await.unwrap(),
            db: Db::open("slate", index).await.unwrap(),
            text: text.writer_with_num_threads(1, 15 << 20).unwrap(),
            flush,
        }
    }

    pub async fn close(mut self) {
        let mut commit = self.text.prepare_commit().unwrap();
        // As if nothing had happened.
        commit.set_payload(&self.flush);
        commit.commit().unwrap();
        self.text.wait_merging_threads().unwrap();
        self.db.flush().await.unwrap();
        self.db.close().await.unwrap();
        self.sqlite.close().await.unwrap();
    }

    pub async fn execute(&mut self, sql: &str, id: Uuid) {
        let query = sqlx::query(AssertSqlSafe(sql.to_owned())).bind(id);
        let done = query.execute(&mut self.sqlite).await.unwrap();
        assert!(done.rows_affected() > 0, "the damage is done: {sql}");
    }

    fn object(&self, target: &Target, thing: Thing) -> PathBuf {
        let objects = self.data.join("objects");
        let made = |name: &str| {
            let tenant = only_below(&objects.join("versions"), 1);
            let folder = tenant.join(target.version.to_string());
            let files = fs::read_dir(folder).unwrap();
            let mut paths = files.map(|file| file.unwrap().path());
            let is_it = |path: &PathBuf| path.to_string_lossy().contains(name);
            paths.find(is_it).expect("Prep has written it")
        };
        match thing {
            Thing::Original => only_below(&objects.join("originals"), 1).join(&target.content_hash),
            Thing::Text => made("/1.text"),
            Thing::Structure => made("/1.parsed"),
            Thing::Unit => made("/1.unit."),
        }
    }

    pub fn lose(&self, target: &Target, thing: Thing) {
        fs::remove_file(self.object(target, thing)).unwrap();
    }

    pub fn change(&self, target: &Target, thing: Thing, random: &mut StdRng) {
        let path = self.object(target, thing);
        let mut bytes = fs::read(&path).unwrap();
        let at = random.random_range(0..bytes.len());
        bytes[at] ^= 1;
        fs::write(path, bytes).unwrap();
    }

    pub fn cut(&self, target: &Target, thing: Thing) {
        let path = self.object(target, thing);
        let bytes = fs::read(&path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }

    /// What may happen to the same file twice.
    pub fn lose_original(&self, target: &Target) {
        match fs::remove_file(self.object(target, Thing::Original)) {
            Err(error) if error.kind() != ErrorKind::NotFound => panic!("{error}"),
            _ => {}
        }
    }

    /// What may have happened already.
    pub async fn execute_again(&mut self, sql: &'static str, id: Uuid) {
        let query = sqlx::query(sql).bind(id);
        query.execute(&mut self.sqlite).await.unwrap();
    }

    /// Whether the document is known to be removed.
    pub async fn is_removed(&mut self, document: Uuid) -> bool {
        let query = "SELECT removed_at IS NOT NULL FROM documents WHERE id = $1";
        let query = sqlx::query_scalar(query).bind(document);
        query.fetch_one(&mut self.sqlite).await.unwrap()
    }

    pub fn write_over_original(&self, target: &Target) {
        fs::write(self.object(target, Thing::Original), "something else").unwrap();
    }

    pub async fn miscount(&mut self, kind: &str, change: &str) {
        let sql = format!("UPDATE tallies SET {change} WHERE kind = $1");
        let query = sqlx::query(AssertSqlSafe(sql)).bind(kind);
        let done = query.execute(&mut self.sqlite).await.unwrap();
        assert!(done.rows_affected() > 0, "there is a tally of {kind}");
    }

    /// The first there was, or one of those after it.
    /// The only one.
    pub async fn kb(&mut self) -> Uuid {
        let query = sqlx::query_scalar("SELECT id FROM knowledge_bases");
        query.fetch_one(&mut self.sqlite).await.unwrap()
    }

    pub async fn job(&mut self, at: u32) -> Uuid {
        let ids = "SELECT id FROM jobs UNION SELECT job_id FROM job_witnesses
            ORDER BY id LIMIT 1 OFFSET $1";
        let query = sqlx::query_scalar(ids).bind(at);
        query.fetch_one(&mut self.sqlite).await.unwrap()
    }

    /// Every record of one kind that is the target's.
    async fn records(&self, kind: u8, target: &Target) -> Vec<Record> {
        let mut rows = self.db.scan_prefix([kind], ..).await.unwrap();
        let mut found = Vec::new();
        while let Some(row) = rows.next().await.unwrap() {
            let owner = match kind {
                VECTOR => &row.value[17..33],
                _ => &row.key[SPACE_END..SPACE_END + 16],
            };
            if owner == target.version.as_bytes() {
                found.push((row.key.to_vec(), row.value.to_vec()));
            }
        }
        found
    }

    pub async fn pick(&self, kind: u8, target: &Target, random: &mut StdRng) -> Record {
        let records = self.records(kind, target).await;
        records
            .choose(random)
            .expect("every document has some")
            .clone()
    }

    /// How `verify` calls a chunk, by the key of its record or of its vector.
    pub async fn place(&self, kind: u8, key: &[u8]) -> Option<String> {
        match kind {
            CHUNK => {
                let rest = &key[SPACE_END..];
                let version = Uuid::from_slice(&rest[..16]).unwrap();
                let unit = String::from_utf8(rest[16..rest.len() - 5].to_vec()).unwrap();
                let ordinal = u32::from_be_bytes(rest[rest.len() - 4..].try_into().unwrap());
                Some(format!("{version}:{unit}:{ordinal}"))
            }
            VECTOR => {
                let value = self.db.get(key).await.unwrap().unwrap();
                let ordinal = u32::from_le_bytes(value[13..17].try_into().unwrap());
                let version = Uuid::from_slice(&value[17..33]).unwrap();
                let unit = &value[34..34 + usize::from(value[33])];
                Some(format!(
                    "{version}:{}:{ordinal}",
                    String::from_utf8_lossy(unit)
                ))
            }
            _ => None,
        }
    }

    pub async fn entry(&mut self, harm: Harm, target: &Target, chunk: &[u8]) {
        let id = u64::from(u32::from_le_bytes(chunk[9..13].try_into().unwrap()));
        let schema = self.text.index().schema();
        let field = schema.get_field("id").unwrap();
        if harm != Harm::DoubleEntry {
            self.text.delete_term(Term::from_field_u64(field, id));
        }
        if harm != Harm::LoseEntry {
            self.add_entry(id, target.version);
        }
    }

    fn add_entry(&self, id: u64, version: Uuid) {
        let schema = self.text.index().schema();
        let field = |name: &str| schema.get_field(name).unwrap();
        let mut document = TantivyDocument::new();
        document.add_u64(field("id"), id);
        document.add_u64(field("number"), 0);
        document.add_text(field("version"), version.to_string());
        document.add_text(field("unit"), format!("{version}:planted"));
        document.add_text(field("body"), "nonsense");
        self.text.add_document(document).unwrap();
    }

    pub async fn plant_entry(&self, version: Uuid) {
        self.add_entry(4_000_000_000, version);
    }

    /// The records of a version nobody knows, made of another's.
    pub async fn plant_version(&self, target: &Target) -> Uuid {
        let version = Uuid::now_v7();
        for kind in [VERSION, UNIT, CHUNK] {
            for (mut key, value) in self.records(kind, target).await {
                key[SPACE_END..SPACE_END + 16].copy_from_slice(version.as_bytes());
                self.db.put(&key, &value).await.unwrap();
            }
        }
        version
    }

    /// Changes the record of the one space there is; one that is left with nothing is deleted.
    pub async fn spoil_space(&self, spoil: impl Fn(&mut Vec<u8>)) {
        let mut rows = self.db.scan_prefix([SPACE], ..).await.unwrap();
        let row = rows.next().await.unwrap().expect("there is a space");
        let mut value = row.value.to_vec();
        spoil(&mut value);
        match value.is_empty() {
            true => self.db.delete(&row.key).await.unwrap(),
            false => self.db.put(&row.key, &value).await.unwrap(),
        };
    }

    /// A second vector of a chunk, under an id of its own.
    pub async fn plant_vector(&self, target: &Target, random: &mut StdRng) {
        let (mut key, value) = self.pick(VECTOR, target, random).await;
        let end = key.len() - 4;
        key[end..].copy_from_slice(&3_000_000_000_u32.to_be_bytes());
        self.db.put(&key, &value).await.unwrap();
    }

    /// Has a chunk's vector reused for a text it is not of.
    pub async fn plant_reuse(&self, chunk: &[u8]) {
        let id = u32::from_le_bytes(chunk[9..13].try_into().unwrap());
        let mut rows = self.db.scan_prefix([REUSE], ..).await.unwrap();
        while let Some(row) = rows.next().await.unwrap() {
            let mut key = row.key.to_vec();
            if key.ends_with(&id.to_be_bytes()) {
                let input = key.len() - 4 - 48 - 32;
                key[input] ^= 1;
                self.db.put(&key, &row.value).await.unwrap();
                return;
            }
        }
        panic!("every chunk's vector can be reused");
    }

    /// A page drawn of a version nobody knows.
    pub fn plant_picture(&self) -> String {
        let tenant = only_below(&self.data.join("objects/versions"), 1);
        let tenant = tenant.file_name().unwrap().to_string_lossy().into_owned();
        let key = format!("cache/{tenant}/{}/pages/1@22.png", Uuid::now_v7());
        let path = self.data.join("objects").join(&key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "a picture").unwrap();
        key
    }

    /// Something made of a version nobody knows.
    pub fn plant_object(&self, target: &Target) -> String {
        let version = Uuid::now_v7();
        let from = self.object(target, Thing::Text);
        let tenant = only_below(&self.data.join("objects/versions"), 1);
        let folder = tenant.join(version.to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::copy(from, folder.join("1.text")).unwrap();
        let tenant = tenant.file_name().unwrap().to_string_lossy().into_owned();
        format!("versions/{tenant}/{version}/1.text")
    }
}

/// Lets every original have come two days ago.
pub fn age_originals(data: &Path) {
    let tenant = only_below(&data.join("objects/originals"), 1);
    let then = SystemTime::now() - Duration::from_secs(2 * 86_400);
    for entry in fs::read_dir(tenant).unwrap() {
        let file = fs::File::open(entry.unwrap().path()).unwrap();
        file.set_modified(then).unwrap();
    }
}

/// The one folder that many levels down.
fn only_below(folder: &Path, levels: usize) -> PathBuf {
    let mut at = folder.to_owned();
    for _ in 0..levels {
        at = fs::read_dir(&at).unwrap().next().unwrap().unwrap().path();
    }
    at
}
