//! Places, chunks and an index in a folder.

use std::path::Path;
use std::sync::Arc;

use index::{Fence, Index, IndexedChunk, Receipt, Settings, Space, UnitPlace};
use model::{
    Chunk, ContentHash, GenerationId, KbId, ModelName, Span, TenantId, UnitName, VersionId,
};
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use roaring::RoaringBitmap;
use uuid::Uuid;

pub fn space(n: u128) -> Space {
    Space {
        tenant: TenantId::from_uuid(Uuid::from_u128(n)),
        kb: KbId::from_uuid(Uuid::from_u128(n + 1)),
        generation: GenerationId::from_uuid(Uuid::from_u128(n + 2)),
    }
}

pub fn version(number: u32) -> VersionId {
    VersionId::from_uuid(Uuid::from_u128(1_000_000 + u128::from(number)))
}

pub fn place(space: Space, number: u32, unit: &str) -> UnitPlace {
    UnitPlace {
        space,
        version: version(number),
        number,
        unit: UnitName::new(unit).unwrap(),
    }
}

pub fn model_name() -> ModelName {
    ModelName::new("local", "test")
}

pub fn chunk(ordinal: u32, text: &str, vector: &[f32]) -> IndexedChunk {
    let len = text.len() as u64;
    IndexedChunk {
        chunk: Chunk {
            ordinal,
            span: Span {
                byte_start: 0,
                byte_end: len,
                char_start: 0,
                char_end: len,
            },
            atoms: 0..1,
            text: text.to_owned(),
            tokens: 1,
            heading_path: Vec::new(),
            pages: vec![1],
            boxes: Vec::new(),
        },
        vector: vector.to_vec(),
        input_hash: ContentHash::of(text.as_bytes()),
        language: None,
        reused: false,
    }
}

pub fn objects(folder: &Path) -> Arc<dyn ObjectStore> {
    let path = folder.join("index");
    std::fs::create_dir_all(&path).unwrap();
    let store = LocalFileSystem::new_with_prefix(path).unwrap();
    Arc::new(store.with_fsync(true))
}

pub async fn open(folder: &Path) -> Index {
    open_with(folder, Settings::default()).await
}

pub async fn open_with(folder: &Path, settings: Settings) -> Index {
    let text = folder.join("text");
    Index::open(settings, objects(folder), text).await.unwrap()
}

pub async fn replace(
    index: &Index,
    place: UnitPlace,
    fence: u64,
    chunks: Vec<IndexedChunk>,
) -> Result<Receipt, index::Error> {
    let model = model_name();
    index
        .replace_unit(place, Fence(fence), &model, chunks)
        .await
}

pub fn live(numbers: impl IntoIterator<Item = u32>) -> RoaringBitmap {
    numbers.into_iter().collect()
}
