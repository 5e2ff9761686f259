//! One suite, every backend: what each promises is an ordinary function over the seam.

use std::sync::Arc;

use catalog::{Catalog, Settings};
use testkit::{Clock, Place};

mod flow;

/// A catalog of its own for one promise.
pub struct World {
    pub catalog: Arc<dyn Catalog>,
    pub clock: Clock,
    pub place: Place,
}

async fn sqlite(folder: &tempfile::TempDir) -> World {
    let url = format!("sqlite://{}", folder.path().join("catalog.db").display());
    world(Settings::new(url)).await
}

async fn world(settings: Settings) -> World {
    let catalog = catalog::open(&settings).await.expect("the catalog opens");
    let clock = Clock::default();
    let place = testkit::place(&*catalog, clock.now())
        .await
        .expect("a first start");
    World {
        catalog,
        clock,
        place,
    }
}

#[tokio::test]
async fn sqlite_takes_a_document_from_admission_to_answering() {
    let folder = tempfile::tempdir().unwrap();
    flow::a_document_goes_from_admission_to_answering(&sqlite(&folder).await).await;
}

#[tokio::test]
async fn postgres_takes_a_document_from_admission_to_answering() {
    let world = world(Settings::new(testkit::postgres().await)).await;
    flow::a_document_goes_from_admission_to_answering(&world).await;
}
