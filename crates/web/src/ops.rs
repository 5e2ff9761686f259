//! For whoever runs the server: does it live, is it ready, which one is it?

use std::fmt::Write as _;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use catalog::Page;
use engine::objects::Key;
use pipeline::batch::{Counts, Reason};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::gateway::Gateway;
use crate::problem::Problem;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(livez))
        .routes(routes!(readyz))
        .routes(routes!(metrics))
        .routes(routes!(version))
}

#[utoipa::path(get, path = "/livez", tag = "operations", security(()),
    responses((status = 200, body = String, content_type = "text/plain")))]
async fn livez() -> &'static str {
    "ok"
}

/// The cause is in the log, where the flush failed.
pub const INDEX_STOPPED: &str =
    "the index takes no more writes; mend the cause the log names and start the server again";

#[derive(Debug, Serialize, ToSchema)]
pub struct Ready {
    pub ready: bool,
    /// What does not answer, in plain words.
    pub missing: Vec<String>,
}

/// Ready when every part it depends on answers; otherwise 503 and what is missing.
#[utoipa::path(get, path = "/readyz", tag = "operations", security(()),
    responses((status = 200, body = Ready), (status = 503, body = Ready)))]
async fn readyz(State(gateway): State<Gateway>) -> (StatusCode, Json<Ready>) {
    let mut missing = Vec::new();
    if let Err(error) = gateway.catalog().tenants(Page::first(1)).await {
        tracing::warn!(%error, "not ready");
        missing.push("the catalog's database does not answer".to_owned());
    }
    let parts = gateway.engine().parts();
    if parts.index.has_stopped() {
        missing.push(INDEX_STOPPED.to_owned());
    }
    if let Err(error) = parts.objects.exists(&Key::all_staged()).await {
        tracing::warn!(%error, "not ready");
        missing.push("the object store does not answer".to_owned());
    }
    if let Some(free) = gateway.scarce_disk() {
        missing.push(format!("room on the disk: only {} MB are left", free >> 20));
    }
    if gateway.stop().is_cancelled() {
        missing.push("the server is stopping".to_owned());
    }
    let ready = missing.is_empty();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(Ready { ready, missing }))
}

/// Figures for Prometheus, over all tenants.
#[utoipa::path(get, path = "/metrics", tag = "operations", security(()),
    responses((status = 200, body = String, content_type = "text/plain")))]
async fn metrics(State(gateway): State<Gateway>) -> Result<String, Problem> {
    let now = gateway.now();
    let queue = gateway.catalog().queue_depth(now).await?;
    let age = queue
        .oldest_due
        .map_or(0, |due| (now - due).num_seconds().max(0));
    let up = (now - gateway.started()).num_seconds();
    let kept = gateway.engine().housekeeping();
    let mut text = format!(
        "# TYPE gristmill_queue_depth gauge\n\
         gristmill_queue_depth{{state=\"ready\"}} {}\n\
         gristmill_queue_depth{{state=\"leased\"}} {}\n\
         gristmill_queue_depth{{state=\"waiting\"}} {}\n\
         # TYPE gristmill_queue_oldest_step_age_seconds gauge\n\
         gristmill_queue_oldest_step_age_seconds {age}\n\
         # TYPE gristmill_uptime_seconds gauge\n\
         gristmill_uptime_seconds {up}\n\
         # TYPE gristmill_housekeeping_total counter\n\
         gristmill_housekeeping_total{{action=\"work_recreated\"}} {}\n\
         gristmill_housekeeping_total{{action=\"cancel_finished\"}} {}\n\
         gristmill_housekeeping_total{{action=\"job_recounted\"}} {}\n\
         gristmill_housekeeping_total{{action=\"removal_finished\"}} {}\n\
         gristmill_housekeeping_total{{action=\"staged_deleted\"}} {}\n\
         gristmill_housekeeping_total{{action=\"original_deleted\"}} {}\n\
         gristmill_housekeeping_total{{action=\"upload_expired\"}} {}\n\
         gristmill_housekeeping_total{{action=\"purge_finished\"}} {}\n\
         gristmill_housekeeping_total{{action=\"index_version_forgotten\"}} {}\n\
         gristmill_housekeeping_total{{action=\"leftover_deleted\"}} {}\n\
         gristmill_housekeeping_total{{action=\"space_compacted\"}} {}\n\
         gristmill_housekeeping_total{{action=\"index_merged\"}} {}\n\
         gristmill_housekeeping_total{{action=\"tally_put_right\"}} {}\n\
         gristmill_housekeeping_total{{action=\"lease_ended\"}} {}\n\
         gristmill_housekeeping_total{{action=\"step_taken_over\"}} {}\n\
         gristmill_housekeeping_total{{action=\"lease_bounded\"}} {}\n\
         gristmill_housekeeping_total{{action=\"step_hastened\"}} {}\n",
        queue.ready,
        queue.leased,
        queue.waiting,
        kept.guarded.runs_recreated,
        kept.guarded.cancels_finished,
        kept.guarded.jobs_recounted,
        kept.guarded.originals_deleted,
        kept.tidied.staged,
        kept.tidied.originals,
        kept.tidied.uploads,
        kept.tidied.purged,
        kept.tidied.unreachable,
        kept.tidied.leftovers,
        kept.tidied.compacted,
        kept.tidied.merged,
        kept.tidied.miscounted,
        kept.guarded.leases_ended,
        kept.guarded.steps_taken_over,
        kept.guarded.leases_bounded,
        kept.guarded.steps_hastened,
    );
    let divided = gateway.engine().embedders().map(|model| model.divided());
    batches(&gateway.engine().batches(), divided.sum(), &mut text);
    reranks(&gateway.engine().reranks(), &mut text);
    drawings(&gateway.engine().drawings(), &mut text);
    reads(gateway.engine().reads(), &mut text);
    gateway.traffic().write(&mut text);
    Ok(text)
}

