//! A copy of everything, made by the server that holds it.

use std::path::PathBuf;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Manage, May};
use crate::extract::Sent;
use crate::gateway::Gateway;
use crate::problem::Problem;

/// Copying takes as long as there is data.
pub fn untimed_routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(backup))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// An absolute path on the server: a folder that is not there yet, or empty.
    #[schema(pattern = "^/")]
    pub to: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct BackedUp {
    pub to: String,
    pub files: u64,
    pub bytes: u64,
    pub versions: u64,
    /// What the catalog refers to and the stores do not have; `verify` says more.
    pub missing: Vec<String>,
}

/// Copies one moment of catalog, index and objects into a folder of the server's machine,
/// for whoever runs it: the copy holds all tenants.
#[utoipa::path(post, path = "/v1/backup", tag = "operations", request_body = Backup,
    responses((status = 200, body = BackedUp)))]
async fn backup(
    State(gateway): State<Gateway>,
    who: May<Manage>,
    Sent(sent): Sent<Backup>,
) -> Result<Json<BackedUp>, Problem> {
    gateway.check_operator(&who)?;
    let to = PathBuf::from(&sent.to);
    if !to.is_absolute() {
        return Err(Problem::invalid("`to` is not an absolute path"));
    }
    let done = gateway.engine().backup(&to).await.map_err(refused)?;
    Ok(Json(BackedUp {
        to: sent.to,
        files: done.files,
        bytes: done.bytes,
        versions: done.versions,
        missing: done.missing,
    }))
}

/// A backup is never written over anything.
fn refused(error: engine::Error) -> Problem {
    let is_taken = error.to_string().ends_with("is not empty");
    let problem = Problem::from(error);
    match is_taken {
        true => problem.hint("name another folder, one that is empty or not there"),
        false => problem,
    }
}
