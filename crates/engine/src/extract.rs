//! One unit becomes searchable: chunk, embed, index, and only then the marker.

use catalog::{Claim, Completion, UnitDone, UnitOutcome};
use index::{Fence, IndexedChunk, Space, UnitPlace};
use model::{Chunk, ChunkId, ContentHash, FollowUps, Step, Unit, UnitName};
use pipeline::batch::{BatchKey, Passage};

use crate::objects::Key;
use crate::{Engine, Error};

impl Engine {
    pub(crate) async fn extract(
        &self,
        claim: &Claim,
        pass: u32,
        name: &UnitName,
    ) -> Result<FollowUps, Error> {
        let version = self
            .parts
            .catalog
            .version(claim.tenant, claim.step.version())
            .await?;
        self.check_model(&version.generation)?;
        let key = Key::unit(claim.tenant, version.id, pass, name);
        let unit: Unit = self.parts.objects.get_json(&key).await?;
        let chunks = self.chunk(unit, &version.generation).await?;
        let tokens = chunks.iter().map(|chunk| u64::from(chunk.tokens)).sum();
        let (chunks, reused) = self.embed(claim, name, chunks, &version).await?;
        let count = chunks.len() as u64;

        let place = UnitPlace {
            space: Space {
                tenant: claim.tenant,
                kb: claim.kb,
                generation: version.generation.id,
            },
            version: version.id,
            number: version.number,
            unit: name.clone(),
        };
        let model = &version.generation.spec.model;
        let receipt = self
            .parts
            .index
            .replace_unit(place, Fence(claim.token), model, chunks)
            .await?;
        // Durable before done: whoever sees the mark may rely on the chunks.
        let flush = self.settled(&receipt).await?;

        let done = UnitDone {
            unit: name.clone(),
            pass,
            outcome: UnitOutcome::Done {
                chunks: count,
                tokens,
                reused,
                flush: flush.0,
            },
        };
        let now = self.parts.clock.now();
        match self.parts.catalog.complete_unit(claim, done, now).await? {
            Completion::OthersOpen | Completion::StalePass => Ok(vec![]),
            Completion::Last => Ok(vec![Step::Finalize {
                version: version.id,
                pass,
            }]),
        }
    }

    async fn settled(&self, receipt: &index::Receipt) -> Result<index::Flush, Error> {
        #[cfg(debug_assertions)]
        if self.settings.marks_too_early {
            return Ok(index::Flush(0));
        }
        Ok(receipt.durable().await?)
    }

    /// Vectors for every chunk: known ones from the reuse table, the rest from the model.
    async fn embed(
        &self,
        claim: &Claim,
        unit: &UnitName,
        chunks: Vec<Chunk>,
        version: &catalog::Version,
    ) -> Result<(Vec<IndexedChunk>, u64), Error> {
        let title = version.title.as_deref();
        let model = &self.parts.embedder.info().name;
        let passages: Vec<Passage> = chunks
            .iter()
            .map(|chunk| passage(claim, unit, chunk, title))
            .collect();
        let hashes: Vec<ContentHash> = passages.iter().map(|p| p.input_hash).collect();
        let known = self
            .parts
            .index
            .embeddings(claim.tenant, model, &hashes)
            .await?;
        let reused = known.iter().flatten().count() as u64;
        let missing = known
            .iter()
            .zip(passages)
            .filter(|(known, _)| known.is_none())
            .map(|(_, passage)| passage)
            .collect();
        let key = BatchKey {
            tenant: claim.tenant,
            kb: claim.kb,
            model: model.clone(),
        };
        let mut fresh = self.embeddings.embed(&key, missing).await?.into_iter();
        let indexed = chunks
            .into_iter()
            .zip(known)
            .zip(hashes)
            .map(|((chunk, known), input_hash)| IndexedChunk {
                vector: known.unwrap_or_else(|| {
                    fresh.next().expect("one vector per input that was missing")
                }),
                input_hash,
                language: version.language.clone(),
                chunk,
            })
            .collect();
        Ok((indexed, reused))
    }

    async fn chunk(
        &self,
        unit: Unit,
        generation: &catalog::Generation,
    ) -> Result<Vec<Chunk>, Error> {
        let policy = generation.spec.policy;
        let tokens = self.parts.embedder.tokens();
        tokio::task::spawn_blocking(move || pipeline::chunk::chunk(&unit, policy, &*tokens))
            .await
            .map_err(|_| Error::StageStopped)
    }
}

fn passage(claim: &Claim, unit: &UnitName, chunk: &Chunk, title: Option<&str>) -> Passage {
    let id = ChunkId {
        version: claim.step.version(),
        unit: unit.clone(),
        ordinal: chunk.ordinal,
    };
    let input = pipeline::chunk::embedder_input(chunk, title);
    Passage::new(claim.document, id, input, chunk.tokens as usize)
}
