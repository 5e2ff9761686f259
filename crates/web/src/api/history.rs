//! The history of a document: which version answered when, and the ledger that proves it.

use axum::Json;
use axum::extract::State;
use catalog::{ActivationCause, ActivationRow, LedgerEntry, Listed, Page};
use chrono::{DateTime, Utc};
use model::{DocumentId, TenantId, UserId};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{May, Read};
use crate::extract::{Asked, Named};
use crate::gateway::Gateway;
use crate::paging::Paging;
use crate::problem::Problem;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(history))
}

/// Which version answered when, and the chain that proves it.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct History {
    pub activations: Vec<ActivationView>,
    #[schema(value_type = Vec<Object>)]
    pub ledger: Vec<LedgerEntry>,
    /// Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ActivationView {
    pub version_id: Uuid,
    pub opened_at: DateTime<Utc>,
    pub closed_at: Option<DateTime<Utc>>,
    #[schema(value_type = String, example = "run")]
    pub cause: ActivationCause,
    pub by: Option<Uuid>,
}

impl From<ActivationRow> for ActivationView {
    fn from(row: ActivationRow) -> Self {
        Self {
            version_id: row.version.as_uuid(),
            opened_at: row.opened_at,
            closed_at: row.closed_at,
            cause: row.cause,
            by: row.by.map(UserId::as_uuid),
        }
    }
}

impl History {
    fn is_empty(&self) -> bool {
        self.activations.is_empty() && self.ledger.is_empty()
    }
}

/// Both oldest first. A page has up to `limit` of either; `next` is absent once both are told.
#[utoipa::path(get, path = "/v1/documents/{document}/history", tag = "documents",
    params(("document" = Uuid, Path), Paging), responses((status = 200, body = History)))]
async fn history(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(document): Named<Uuid>,
    Asked(paging): Asked<Paging>,
) -> Result<Json<History>, Problem> {
    let document = DocumentId::from_uuid(document);
    let read = |page| gateway.told_of(who.tenant, document, page);
    let told = paging.read(read).await?.items.pop().unwrap_or_default();
    if told.is_empty() {
        // A page past the end, or nothing at all: of a purged document the ledger stays, and
        // without one it must at least be known.
        let first = gateway
            .told_of(who.tenant, document, Page::first(1))
            .await?;
        if first.items.iter().all(History::is_empty) {
            gateway.catalog().document(who.tenant, document).await?;
        }
    }
    Ok(Json(told))
}

impl Gateway {
    /// One page of both lists, as the only row of a list.
    async fn told_of(
        &self,
        tenant: TenantId,
        document: DocumentId,
        page: Page,
    ) -> Result<Listed<History>, catalog::Error> {
        let catalog = self.catalog();
        let (activations, ledger) = both(&page)?;
        let activations = match activations {
            Some(page) => catalog.activations(tenant, document, page).await?,
            None => told_to_the_end(),
        };
        let ledger = match ledger {
            Some(page) => catalog.ledger(tenant, document, page).await?,
            None => told_to_the_end(),
        };
        let next = following(activations.next, ledger.next);
        let activations = activations.items.into_iter();
        let history = History {
            activations: activations.map(ActivationView::from).collect(),
            ledger: ledger.items,
            next: next.clone(),
        };
        let items = vec![history];
        Ok(Listed { items, next })
    }
}

const fn told_to_the_end<T>() -> Listed<T> {
    Listed {
        items: Vec::new(),
        next: None,
    }
}

/// Where two lists go on, as one cursor: each one's own, empty for one that was told to its end.
fn following(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (None, None) => None,
        (one, other) => {
            let (one, other) = (one.unwrap_or_default(), other.unwrap_or_default());
            Some(format!("{one}~{other}"))
        }
    }
}

/// The page of each of two lists that a cursor stands for.
fn both(page: &Page) -> Result<(Option<Page>, Option<Page>), catalog::Error> {
    let Some(cursor) = &page.after else {
        return Ok((Some(page.clone()), Some(page.clone())));
    };
    let foreign = || catalog::Error::NotFound {
        what: "page",
        id: cursor.clone(),
    };
    let (one, other) = cursor.split_once('~').ok_or_else(foreign)?;
    if one.is_empty() && other.is_empty() {
        return Err(foreign());
    }
    let page = |part: &str| (!part.is_empty()).then(|| Page::following(part, page.limit));
    Ok((page(one), page(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_of_two_lists_goes_on_with_those_that_are_not_at_their_end() {
        let page = |cursor: &str| Page::following(cursor, 3);
        let parts = |cursor: &str| both(&page(cursor)).unwrap();
        assert!(matches!(both(&Page::first(3)), Ok((Some(_), Some(_)))));
        let next = following(Some("7.a".into()), Some("4".into())).unwrap();
        assert_eq!(parts(&next), (Some(page("7.a")), Some(page("4"))));
        let next = following(None, Some("4".into())).unwrap();
        assert_eq!(parts(&next), (None, Some(page("4"))));
        assert_eq!(following(None, None), None);
        for foreign in ["", "~", "nonsense"] {
            assert!(both(&page(foreign)).is_err(), "{foreign}");
        }
    }
}
