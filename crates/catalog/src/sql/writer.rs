//! Where writes become transactions.
//!
//! PostgreSQL gives each write a transaction of its own. SQLite has one writer at a time
//! and pays one sync per commit, so there the writes that wait while one commits share
//! the next transaction, each under its own savepoint: one that fails takes only itself
//! back. Nobody is answered before the commit.

use std::sync::Arc;

use futures::future::BoxFuture;
use sqlx::Pool;
use tokio::sync::{mpsc, oneshot};

use super::dialect::Dialect;
use crate::Error;

/// How many writes may share one commit.
const GROUP: usize = 64;

pub trait Body<DB: Dialect, T>:
    for<'c> FnOnce(&'c mut DB::Connection) -> BoxFuture<'c, Result<T, Error>> + Send + 'static
{
}

impl<DB: Dialect, T, F> Body<DB, T> for F where
    F: for<'c> FnOnce(&'c mut DB::Connection) -> BoxFuture<'c, Result<T, Error>> + Send + 'static
{
}

pub enum Writer<DB: Dialect> {
    Each(Pool<DB>),
    Grouped(mpsc::Sender<Box<dyn Write<DB>>>),
}

impl<DB: Dialect> Writer<DB> {
    /// Takes the pool's one connection for itself, for as long as the writer lives.
    pub fn grouped(pool: Pool<DB>) -> Self {
        let (sender, receiver) = mpsc::channel(GROUP);
        tokio::spawn(commit_groups(pool, receiver));
        Self::Grouped(sender)
    }

    pub async fn write<T: Send + 'static>(&self, body: impl Body<DB, T>) -> Result<T, Error> {
        match self {
            Self::Each(pool) => write_one(pool, body).await,
            Self::Grouped(queue) => {
                let (reply, answer) = oneshot::channel();
                let write = Box::new(Waiting {
                    body: Some(body),
                    done: None,
                    reply,
                });
                queue.send(write).await.map_err(|_| stopped())?;
                answer.await.map_err(|_| stopped())?
            }
        }
    }
}

fn stopped() -> Error {
    let source = "the catalog's writer has stopped".into();
    Error::Unavailable {
        operation: "write",
        source,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "every write comes through `Sql::write`, an effect"
)]
async fn write_one<DB: Dialect, T>(pool: &Pool<DB>, body: impl Body<DB, T>) -> Result<T, Error> {
    let mut tx = pool.begin_with(DB::BEGIN).await?;
    let answer = body(&mut tx).await?;
    tx.commit().await?;
    Ok(answer)
}

/// A write on its way through a shared transaction.
pub trait Write<DB: Dialect>: Send {
    /// Makes the change; whether it may stay.
    fn run<'c>(&'c mut self, connection: &'c mut DB::Connection) -> BoxFuture<'c, bool>;
    /// Tells the caller, once the shared commit has decided.
    fn finish(self: Box<Self>, committed: Result<(), Arc<sqlx::Error>>);
}

struct Waiting<F, T> {
    body: Option<F>,
    done: Option<Result<T, Error>>,
    reply: oneshot::Sender<Result<T, Error>>,
}

impl<DB: Dialect, T: Send + 'static, F: Body<DB, T>> Write<DB> for Waiting<F, T> {
    fn run<'c>(&'c mut self, connection: &'c mut DB::Connection) -> BoxFuture<'c, bool> {
        let body = self.body.take().expect("a write runs once");
        Box::pin(async move {
            let done = body(connection).await;
            let stays = done.is_ok();
            self.done = Some(done);
            stays
        })
    }

    fn finish(self: Box<Self>, committed: Result<(), Arc<sqlx::Error>>) {
        let answer = match (self.done, committed) {
            // A failed write has changed nothing, whatever became of the others.
            (Some(Err(error)), _) => Err(error),
            (Some(done), Ok(())) => done,
            (_, Err(error)) => Err(not_committed(error)),
            (None, Ok(())) => Err(stopped()),
        };
        // A caller that no longer listens has given up, not been refused.
        drop(self.reply.send(answer));
    }
}

fn not_committed(error: Arc<sqlx::Error>) -> Error {
    Error::Unavailable {
        operation: "commit",
        source: Box::new(error),
    }
}

async fn commit_groups<DB: Dialect>(pool: Pool<DB>, mut queue: mpsc::Receiver<Box<dyn Write<DB>>>) {
    let mut group = Vec::with_capacity(GROUP);
    while queue.recv_many(&mut group, GROUP).await > 0 {
        let outcome = commit_group(&pool, &mut group).await.map_err(Arc::new);
        for write in group.drain(..) {
            write.finish(outcome.clone());
        }
    }
    pool.close().await;
}

#[expect(
    clippy::disallowed_methods,
    reason = "every write comes through `Sql::write`, an effect"
)]
async fn commit_group<DB: Dialect>(
    pool: &Pool<DB>,
    group: &mut [Box<dyn Write<DB>>],
) -> Result<(), sqlx::Error> {
    let mut tx = pool.begin_with(DB::BEGIN).await?;
    if let [only] = group {
        // Alone, the transaction itself is the savepoint.
        return if only.run(&mut tx).await {
            tx.commit().await
        } else {
            tx.rollback().await
        };
    }
    for write in group {
        // Statements like any other: kept prepared, where the driver's own savepoints are not.
        sqlx::query("SAVEPOINT write_of_group")
            .execute(&mut *tx)
            .await?;
        if !write.run(&mut tx).await {
            sqlx::query("ROLLBACK TO write_of_group")
                .execute(&mut *tx)
                .await?;
        }
        sqlx::query("RELEASE write_of_group")
            .execute(&mut *tx)
            .await?;
    }
    tx.commit().await
}
