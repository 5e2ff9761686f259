//! What is said of a version, and by whom.

use std::time::Duration;

use catalog::{JobClaim, LiveFilter};
use model::VersionId;
use serde_json::{Value, json};

use crate::World;
use crate::generations::{begin, fill, switch};

impl World {
    /// A job that shows one file, and says something of it.
    async fn says(&self, name: &str, said: Value) -> JobClaim {
        let claim = self.job(name).await;
        let mut batch = self.batch(&claim, &[("a.txt", "one")], true);
        batch.admissions[0].metadata = said.as_object().unwrap().clone();
        let admitted = self.catalog.admit_batch(&claim, batch, self.clock.now());
        admitted.await.unwrap();
        self.work_off().await;
        claim
    }

    async fn is_said_of(&self, version: VersionId) -> Value {
        let version = self.catalog.version(self.place.tenant, version).await;
        Value::Object(version.unwrap().metadata)
    }

    async fn is_found_by(&self, key: &str, value: &str) -> bool {
        let filter = LiveFilter {
            metadata: vec![(key.into(), value.into())],
            ..LiveFilter::default()
        };
        !self.answering_in(filter).await.is_empty()
    }
}

pub async fn a_canceled_job_has_said_nothing_of_what_stays(world: &World) {
    let first = world.says("first", json!({ "k": "a", "x": "1" })).await;
    let version = world.answering().await[0];
    let second = world.says("second", json!({ "k": "b", "y": "2" })).await;
    let all = json!({ "k": "b", "x": "1", "y": "2" });
    assert_eq!(world.is_said_of(version).await, all);

    world.cancel(&second).await;
    let before = json!({ "k": "a", "x": "1" });
    assert_eq!(world.is_said_of(version).await, before);
    world.is_as_noted("canceled").await;
    assert!(world.is_found_by("k", "a").await && !world.is_found_by("y", "2").await);

    // Of the one that brought it no more stays than of any other.
    let third = world.says("third", json!({ "y": "3" })).await;
    world.cancel(&first).await;
    assert_eq!(world.is_said_of(version).await, json!({ "y": "3" }));
    assert!(world.is_found_by("y", "3").await && !world.is_found_by("k", "a").await);

    // What came without a job is nobody's to take back.
    let mut direct = world.place.file("a.txt", "one", world.clock.now());
    direct.metadata = json!({ "z": "4" }).as_object().unwrap().clone();
    world.take(direct).await;
    world.cancel(&third).await;
    assert_eq!(world.is_said_of(version).await, json!({ "z": "4" }));
    world.is_as_noted("in the end").await;
}

pub async fn whoever_finds_a_version_that_was_copied_claims_the_copy_too(world: &World) {
    let first = world.says("first", json!({ "k": "a" })).await;
    let kb = begin(world).await;
    assert_eq!(fill(world, &kb).await, 1);
    world.work_off().await;
    world.says("second", json!({ "k": "b" })).await;
    switch(world, &kb, false).await.unwrap();
    world.is_as_noted("switched").await;

    world.cancel(&first).await;
    world.is_as_noted("canceled").await;
    let left = world.answering().await;
    assert_eq!(left.len(), 1, "the second has it still");
    assert_eq!(world.is_said_of(left[0]).await, json!({ "k": "b" }));
    assert!(world.is_found_by("k", "b").await);
}

pub async fn what_a_rollback_turned_away_is_claimed_where_it_came_and_where_it_was_copied(
    world: &World,
) {
    let (catalog, tenant) = (&world.catalog, world.place.tenant);
    let old = world.admit("a.txt", "zero").await;
    world.work_off().await;
    let kb = begin(world).await;
    let first = world.says("first", json!({ "k": "a" })).await;
    let came = world.answering().await[0];
    assert_eq!(fill(world, &kb).await, 1);
    world.work_off().await;
    let now = world.clock.pass(Duration::from_secs(1));
    let back = catalog.rollback(tenant, old.document, old.version, None, now);
    back.await.unwrap();
    world.says("second", json!({ "k": "b" })).await;
    assert_eq!(world.is_said_of(came).await, json!({ "k": "b" }));

    fill(world, &kb).await;
    world.work_off().await;
    switch(world, &kb, false).await.unwrap();
    let mut direct = world.place.file("a.txt", "one", world.clock.now());
    direct.generation = kb.building_id().unwrap();
    let copy = world.take(direct).await.version;
    assert_ne!(copy, came, "what serves now is nearest");
    world.cancel(&first).await;
    for version in [came, copy] {
        assert_eq!(world.is_said_of(version).await, json!({ "k": "b" }));
    }
    assert_eq!(world.answering().await.len(), 1);
    world.is_proven(old.document).await;
    world.is_as_noted("in the end").await;
}
