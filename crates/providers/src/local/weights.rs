//! Tensors of `model.safetensors`, by name and shape, as `f32`.

use safetensors::{Dtype, SafeTensors};

use super::folder::Folder;
use crate::Error;

const FILE: &str = "model.safetensors";

pub struct Weights<'a> {
    folder: &'a Folder,
    tensors: SafeTensors<'a>,
    /// Some exports put the model's name before every tensor.
    prefix: &'static str,
}

impl<'a> Weights<'a> {
    pub fn new(folder: &'a Folder, bytes: &'a [u8]) -> Result<Self, Error> {
        let tensors = SafeTensors::deserialize(bytes)
            .map_err(|e| folder.malformed(FILE, format!("not safetensors: {e}")))?;
        let prefixed = tensors.tensor("bert.embeddings.word_embeddings.weight");
        let prefix = if prefixed.is_ok() { "bert." } else { "" };
        Ok(Self {
            folder,
            tensors,
            prefix,
        })
    }

    pub fn vector(&self, name: &str, length: usize) -> Result<Vec<f32>, Error> {
        self.take(name, &[length])
    }

    /// Row after row.
    pub fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Vec<f32>, Error> {
        self.take(name, &[rows, columns])
    }

    pub fn rows(&self, name: &str) -> Result<usize, Error> {
        let name = format!("{}{name}", self.prefix);
        let tensor = self.tensors.tensor(&name);
        let shape = tensor.ok().and_then(|t| t.shape().first().copied());
        shape.ok_or_else(|| self.malformed(format!("no tensor `{name}`")))
    }

    fn take(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
        let name = format!("{}{name}", self.prefix);
        let tensor = self
            .tensors
            .tensor(&name)
            .map_err(|_| self.malformed(format!("no tensor `{name}`")))?;
        if tensor.shape() != shape {
            let found = tensor.shape();
            return Err(self.malformed(format!("`{name}` is {found:?}, expected {shape:?}")));
        }
        floats(tensor.dtype(), tensor.data())
            .ok_or_else(|| self.malformed(format!("`{name}` holds {:?}", tensor.dtype())))
    }

    fn malformed(&self, what: String) -> Error {
        self.folder.malformed(FILE, what)
    }
}

fn floats(dtype: Dtype, data: &[u8]) -> Option<Vec<f32>> {
    let halves = || {
        data.chunks_exact(2)
            .map(|b| u16::from_le_bytes([b[0], b[1]]))
    };
    Some(match dtype {
        Dtype::F32 => data
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect(),
        Dtype::BF16 => halves()
            .map(|h| f32::from_bits(u32::from(h) << 16))
            .collect(),
        Dtype::F16 => halves().map(half).collect(),
        _ => return None,
    })
}

/// IEEE half precision, subnormals and infinities included.
fn half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10) & 0x1f;
    let fraction = u32::from(bits) & 0x3ff;
    let magnitude = match exponent {
        0 => return f32::from_bits(sign | (fraction as f32 * 2f32.powi(-24)).to_bits()),
        0x1f => 0x7f80_0000 | (fraction << 13),
        _ => ((exponent + 112) << 23) | (fraction << 13),
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_reads_as_the_number_it_is() {
        let cases = [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x7c00, f32::INFINITY),
        ];
        for (bits, number) in cases {
            assert_eq!(half(bits), number);
        }
    }
}
