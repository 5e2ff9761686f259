//! A folder as the source of a house that has nothing else yet, and jobs over it.

use std::path::Path;

use catalog::{FirstStart, GenerationSpec, NewJob, NewSource};
use engine::Engine;
use engine::jobs::FolderSource;
use model::{ChunkPolicy, JobId, KbId, SourceId, TenantId};

const KB: &str = "bench";

pub struct Source {
    pub tenant: TenantId,
    kb: KbId,
    id: SourceId,
    config: serde_json::Value,
}

impl Source {
    pub async fn new(engine: &Engine, files: &Path) -> anyhow::Result<Self> {
        let parts = engine.parts();
        let (now, info) = (parts.clock.now(), parts.embedder.info());
        let first = FirstStart {
            tenant_name: "bench".into(),
            admin_login: "bench".into(),
            admin_password_hash: String::new(),
            kb_name: KB.into(),
            generation: GenerationSpec {
                model: info.name.clone(),
                dimension: info.dimension,
                policy: ChunkPolicy::for_limit(info.max_tokens),
            },
        };
        let first = parts.catalog.ensure_first_start(first, now).await?;
        let kb = parts.catalog.kb_by_name(first.tenant, KB).await?;
        let config = serde_json::to_value(FolderSource {
            roots: vec![files.to_owned()],
            metadata: serde_json::Map::new(),
            remove_missing: false,
        })?;
        let source = NewSource {
            kb: kb.id,
            kind: "folder".into(),
            name: "bench".into(),
            config: config.clone(),
        };
        let source = parts.catalog.create_source(first.tenant, source, now);
        Ok(Self {
            tenant: first.tenant,
            kb: kb.id,
            id: source.await?.id,
            config,
        })
    }

    /// A job over the whole folder, begun.
    pub async fn start(&self, engine: &Engine) -> anyhow::Result<JobId> {
        let parts = engine.parts();
        let now = parts.clock.now();
        let job = NewJob {
            kb: self.kb,
            source: Some(self.id),
            config: self.config.clone(),
            initiated_by: None,
        };
        let job = parts.catalog.create_job(self.tenant, job, now).await?;
        parts.catalog.start_job(self.tenant, job.id, now).await?;
        Ok(job.id)
    }
}
