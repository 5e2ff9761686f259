//! Dead letters: work that failed too often, or through a fault of ours.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use catalog::DeadLetter;
use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::runs::ErrorView;
use crate::auth::{Manage, May, Read};
use crate::extract::{Asked, Named};
use crate::gateway::Gateway;
use crate::paging::{Paging, Rows};
use crate::problem::Problem;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, discard))
        .routes(routes!(replay))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct DeadLetterView {
    pub dead_letter_id: Uuid,
    pub step: &'static str,
    pub document_id: Uuid,
    pub version_id: Uuid,
    pub run_id: Uuid,
    pub source_uri: String,
    pub attempts: u32,
    pub error: ErrorView,
    pub created_at: DateTime<Utc>,
}

impl From<DeadLetter> for DeadLetterView {
    fn from(letter: DeadLetter) -> Self {
        Self {
            dead_letter_id: letter.id,
            step: letter.step.kind().as_str(),
            document_id: letter.document.as_uuid(),
            version_id: letter.version.as_uuid(),
            run_id: letter.run.as_uuid(),
            source_uri: letter.source_uri,
            attempts: letter.attempts,
            error: letter.error.into(),
            created_at: letter.created_at,
        }
    }
}

/// The run that takes up what failed.
#[derive(Debug, Serialize, ToSchema)]
pub struct Replayed {
    pub run_id: Uuid,
    pub replayed_at: DateTime<Utc>,
    /// It had been replayed before, at that time; nothing was queued again.
    pub already: bool,
}

#[utoipa::path(get, path = "/v1/dead-letters", tag = "operations", params(Paging),
    responses((status = 200, body = Rows<DeadLetterView>)))]
async fn list(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Rows<DeadLetterView>>, Problem> {
    let read = |page| gateway.catalog().dead_letters(who.tenant, page);
    Ok(Json(Rows::of(
        paging.read(read).await?,
        DeadLetterView::from,
    )))
}

#[utoipa::path(get, path = "/v1/dead-letters/{letter}", tag = "operations",
    params(("letter" = Uuid, Path)), responses((status = 200, body = DeadLetterView)))]
async fn show(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(letter): Named<Uuid>,
) -> Result<Json<DeadLetterView>, Problem> {
    let letter = gateway.catalog().dead_letter(who.tenant, letter).await?;
    Ok(Json(letter.into()))
}

/// Queues the failed run again from its beginning. Asked again, it answers as the first time
/// and queues nothing; what was replayed is known for as long as events are kept.
#[utoipa::path(post, path = "/v1/dead-letters/{letter}/replay", tag = "operations",
    params(("letter" = Uuid, Path)), responses((status = 202, body = Replayed)))]
async fn replay(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(letter): Named<Uuid>,
) -> Result<(StatusCode, Json<Replayed>), Problem> {
    let (catalog, now) = (gateway.catalog(), gateway.now());
    let replayed = catalog.replay_dead_letter(who.tenant, letter, now).await?;
    let view = Replayed {
        run_id: replayed.run.as_uuid(),
        replayed_at: replayed.at,
        already: replayed.already,
    };
    Ok((StatusCode::ACCEPTED, Json(view)))
}

/// Forgets the letter; its run stays failed.
#[utoipa::path(delete, path = "/v1/dead-letters/{letter}", tag = "operations",
    params(("letter" = Uuid, Path)), responses((status = 204)))]
async fn discard(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(letter): Named<Uuid>,
) -> Result<StatusCode, Problem> {
    gateway
        .catalog()
        .drop_dead_letter(who.tenant, letter)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
