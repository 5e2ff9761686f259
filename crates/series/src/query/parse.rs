//! From words and signs to what they say, or where they stop making sense.

use super::ast::{Expr, Fold, Matcher, Selector};
use super::lex::{Placed, Token, tokens};
use crate::sample::Micros;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum QueryError {
    #[error("`{found}` at character {at} means nothing here")]
    Stray { at: usize, found: char },
    #[error("the quote opened at character {at} is never closed")]
    OpenQuote { at: usize },
    #[error("`{text}` at character {at} is neither a number nor a time such as 5m, 1h or 7d")]
    BadNumber { at: usize, text: String },
    #[error("expected {expected} at character {at}, found {found}")]
    Expected {
        expected: &'static str,
        at: usize,
        found: String,
    },
    #[error(
        "there is no function `{name}`; there are rate, increase, sum, avg, min, max, count and quantile"
    )]
    NoFunction { name: String },
    #[error("a query of {length} bytes is too long, at most {MOST_BYTES} are read")]
    TooLong { length: usize },
    #[error("a quantile lies between 0 and 1, {0} does not")]
    BadQuantile(f64),
    #[error("{points} points are asked for, at most {most} are given: take a longer step")]
    TooManyPoints { points: u64, most: u64 },
    #[error(
        "more than {most} values would have to be held at once: ask for a shorter time, a longer \
         step or fewer series"
    )]
    TooMuch { most: usize },
    #[error("a range needs an end after its start and a step above zero")]
    EmptyRange,
}

/// Also bounds how deep a query can nest, and with it the stack.
const MOST_BYTES: usize = 2048;

pub(crate) fn parse(text: &str) -> Result<Expr, QueryError> {
    if text.len() > MOST_BYTES {
        return Err(QueryError::TooLong { length: text.len() });
    }
    let mut parser = Parser {
        tokens: tokens(text)?,
        next: 0,
        end: text.chars().count() + 1,
    };
    let expr = parser.expr()?;
    match parser.peek() {
        None => Ok(expr),
        Some(_) => Err(parser.expected("the end")),
    }
}

struct Parser {
    tokens: Vec<Placed>,
    next: usize,
    end: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    fn expected(&self, expected: &'static str) -> QueryError {
        let found = self.tokens.get(self.next);
        QueryError::Expected {
            expected,
            at: found.map_or(self.end, |(at, _)| *at),
            found: found.map_or("the end".to_owned(), |(_, token)| token.to_string()),
        }
    }

    fn take(&mut self, sign: &'static str) -> bool {
        let found = self.peek() == Some(&Token::Sign(sign));
        self.next += usize::from(found);
        found
    }

    fn need(&mut self, sign: &'static str, expected: &'static str) -> Result<(), QueryError> {
        match self.take(sign) {
            true => Ok(()),
            false => Err(self.expected(expected)),
        }
    }

    fn word(&mut self, expected: &'static str) -> Result<String, QueryError> {
        let Some(Token::Word(word)) = self.peek() else {
            return Err(self.expected(expected));
        };
        let word = word.clone();
        self.next += 1;
        Ok(word)
    }

    fn expr(&mut self) -> Result<Expr, QueryError> {
        let name = self.word("a figure or a function")?;
        let by = match &*name {
            // Of each series by itself: there is nothing to group.
            "rate" | "increase" if self.at_by() => return Err(self.expected("`(`")),
            _ => self.by()?,
        };
        if by.is_none() && self.peek() != Some(&Token::Sign("(")) {
            return Ok(Expr::Latest(self.selector(name)?));
        }
        self.need("(", "`(`")?;
        let expr = self.call(&name, by)?;
        self.need(")", "`)`")?;
        Ok(expr)
    }

    fn at_by(&self) -> bool {
        self.peek() == Some(&Token::Word("by".to_owned()))
    }

    /// `by (label, label)`
    fn by(&mut self) -> Result<Option<Vec<String>>, QueryError> {
        if !self.at_by() {
            return Ok(None);
        }
        self.next += 1;
        self.need("(", "`(`")?;
        let mut labels = vec![];
        while !self.take(")") {
            labels.push(self.word("a label")?);
            if !self.take(",") {
                self.need(")", "`,` or `)`")?;
                break;
            }
        }
        Ok(Some(labels))
    }

    fn call(&mut self, name: &str, by: Option<Vec<String>>) -> Result<Expr, QueryError> {
        let fold = match name {
            "rate" | "increase" => return self.rate(name == "rate"),
            "quantile" => return self.quantile(by),
            "sum" => Fold::Sum,
            "avg" => Fold::Avg,
            "min" => Fold::Min,
            "max" => Fold::Max,
            "count" => Fold::Count,
            name => {
                return Err(QueryError::NoFunction {
                    name: name.to_owned(),
                });
            }
        };
        let of = Box::new(self.expr()?);
        Ok(Expr::Fold { fold, by, of })
    }

