//! The forward pass of a BERT, over several inputs at once and without padding.
//!
//! The tokens of all inputs stand under each other in one matrix. What treats a
//! token by itself (projections, layer norms, activations) runs over the whole of
//! it; attention runs within each input.

use rten_gemm::{BiasVector, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_simd::{SimdOp, SimdUnaryOp};
use rten_tensor::NdTensorView;
use rten_vecmath::{ApproxGelu, Gelu, Softmax};

use super::folder::{Activation, Folder};
use super::pooling::Pooling;
use super::weights::Weights;
use crate::Error;

pub struct Bert {
    width: usize,
    heads: usize,
    words: Vec<f32>,
    /// Position and token type together, one row per position.
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    activation: Activation,
    pooling: Pooling,
}

struct Layer {
    /// Query, key and value side by side; queries already scaled.
    qkv: Linear,
    output: Linear,
    attention_norm: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
}

struct Linear {
    weight: PackedBMatrix<f32>,
    bias: Vec<f32>,
    inputs: usize,
}

struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
    epsilon: f32,
}

/// Buffers kept from one group to the next.
#[derive(Default)]
pub struct Scratch {
    gemm: GemmExecutor,
    x: Vec<f32>,
    qkv: Vec<f32>,
    context: Vec<f32>,
    scores: Vec<f32>,
    head: Vec<f32>,
    up: Vec<f32>,
}

