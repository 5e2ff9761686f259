//! A JSON value with its fields in the order they were written, and where each stands.

use std::ops::Range;

/// A value and the bytes of the text it was read from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    pub(super) json: Json,
    pub(super) range: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    /// Strings without quotes, all else as written.
    Scalar(String),
    Array(Vec<Value>),
    Object(Vec<Field>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(super) name: String,
    /// Of the name, its quotes included.
    pub(super) range: Range<usize>,
    pub(super) value: Value,
}

impl Value {
    /// Reads one value that is all there is. Its grammar is checked first, by the library that
    /// knows it; what is read after that is known to be JSON.
    pub(crate) fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<serde::de::IgnoredAny>(text)?;
        Self::read_checked(text)
    }

    /// The same of a file that may be damaged: what stood before the damage, and the damage.
    pub(super) fn read_so_far(
        text: &str,
    ) -> Result<(Self, Option<serde_json::Error>), serde_json::Error> {
        match serde_json::from_str::<serde::de::IgnoredAny>(text) {
            Ok(_) => Ok((Self::read_checked(text)?, None)),
            Err(damage) => {
                let sound = &text[..sound_bytes(text, &damage)];
                Ok((Self::read_checked(sound)?, Some(damage)))
            }
        }
    }

    /// Of a text that is JSON, or begins as such and ends too early.
    fn read_checked(text: &str) -> Result<Self, serde_json::Error> {
        let mut reader = Reader {
            text,
            at: 0,
            depth: 0,
        };
        let read = reader.value();
        read.ok_or_else(|| serde::de::Error::custom("it nests deeper than is read"))
    }

    /// The text of a field of an object.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let Json::Object(fields) = &self.json else {
            return None;
        };
        let found = fields.iter().find(|field| field.name == name)?;
        match &found.value.json {
            Json::Scalar(text) => Some(text),
            Json::Array(_) | Json::Object(_) => None,
        }
    }
}

/// How much of a text stands before its damage: the place told is that of the offending byte, or
/// the one behind it.
fn sound_bytes(text: &str, damage: &serde_json::Error) -> usize {
    if damage.is_eof() {
        return text.len();
    }
    let lines = text.split_inclusive('\n');
    let lines = lines.take(damage.line().saturating_sub(1));
    let told = lines.map(str::len).sum::<usize>() + damage.column();
    let at = text.floor_char_boundary(told);
    match serde_json::from_str::<serde::de::IgnoredAny>(&text[..at]) {
        Err(cause) if !cause.is_eof() => text.floor_char_boundary(told.saturating_sub(1)),
        _ => at,
    }
}

/// Deeper than anybody writes; no stack suffers from it.
const DEEPEST: u32 = 128;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let blank = rest.iter().position(|b| !b.is_ascii_whitespace());
        self.at += blank.unwrap_or(rest.len());
        self.text.as_bytes().get(self.at).copied()
    }

    /// Passes over a sign, if it is the next.
    fn take(&mut self, sign: u8) -> bool {
        let is_next = self.peek() == Some(sign);
        self.at += usize::from(is_next);
        is_next
    }

    /// `None` where values nest too deep.
    fn value(&mut self) -> Option<Value> {
        let first = self.peek();
        let start = self.at;
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let json = match first {
            Some(b'{') => Json::Object(self.fields()?),
            Some(b'[') => Json::Array(self.items()?),
            Some(b'"') => Json::Scalar(self.string()),
            _ => Json::Scalar(self.word().to_owned()),
        };
        self.depth -= 1;
        Some(Value {
            json,
            range: start..self.at,
        })
    }

    fn fields(&mut self) -> Option<Vec<Field>> {
        let mut fields = Vec::new();
        self.take(b'{');
        while self.peek() == Some(b'"') {
            let start = self.at;
            let name = self.string();
            let range = start..self.at;
            self.take(b':');
            let value = self.value()?;
            fields.push(Field { name, range, value });
            self.take(b',');
        }
        self.take(b'}');
        Some(fields)
    }

    fn items(&mut self) -> Option<Vec<Value>> {
        let mut items = Vec::new();
        self.take(b'[');
        while !matches!(self.peek(), Some(b']') | None) {
            let item = self.value()?;
            // Nothing at all can only be the place where the text ends too early.
            if item.range.is_empty() {
                break;
            }
            items.push(item);
            self.take(b',');
        }
        self.take(b']');
        Some(items)
    }

    fn string(&mut self) -> String {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            self.at += if *byte == b'\\' { 2 } else { 1 };
            if *byte == b'"' {
                break;
            }
        }
        self.at = self.text.floor_char_boundary(self.at);
        let quoted = self.text.get(start..self.at).unwrap_or_default();
        let read = serde_json::from_str(quoted);
        // One that the text ends in is read as if it were closed there.
        read.or_else(|_| serde_json::from_str(&format!("{quoted}\"")))
            .unwrap_or_else(|_| quoted.trim_matches('"').to_owned())
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> &str {
        let rest = &self.text[self.at..];
        let ends = |c: char| c.is_ascii_whitespace() || matches!(c, ',' | ']' | '}');
        let length = rest.find(ends).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }
}
