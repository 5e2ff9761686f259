//! What buckets tell us: one endpoint for every envelope.
//!
//! Whoever authenticates a notice supplies the tenant: the signature or the address of a
//! source named in the query, or a key or token, whose tenant's source for the bucket is
//! looked up. A tenant named inside an event is never believed. Everything here may come
//! twice, late or out of order.

use std::net::SocketAddr;

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use catalog::{Kb, Source, every};
use engine::bucket::{BucketSource, Taken, Told};
use model::{RunId, SourceId, TenantId, TraceContext};
use serde::{Deserialize, Serialize};
use sources::{Headers, Item, ObjectEvent};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::ingest::told as ingested;
use crate::auth::Ingest;
use crate::extract::{Asked, Whole, nul};
use crate::gateway::Gateway;
use crate::network::Network;
use crate::problem::Problem;
use crate::signature;
use crate::trace::Traced;

pub fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(take, look))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NoticeQuery {
    /// The source whose signature or address the request has. Not needed with a key or a token.
    source: Option<Uuid>,
}

/// What became of one event.
#[derive(Debug, Serialize, ToSchema)]
pub struct Noticed {
    /// `queued`, `skipped`, `removed`, `unknown`, `refused`, `test`, `ignored` or
    /// `confirmation_needed`.
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Uuid>,
    /// Why it was skipped or refused, or what is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct NoticedAll {
    pub results: Vec<Noticed>,
}

/// Whether somebody is here; asked by MinIO before it sends anything.
#[utoipa::path(head, path = "/v1/events", tag = "sources", security(()),
    responses((status = 204)))]
async fn look() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// Takes events of S3, EventBridge, SNS, MinIO and CloudEvents, and our own `UploadNotification`.
///
/// Authenticated by a source's signature (`webhook-id`, `webhook-timestamp`,
/// `webhook-signature`), by a key or token, or by the address it comes from.
#[utoipa::path(post, path = "/v1/events", tag = "sources", params(NoticeQuery),
    request_body(description = "One envelope, told by its shape, or an array of CloudEvents",
        content((serde_json::Value = "application/json"),
        (Object = "application/cloudevents+json"),
        (Vec<Object> = "application/cloudevents-batch+json"))),
    responses((status = 200, body = NoticedAll)))]
async fn take(
    State(gateway): State<Gateway>,
    traced: Traced,
    parts: Parts,
    Asked(asked): Asked<NoticeQuery>,
    Whole(body): Whole,
) -> Result<Json<NoticedAll>, Problem> {
    let sender = gateway.sender(&parts, asked.source, &body).await?;
    let items = sources::decode(&headers(&parts), &body).map_err(unreadable)?;
    let mut results = Vec::with_capacity(items.len());
    for item in items {
        results.push(gateway.noticed(&sender, item, &traced).await?);
    }
    Ok(Json(NoticedAll { results }))
}

fn headers(parts: &Parts) -> Headers<'_> {
    let named = parts.headers.iter().filter_map(|(name, value)| {
        let attribute = name.as_str().strip_prefix("ce-")?;
        Some((attribute, value.to_str().ok()?))
    });
    Headers {
        cloud_event: named.collect(),
    }
}

