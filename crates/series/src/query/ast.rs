//! What a query says.

use crate::sample::Micros;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    /// The latest value of each series.
    Latest(Selector),
    Rate {
        of: Selector,
        window: Micros,
        per_second: bool,
    },
    Fold {
        fold: Fold,
        by: Option<Vec<String>>,
        of: Box<Expr>,
    },
    /// A quantile of every value in a window, which is the step if none is given.
    Values {
        q: f64,
        by: Option<Vec<String>>,
        of: Selector,
        window: Option<Micros>,
    },
}

/// How the values of many series at one time become one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fold {
    Sum,
    Avg,
    Min,
    Max,
    Count,
    Quantile(f64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    pub figure: String,
    pub matchers: Vec<Matcher>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Matcher {
    Is(String, String),
    IsNot(String, String),
    Like(String, String),
    Unlike(String, String),
    /// What a query cannot say and its asker is held to.
    IsOrLacks(String, String),
}

impl Expr {
    /// Adds a condition to everything that is read.
    pub fn narrow(&mut self, to: &Matcher) {
        match self {
            Self::Latest(of) | Self::Rate { of, .. } | Self::Values { of, .. } => {
                of.matchers.push(to.clone());
            }
            Self::Fold { of, .. } => of.narrow(to),
        }
    }
}

impl Matcher {
    pub fn label(&self) -> &str {
        match self {
            Self::Is(label, _)
            | Self::IsNot(label, _)
            | Self::Like(label, _)
            | Self::Unlike(label, _)
            | Self::IsOrLacks(label, _) => label,
        }
    }

    pub fn accepts(&self, value: &str) -> bool {
        match self {
            Self::Is(_, wanted) => value == wanted,
            Self::IsNot(_, wanted) => value != wanted,
            Self::IsOrLacks(_, wanted) => value.is_empty() || value == wanted,
            Self::Like(_, words) => words.split('|').any(|word| like(value, word)),
            Self::Unlike(_, words) => !words.split('|').any(|word| like(value, word)),
        }
    }
}

/// Whether a value is a word in which `*` stands for anything.
fn like(value: &str, word: &str) -> bool {
    let Some((head, rest)) = word.split_once('*') else {
        return value == word;
    };
    let Some(mut value) = value.strip_prefix(head) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let tail = parts.pop().unwrap_or_default();
    for part in parts {
        match value.find(part) {
            Some(at) => value = &value[at + part.len()..],
            None => return false,
        }
    }
    value.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (value, word, expected) in [
            ("embed", "embed", true),
            ("embed", "emb", false),
            ("embed", "em*", true),
            ("embed", "*bed", true),
            ("embed", "e*b*d", true),
            ("embed", "e*x*d", false),
            ("aa", "a*a", true),
            ("a", "a*a", false),
            ("", "*", true),
        ] {
            assert_eq!(like(value, word), expected, "{value} {word}");
        }
        let any = Matcher::Like("l".into(), "a|b*".into());
        assert!(any.accepts("a") && any.accepts("bc") && !any.accepts("c"));
    }
}
