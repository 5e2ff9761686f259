//! The forward pass of a BERT, over several inputs at once and without padding.
//!
//! The tokens of all inputs stand under each other in one matrix. What treats a
//! token by itself (projections, layer norms, activations) runs over the whole of
//! it; attention runs within each input.

use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
use rten_simd::{SimdOp, SimdUnaryOp};
use rten_tensor::NdTensorView;
use rten_vecmath::{ApproxGelu, Gelu, Normalize, NormalizeOptions, Softmax, Sum, SumSquareSub};

use super::folder::Activation;
use super::linear::{Linear, Products};
use super::pooling::Pooling;

pub struct Bert {
    pub(super) width: usize,
    pub(super) heads: usize,
    pub(super) words: Vec<f32>,
    /// Position and token type together, one row per position.
    pub(super) positions: Vec<f32>,
    pub(super) norm: Norm,
    pub(super) layers: Vec<Layer>,
    pub(super) activation: Activation,
    pub(super) pooling: Pooling,
}

pub(super) struct Layer {
    /// Query, key and value side by side; queries already scaled.
    pub(super) qkv: Linear,
    pub(super) output: Linear,
    pub(super) attention_norm: Norm,
    pub(super) up: Linear,
    pub(super) down: Linear,
    pub(super) norm: Norm,
}

pub(super) struct Norm {
    pub(super) scale: Vec<f32>,
    pub(super) shift: Vec<f32>,
    pub(super) epsilon: f32,
}

/// Buffers kept from one group to the next.
#[derive(Default)]
pub struct Scratch {
    products: Products,
    x: Vec<f32>,
    qkv: Vec<f32>,
    context: Vec<f32>,
    scores: Vec<f32>,
    head: Vec<f32>,
    up: Vec<f32>,
}

impl Bert {
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
        layer.qkv.apply(&mut scratch.products, x, &mut scratch.qkv);
        let context = resized(&mut scratch.context, x.len());
        let (scores, head) = (&mut scratch.scores, &mut scratch.head);
        let mut first = 0;
        for ids in inputs {
            let rows = first..first + ids.len();
            first = rows.end;
            let qkv = &scratch.qkv[rows.start * 3 * self.width..rows.end * 3 * self.width];
            let context = &mut context[rows.start * self.width..rows.end * self.width];
            for h in 0..self.heads {
                self.head(h, qkv, (&scratch.products.full, scores, head), context);
            }
        }
        layer.output.add(&mut scratch.products, &scratch.context, x);
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
        layer.up.apply(&mut scratch.products, x, &mut scratch.up);
        match self.activation {
            Activation::Gelu => Gelu {}.map_mut(&mut scratch.up),
            Activation::GeluNew => ApproxGelu {}.map_mut(&mut scratch.up),
            Activation::Relu => scratch.up.iter_mut().for_each(|v| *v = v.max(0.0)),
        };
        layer.down.add(&mut scratch.products, &scratch.up, x);
        layer.norm.apply(x);
    }
}

impl Norm {
    fn apply(&self, x: &mut [f32]) {
        let width = self.scale.len();
        for row in x.chunks_exact_mut(width) {
            let mean = Sum::new(row).dispatch() / width as f32;
            let variance = SumSquareSub::new(row, mean).dispatch() / width as f32;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: 1.0 / (variance + self.epsilon).sqrt(),
                element_scale: Some(&self.scale),
                element_bias: Some(&self.shift),
                ..NormalizeOptions::default()
            };
            Normalize::new_mut(row, options).dispatch();
        }
    }
}

/// The first `length` values of a buffer that only grows.
fn resized(buffer: &mut Vec<f32>, length: usize) -> &mut [f32] {
    buffer.resize(length, 0.0);
    &mut buffer[..]
}
