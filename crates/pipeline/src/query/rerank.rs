//! A second opinion on the order of what was found.

/// The candidates by their scores, best first; equal scores keep the order they came in.
/// Nothing is added and nothing lost: scores that are not one number for each candidate give
/// the candidates back as they were.
pub fn rerank<T>(candidates: Vec<T>, scores: &[f64]) -> Result<Vec<(T, f64)>, Vec<T>> {
    if scores.len() != candidates.len() || !scores.iter().all(|score| score.is_finite()) {
        return Err(candidates);
    }
    let mut ranked: Vec<(T, f64)> = candidates.into_iter().zip(scores.iter().copied()).collect();
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    Ok(ranked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_decide_and_among_equals_the_order_before() {
        let ranked = rerank(vec!['a', 'b', 'c', 'd'], &[0.5, 0.9, 0.5, -3.0]);
        let ranked: String = ranked.unwrap().iter().map(|(name, _)| name).collect();
        assert_eq!(ranked, "bacd");
    }

    #[test]
    fn scores_that_are_none_change_nothing() {
        for scores in [&[][..], &[1.0], &[1.0, 2.0, 3.0], &[1.0, f64::NAN]] {
            assert_eq!(rerank(vec!['a', 'b'], scores), Err(vec!['a', 'b']));
        }
    }
}
