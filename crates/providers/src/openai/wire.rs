//! What goes over the wire, and the checks an answer must pass.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

use crate::Error;

#[derive(Serialize)]
pub struct Request<'a> {
    pub model: &'a str,
    pub input: &'a [&'a str],
    pub encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u32>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Embedding,
}

/// Asked for base64, some servers answer with numbers all the same. One that is not a
/// number comes as `null`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Embedding {
    Base64(String),
    Numbers(Vec<Option<f32>>),
}

/// A vector of unit length, or what is wrong with that one.
pub type Vector = Result<Vec<f32>, Error>;

/// In the order of the inputs. Where none is any good the answer is not.
pub fn vectors(body: &[u8], count: usize, dimension: usize) -> Result<Vec<Vector>, Error> {
    let answer: Answer = serde_json::from_slice(body).map_err(|e| bad(e.to_string()))?;
    let found = answer.data.len();
    if found != count {
        return Err(bad(format!("{found} vectors for {count} inputs")));
    }
    let mut vectors: Vec<Option<Vector>> = (0..count).map(|_| None).collect();
    for Item { index, embedding } in answer.data {
        let vector = numbers(embedding).and_then(|numbers| unit(numbers, dimension));
        let place = vectors.get_mut(index).filter(|place| place.is_none());
        *place.ok_or_else(|| bad(format!("index {index} twice or out of range")))? = Some(vector);
    }
    let mut vectors: Vec<Vector> = vectors.into_iter().flatten().collect();
    if vectors.iter().all(Result::is_err) {
        return vectors.swap_remove(0).map(|_| Vec::new());
    }
    Ok(vectors)
}

fn numbers(embedding: Embedding) -> Result<Vec<f32>, Error> {
    match embedding {
        Embedding::Numbers(numbers) => {
            let number = |n: Option<f32>| n.unwrap_or(f32::NAN);
            Ok(numbers.into_iter().map(number).collect())
        }
        Embedding::Base64(text) => {
            let bytes = BASE64_STANDARD
                .decode(text)
                .map_err(|e| bad(e.to_string()))?;
            let (floats, rest) = bytes.as_chunks::<4>();
            if !rest.is_empty() {
                return Err(bad("a vector cut in the middle of a number".to_owned()));
            }
            Ok(floats.iter().map(|b| f32::from_le_bytes(*b)).collect())
        }
    }
}

/// Of a length that is none, nothing is made.
pub fn unit(mut vector: Vec<f32>, dimension: usize) -> Result<Vec<f32>, Error> {
    if vector.len() != dimension {
        return Err(Error::WrongDimension {
            found: vector.len(),
            expected: dimension,
        });
    }
    let length = vector
        .iter()
        .map(|v| f64::from(*v) * f64::from(*v))
        .sum::<f64>()
        .sqrt();
    if !length.is_normal() {
        return Err(bad(format!("a vector of length {length}")));
    }
    vector
        .iter_mut()
        .for_each(|v| *v = (f64::from(*v) / length) as f32);
    Ok(vector)
}

fn bad(what: String) -> Error {
    Error::BadAnswer { what }
}
