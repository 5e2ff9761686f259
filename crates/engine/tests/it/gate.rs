//! A pause takes effect at the next gate, and there is one inside a unit too.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use catalog::{Batch, Catalog, Claim, NewJob};
use chrono::Utc;
use engine::objects::Key;
use engine::{Disposition, Engine, Settings, SystemClock};
use model::{ContentHash, JobId, StepKind, TenantId, TokenCounter};
use providers::{Embedder, HashEmbedder, HashSettings, ModelInfo};
use testkit::Place;

use crate::house::{catalog_in, engine_in};

const LEASE: Duration = Duration::from_secs(60);
const WINDOW: usize = 4;

/// Notes how many passages each call brought, and pauses a job during the first.
struct Pauses {
    inner: HashEmbedder,
    catalog: Arc<dyn Catalog>,
    job: Mutex<Option<(TenantId, JobId)>>,
    sizes: Mutex<Vec<usize>>,
}

#[async_trait]
impl Embedder for Pauses {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    fn tokens(&self) -> Arc<dyn TokenCounter> {
        self.inner.tokens()
    }

    async fn embed_passages(&self, inputs: &[String]) -> Result<Vec<Vec<f32>>, providers::Error> {
        self.sizes.lock().unwrap().push(inputs.len());
        let job = self.job.lock().unwrap().take();
        if let Some((tenant, job)) = job {
            self.catalog
                .pause_job(tenant, job, Utc::now())
                .await
                .unwrap();
        }
        self.inner.embed_passages(inputs).await
    }

    async fn embed_query(&self, query: &str) -> Result<Vec<f32>, providers::Error> {
        self.inner.embed_query(query).await
    }
}

async fn house(folder: &std::path::Path) -> (Engine, Arc<Pauses>, Place) {
    let catalog = catalog_in(folder).await;
    let embedder = Arc::new(Pauses {
        inner: HashEmbedder::new(&HashSettings::default()),
        catalog: catalog.clone(),
        job: Mutex::default(),
        sizes: Mutex::default(),
    });
    let mut settings = Settings::default();
    settings.embedding.window = WINDOW;
    let clock = Arc::new(SystemClock);
    let opened = engine_in(folder, settings, catalog, embedder.clone(), clock);
    let (engine, place) = opened.await;
    (engine, embedder, place)
}

/// A job whose one document was brought by its listing.
async fn job_over(engine: &Engine, place: &Place, text: &str) -> JobId {
    let (tenant, now, parts) = (place.tenant, Utc::now(), engine.parts());
    let original = Key::original(tenant, &ContentHash::of(text.as_bytes()));
    let bytes = Bytes::from(text.to_owned());
    parts.objects.put(&original, bytes).await.unwrap();
    let job = NewJob {
        kb: place.kb,
        source: None,
        config: serde_json::json!({}),
        initiated_by: None,
    };
    let job = parts.catalog.create_job(tenant, job, now).await.unwrap().id;
    parts.catalog.start_job(tenant, job, now).await.unwrap();
    let listing = parts.catalog.claim_job("lister", LEASE, now).await;
    let mut admission = place.file("sacks.txt", text, now);
    admission.job = Some(job);
    let batch = Batch {
        admissions: vec![admission],
        seen: Vec::new(),
        problems: Vec::new(),
        cursor: serde_json::json!({}),
        exhausted: true,
    };
    let listing = listing.unwrap().expect("it is to be listed");
    let admitted = parts.catalog.admit_batch(&listing, batch, now).await;
    assert_eq!(admitted.unwrap().len(), 1);
    job
}

async fn claim(engine: &Engine, kind: StepKind) -> Claim {
    let catalog = &engine.parts().catalog;
    let claims = catalog.claim(&[kind], "worker", 1, LEASE, Utc::now()).await;
    claims.unwrap().remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_job_embeds_no_further_batch_and_on_resuming_none_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, embedder, place) = house(folder.path()).await;
    let line = |n: usize| format!("Sack {n} was weighed, {} grains in it.\n\n", n * n);
    let text: String = (0..300).map(line).collect();
    let job = job_over(&engine, &place, &text).await;
    engine
        .perform(&claim(&engine, StepKind::Prep).await)
        .await
        .unwrap();
    let extract = claim(&engine, StepKind::Extract).await;

    *embedder.job.lock().unwrap() = Some((place.tenant, job));
    let paused = engine.perform(&extract).await.unwrap_err();
    let Disposition::Wait { why, .. } = paused.disposition() else {
        panic!("{paused:?} does not wait");
    };
    assert_eq!(why, "the job is paused");
    assert_eq!(
        *embedder.sizes.lock().unwrap(),
        [WINDOW],
        "the batch under way was finished"
    );

    let catalog = &engine.parts().catalog;
    catalog
        .resume_job(place.tenant, job, Utc::now())
        .await
        .unwrap();
    engine.perform(&extract).await.unwrap();
    let version = extract.step.version();
    let chunks = engine.chunks(place.tenant, version).await.unwrap().len();
    let embedded: usize = embedder.sizes.lock().unwrap().iter().sum();
    assert!(chunks > 2 * WINDOW, "{chunks} chunks");
    assert_eq!(embedded, chunks);
}