/// What was embedded for documents: duplicates are passages answered without the model, divided
/// are texts longer than it reads, embedded by the mean of their parts. Tokens of remote models are
/// estimates.
fn batches(counts: &Counts, divided: u64, out: &mut String) {
    out.push_str("# TYPE gristmill_embedding_batches_total counter\n");
    for reason in Reason::ALL {
        let count = counts.reasons.get(&reason).copied().unwrap_or(0);
        let reason = reason.name();
        let _ = writeln!(
            out,
            "gristmill_embedding_batches_total{{reason=\"{reason}\"}} {count}"
        );
    }
    out.push_str("# HELP gristmill_embedding_tokens_total Estimated for remote models.\n");
    for (what, count) in [
        ("chunks", counts.items),
        ("tokens", counts.tokens),
        ("duplicates", counts.duplicates),
        ("divided", divided),
    ] {
        let _ = writeln!(
            out,
            "# TYPE gristmill_embedding_{what}_total counter\n\
             gristmill_embedding_{what}_total {count}"
        );
    }
}

fn reranks(counts: &[(&str, u64)], out: &mut String) {
    if counts.is_empty() {
        return;
    }
    out.push_str("# TYPE gristmill_reranks_total counter\n");
    for (outcome, count) in counts {
        let _ = writeln!(
            out,
            "gristmill_reranks_total{{outcome=\"{outcome}\"}} {count}"
        );
    }
}

/// What was read of texts too large to hold, and how often that went on after a crash.
fn reads(reads: engine::Reads, out: &mut String) {
    for (what, count) in [
        ("pieces", reads.pieces),
        ("bytes", reads.bytes),
        ("resumes", reads.resumes),
    ] {
        let name = format!("gristmill_large_text_{what}_total");
        let _ = writeln!(out, "# TYPE {name} counter\n{name} {count}");
    }
}

/// What came of wishes for page images, and for prints of documents without pages.
fn drawings(counts: &[(&str, u64)], out: &mut String) {
    out.push_str("# TYPE gristmill_page_images_total counter\n");
    for (outcome, count) in counts {
        let _ = writeln!(
            out,
            "gristmill_page_images_total{{outcome=\"{outcome}\"}} {count}"
        );
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct VersionBody {
    pub name: &'static str,
    pub version: &'static str,
}

#[utoipa::path(get, path = "/version", tag = "operations", security(()),
    responses((status = 200, body = VersionBody)))]
async fn version() -> Json<VersionBody> {
    Json(VersionBody {
        name: "gristmill",
        version: env!("CARGO_PKG_VERSION"),
    })
}
