//! Whose index and objects a catalog tells of.

use catalog::{Bound, DataFolder};
use uuid::Uuid;

use crate::World;

pub async fn a_catalog_belongs_to_the_first_folder_that_opens_it(world: &World) {
    let (catalog, now) = (&world.catalog, world.clock.now());
    let folder = |n: u128, place: &str| DataFolder {
        id: Uuid::from_u128(n),
        place: place.to_owned(),
    };
    let first = folder(1, "/first");
    for _ in 0..2 {
        let bound = catalog.bind(first.clone(), now).await.unwrap();
        assert_eq!(bound, Bound::Here);
    }
    let other = || catalog.bind(folder(2, "/other"), now);
    assert_eq!(other().await.unwrap(), Bound::Elsewhere(first));
    let moved = folder(1, "/moved");
    let bound = catalog.bind(moved.clone(), now).await.unwrap();
    assert_eq!(bound, Bound::Here);
    assert_eq!(other().await.unwrap(), Bound::Elsewhere(moved));
}

pub async fn of_many_folders_at_once_one_has_the_catalog(world: &World) {
    let bind = async |n: u128| {
        let folder = DataFolder {
            id: Uuid::from_u128(n),
            place: format!("/{n}"),
        };
        let bound = world.catalog.bind(folder, world.clock.now());
        bound.await.unwrap()
    };
    let bound = futures::future::join_all((0..8).map(bind)).await;
    let here = bound.iter().filter(|bound| **bound == Bound::Here);
    assert_eq!(here.count(), 1);
}
