//! One body of SQL for both databases.
//!
//! Method bodies are functions over a connection, so that one transaction can be made of
//! several. [`Sql`] gives each its transaction. Where a body locks more than one row it
//! does so in this order, so that no two bodies wait for each other: knowledge base, document
//! (several by id or by URI), run, work, version, generation, job, the tenant's events. What is
//! noted of a document is written by whoever holds it, of a version by those or whoever ends its run.

mod cells;
mod dialect;
mod migrate;
mod open;
mod writer;

mod accounts;
mod activate;
mod admit;
mod alike;
mod audit;
mod audit_methods;
mod audit_rows;
mod bring_back;
mod cancel;
mod claim;
mod claims;
mod columns;
mod copy;
mod counters;
mod documents;
mod end;
mod events;
mod folder;
mod generation_methods;
mod generations;
mod hook_methods;
mod hooks;
mod job_methods;
mod jobs;
mod kbs;
mod keys;
mod ledger;
mod letters;
mod library;
mod listing;
mod live;
mod mend;
mod metadata;
mod missing;
mod nameless;
mod noted_documents;
mod noted_jobs;
mod noted_kbs;
mod noted_removals;
mod noted_runs;
mod notes;
mod operations;
mod originals;
mod outcomes;
mod paging;
mod queue;
mod recount;
mod recreate;
mod removal;
mod renamed;
mod requests;
mod reunion;
mod runs;
mod scrub;
mod sources;
mod stand_in;
mod status;
mod steps;
mod tallies;
mod tenants;
mod unattended;
mod under_way;
mod unsay;
mod users;
mod versions;
mod waits;
mod witness;
mod witnessed;
mod work;

#[cfg(test)]
mod plans;

use std::sync::Arc;

use futures::future::BoxFuture;
use sqlx::Pool;

use crate::Error;
pub use copy::{check_unused, load};
use dialect::Dialect;
pub use open::{Settings, open};
use writer::{Body, Writer};

/// A connection inside a transaction.
type Tx<DB> = <DB as sqlx::Database>::Connection;

/// The catalog on one database.
pub struct Sql<DB: Dialect> {
    writer: Writer<DB>,
    readers: Pool<DB>,
    limits: Limits,
    live: Arc<live::Cache>,
    /// Read by every write; written while the catalog is frozen.
    gate: Arc<tokio::sync::RwLock<()>>,
}

/// When the queue gives up on a step.
#[derive(Debug, Clone, Copy)]
struct Limits {
    attempts: u32,
    deliveries: u32,
}

impl<DB: Dialect> Sql<DB> {
    /// Runs `body` as one transaction, a durable effect under its name.
    async fn write<T: Send + 'static>(
        &self,
        effect: &'static str,
        body: impl Body<DB, T>,
    ) -> Result<T, Error> {
        let _open = self.gate.read().await;
        let written = durable::effect(effect, self.writer.write(body)).await;
        written.map_err(|error| error.during(effect))
    }

    /// Reads one state of the catalog from first to last.
    async fn read<T>(
        &self,
        operation: &'static str,
        body: impl for<'c> FnOnce(&'c mut Tx<DB>) -> BoxFuture<'c, Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        let answer = async {
            let mut tx = self.readers.begin_with(DB::BEGIN_SNAPSHOT).await?;
            let answer = body(&mut tx).await?;
            tx.rollback().await?;
            Ok::<T, Error>(answer)
        };
        answer.await.map_err(|error| error.during(operation))
    }

    /// As [`Sql::read`] for a body of one statement: that sees one state by itself, and what
    /// opens and ends a transaction costs as much as the statement.
    async fn look_up<T>(
        &self,
        operation: &'static str,
        body: impl for<'c> FnOnce(&'c mut Tx<DB>) -> BoxFuture<'c, Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        let answer = async {
            let mut connection = self.readers.acquire().await?;
            body(&mut connection).await
        };
        answer.await.map_err(|error| error.during(operation))
    }
}
