//! Packings that write bytes as letters or as runs, undone as far as they can be.
//!
//! Unpacked here rather than by hayro, which does not tell when the end of the data is missing.

/// How the data of a packing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Well,
    /// There is less of it than it says.
    Early,
    Wrong,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

/// Four bytes for every five letters.
pub(super) fn base85(bytes: &[u8], most: u64) -> (Vec<u8>, Ended) {
    let (mut out, mut group) = (Vec::new(), Vec::with_capacity(5));
    for byte in bytes.iter().copied().filter(|byte| !is_space(*byte)) {
        if out.len() as u64 >= most {
            return (out, Ended::Well);
        }
        match byte {
            b'~' => {
                let ended = close85(&mut group, &mut out);
                return (out, ended);
            }
            b'z' if group.is_empty() => out.extend([0; 4]),
            b'!'..=b'u' => group.push(u32::from(byte - b'!')),
            _ => return (out, Ended::Wrong),
        }
        if group.len() == 5 && close85(&mut group, &mut out) == Ended::Wrong {
            return (out, Ended::Wrong);
        }
    }
    match close85(&mut group, &mut out) {
        Ended::Well => (out, Ended::Early),
        ended => (out, ended),
    }
}

/// The bytes of a group, which is short at the end only: its missing letters count as the last.
fn close85(group: &mut Vec<u32>, out: &mut Vec<u8>) -> Ended {
    let letters = std::mem::take(group);
    let digits = letters.iter().copied().chain([84; 5]).take(5);
    let value = digits.fold(0, |value, digit| value * 85 + u64::from(digit));
    match (letters.len(), u32::try_from(value)) {
        (0, _) => Ended::Well,
        (1, _) | (_, Err(_)) => Ended::Wrong,
        (count, Ok(value)) => {
            out.extend_from_slice(&value.to_be_bytes()[..count - 1]);
            Ended::Well
        }
    }
}

/// A byte for every two hexadecimal digits.
pub(super) fn hex(bytes: &[u8], most: u64) -> (Vec<u8>, Ended) {
    let (mut out, mut half) = (Vec::new(), None);
    let mut ended = Ended::Early;
    for byte in bytes.iter().copied().filter(|byte| !is_space(*byte)) {
        let digit = char::from(byte).to_digit(16);
        if out.len() as u64 >= most || digit.is_none() {
            let is_end = digit.is_some() || byte == b'>';
            ended = if is_end { Ended::Well } else { Ended::Wrong };
            break;
        }
        let digit = digit.unwrap_or(0) as u8;
        match half.take() {
            Some(high) => out.push(high << 4 | digit),
            None => half = Some(digit),
        }
    }
    out.extend(half.map(|high: u8| high << 4));
    (out, ended)
}

/// Bytes as they are, so many of them, or one so many times.
pub(super) fn runs(mut bytes: &[u8], most: u64) -> (Vec<u8>, Ended) {
    const END: u8 = 128;
    let mut out = Vec::new();
    while let Some((length, rest)) = bytes.split_first() {
        if *length == END || out.len() as u64 >= most {
            return (out, Ended::Well);
        }
        let count = if *length < END {
            usize::from(*length) + 1
        } else {
            1
        };
        let (run, rest) = rest.split_at(count.min(rest.len()));
        match run {
            [byte] if *length > END => out.extend([*byte].repeat(257 - usize::from(*length))),
            run => out.extend_from_slice(run),
        }
        bytes = rest;
    }
    (out, Ended::Early)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = 1000;

    #[test]
    fn letters_and_runs_are_the_bytes_they_stand_for() {
        let text = (b"Mill wheel".to_vec(), Ended::Well);
        assert_eq!(base85(b"9keE[+EqL\n1AS_~>", MOST), text);
        assert_eq!(hex(b"4d696C 6c20 776865656c>", MOST), text);
        assert_eq!(runs(b"\x01Mi\xffl\x04 whee\x00l\x80", MOST), text);
        assert_eq!(base85(b"z~>", MOST), (vec![0; 4], Ended::Well));
        assert_eq!(hex(b"7>", MOST), (b"p".to_vec(), Ended::Well));
    }

    #[test]
    fn what_is_cut_or_wrong_is_unpacked_up_to_there() {
        assert_eq!(base85(b"9keE[+E", MOST), (b"Mill ".to_vec(), Ended::Early));
        assert_eq!(
            base85(b"9keE[\x80+EqL1", MOST),
            (b"Mill".to_vec(), Ended::Wrong)
        );
        assert_eq!(base85(b"uuuuu", MOST), (Vec::new(), Ended::Wrong));
        assert_eq!(hex(b"4d69", MOST), (b"Mi".to_vec(), Ended::Early));
        assert_eq!(hex(b"4d69-6c", MOST), (b"Mi".to_vec(), Ended::Wrong));
        assert_eq!(runs(b"\x05Mi", MOST), (b"Mi".to_vec(), Ended::Early));
    }

    #[test]
    fn nothing_is_unpacked_far_beyond_what_is_wanted() {
        assert_eq!(base85(&b"z".repeat(100), 10).0.len(), 12);
        assert_eq!(hex(&b"00".repeat(100), 10).0.len(), 10);
        assert_eq!(runs(&b"\x81 ".repeat(100), 10).0.len(), 128);
    }
}
