//! The models at hand: the one that embeds what is new, and others knowledge bases still serve.

use std::sync::Arc;

use catalog::Generation;
use providers::Embedder;

use crate::embedding::Embeddings;
use crate::{Engine, Error};

/// A model, and the desk where its batches fill.
pub(crate) struct Model {
    pub embedder: Arc<dyn Embedder>,
    pub embeddings: Embeddings,
}

impl Engine {
    /// A second model: knowledge bases built with it go on answering, and taking in, while
    /// a generation with the first is built.
    #[must_use]
    pub fn also(mut self, embedder: Arc<dyn Embedder>) -> Self {
        let embeddings = Embeddings::start(self.settings.embedding, embedder.clone());
        self.others.push(Model {
            embedder,
            embeddings,
        });
        self
    }

    /// Every model at hand, the one for what is new first.
    pub fn embedders(&self) -> impl Iterator<Item = &Arc<dyn Embedder>> {
        self.models().map(|model| &model.embedder)
    }

    fn models(&self) -> impl Iterator<Item = &Model> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The model of a generation for what goes into it: it reads the largest of its chunks.
    pub(crate) fn model(&self, generation: &Generation) -> Result<&Model, Error> {
        let model = self.asked_model(generation)?;
        let (info, max) = (model.embedder.info(), generation.spec.policy.max());
        if max > info.max_tokens as usize {
            return Err(Error::BeyondModel {
                model: info.name.to_string(),
                limit: info.max_tokens,
                max,
            });
        }
        Ok(model)
    }

    /// A knowledge base answers only in the model it was built with.
    pub(crate) fn asked_model(&self, generation: &Generation) -> Result<&Model, Error> {
        let serving = &generation.spec.model;
        self.models()
            .find(|model| model.embedder.info().name == *serving)
            .ok_or_else(|| Error::OtherModel {
                serving: serving.to_string(),
                ours: self.parts.embedder.info().name.to_string(),
            })
    }
}
