//! Weights of a folder to a model ready to run.

use super::bert::{Bert, Layer, Norm};
use super::folder::Folder;
use super::linear::{Linear, Products};
use super::weights::Weights;
use crate::{Error, Precision};

/// `vocabulary` is what the tokenizer needs; fewer rows than that cannot be served.
pub fn load(
    folder: &Folder,
    bytes: &[u8],
    vocabulary: usize,
    precision: Precision,
) -> Result<Bert, Error> {
    let weights = Weights::new(folder, bytes)?;
    let config = &folder.config;
    let loading = Loading {
        products: Products::default(),
        precision,
        weights,
        folder,
    };
    let layers = 0..config.num_hidden_layers;
    Ok(Bert {
        width: config.hidden_size,
        heads: config.num_attention_heads,
        words: loading.words(vocabulary)?,
        positions: loading.positions()?,
        norm: loading.norm("embeddings.LayerNorm")?,
        layers: layers.map(|n| loading.layer(n)).collect::<Result<_, _>>()?,
        activation: config.hidden_act,
        pooling: folder.pooling,
    })
}

struct Loading<'a> {
    products: Products,
    precision: Precision,
    weights: Weights<'a>,
    folder: &'a Folder,
}

impl Loading<'_> {
    fn words(&self, vocabulary: usize) -> Result<Vec<f32>, Error> {
        const NAME: &str = "embeddings.word_embeddings.weight";
        let rows = self.weights.rows(NAME)?;
        if rows < vocabulary {
            let largest = vocabulary - 1;
            let what = format!("{rows} word vectors, and tokenizer.json gives ids up to {largest}");
            return Err(self.folder.malformed("model.safetensors", what));
        }
        self.weights
            .matrix(NAME, rows, self.folder.config.hidden_size)
    }

    /// Inputs are single texts, so every token is of the first type.
    fn positions(&self) -> Result<Vec<f32>, Error> {
        let config = &self.folder.config;
        let (rows, width) = (config.max_position_embeddings, config.hidden_size);
        let mut positions =
            self.weights
                .matrix("embeddings.position_embeddings.weight", rows, width)?;
        const TYPES: &str = "embeddings.token_type_embeddings.weight";
        let types = self
            .weights
            .matrix(TYPES, self.weights.rows(TYPES)?, width)?;
        for row in positions.chunks_exact_mut(width) {
            row.iter_mut().zip(&types).for_each(|(p, t)| *p += t);
        }
        Ok(positions)
    }

    fn layer(&self, n: usize) -> Result<Layer, Error> {
        let config = &self.folder.config;
        let (width, middle) = (config.hidden_size, config.intermediate_size);
        let name = |part: &str| format!("encoder.layer.{n}.{part}");
        Ok(Layer {
            qkv: self.qkv(n)?,
            output: self.linear(&name("attention.output.dense"), width, width)?,
            attention_norm: self.norm(&name("attention.output.LayerNorm"))?,
            up: self.linear(&name("intermediate.dense"), width, middle)?,
            down: self.linear(&name("output.dense"), middle, width)?,
            norm: self.norm(&name("output.LayerNorm"))?,
        })
    }

    /// One product instead of three; the scale of attention goes into the queries.
    fn qkv(&self, n: usize) -> Result<Linear, Error> {
        let config = &self.folder.config;
        let width = config.hidden_size;
        let scale = 1.0 / ((width / config.num_attention_heads) as f32).sqrt();
        let (mut weight, mut bias) = (Vec::new(), Vec::new());
        for (part, scale) in [("query", scale), ("key", 1.0), ("value", 1.0)] {
            let name = format!("encoder.layer.{n}.attention.self.{part}");
            let w = self
                .weights
                .matrix(&format!("{name}.weight"), width, width)?;
            let b = self.weights.vector(&format!("{name}.bias"), width)?;
            weight.extend(w.iter().map(|v| v * scale));
            bias.extend(b.iter().map(|v| v * scale));
        }
        Ok(self.pack(&weight, bias, width))
    }

    fn linear(&self, name: &str, inputs: usize, outputs: usize) -> Result<Linear, Error> {
        let weight = self
            .weights
            .matrix(&format!("{name}.weight"), outputs, inputs)?;
        let bias = self.weights.vector(&format!("{name}.bias"), outputs)?;
        Ok(self.pack(&weight, bias, inputs))
    }

    fn pack(&self, weight: &[f32], bias: Vec<f32>, inputs: usize) -> Linear {
        Linear::new(&self.products, self.precision, weight, bias, inputs)
    }

    fn norm(&self, name: &str) -> Result<Norm, Error> {
        let config = &self.folder.config;
        Ok(Norm {
            scale: self
                .weights
                .vector(&format!("{name}.weight"), config.hidden_size)?,
            shift: self
                .weights
                .vector(&format!("{name}.bias"), config.hidden_size)?,
            epsilon: config.layer_norm_eps,
        })
    }
}
