//! Admissions and what they need, with everything a test does not care about filled in.

use catalog::{Admission, Catalog, Error, FirstStart, GenerationSpec, RunType};
use chrono::{DateTime, Utc};
use model::{
    ChunkPolicy, ContentHash, GenerationId, KbId, ModelName, SourceOrder, SourceUri, TenantId,
};

pub fn generation() -> GenerationSpec {
    GenerationSpec {
        model: ModelName::new("test", "words"),
        dimension: 8,
        policy: ChunkPolicy::for_limit(254),
    }
}

pub fn first_start() -> FirstStart {
    FirstStart {
        tenant_name: "acme".into(),
        admin_login: "admin".into(),
        admin_password_hash: "$argon2id$not-a-real-one".into(),
        kb_name: "default".into(),
        generation: generation(),
    }
}

/// Where a test's documents go.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub tenant: TenantId,
    pub kb: KbId,
    pub generation: GenerationId,
}

/// The place [`first_start`] makes.
pub async fn place(catalog: &dyn Catalog, now: DateTime<Utc>) -> Result<Place, Error> {
    place_of(generation(), catalog, now).await
}

/// As [`place`], for a model that is there.
pub async fn place_of(
    generation: GenerationSpec,
    catalog: &dyn Catalog,
    now: DateTime<Utc>,
) -> Result<Place, Error> {
    let first = FirstStart {
        generation,
        ..first_start()
    };
    let name = first.kb_name.clone();
    let started = catalog.ensure_first_start(first, now).await?;
    let kb = catalog.kb_by_name(started.tenant, &name).await?;
    Ok(Place {
        tenant: started.tenant,
        kb: kb.id,
        generation: kb.serving.id,
    })
}

impl Place {
    /// A file of this name and content, as a folder source would bring it.
    pub fn file(&self, name: &str, content: &str, at: DateTime<Utc>) -> Admission {
        Admission {
            tenant: self.tenant,
            kb: self.kb,
            generation: self.generation,
            source_uri: SourceUri::new(format!("file:///{name}"))
                .expect("a name without control characters"),
            promised: None,
            content_hash: ContentHash::of(content.as_bytes()),
            size: content.len() as u64,
            media_type: None,
            filename: name.to_owned(),
            title: None,
            metadata: serde_json::Map::new(),
            order: SourceOrder::of_time(at),
            job: None,
            source: None,
            initiated_by: None,
            run_type: RunType::Upload,
            config: serde_json::json!({}),
            trace: None,
        }
    }
}
