//! Knowledge bases: what people search.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use catalog::{Generation, GenerationSpec, Kb};
use chrono::{DateTime, Utc};
use model::{ChunkPolicy, KbId, TenantId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{Manage, May, Read};
use crate::extract::{Asked, Named, Sent};
use crate::gateway::Gateway;
use crate::paging::{Paging, Rows};
use crate::problem::Problem;

const LONGEST_NAME: usize = 100;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct KbView {
    pub id: Uuid,
    pub name: String,
    pub serving: GenerationView,
    pub building: Option<GenerationView>,
    pub created_at: DateTime<Utc>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct GenerationView {
    pub id: Uuid,
    pub number: u32,
    pub model: String,
    pub dimension: u32,
    #[schema(value_type = Object)]
    pub policy: ChunkPolicy,
}

impl From<Generation> for GenerationView {
    fn from(generation: Generation) -> Self {
        Self {
            id: generation.id.as_uuid(),
            number: generation.number,
            model: generation.spec.model.to_string(),
            dimension: generation.spec.dimension,
            policy: generation.spec.policy,
        }
    }
}

impl From<Kb> for KbView {
    fn from(kb: Kb) -> Self {
        Self {
            id: kb.id.as_uuid(),
            name: kb.name,
            serving: kb.serving.into(),
            building: kb.building.map(GenerationView::from),
            created_at: kb.created_at,
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateKb {
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
}

/// By name.
#[utoipa::path(get, path = "/v1/kbs", tag = "knowledge bases", params(Paging),
    responses((status = 200, body = Rows<KbView>)))]
async fn list(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Rows<KbView>>, Problem> {
    let read = |page| gateway.catalog().kbs(who.tenant, page);
    Ok(Json(Rows::of(paging.read(read).await?, KbView::from)))
}

#[utoipa::path(post, path = "/v1/kbs", tag = "knowledge bases", request_body = CreateKb,
    responses((status = 201, body = KbView)))]
async fn create(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Sent(sent): Sent<CreateKb>,
) -> Result<(StatusCode, Json<KbView>), Problem> {
    let name = checked_name(&sent.name)?;
    let spec = gateway.generation_spec();
    let kb = gateway
        .catalog()
        .create_kb(who.tenant, name, spec, gateway.now());
    Ok((StatusCode::CREATED, Json(kb.await?.into())))
}

/// By name or by id.
#[utoipa::path(get, path = "/v1/kbs/{kb}", tag = "knowledge bases",
    params(("kb" = String, Path)), responses((status = 200, body = KbView)))]
async fn show(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(kb): Named<String>,
) -> Result<Json<KbView>, Problem> {
    Ok(Json(gateway.kb(who.tenant, &kb).await?.into()))
}

/// Names may be anything a person would type and a path can carry.
pub fn checked_name(name: &str) -> Result<&str, Problem> {
    let plain = |c: char| !c.is_control() && c != '/';
    let all_plain = name.chars().all(plain);
    let name = name.trim();
    if (1..=LONGEST_NAME).contains(&name.len()) && all_plain {
        Ok(name)
    } else {
        Err(Problem::unprocessable(format!(
            "a knowledge base's name has 1 to {LONGEST_NAME} bytes, no slash and no control character"
        )))
    }
}

impl Gateway {
    /// A knowledge base by its name or its id.
    pub async fn kb(&self, tenant: TenantId, name: &str) -> Result<Kb, Problem> {
        let by_name = self.catalog().kb_by_name(tenant, name).await;
        match (by_name, name.parse::<KbId>()) {
            (Err(catalog::Error::NotFound { .. }), Ok(id)) => {
                Ok(self.catalog().kb(tenant, id).await?)
            }
            (found, _) => Ok(found?),
        }
    }

    /// What a new knowledge base is built with: this server's model, and chunks that suit it.
    pub fn generation_spec(&self) -> GenerationSpec {
        let info = self.engine().parts().embedder.info();
        GenerationSpec {
            model: info.name.clone(),
            dimension: info.dimension,
            policy: info.policy().with_strategy(self.settings().strategy),
        }
    }
}
