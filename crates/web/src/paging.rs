//! Pages of rows: by cursor, or by number for those who must.

use catalog::{Listed, Page};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::problem::Problem;

const DEFAULT: u32 = 50;

/// Which page.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    /// What the page before gave as `next`.
    pub cursor: Option<String>,
    /// How many rows.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
    /// Counted from 1; slower than a cursor the further it goes.
    #[param(minimum = 1, maximum = 10000)]
    pub page: Option<u32>,
}

/// Rows, and where to go on.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Rows<T> {
    pub items: Vec<T>,
    /// Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Paging {
    pub fn limit(&self) -> Result<u32, Problem> {
        match self.limit.unwrap_or(DEFAULT) {
            limit @ 1..=Page::MAX => Ok(limit),
            other => Err(Problem::invalid(format!(
                "limit {other} is not between 1 and {}",
                Page::MAX
            ))),
        }
    }

    /// Reads the page asked for: straight from a cursor, or by passing over those before it.
    pub async fn read<T, F>(&self, read: impl Fn(Page) -> F) -> Result<Listed<T>, Problem>
    where
        F: Future<Output = Result<Listed<T>, catalog::Error>>,
    {
        let limit = self.limit()?;
        let passed_over = match (self.page, &self.cursor) {
            (Some(_), Some(_)) => {
                return Err(Problem::unprocessable("give a cursor or a page, not both"));
            }
            (Some(page @ 1..=10_000), None) => page - 1,
            (Some(page), None) => {
                return Err(Problem::invalid(format!(
                    "page {page} is not between 1 and 10000"
                )));
            }
            (None, _) => 0,
        };
        let mut after = self.cursor.clone();
        for _ in 0..passed_over {
            let page = Page {
                after: after.take(),
                limit,
            };
            after = read(page).await?.next;
            if after.is_none() {
                return Ok(Listed {
                    items: Vec::new(),
                    next: None,
                });
            }
        }
        Ok(read(Page { after, limit }).await?)
    }
}

impl<T> Rows<T> {
    pub fn of<R>(listed: Listed<R>, view: impl FnMut(R) -> T) -> Self {
        Self {
            items: listed.items.into_iter().map(view).collect(),
            next: listed.next,
        }
    }
}
