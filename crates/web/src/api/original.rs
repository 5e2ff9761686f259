//! The file a version was made of, as it came.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::IntoResponse;
use engine::objects::Key;
use futures::{StreamExt as _, stream};
use model::VersionId;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{May, Read};
use crate::extract::Named;
use crate::gateway::Gateway;
use crate::problem::Problem;

/// What is held of it at a time.
const PIECE: u32 = 1 << 20;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(original))
}

/// The original, to be saved: whatever it holds, it is never shown as a page of ours.
#[utoipa::path(get, path = "/v1/versions/{version}/original", tag = "documents",
    params(("version" = Uuid, Path)),
    responses((status = 200, body = Vec<u8>, content_type = "application/octet-stream")))]
async fn original(
    State(gateway): State<Gateway>,
    who: May<Read>,
    Named(version): Named<Uuid>,
) -> Result<impl IntoResponse, Problem> {
    let version = VersionId::from_uuid(version);
    let version = gateway.catalog().version(who.tenant, version).await?;
    let key = Key::original(who.tenant, &version.content_hash);
    let objects = gateway.engine().parts().objects.clone();
    let size = objects.size(&key).await.map_err(engine::Error::from)?;
    let pieces = stream::iter((0..size).step_by(PIECE as usize)).then(move |from| {
        let (objects, key) = (objects.clone(), key.clone());
        async move {
            objects
                .range(&key, from..size.min(from + u64::from(PIECE)))
                .await
        }
    });
    let fixed = HeaderValue::from_static;
    let headers = [
        (CONTENT_TYPE, fixed("application/octet-stream")),
        (CONTENT_LENGTH, size.into()),
        (CONTENT_DISPOSITION, attachment(&version.filename)),
        (X_CONTENT_TYPE_OPTIONS, fixed("nosniff")),
        (CACHE_CONTROL, fixed("private, max-age=86400, immutable")),
    ];
    Ok((headers, Body::from_stream(pieces)))
}

fn attachment(name: &str) -> HeaderValue {
    let name = utf8_percent_encode(name, NON_ALPHANUMERIC);
    let value = format!("attachment; filename*=UTF-8''{name}");
    HeaderValue::from_str(&value).expect("escaped names are plain")
}