    fn rate(&mut self, per_second: bool) -> Result<Expr, QueryError> {
        let figure = self.word("a figure")?;
        let of = self.selector(figure)?;
        let window = self.window()?;
        let window = window.ok_or_else(|| self.expected("a window such as `[5m]`"))?;
        Ok(Expr::Rate {
            of,
            window,
            per_second,
        })
    }

    fn quantile(&mut self, by: Option<Vec<String>>) -> Result<Expr, QueryError> {
        let Some(&Token::Number(q)) = self.peek() else {
            return Err(self.expected("a quantile such as 0.99"));
        };
        if !(0.0..=1.0).contains(&q) {
            return Err(QueryError::BadQuantile(q));
        }
        self.next += 1;
        self.need(",", "`,`")?;
        match self.expr()? {
            Expr::Latest(of) => Ok(Expr::Values {
                q,
                by,
                of,
                window: self.window()?,
            }),
            of => Ok(Expr::Fold {
                fold: Fold::Quantile(q),
                by,
                of: Box::new(of),
            }),
        }
    }

    fn window(&mut self) -> Result<Option<Micros>, QueryError> {
        if !self.take("[") {
            return Ok(None);
        }
        let Some(&Token::Span(window)) = self.peek() else {
            return Err(self.expected("a time such as 5m"));
        };
        self.next += 1;
        self.need("]", "`]`")?;
        Ok(Some(window))
    }

    fn selector(&mut self, figure: String) -> Result<Selector, QueryError> {
        let mut matchers = vec![];
        if self.take("{") {
            while !self.take("}") {
                matchers.push(self.matcher()?);
                if !self.take(",") {
                    self.need("}", "`,` or `}`")?;
                    break;
                }
            }
        }
        Ok(Selector { figure, matchers })
    }

    fn matcher(&mut self) -> Result<Matcher, QueryError> {
        let label = self.word("a label")?;
        let make = match self.peek() {
            Some(Token::Sign("=")) => Matcher::Is,
            Some(Token::Sign("!=")) => Matcher::IsNot,
            Some(Token::Sign("=~")) => Matcher::Like,
            Some(Token::Sign("!~")) => Matcher::Unlike,
            _ => return Err(self.expected("`=`, `!=`, `=~` or `!~`")),
        };
        self.next += 1;
        let Some(Token::Text(value)) = self.peek() else {
            return Err(self.expected("a value in quotes"));
        };
        let value = value.clone();
        self.next += 1;
        Ok(make(label, value))
    }
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(word) => write!(f, "`{word}`"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Span(_) => f.write_str("a time"),
            Self::Sign(sign) => write!(f, "`{sign}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_reads_as_it_is_written() {
        let rate = parse(r#"rate(documents_total{kb="x", node!="a\"b"}[5m])"#).unwrap();
        let of = Selector {
            figure: "documents_total".into(),
            matchers: vec![
                Matcher::Is("kb".into(), "x".into()),
                Matcher::IsNot("node".into(), "a\"b".into()),
            ],
        };
        let expected = Expr::Rate {
            of,
            window: 300_000_000,
            per_second: true,
        };
        assert_eq!(rate, expected);
        let sum = parse(r#"sum by (kb) (rate(documents_total{kb="x",node!="a\"b",}[300s]))"#);
        let folded = Expr::Fold {
            fold: Fold::Sum,
            by: Some(vec!["kb".into()]),
            of: Box::new(expected),
        };
        assert_eq!(sum.unwrap(), folded);
        let quantile = parse(r#"quantile(0.99, stage_seconds{stage="embed"})"#).unwrap();
        assert!(matches!(
            quantile,
            Expr::Values {
                q: 0.99,
                window: None,
                ..
            }
        ));
    }

    #[test]
    fn an_error_says_where_and_what() {
        for (text, told) in [
            (
                "",
                "expected a figure or a function at character 1, found the end",
            ),
            (
                "rate(x)",
                "expected a window such as `[5m]` at character 7, found `)`",
            ),
            (
                "x{kb=}",
                "expected a value in quotes at character 6, found `}`",
            ),
            (
                "x{kb=\"a}",
                "the quote opened at character 6 is never closed",
            ),
            ("x[5m]", "expected the end at character 2, found `[`"),
            (
                "rate(x[5q])",
                "`5q` at character 8 is neither a number nor a time such as 5m, 1h or 7d",
            ),
            (
                "quantile(99, x)",
                "a quantile lies between 0 and 1, 99 does not",
            ),
            (
                "ratio(x)",
                "there is no function `ratio`; there are rate, increase, sum, avg, min, max, count and quantile",
            ),
            ("é + 1", "`é` at character 1 means nothing here"),
            ("sum(x", "expected `)` at character 6, found the end"),
            (
                "rate by (kb_id) (x[5m])",
                "expected `(` at character 6, found `by`",
            ),
            (
                "sum(increase by (kb_id) (x[5m]))",
                "expected `(` at character 14, found `by`",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), told, "{text}");
        }
    }
}
