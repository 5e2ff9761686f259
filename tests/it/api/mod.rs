//! The API over real HTTP, on both catalogs.

mod attacks;
mod citations;
mod drawn;
mod hooks;
mod internal;
mod limits;
mod lists;
mod mcp;
mod notices;
mod once;
mod operations;
mod people;
mod questions;
mod rerank;
pub mod served;
mod sync;
mod uploads;
mod weights;

/// Runs each scenario against a server on SQLite and against one on PostgreSQL.
macro_rules! on_both_catalogs {
    ($($scenario:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(&crate::api::served::Served::sqlite()).await;
            })*
        }

        mod on_postgres {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(&crate::api::served::Served::postgres().await).await;
            })*
        }
    };
}
use on_both_catalogs;
