//! Runs brought to the workers of this process.

use std::borrow::Cow;

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use chrono::TimeDelta;
use engine::delegation::{Met, SLOTS_FULL, Taken};
use model::contract::ProcessRequest;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::Internal;
use crate::extract::Sent;
use crate::gateway::Gateway;
use crate::problem::Problem;

/// A payload names one run; a title and a file name are the longest things in it.
const LONGEST: usize = 64 * 1024;
/// When a slot may be free again.
const SLOT: TimeDelta = TimeDelta::seconds(1);
/// When a server that is stopping may be back.
const RESTART: TimeDelta = TimeDelta::seconds(10);

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(process))
        .layer(DefaultBodyLimit::max(LONGEST))
}

/// A payload, described by the contract it is.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Delivery(ProcessRequest);

impl ToSchema for Delivery {
    fn name() -> Cow<'static, str> {
        "ProcessRequest".into()
    }
}

impl PartialSchema for Delivery {
    fn schema() -> RefOr<Schema> {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let schema = settings
            .into_generator()
            .into_root_schema_for::<ProcessRequest>();
        serde_json::from_value(schema.to_value()).expect("OpenAPI speaks JSON Schema")
    }
}

/// What became of a delivery. Every answer means that nothing need be sent again.
#[derive(Debug, Serialize, ToSchema)]
pub struct Delivered {
    pub run_id: Uuid,
    /// `accepted`, `already_running` or `already_done`.
    #[schema(example = "accepted")]
    pub status: &'static str,
}

/// Takes one run to be processed by the workers of this server.
///
/// For servers and queues that hold the shared token, not for users: a token or an API key
/// opens nothing here. The same payload may come any number of times.
#[utoipa::path(post, path = "/internal/process", tag = "operations",
    security(("internal" = [])), request_body = Delivery,
    responses((status = 202, body = Delivered)))]
async fn process(
    State(gateway): State<Gateway>,
    _door: Internal,
    Sent(Delivery(payload)): Sent<Delivery>,
) -> Result<(StatusCode, Json<Delivered>), Problem> {
    let run = payload.run_id;
    // The run and its steps are rows of the catalog before anybody can name them: to accept
    // is to begin, and what a crash interrupts is found in those rows again.
    let status = match gateway.engine().meet(&payload).await? {
        Met::Live => taken(gateway.take_run(run))?,
        Met::Ended => "already_done",
        Met::Differs(field) => return Err(differs(field)),
    };
    let (tenant_id, doc_id) = (payload.tenant_id, payload.doc_id);
    tracing::info!(%tenant_id, %doc_id, run_id = %run, status, "run delivered");
    let run_id = run.as_uuid();
    Ok((StatusCode::ACCEPTED, Json(Delivered { run_id, status })))
}

fn taken(taken: Taken) -> Result<&'static str, Problem> {
    let refused = |code, detail| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
            .hint("deliver it again later; until then the run waits where it is")
    };
    match taken {
        Taken::Accepted => Ok("accepted"),
        Taken::AlreadyRunning => Ok("already_running"),
        Taken::Full => {
            Err(refused(SLOTS_FULL, "every slot of this worker is taken").retry_after(SLOT))
        }
        Taken::NoWorkers => {
            Err(refused("no_workers", "nobody works at this server").retry_after(RESTART))
        }
    }
}

fn differs(field: &str) -> Problem {
    Problem::conflict(format!("the {field} of the payload is not that of the run"))
        .hint("the payload is old or meant for another server: make it anew from the run")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_described_field_for_field() {
        let shown = serde_json::to_value(Delivery::schema()).unwrap();
        let kept = serde_json::to_value(schemars::schema_for!(ProcessRequest)).unwrap();
        let names = |schema: &serde_json::Value| -> Vec<String> {
            let fields = schema["properties"].as_object().unwrap();
            let mut names: Vec<String> = fields.keys().cloned().collect();
            names.sort();
            names
        };
        assert_eq!(names(&shown), names(&kept));
        assert_eq!(shown["required"], kept["required"]);
        assert_eq!(shown["properties"]["run_id"]["format"], "uuid");
        assert_eq!(shown["properties"]["embedding_dim"]["type"], "integer");
    }
}