impl Bert {
    /// `vocabulary` is what the tokenizer needs; fewer rows than that cannot be served.
    pub fn load(folder: &Folder, vocabulary: usize) -> Result<Self, Error> {
        let path = folder.file("model.safetensors");
        let bytes = std::fs::read(&path).map_err(|source| Error::Unreadable { path, source })?;
        let weights = Weights::new(folder, &bytes)?;
        let config = &folder.config;
        let loading = Loading {
            gemm: GemmExecutor::new(),
            weights,
            folder,
        };
        let layers = 0..config.num_hidden_layers;
        Ok(Self {
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

    /// A unit vector for each input; none of them is empty or beyond the model's length.
    pub fn embed(&self, inputs: &[Vec<u32>], scratch: &mut Scratch) -> Vec<Vec<f32>> {
        let mut x = std::mem::take(&mut scratch.x);
        self.look_up(inputs, &mut x);
        for layer in &self.layers {
            self.attend(layer, inputs, &mut x, scratch);
            self.feed_forward(layer, &mut x, scratch);
        }
        let mut rest = &x[..];
        let pooled = inputs.iter().map(|ids| {
            let (rows, after) = rest.split_at(ids.len() * self.width);
            rest = after;
            self.pooling.pool(rows, self.width)
        });
        let vectors = pooled.collect();
        scratch.x = x;
        vectors
    }

    fn look_up(&self, inputs: &[Vec<u32>], x: &mut Vec<f32>) {
        x.clear();
        for ids in inputs {
            for (id, position) in ids.iter().zip(self.positions.chunks_exact(self.width)) {
                let word = &self.words[*id as usize * self.width..][..self.width];
                x.extend(word.iter().zip(position).map(|(a, b)| a + b));
            }
        }
        self.norm.apply(x);
    }

    fn attend(&self, layer: &Layer, inputs: &[Vec<u32>], x: &mut [f32], scratch: &mut Scratch) {
        layer.qkv.apply(&scratch.gemm, x, &mut scratch.qkv);
        let context = resized(&mut scratch.context, x.len());
        let (scores, head) = (&mut scratch.scores, &mut scratch.head);
        let mut first = 0;
        for ids in inputs {
            let rows = first..first + ids.len();
            first = rows.end;
            let qkv = &scratch.qkv[rows.start * 3 * self.width..rows.end * 3 * self.width];
            let context = &mut context[rows.start * self.width..rows.end * self.width];
            for h in 0..self.heads {
                self.head(h, qkv, (&scratch.gemm, scores, head), context);
            }
        }
        layer.output.add(&scratch.gemm, &scratch.context, x);
        layer.attention_norm.apply(x);
    }

    /// Attention of one head within one input.
    fn head(
        &self,
        head: usize,
        qkv: &[f32],
        (gemm, scores, out): (&GemmExecutor, &mut Vec<f32>, &mut Vec<f32>),
        context: &mut [f32],
    ) {
        let size = self.width / self.heads;
        let length = qkv.len() / (3 * self.width);
        let part = |n: usize| {
            let from = n * self.width + head * size;
            let shape = [length, size];
            NdTensorView::from_data_with_strides(shape, &qkv[from..], [3 * self.width, 1])
                .expect("a head lies within its rows")
        };
        let (query, key, value) = (part(0), part(1), part(2));
        let scores = resized(scores, length * length);
        let product = |out: &mut [f32], a, b| {
            let (a, b) = (GemmInputA::Unpacked(a), GemmInputB::Unpacked(b));
            let done = gemm.gemm(out, a, b, GemmOptions::default());
            done.expect("shapes agree");
        };
        product(scores, query, key.transposed());
        for row in scores.chunks_exact_mut(length) {
            Softmax::new_mut(row).dispatch();
        }
        let scores = NdTensorView::from_data([length, length], &*scores);
        let out = resized(out, length * size);
        product(out, scores, value);
        for (from, to) in out
            .chunks_exact(size)
            .zip(context.chunks_exact_mut(self.width))
        {
            to[head * size..][..size].copy_from_slice(from);
        }
    }

    fn feed_forward(&self, layer: &Layer, x: &mut [f32], scratch: &mut Scratch) {
        layer.up.apply(&scratch.gemm, x, &mut scratch.up);
        match self.activation {
            Activation::Gelu => Gelu {}.map_mut(&mut scratch.up),
            Activation::GeluNew => ApproxGelu {}.map_mut(&mut scratch.up),
            Activation::Relu => scratch.up.iter_mut().for_each(|v| *v = v.max(0.0)),
        };
        layer.down.add(&scratch.gemm, &scratch.up, x);
        layer.norm.apply(x);
    }
}

impl Linear {
    fn apply(&self, gemm: &GemmExecutor, x: &[f32], out: &mut Vec<f32>) {
        let rows = x.len() / self.inputs;
        self.run(gemm, x, 0.0, resized(out, rows * self.bias.len()));
    }

    /// Adds to what `out` holds already.
    fn add(&self, gemm: &GemmExecutor, x: &[f32], out: &mut [f32]) {
        self.run(gemm, x, 1.0, out);
    }

    fn run(&self, gemm: &GemmExecutor, x: &[f32], beta: f32, out: &mut [f32]) {
        let x = NdTensorView::from_data([x.len() / self.inputs, self.inputs], x);
        let options = GemmOptions {
            beta,
            bias: Some(BiasVector::Row(&self.bias)),
            ..GemmOptions::default()
        };
        let (a, b) = (GemmInputA::Unpacked(x), GemmInputB::Packed(&self.weight));
        gemm.gemm(out, a, b, options).expect("shapes agree");
    }
}

impl Norm {
    fn apply(&self, x: &mut [f32]) {
        let width = self.scale.len();
        for row in x.chunks_exact_mut(width) {
            let mean = row.iter().sum::<f32>() / width as f32;
            let variance = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / width as f32;
            let scale = 1.0 / (variance + self.epsilon).sqrt();
            for ((v, s), b) in row.iter_mut().zip(&self.scale).zip(&self.shift) {
                *v = (*v - mean) * scale * s + b;
            }
        }
    }
}

/// The first `length` values of a buffer that only grows.
fn resized(buffer: &mut Vec<f32>, length: usize) -> &mut [f32] {
    buffer.resize(length, 0.0);
    &mut buffer[..]
}

struct Loading<'a> {
    gemm: GemmExecutor,
    weights: Weights<'a>,
    folder: &'a Folder,
}

impl Loading<'_> {
    fn words(&self, vocabulary: usize) -> Result<Vec<f32>, Error> {
        const NAME: &str = "embeddings.word_embeddings.weight";
        let rows = self.weights.rows(NAME)?;
        if rows < vocabulary {
            let what = format!("{rows} word vectors for {vocabulary} tokens");
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

    /// Stored with one row per output, used with one column per output.
    fn pack(&self, weight: &[f32], bias: Vec<f32>, inputs: usize) -> Linear {
        let view = NdTensorView::from_data([bias.len(), inputs], weight);
        Linear {
            weight: self.gemm.prepack_b(view.transposed()),
            bias,
            inputs,
        }
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
