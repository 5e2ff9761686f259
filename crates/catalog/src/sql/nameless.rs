//! Rows with something in the place of an id that is none.
//!
//! Whoever goes through rows by their ids leaves these out, so that they keep nobody from the others;
//! here they are told.

use model::TenantId;
use sqlx::{AssertSqlSafe, query};

use super::Tx;
use super::cells::Cells;
use super::dialect::Dialect;
use crate::Error;

/// Whether rows tell whose they are themselves, and which of their ids others know them by.
const NAMES: [(&str, bool, &[&str]); 17] = [
    ("knowledge_bases", true, &["id"]),
    ("generations", false, &["id", "kb_id"]),
    ("documents", true, &["id"]),
    ("document_versions", true, &["id", "document_id"]),
    ("document_units", false, &["version_id"]),
    ("version_metadata", false, &["version_id"]),
    ("activations", true, &["document_id", "generation_id"]),
    ("ledger", true, &["document_id"]),
    ("ingestion_runs", true, &["id", "document_id"]),
    ("jobs", true, &["id"]),
    ("job_versions", false, &["job_id", "version_id"]),
    ("job_removals", false, &["job_id", "document_id"]),
    ("witnesses", false, &["owner", "subject"]),
    ("version_witnesses", false, &["version_id"]),
    ("run_witnesses", false, &["document_id", "run_id"]),
    ("job_witnesses", true, &["job_id"]),
    ("work", true, &["document_id", "version_id", "run_id"]),
];

/// Ends a condition: only rows with an id in this column.
pub fn named<DB: Dialect>(column: &str) -> String {
    match DB::KEEPS_IDS {
        true => String::new(),
        false => format!(" AND length({column}) = 16"),
    }
}

/// The tables that have such a row, of the tenant or of nobody.
pub async fn tables<DB: Dialect>(
    c: &mut Tx<DB>,
    tenant: TenantId,
) -> Result<Vec<&'static str>, Error> {
    let mut found = Vec::new();
    if DB::KEEPS_IDS {
        return Ok(found);
    }
    for (table, owned, ids) in NAMES {
        let spoilt = |id: &&str| format!("length({id}) <> 16");
        let spoilt: Vec<String> = ids.iter().map(spoilt).collect();
        let spoilt = spoilt.join(" OR ");
        let which = match owned {
            true => format!("length(tenant_id) <> 16 OR tenant_id = $1 AND ({spoilt})"),
            false => spoilt,
        };
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {which}) AS found");
        let row = query(AssertSqlSafe(sql)).bind(tenant.as_uuid());
        if Cells::<DB>(&row.fetch_one(&mut *c).await?).get("found")? {
            found.push(table);
        }
    }
    Ok(found)
}
