//! Quoted-printable, decoded for the sake of where its bytes stood.

/// Places that go together, in the decoded and in the quoted bytes; between two of them both go
/// in step.
pub(super) struct Steps(Vec<(usize, usize)>);

/// The decoded bytes; `None` where it is not quoted as the rules say.
pub(super) fn decode(quoted: &[u8]) -> Option<(Vec<u8>, Steps)> {
    let mut out = Vec::with_capacity(quoted.len());
    let mut steps = vec![(0, 0)];
    let mut at = 0;
    while let Some(byte) = quoted.get(at) {
        if *byte != b'=' {
            out.push(*byte);
            at += 1;
            continue;
        }
        steps.push((out.len(), at));
        at += match quoted.get(at + 1..) {
            Some([b'\r', b'\n', ..]) => 3,
            Some([b'\n', ..]) => 2,
            Some([high, low, ..]) => {
                let digit = |b: &u8| char::from(*b).to_digit(16);
                out.push((digit(high)? * 16 + digit(low)?) as u8);
                3
            }
            _ => return None,
        };
        steps.push((out.len(), at));
    }
    Some((out, Steps(steps)))
}

impl Steps {
    /// The quoted bytes of a range of the decoded ones.
    pub(super) fn range(&self, start: u64, end: u64) -> (u64, u64) {
        let after = self
            .0
            .partition_point(|(decoded, _)| *decoded as u64 <= start);
        let (decoded, quoted) = self.0[after.max(1) - 1];
        let first = quoted as u64 + (start - decoded as u64);
        // A line that is broken softly behind the range is no part of it.
        let next = self
            .0
            .partition_point(|(decoded, _)| (*decoded as u64) < end);
        let last = match self.0.get(next) {
            Some((decoded, quoted)) if *decoded as u64 == end => *quoted as u64,
            _ => {
                let (decoded, quoted) = self.0[next.max(1) - 1];
                quoted as u64 + (end - decoded as u64)
            }
        };
        (first, last.max(first))
    }
}
