//! Token vectors to one vector per input.

use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    Mean,
    /// The first token's vector.
    Cls,
    Max,
}

impl Pooling {
    /// Reads both ways of writing it: one flag per mode, or `pooling_mode`.
    pub fn from_config(config: &Value) -> Result<Self, String> {
        let flags = config.as_object().into_iter().flatten();
        let set = flags
            .filter(|(_, value)| **value == Value::Bool(true))
            .filter_map(|(key, _)| key.strip_prefix("pooling_mode_"));
        let modes: Vec<_> = set.chain(config["pooling_mode"].as_str()).collect();
        match modes[..] {
            ["mean_tokens" | "mean"] => Ok(Self::Mean),
            // Divided by the root of the length instead: the same direction.
            ["mean_sqrt_len_tokens" | "mean_sqrt_len"] => Ok(Self::Mean),
            ["cls_token" | "cls"] => Ok(Self::Cls),
            ["max_tokens" | "max"] => Ok(Self::Max),
            _ => Err(format!("pooling by {}", modes.join(" and "))),
        }
    }

    /// One unit vector from the rows of one input.
    pub fn pool(self, rows: &[f32], width: usize) -> Vec<f32> {
        let (first, rest) = rows.split_at(width);
        let mut vector = first.to_vec();
        let combine = match self {
            Self::Cls => return unit(vector),
            Self::Mean => |a: &mut f32, b: f32| *a += b,
            Self::Max => |a: &mut f32, b: f32| *a = a.max(b),
        };
        for row in rest.chunks_exact(width) {
            vector.iter_mut().zip(row).for_each(|(a, b)| combine(a, *b));
        }
        unit(vector)
    }
}

/// The sum points where the mean does, so the mean is never divided out.
fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    let scale = 1.0 / length.max(f32::MIN_POSITIVE);
    vector.iter_mut().for_each(|v| *v *= scale);
    vector
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pooling_that_is_not_done_here_is_refused_by_name() {
        let known = json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false});
        assert_eq!(Pooling::from_config(&known), Ok(Pooling::Cls));
        assert_eq!(
            Pooling::from_config(&json!({"pooling_mode": "mean"})),
            Ok(Pooling::Mean)
        );
        let other = Pooling::from_config(&json!({"pooling_mode_lasttoken": true}));
        assert_eq!(other, Err("pooling by lasttoken".to_owned()));
    }
}
