//! The JSON API, one module per noun.

pub mod account;
pub mod api_keys;
pub mod ask;
pub mod backup;
pub mod citations;
pub mod dead_letters;
pub mod documents;
pub mod generations;
pub mod history;
pub mod ingest;
pub mod inspect;
pub mod internal;
pub mod jobs;
pub mod kbs;
pub mod metrics;
pub mod notices;
pub mod original;
pub mod runs;
pub mod search;
pub mod sources;
pub mod status;
pub mod tenants;
pub mod uploads;
pub mod users;
pub mod versions;
pub mod webhooks;

use utoipa_axum::router::OpenApiRouter;

use crate::gateway::Gateway;

/// Everything that answers at once; what streams is put together apart from it.
pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .merge(account::routes())
        .merge(users::routes())
        .merge(api_keys::routes())
        .merge(kbs::routes())
        .merge(generations::routes())
        .merge(documents::routes())
        .merge(versions::routes())
        .merge(history::routes())
        .merge(original::routes())
        .merge(runs::routes())
        .merge(jobs::routes())
        .merge(sources::routes())
        .merge(dead_letters::routes())
        .merge(search::routes())
        .merge(ask::routes())
        .merge(notices::routes())
        .merge(uploads::routes())
        .merge(tenants::routes())
        .merge(webhooks::routes())
        .merge(status::routes())
        .merge(internal::routes())
        .merge(metrics::routes())
}
