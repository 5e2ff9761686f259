//! Cuts a query into words and signs.

use super::QueryError;
use crate::sample::Micros;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    Word(String),
    Text(String),
    Number(f64),
    Span(Micros),
    Sign(&'static str),
}

/// A token and the character at which it begins, counted from 1.
pub(crate) type Placed = (usize, Token);

// Longer signs first: `!=` is not `!` and `=`.
const SIGNS: [&str; 11] = ["!=", "=~", "!~", "=", "{", "}", "(", ")", "[", "]", ","];

pub(crate) fn tokens(text: &str) -> Result<Vec<Placed>, QueryError> {
    let mut rest = text;
    let mut tokens = vec![];
    loop {
        rest = rest.trim_start();
        let at = text[..text.len() - rest.len()].chars().count() + 1;
        let Some(first) = rest.chars().next() else {
            return Ok(tokens);
        };
        let (token, length) = match first {
            '"' => quoted(rest, at)?,
            c if c.is_ascii_digit() || c == '.' => number(rest, at)?,
            c if is_word(c) => word(rest),
            _ => sign(rest, at)?,
        };
        tokens.push((at, token));
        rest = &rest[length..];
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn length_while(text: &str, keep: impl Fn(char) -> bool) -> usize {
    text.find(|c| !keep(c)).unwrap_or(text.len())
}

fn word(text: &str) -> (Token, usize) {
    let length = length_while(text, is_word);
    (Token::Word(text[..length].to_owned()), length)
}

fn quoted(text: &str, at: usize) -> Result<(Token, usize), QueryError> {
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((place, c)) = chars.next() {
        match c {
            '"' => return Ok((Token::Text(value), place + 1)),
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            c => value.push(c),
        }
    }
    Err(QueryError::OpenQuote { at })
}

/// A number, or a span of time if a unit follows it.
fn number(text: &str, at: usize) -> Result<(Token, usize), QueryError> {
    let digits = length_while(text, |c| c.is_ascii_digit() || c == '.');
    let unit = length_while(&text[digits..], is_word);
    let length = digits + unit;
    let bad = || QueryError::BadNumber {
        at,
        text: text[..length].to_owned(),
    };
    let value: f64 = text[..digits].parse().map_err(|_| bad())?;
    let token = match &text[digits..length] {
        "" => Token::Number(value),
        unit => Token::Span(span(value, unit).ok_or_else(bad)?),
    };
    Ok((token, length))
}

fn span(value: f64, unit: &str) -> Option<Micros> {
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        _ => return None,
    };
    let micros = value * seconds * 1e6;
    (1.0..=1e17).contains(&micros).then_some(micros as Micros)
}

fn sign(text: &str, at: usize) -> Result<(Token, usize), QueryError> {
    match SIGNS.iter().find(|sign| text.starts_with(**sign)) {
        Some(sign) => Ok((Token::Sign(sign), sign.len())),
        None => Err(QueryError::Stray {
            at,
            found: text.chars().next().unwrap_or_default(),
        }),
    }
}
