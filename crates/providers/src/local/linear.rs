//! The products of a layer: weights that stay, times the tokens of a group.
//!
//! In full precision, or with weights and tokens in eight bits: a scale for each column of the
//! weights, found when they are loaded, and a scale and zero point for each token, found as it
//! comes. Sums are exact either way; only what goes into them is rounded.

use rten_gemm::{BiasVector, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_tensor::NdTensorView;

use crate::Precision;

pub struct Linear {
    weight: Weight,
    bias: Vec<f32>,
    inputs: usize,
}

enum Weight {
    Full(PackedBMatrix<f32>),
    EightBit {
        packed: PackedBMatrix<i8>,
        columns: Vec<Column>,
    },
}

/// What one step of a column is worth, and the sum of its steps.
struct Column {
    step: f32,
    sum: i32,
}

/// What the products need besides their operands, kept from one to the next.
#[derive(Default)]
pub struct Products {
    pub full: GemmExecutor,
    eight_bit: GemmExecutor<u8, i8, i32>,
    tokens: Tokens,
    sums: Vec<i32>,
}

/// A matrix in eight bits, row by row with a step and a zero point each.
#[derive(Default)]
struct Tokens {
    bytes: Vec<u8>,
    rows: Vec<Row>,
}

/// What one step of a row is worth, and the byte that stands for zero.
struct Row {
    step: f32,
    zero: i32,
}

impl Linear {
    /// `weight` is stored with one row per output and used with one column per output.
    pub fn new(
        products: &Products,
        precision: Precision,
        weight: &[f32],
        bias: Vec<f32>,
        inputs: usize,
    ) -> Self {
        let weight = match precision {
            Precision::Full => {
                let view = NdTensorView::from_data([bias.len(), inputs], weight);
                Weight::Full(products.full.prepack_b(view.transposed()))
            }
            Precision::EightBit => eight_bit(&products.eight_bit, weight, inputs),
        };
        Self {
            weight,
            bias,
            inputs,
        }
    }

    pub fn apply(&self, products: &mut Products, x: &[f32], out: &mut Vec<f32>) {
        out.resize(x.len() / self.inputs * self.bias.len(), 0.0);
        self.run(products, x, 0.0, out);
    }

    /// Adds to what `out` holds already.
    pub fn add(&self, products: &mut Products, x: &[f32], out: &mut [f32]) {
        self.run(products, x, 1.0, out);
    }

    fn run(&self, products: &mut Products, x: &[f32], kept: f32, out: &mut [f32]) {
        match &self.weight {
            Weight::Full(weight) => {
                let x = NdTensorView::from_data([x.len() / self.inputs, self.inputs], x);
                let options = GemmOptions {
                    beta: kept,
                    bias: Some(BiasVector::Row(&self.bias)),
                    ..GemmOptions::default()
                };
                let (a, b) = (GemmInputA::Unpacked(x), GemmInputB::Packed(weight));
                let done = products.full.gemm(out, a, b, options);
                done.expect("shapes agree");
            }
            Weight::EightBit { packed, columns } => {
                products.multiply(x, self.inputs, packed, out.len());
                products.bring_back(columns, &self.bias, kept, out);
            }
        }
    }
}

impl Products {
    /// Leaves the sums of the tokens' bytes times the columns' steps.
    fn multiply(&mut self, x: &[f32], inputs: usize, weight: &PackedBMatrix<i8>, sums: usize) {
        self.tokens.take(x, inputs);
        self.sums.resize(sums, 0);
        let a = NdTensorView::from_data([self.tokens.rows.len(), inputs], &self.tokens.bytes[..]);
        let (a, b) = (GemmInputA::Unpacked(a), GemmInputB::Packed(weight));
        let done = self
            .eight_bit
            .gemm(&mut self.sums, a, b, GemmOptions::default());
        done.expect("shapes agree");
    }

    /// Takes the zeros of the tokens out of the sums here: the product itself, told of them,
    /// takes those of the first rows for all rows (rten-gemm 0.27).
    fn bring_back(&self, columns: &[Column], bias: &[f32], kept: f32, out: &mut [f32]) {
        let sums = self.sums.chunks_exact(columns.len());
        let rows = out.chunks_exact_mut(columns.len());
        for ((out, sums), Row { step, zero }) in rows.zip(sums).zip(&self.tokens.rows) {
            for (((out, sum), column), bias) in out.iter_mut().zip(sums).zip(columns).zip(bias) {
                let steps = (sum - zero * column.sum) as f32;
                *out = *out * kept + (steps * (step * column.step) + bias);
            }
        }
    }
}

impl Tokens {
    fn take(&mut self, x: &[f32], width: usize) {
        self.bytes.clear();
        self.bytes.reserve(x.len());
        self.rows.clear();
        for row in x.chunks_exact(width) {
            let (low, high) = reach(row);
            let step = ((high - low) / 255.0).max(f32::MIN_POSITIVE);
            let zero = (-low / step).round();
            let per_step = 1.0 / step;
            let byte = |v: &f32| nearest_byte(v * per_step + zero);
            self.bytes.extend(row.iter().map(byte));
            let zero = zero as i32;
            self.rows.push(Row { step, zero });
        }
    }
}

/// Lowest and highest, zero among them, so that zero is a step.
fn reach(row: &[f32]) -> (f32, f32) {
    let wider = |(low, high): (f32, f32), v: &f32| (low.min(*v), high.max(*v));
    row.iter().fold((0.0, 0.0), wider)
}

/// From this size on a float has no room for fractions: adding it rounds, and does so for
/// many numbers at once where a cast goes one by one.
fn nearest_byte(number: f32) -> u8 {
    const NO_FRACTIONS: f32 = (1u32 << 23) as f32;
    (number.clamp(0.0, 255.0) + NO_FRACTIONS).to_bits() as u8
}

/// Two products of a byte and a weight fit where the older processors add them. The newer ones
/// could take more, but the same text has the same vector on every machine.
const LARGEST: f32 = 64.0;

fn eight_bit(gemm: &GemmExecutor<u8, i8, i32>, weight: &[f32], inputs: usize) -> Weight {
    let (mut bytes, mut columns) = (Vec::with_capacity(weight.len()), Vec::new());
    for row in weight.chunks_exact(inputs) {
        let (low, high) = reach(row);
        let step = (high.max(-low) / LARGEST).max(f32::MIN_POSITIVE);
        let from = bytes.len();
        bytes.extend(row.iter().map(|v| (v / step).round() as i8));
        let sum = bytes[from..].iter().copied().map(i32::from).sum();
        columns.push(Column { step, sum });
    }
    let view = NdTensorView::from_data([columns.len(), inputs], &bytes[..]);
    Weight::EightBit {
        packed: gemm.prepack_b(view.transposed()),
        columns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of both signs that repeat late.
    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        let number = |n: usize| ((n * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0;
        (0..count).map(number).collect()
    }

    #[test]
    fn eight_bits_give_nearly_what_full_precision_gives() {
        let (rows, inputs, outputs) = (31, 96, 40);
        let (mut x, weight) = (numbers(rows * inputs, 1), numbers(outputs * inputs, 2));
        // Every row reaches differently far to either side.
        for (n, row) in x.chunks_exact_mut(inputs).enumerate() {
            row[n] *= n as f32 - 15.0;
        }
        let bias = numbers(outputs, 3);
        let mut products = Products::default();
        let [full, eight] = [Precision::Full, Precision::EightBit].map(|precision| {
            let linear = Linear::new(&products, precision, &weight, bias.clone(), inputs);
            let mut out = numbers(rows * outputs, 4);
            linear.add(&mut products, &x, &mut out);
            out
        });
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        for (full, eight) in full.chunks_exact(outputs).zip(eight.chunks_exact(outputs)) {
            let cosine = dot(full, eight) / (dot(full, full) * dot(eight, eight)).sqrt();
            assert!(cosine > 0.999, "{cosine}");
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow_on_their_way() {
        let inputs = 64;
        let mut products = Products::default();
        let linear = Linear::new(
            &products,
            Precision::EightBit,
            &vec![1.0; inputs],
            vec![0.0],
            inputs,
        );
        let mut out = Vec::new();
        linear.apply(&mut products, &vec![1.0; inputs], &mut out);
        assert!((out[0] - inputs as f32).abs() < 1e-3, "{}", out[0]);
    }

    #[test]
    fn bytes_are_the_nearest() {
        for (number, byte) in [
            (0.0, 0),
            (0.4, 0),
            (0.6, 1),
            (254.51, 255),
            (255.6, 255),
            (-0.6, 0),
        ] {
            assert_eq!(nearest_byte(number), byte);
        }
    }
}