fn unreadable(error: sources::Error) -> Problem {
    let status = match error {
        sources::Error::NotJson(_) => StatusCode::BAD_REQUEST,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let detail = engine::Error::from(error).explain();
    Problem::new(status, "unknown_event", detail)
}

/// Who sent a notice.
struct Sender {
    tenant: TenantId,
    /// The source that authenticated it; `None` with a key, which may speak for any.
    source: Option<Source>,
}

impl Gateway {
    async fn sender(
        &self,
        parts: &Parts,
        named: Option<Uuid>,
        body: &[u8],
    ) -> Result<Sender, Problem> {
        let signed = parts.headers.contains_key(signature::SIGNATURE);
        let keyed =
            parts.headers.contains_key("authorization") || parts.headers.contains_key("x-api-key");
        if keyed && !signed {
            let who = self.principal(parts).await?;
            if !who.may::<Ingest>() {
                return Err(Problem::forbidden("ingest"));
            }
            let source = match named {
                Some(id) => Some(
                    self.catalog()
                        .source(who.tenant, SourceId::from_uuid(id))
                        .await?,
                ),
                None => None,
            };
            return Ok(Sender {
                tenant: who.tenant,
                source,
            });
        }
        let nobody = || Problem::unauthorized("the event is not signed by a source we know");
        let id = SourceId::from_uuid(named.ok_or_else(nobody)?);
        let known = self.catalog().signed_source(id).await?;
        let known = known
            .filter(|known| known.source.enabled)
            .ok_or_else(nobody)?;
        let believed = match &known.secret {
            Some(secret) if signed => {
                signature::verify(secret, &parts.headers, body, self.now())
                    .map_err(|refused| Problem::unauthorized(&refused.to_string()))?;
                true
            }
            _ => comes_from(parts, &known.source),
        };
        if !believed {
            return Err(nobody());
        }
        self.check_enabled(known.source.tenant).await?;
        Ok(Sender {
            tenant: known.source.tenant,
            source: Some(known.source),
        })
    }

    async fn noticed(
        &self,
        sender: &Sender,
        item: Item,
        traced: &Traced,
    ) -> Result<Noticed, Problem> {
        let plain = |status, reason| Noticed {
            status,
            source_uri: None,
            document_id: None,
            run_id: None,
            reason,
        };
        match item {
            Item::Test => Ok(plain("test", None)),
            Item::Ignored { name } => Ok(plain("ignored", Some(name))),
            Item::Confirmation { topic, link } => {
                tracing::warn!(
                    topic,
                    "a topic asks to be confirmed: open the link in its answer"
                );
                Ok(plain("confirmation_needed", Some(link)))
            }
            Item::Object(event) => self.object(sender, &event, traced).await,
        }
    }

    async fn object(
        &self,
        sender: &Sender,
        event: &ObjectEvent,
        traced: &Traced,
    ) -> Result<Noticed, Problem> {
        let (source, bucket) = self.bucket_of(sender, event).await?;
        if event.has_nul() {
            return Ok(shown(event, Taken::Refused(nul().detail().to_owned())));
        }
        self.check_disk()?;
        // An event may have come a long way; the request is only its last part.
        let own = event.trace.as_deref().map(str::parse::<TraceContext>);
        let own = own.and_then(Result::ok).map(|place| place.to_string());
        let kb: Kb = self.catalog().kb(sender.tenant, source.kb).await?;
        let told = Told {
            kb: &kb,
            source: &source,
            bucket: &bucket,
            event,
            trace: own.or_else(|| traced.header()),
        };
        let taken = self.engine().take_object(told).await?;
        let noticed = shown(event, taken);
        tracing::info!(
            tenant_id = %sender.tenant, kb = %kb.name, source_id = %source.id,
            doc_id = ?noticed.document_id, run_id = ?noticed.run_id, outcome = noticed.status,
            "event taken"
        );
        Ok(noticed)
    }

    /// The source that holds the object: the one that sent the event, or the tenant's own.
    async fn bucket_of(
        &self,
        sender: &Sender,
        event: &ObjectEvent,
    ) -> Result<(Source, BucketSource), Problem> {
        let candidates = match &sender.source {
            Some(source) => vec![source.clone()],
            None => every(|page| self.catalog().sources(sender.tenant, page)).await?,
        };
        let with_bucket = candidates.into_iter().filter(|source| source.enabled);
        let mut with_bucket =
            with_bucket.filter_map(|source| Some((BucketSource::of(&source)?, source)));
        let found = with_bucket.find(|(bucket, _)| bucket.holds(event));
        found
            .map(|(bucket, source)| (source, bucket))
            .ok_or_else(|| {
                let object = format!("{}/{}", event.bucket, event.key);
                Problem::not_found("source with the object", object)
                    .hint("an admin makes a source with this bucket: POST /v1/sources")
            })
    }
}

fn comes_from(parts: &Parts, source: &Source) -> bool {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    let networks = BucketSource::of(source).map_or(Vec::new(), |bucket| bucket.allow_from);
    peer.is_some_and(|ConnectInfo(peer)| {
        let networks = networks
            .iter()
            .filter_map(|one| one.parse::<Network>().ok());
        networks
            .into_iter()
            .any(|network| network.contains(peer.ip()))
    })
}

fn shown(event: &ObjectEvent, taken: Taken) -> Noticed {
    let mut noticed = Noticed {
        status: "unknown",
        source_uri: Some(event.source_uri().to_string()),
        document_id: None,
        run_id: None,
        reason: None,
    };
    match taken {
        Taken::Unknown => {}
        Taken::Removed(_) => noticed.status = "removed",
        Taken::Refused(why) => {
            noticed.status = "refused";
            noticed.reason = Some(why);
        }
        Taken::Admitted(admitted) => {
            let told = ingested(String::new(), &admitted);
            noticed.status = if told.code == 200 {
                "skipped"
            } else {
                "queued"
            };
            noticed.document_id = told.doc_id;
            noticed.run_id = admitted.run.map(RunId::as_uuid);
            noticed.reason = told.reason;
        }
    }
    noticed
}
