//! The next generation of a knowledge base: begun, watched, switched to, or given up.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use catalog::Building;
use engine::generations::Wanted;
use model::Strategy;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::kbs::{GenerationView, KbView};
use crate::auth::{Manage, May, Read};
use crate::extract::{Named, Sent};
use crate::gateway::Gateway;
use crate::problem::Problem;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(show, begin, abandon))
        .routes(routes!(switch))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct BuildingView {
    pub generation: GenerationView,
    /// That answer today.
    pub documents: u64,
    /// Of them, those that would answer from the new generation.
    pub built: u64,
    /// Of them, those that could not be built.
    pub failed: u64,
    pub open_runs: u64,
    /// Whether a switch would be granted.
    pub ready: bool,
    /// What it waits for.
    pub waits_for: Option<String>,
}

impl BuildingView {
    fn of((building, without_model): (Building, Option<String>)) -> Self {
        let waits_for = without_model.or_else(|| building.holds_back(false));
        Self {
            documents: building.documents,
            built: building.built,
            failed: building.failed,
            open_runs: building.open_runs,
            ready: building.holds_back(false).is_none(),
            generation: building.generation.into(),
            waits_for,
        }
    }
}

/// What is not said is what suits the model; the strategy is the one that serves.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BeginGeneration {
    /// `provider:model`, one this server has; the one for what is new unless said.
    pub model: Option<String>,
    #[schema(value_type = Option<String>,
        pattern = "^(structural|fixed|sentence|markdown|streaming)$")]
    pub strategy: Option<Strategy>,
    /// In tokens of the model, as the other sizes are.
    pub target: Option<u32>,
    pub max: Option<u32>,
    pub overlap: Option<u32>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchGeneration {
    /// Switches although some documents could not be built: they answer no more.
    pub leave_failed: bool,
}

/// How far the generation being built has come.
#[utoipa::path(get, path = "/v1/kbs/{kb}/building", tag = "knowledge bases",
    params(("kb" = String, Path)), responses((status = 200, body = BuildingView)))]
async fn show(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(kb): Named<String>,
) -> Result<Json<BuildingView>, Problem> {
    let known = gateway.kb(who.tenant, &kb).await?;
    let building = gateway.engine().building(&known).await?;
    building
        .map(|building| Json(BuildingView::of(building)))
        .ok_or_else(|| Problem::not_found("generation being built in", kb))
}

/// Begins one beside the generation that serves; begun already, it goes on.
#[utoipa::path(post, path = "/v1/kbs/{kb}/building", tag = "knowledge bases",
    params(("kb" = String, Path)), request_body = BeginGeneration,
    responses((status = 202, body = BuildingView)))]
async fn begin(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(kb): Named<String>,
    Sent(sent): Sent<BeginGeneration>,
) -> Result<(StatusCode, Json<BuildingView>), Problem> {
    let known = gateway.kb(who.tenant, &kb).await?;
    let wanted = Wanted {
        model: sent.model,
        strategy: sent.strategy,
        target: sent.target,
        max: sent.max,
        overlap: sent.overlap,
    };
    let begun = gateway.engine().begin_generation(&known, &wanted).await?;
    let building = gateway.engine().building(&begun).await?;
    let building = building.ok_or_else(|| Problem::conflict("it serves already"))?;
    Ok((StatusCode::ACCEPTED, Json(BuildingView::of(building))))
}

/// The generation being built serves from now on; a conflict while documents are missing.
#[utoipa::path(post, path = "/v1/kbs/{kb}/building/switch", tag = "knowledge bases",
    params(("kb" = String, Path)), request_body = SwitchGeneration,
    responses((status = 200, body = KbView)))]
async fn switch(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(kb): Named<String>,
    Sent(sent): Sent<SwitchGeneration>,
) -> Result<Json<KbView>, Problem> {
    let known = gateway.kb(who.tenant, &kb).await?;
    let engine = gateway.engine();
    let switched = engine.switch_generation(&known, sent.leave_failed).await?;
    Ok(Json(switched.into()))
}

/// Gives up the generation being built; what serves is not touched.
#[utoipa::path(delete, path = "/v1/kbs/{kb}/building", tag = "knowledge bases",
    params(("kb" = String, Path)), responses((status = 200, body = KbView)))]
async fn abandon(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Named(kb): Named<String>,
) -> Result<Json<KbView>, Problem> {
    let known = gateway.kb(who.tenant, &kb).await?;
    Ok(Json(
        gateway.engine().abandon_generation(&known).await?.into(),
    ))
}
