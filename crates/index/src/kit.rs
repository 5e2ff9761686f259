//! An index in memory and chunks to put there, for tests of what it holds inside.

use std::path::Path;
use std::sync::Arc;

use model::{
    Chunk, ContentHash, GenerationId, KbId, ModelName, Span, TenantId, UnitName, VersionId,
};
use object_store::memory::InMemory;
use uuid::Uuid;

use crate::{Fence, Index, IndexedChunk, Receipt, Settings, Space, UnitPlace};

pub fn space(n: u128) -> Space {
    Space {
        tenant: TenantId::from_uuid(Uuid::from_u128(1)),
        kb: KbId::from_uuid(Uuid::from_u128(2)),
        generation: GenerationId::from_uuid(Uuid::from_u128(n)),
    }
}

pub fn chunk(ordinal: u32, vector: Vec<f32>) -> IndexedChunk {
    let span = Span {
        byte_start: 0,
        byte_end: 5,
        char_start: 0,
        char_end: 5,
    };
    IndexedChunk {
        chunk: Chunk {
            ordinal,
            span,
            atoms: 0..1,
            text: "grain".to_owned(),
            tokens: 1,
            heading_path: Vec::new(),
            pages: Vec::new(),
            boxes: Vec::new(),
        },
        vector,
        input_hash: ContentHash::of(b"grain"),
        language: None,
        reused: false,
    }
}

pub async fn write(index: &Index, space: Space, unit: &str, chunks: Vec<IndexedChunk>) -> Receipt {
    let place = UnitPlace {
        space,
        version: VersionId::from_uuid(Uuid::from_u128(4)),
        number: 0,
        unit: UnitName::new(unit).unwrap(),
    };
    let model = ModelName::new("local", "test");
    let written = index.replace_unit(place, Fence(1), &model, chunks).await;
    written.unwrap()
}

pub async fn open(settings: Settings, objects: &Arc<InMemory>, text: &Path) -> Index {
    let opened = Index::open(settings, objects.clone(), text.to_owned());
    opened.await.unwrap()
}

impl Index {
    pub async fn open_texts(&self) -> usize {
        self.store.shelf.open_books().await
    }
}
