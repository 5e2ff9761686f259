//! One unit becomes searchable: chunk, embed, index, and only then the marker.

use catalog::{Claim, Completion, UnitDone, UnitOutcome, UnitRow, UnitState, Version};
use index::{Fence, IndexedChunk, Space, UnitPlace};
use model::{Chunk, ChunkId, ContentHash, FollowUps, Step, TokenCounter, Unit, UnitName};
use pipeline::batch::{BatchKey, Passage, Reason};

use crate::aside::aside;
use crate::figures::Timed;
use crate::objects::Key;
use crate::{Engine, Error, Stage};

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
        self.model(&version.generation)?;
        let key = Key::unit(claim.tenant, version.id, pass, name);
        let unit: Unit = self.parts.objects.get_json(&key).await?;
        self.pass(claim, Stage::Chunking);
        let chunking = self.chunk(unit, &version.generation);
        let chunks = self.timed(Timed::Chunk, chunking).await?;
        let tokens = chunks.iter().map(|cut| cut.tokens as u64).sum();
        self.pass(claim, Stage::Embedding);
        let language = version.language.as_deref();
        let embedding = self.embed(Some(claim), &version, name, chunks, language);
        let (chunks, reused) = self.timed(Timed::Embed, embedding).await?;
        let inputs: Vec<ContentHash> = chunks.iter().map(|chunk| chunk.input_hash).collect();
        let count = chunks.len() as u64;
        self.pass(claim, Stage::Indexing);

        let place = place_of(&version, name);
        let model = &version.generation.spec.model;
        self.reopen_if_sealed(pass, &place, Fence(claim.token))
            .await?;
        let indexing = async {
            let index = &self.parts.index;
            let receipt = index.replace_unit(place, Fence(claim.token), model, chunks);
            // Durable before done: whoever sees the mark may rely on the chunks.
            self.settled(&receipt.await?).await
        };
        let flush = self.timed(Timed::Index, indexing).await?;
        let embeddings = &self.model(&version.generation)?.embeddings;
        embeddings.indexed(version.tenant, &inputs);

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

    /// A run that failed after its version was sealed begins again from the beginning, and so does
    /// one whose rows were lost or changed then: as long as this unit is open in the newest pass,
    /// the seal is one of before.
    async fn reopen_if_sealed(
        &self,
        pass: u32,
        place: &UnitPlace,
        fence: Fence,
    ) -> Result<(), Error> {
        let (catalog, index) = (&self.parts.catalog, &self.parts.index);
        if !index.is_sealed(place.space, place.version).await? {
            return Ok(());
        }
        let tenant = place.space.tenant;
        let newest = catalog.version(tenant, place.version).await?.pass;
        let units = catalog.units(tenant, place.version).await?;
        let is_open = |unit: &UnitRow| unit.name == place.unit && unit.state == UnitState::Open;
        if newest == pass && units.iter().any(is_open) {
            tracing::info!(version_id = %place.version, "sealed by an earlier pass, opened again");
            let opened = index.reopen(place, fence).await?;
            opened.durable().await?;
        }
        Ok(())
    }

    async fn settled(&self, receipt: &index::Receipt) -> Result<index::Flush, Error> {
        #[cfg(debug_assertions)]
        if self.settings.plant == Some(crate::Plant::MarksTooEarly) {
            return Ok(index::Flush(0));
        }
        Ok(receipt.durable().await?)
    }

    /// Vectors for every chunk: known ones from the reuse table, the rest from the model. Also how
    /// many were known before the unit first came, whether or not it comes again.
    pub(crate) async fn embed(
        &self,
        claim: Option<&Claim>,
        version: &Version,
        unit: &UnitName,
        chunks: Vec<Cut>,
        language: Option<&str>,
    ) -> Result<(Vec<IndexedChunk>, u64), Error> {
        let model = &version.generation.spec.model;
        let (chunks, passages): (Vec<Chunk>, Vec<Passage>) = chunks
            .into_iter()
            .map(|cut| cut.passage(version, unit))
            .unzip();
        let hashes: Vec<ContentHash> = passages.iter().map(|p| p.input_hash).collect();
        let known = self
            .parts
            .index
            .embeddings(version.tenant, model, &hashes)
            .await?;
        let place = place_of(version, unit);
        let told = self.parts.index.reused(&place, model, &hashes).await?;
        let reused = told.unwrap_or_else(|| known.iter().map(Option::is_some).collect());
        let count = reused.iter().filter(|reused| **reused).count() as u64;
        let missing = known
            .iter()
            .zip(passages)
            .filter(|(known, _)| known.is_none())
            .map(|(_, passage)| passage)
            .collect();
        let fresh = self.embed_missing(claim, version, missing).await?;
        let mut fresh = fresh.into_iter();
        let indexed = chunks
            .into_iter()
            .zip(known)
            .zip(hashes)
            .zip(reused)
            .map(|(((chunk, known), input_hash), reused)| IndexedChunk {
                vector: known.unwrap_or_else(|| {
                    fresh.next().expect("one vector per input that was missing")
                }),
                input_hash,
                language: language.map(str::to_owned),
                chunk,
                reused,
            })
            .collect();
        Ok((indexed, count))
    }

    /// A window of passages at a time. A job that was paused or called off meanwhile holds
    /// the rest back; what is embedded by then is known when the unit comes again.
    async fn embed_missing(
        &self,
        claim: Option<&Claim>,
        version: &Version,
        missing: Vec<Passage>,
    ) -> Result<Vec<Vec<f32>>, Error> {
        let embeddings = &self.model(&version.generation)?.embeddings;
        let key = BatchKey {
            tenant: version.tenant,
            kb: version.kb,
            model: version.generation.spec.model.clone(),
        };
        let mut vectors = Vec::with_capacity(missing.len());
        let mut missing = missing.into_iter().peekable();
        while missing.peek().is_some() {
            // The step has passed the gate before its first.
            if let Some(claim) = claim.filter(|_| !vectors.is_empty()) {
                self.ask_gate(claim).await?;
            }
            let window = missing.by_ref().take(embeddings.window()).collect();
            let end = match missing.peek() {
                Some(_) => Reason::Window,
                None => Reason::EndOfDocument,
            };
            vectors.extend(embeddings.embed(&key, window, end).await?);
        }
        Ok(vectors)
    }

    pub(crate) async fn chunk(
        &self,
        unit: Unit,
        generation: &catalog::Generation,
    ) -> Result<Vec<Cut>, Error> {
        let policy = generation.spec.policy;
        let embedder = &self.model(generation)?.embedder;
        let tokens = embedder.tokens();
        let limit = embedder.info().max_tokens as usize;
        aside(unit.text.len(), move || {
            let chunks = pipeline::chunk::chunk(&unit, policy, &*tokens);
            let cut = |chunk| Cut::new(chunk, limit, &*tokens);
            chunks.into_iter().map(cut).collect()
        })
        .await
    }
}

fn place_of(version: &Version, unit: &UnitName) -> UnitPlace {
    UnitPlace {
        space: Space {
            tenant: version.tenant,
            kb: version.kb,
            generation: version.generation.id,
        },
        version: version.id,
        number: version.number,
        unit: unit.clone(),
    }
}

/// A chunk, and what the model is given of it.
pub(crate) struct Cut {
    pub(crate) chunk: Chunk,
    input: String,
    pub(crate) tokens: usize,
}

impl Cut {
    fn new(chunk: Chunk, limit: usize, tokens: &dyn TokenCounter) -> Self {
        let (input, tokens) = pipeline::chunk::embedder_input(&chunk, limit, tokens);
        Self {
            chunk,
            input,
            tokens,
        }
    }

    fn passage(self, version: &Version, unit: &UnitName) -> (Chunk, Passage) {
        let id = ChunkId {
            version: version.id,
            unit: unit.clone(),
            ordinal: self.chunk.ordinal,
        };
        let passage = Passage::new(version.document, id, self.input, self.tokens);
        (self.chunk, passage)
    }
}
