//! The name of a series: its labels, sorted, checked once.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// The label that holds the name of the figure.
pub(crate) const NAME: &str = "__name__";
const MAX_BYTES: usize = 4096;

/// The labels of a series. Cheap to clone; keep one where samples are recorded often.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Labels(Arc<Set>);

#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Set {
    /// Sorted by name, no name twice, the figure's own among them.
    pairs: Box<[(Box<str>, Box<str>)]>,
    fingerprint: Fingerprint,
    bytes: usize,
}

/// Equal labels have equal fingerprints, whatever order they were given in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Fingerprint(pub [u8; 16]);

/// A fingerprint is a hash already, and one that nobody can choose.
pub(crate) type ByFingerprint<T> = HashMap<Fingerprint, T, BuildHasherDefault<FirstBytes>>;

#[derive(Default)]
pub(crate) struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    /// Of arrays too; it is the same for all.
    fn write_usize(&mut self, _length: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLabels {
    #[error("`{0}` cannot name a label or a figure: letters, digits and `_`, no digit first")]
    Name(String),
    #[error("the label `{0}` is given twice")]
    Twice(String),
    #[error("the value of `{0}` holds a NUL")]
    Nul(String),
    #[error("labels of {0} bytes are too long, at most {MAX_BYTES} are kept")]
    TooLong(usize),
}

impl Labels {
    /// `Labels::new("documents_total", [("kb", "handbook")])`
    pub fn new<'a>(
        figure: &'a str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, BadLabels> {
        let named = [(NAME, figure)].into_iter().chain(labels);
        let mut pairs: Vec<(Box<str>, Box<str>)> =
            named.map(|(n, v)| (n.into(), v.into())).collect();
        pairs.sort_unstable();
        check_name(figure)?;
        pairs
            .iter()
            .try_for_each(|(name, value)| check(name, value))?;
        if let Some(twice) = pairs.windows(2).find(|two| two[0].0 == two[1].0) {
            return Err(BadLabels::Twice(twice[0].0.to_string()));
        }
        Self::from_sorted(pairs)
    }

    fn from_sorted(pairs: Vec<(Box<str>, Box<str>)>) -> Result<Self, BadLabels> {
        let bytes = pairs.iter().map(|(n, v)| n.len() + v.len() + 2).sum();
        if bytes > MAX_BYTES {
            return Err(BadLabels::TooLong(bytes));
        }
        let mut hash = Sha256::new();
        for (name, value) in &pairs {
            hash.update(name.as_bytes());
            hash.update([0]);
            hash.update(value.as_bytes());
            hash.update([0]);
        }
        let digest = hash.finalize();
        let half = digest[..16].try_into().expect("half of 32 bytes");
        Ok(Self(Arc::new(Set {
            pairs: pairs.into(),
            fingerprint: Fingerprint(half),
            bytes,
        })))
    }

    /// All labels with their values, sorted; the figure's name is one of them.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.pairs.iter().map(|(name, value)| (&**name, &**value))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// The name of the figure.
    pub fn figure(&self) -> &str {
        self.get(NAME).unwrap_or_default()
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.0.fingerprint
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// As stored: `name NUL value NUL`, sorted.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes());
        for (name, value) in self.pairs() {
            out.extend_from_slice(name.as_bytes());
            out.push(0);
            out.extend_from_slice(value.as_bytes());
            out.push(0);
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\0')?;
        let mut parts = text.split('\0');
        let mut pairs = vec![];
        while let Some(name) = parts.next() {
            pairs.push((name.into(), parts.next()?.into()));
        }
        Self::from_sorted(pairs).ok()
    }

    /// Only the labels in `names`; what a sum over the rest is named by.
    pub(crate) fn only(&self, names: &[String]) -> Self {
        let kept = self.pairs().filter(|(n, _)| names.iter().any(|m| m == n));
        let kept = kept.map(|(n, v)| (n.into(), v.into())).collect();
        Self::from_sorted(kept).expect("fewer labels are no longer")
    }
}

fn check(name: &str, value: &str) -> Result<(), BadLabels> {
    check_name(name)?;
    if value.contains('\0') {
        return Err(BadLabels::Nul(name.to_owned()));
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), BadLabels> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(word)
    {
        return Err(BadLabels::Name(name.to_owned()));
    }
    Ok(())
}

/// `documents_total{kb="handbook"}`
impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.pairs.is_empty() {
            return f.write_str("{}");
        }
        f.write_str(self.figure())?;
        let mut sep = "{";
        for (name, value) in self.pairs().filter(|(name, _)| *name != NAME) {
            write!(f, "{sep}{name}={value:?}")?;
            sep = ",";
        }
        if sep == "," { f.write_str("}") } else { Ok(()) }
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_labels_does_not_matter() {
        let a = Labels::new("up", [("kb", "x"), ("node", "1")]).unwrap();
        let b = Labels::new("up", [("node", "1"), ("kb", "x")]).unwrap();
        assert_eq!((&a, a.fingerprint()), (&b, b.fingerprint()));
        assert_eq!(a.to_string(), r#"up{kb="x",node="1"}"#);
        assert_eq!(Labels::decode(&a.encode()), Some(a));
    }

    #[test]
    fn labels_are_checked_once() {
        let twice = Labels::new("up", [("kb", "x"), ("kb", "y")]);
        assert_eq!(twice, Err(BadLabels::Twice("kb".into())));
        let name = Labels::new("up time", []);
        assert_eq!(name, Err(BadLabels::Name("up time".into())));
        assert!(Labels::new("up", [("kb", "a\0b")]).is_err());
        assert!(Labels::new("up", [("kb", &*"x".repeat(5000))]).is_err());
    }
}
