//! What eight-bit products would save the local model on this processor.
//!
//! The four products of a layer, with the weights packed beforehand: in full precision, and
//! with activations quantised on the way in and results brought back to floats, as a
//! quantised form of the model would have to do it. One thread, seconds of CPU.

use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, QuantParams};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};

use crate::report::{Report, cpu_time};

/// Tokens of a group, as the model gets them.
const ROWS: usize = 512;
/// Of all-MiniLM-L6-v2: query, key and value together, output, up, down.
const PRODUCTS: [(usize, usize); 4] = [(384, 1152), (384, 384), (384, 1536), (1536, 384)];
const ROUNDS: usize = 20;

pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let (mut full, mut eight) = (0.0, 0.0);
    for (inner, columns) in PRODUCTS {
        let x: Vec<f32> = (0..ROWS * inner)
            .map(|n| (n * 37 % 255) as f32 / 255.0 - 0.5)
            .collect();
        let (f, e) = (floats(&x, inner, columns), bytes(&x, inner, columns));
        let name = format!("{ROWS} x {inner} x {columns}");
        let flops = 2.0 * (ROWS * inner * columns) as f64 / 1e9;
        report.against(name, flops / e, "Gop/s", ("full precision", flops / f));
        full += f;
        eight += e;
    }
    report.against(
        "a layer's products",
        1.0 / eight,
        "1/s",
        ("full precision", 1.0 / full),
    );
    Ok(())
}

/// The best of many, in seconds of CPU.
fn best(mut work: impl FnMut()) -> f64 {
    let once = |_| {
        let used = cpu_time();
        work();
        (cpu_time() - used).as_secs_f64()
    };
    (0..ROUNDS).map(once).fold(f64::INFINITY, f64::min)
}

fn floats(x: &[f32], inner: usize, columns: usize) -> f64 {
    let gemm = GemmExecutor::<f32, f32, f32>::default();
    let weight = NdTensor::from_fn([inner, columns], |[r, c]| {
        ((r * 7 + c) % 251) as f32 / 251.0
    });
    let packed = gemm.prepack_b(weight.view());
    let mut out = vec![0.0; ROWS * columns];
    best(|| {
        let a = NdTensorView::from_data([ROWS, inner], x);
        let (a, b) = (GemmInputA::Unpacked(a), GemmInputB::Packed(&packed));
        gemm.gemm(&mut out, a, b, GemmOptions::default())
            .expect("shapes agree");
        std::hint::black_box(&out);
    })
}

fn bytes(x: &[f32], inner: usize, columns: usize) -> f64 {
    let gemm = GemmExecutor::<u8, i8, i32>::default();
    let weight = NdTensor::from_fn([inner, columns], |[r, c]| ((r * 7 + c) % 120) as i8 - 60);
    let packed = gemm.prepack_b(weight.view());
    let (mut low, mut sums) = (vec![0u8; x.len()], vec![0i32; ROWS * columns]);
    let mut out = vec![0.0f32; ROWS * columns];
    let zeros = vec![0i8; columns];
    best(|| {
        let mut points = vec![0u8; ROWS];
        let mut scales = vec![0.0f32; ROWS];
        for row in 0..ROWS {
            let (scale, point) =
                quantise(&x[row * inner..][..inner], &mut low[row * inner..][..inner]);
            (scales[row], points[row]) = (scale, point);
        }
        let a = NdTensorView::from_data([ROWS, inner], &low[..]);
        let (a, b) = (GemmInputA::Unpacked(a), GemmInputB::Packed(&packed));
        let options = GemmOptions {
            a_quant: Some(QuantParams {
                zero_point: &points,
            }),
            b_quant: Some(QuantParams { zero_point: &zeros }),
            ..GemmOptions::default()
        };
        gemm.gemm(&mut sums, a, b, options).expect("shapes agree");
        for ((out, sums), scale) in out
            .chunks_exact_mut(columns)
            .zip(sums.chunks_exact(columns))
            .zip(&scales)
        {
            for (out, sum) in out.iter_mut().zip(sums) {
                *out = *sum as f32 * scale;
            }
        }
        std::hint::black_box(&out);
    })
}

/// Scale and zero point of a row, and its bytes.
fn quantise(row: &[f32], out: &mut [u8]) -> (f32, u8) {
    let (low, high) = row.iter().fold((0.0f32, 0.0f32), |(low, high), v| {
        (low.min(*v), high.max(*v))
    });
    let scale = ((high - low) / 255.0).max(f32::MIN_POSITIVE);
    let point = (-low / scale).round();
    for (out, v) in out.iter_mut().zip(row) {
        *out = (v / scale + point).round().clamp(0.0, 255.0) as u8;
    }
    (scale, point as u8)
}
