//! Catalogs as older releases left them: an older schema, and in it the rows of a catalog of
//! today, as far as that schema has room for them.

use std::fs;
use std::path::Path;

use catalog::Scratch;
use model::ContentHash;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, SqliteConnection, query,
    query_scalar, raw_sql,
};

/// A schema some release had: the first few migrations.
#[derive(Debug, Clone)]
pub struct Older {
    migrations: Vec<(String, String)>,
}

impl Older {
    /// Every one there was before today's, oldest first.
    pub fn all_sqlite() -> Vec<Self> {
        Self::all("sqlite")
    }

    pub fn all_postgres() -> Vec<Self> {
        Self::all("postgres")
    }

    fn all(database: &str) -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalog/migrations");
        let files = fs::read_dir(folder.join(database)).expect("migrations are kept there");
        let mut migrations: Vec<_> = files
            .map(|file| {
                let path = file.expect("the folder can be read").path();
                let name = path.file_stem().expect("a file has a name");
                let sql = fs::read_to_string(&path).expect("a migration is text");
                (name.to_string_lossy().into_owned(), sql)
            })
            .collect();
        migrations.sort();
        let first = |count| Self {
            migrations: migrations[..count].to_vec(),
        };
        (1..migrations.len()).map(first).collect()
    }

    /// The last migration it has.
    pub fn name(&self) -> &str {
        let last = self.migrations.last().expect("there is a first one");
        &last.0
    }
}

const NOTED: &str = "CREATE TABLE schema_migrations (name TEXT PRIMARY KEY, sum TEXT NOT NULL)";
const NOTE: &str = "INSERT INTO schema_migrations (name, sum) VALUES ($1, $2)";

/// Makes `to` what an older release would have made of the catalog in the file `of`.
pub async fn older_sqlite(older: &Older, of: &Path, to: &Path) {
    let options = SqliteConnectOptions::new()
        .filename(to)
        .create_if_missing(true)
        .foreign_keys(false);
    let mut c = options.connect().await.expect("a new file opens");
    run(&mut c, NOTED).await;
    for (name, sql) in &older.migrations {
        run(&mut c, sql).await;
        let sum = ContentHash::of(sql.as_bytes()).to_string();
        let noted = query(NOTE).bind(name).bind(sum).execute(&mut c).await;
        noted.expect("it is noted");
    }
    run(&mut c, &format!("ATTACH '{}' AS today", of.display())).await;
    let tables: Vec<String> = query_scalar(
        "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
             AND name NOT IN ('schema_migrations', 'counters')
         ORDER BY name = 'tallies'",
    )
    .fetch_all(&mut c)
    .await
    .expect("a schema lists its tables");
    for table in tables {
        let columns: String = query_scalar(
            "SELECT group_concat('\"' || name || '\"', ', ') FROM pragma_table_info($1, 'main')",
        )
        .bind(&table)
        .fetch_one(&mut c)
        .await
        .expect("a table lists its columns");
        // Tallies come last, and instead of what triggers have counted of the others.
        run(
            &mut c,
            &format!(
                "DELETE FROM main.{table};
                 INSERT INTO main.{table} ({columns}) SELECT {columns} FROM today.{table}"
            ),
        )
        .await;
    }
    run(
        &mut c,
        "UPDATE main.counters SET last =
             (SELECT n.last FROM today.counters n WHERE n.name = counters.name)",
    )
    .await;
    c.close().await.expect("it closes");
}

async fn run(c: &mut SqliteConnection, sql: &str) {
    let done = raw_sql(AssertSqlSafe(sql.to_owned())).execute(c).await;
    done.unwrap_or_else(|error| panic!("{error}: {sql}"));
}

/// The URL of what an older release would have made of the catalog `url` leads to.
pub async fn older_postgres(older: &Older, url: &str) -> String {
    let scratch = Scratch::create(url).await.expect("a schema of its own");
    let url = scratch.url();
    let options: PgConnectOptions = url.parse().expect("a URL of ours");
    let mut c = options.connect().await.expect("it is there");
    run_postgres(&mut c, NOTED).await;
    for (name, sql) in &older.migrations {
        run_postgres(&mut c, sql).await;
        let sum = ContentHash::of(sql.as_bytes()).to_string();
        let noted = query(NOTE).bind(name).bind(sum).execute(&mut c).await;
        noted.expect("it is noted");
    }
    // No trigger counts and no reference is asked for while rows come table by table.
    run_postgres(&mut c, "SET session_replication_role = replica").await;
    let tables: Vec<(String, String)> = sqlx::query_as(
        "SELECT table_name::text, string_agg(quote_ident(column_name), ', ')
         FROM information_schema.columns
         WHERE table_schema = current_schema() AND table_name <> 'schema_migrations'
         GROUP BY table_name",
    )
    .fetch_all(&mut c)
    .await
    .expect("a schema lists its columns");
    for (table, columns) in tables {
        run_postgres(
            &mut c,
            &format!(
                "INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE
                 SELECT {columns} FROM public.{table}"
            ),
        )
        .await;
    }
    run_postgres(
        &mut c,
        "SELECT setval('fence', (SELECT last_value FROM public.fence));
         SELECT setval(pg_get_serial_sequence('work', 'id'), coalesce(max(id), 1))
         FROM public.work",
    )
    .await;
    c.close().await.expect("it closes");
    url
}

async fn run_postgres(c: &mut PgConnection, sql: &str) {
    let done = raw_sql(AssertSqlSafe(sql.to_owned())).execute(c).await;
    done.unwrap_or_else(|error| panic!("{error}: {sql}"));
}
