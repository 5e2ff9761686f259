//! Damage a file may come to, drawn from a number so that it can be done again.

/// A small generator of numbers: the same start gives the same throws.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(start: u64) -> Self {
        // Starts that are neighbours must not throw alike.
        let mixed = (start + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self((mixed ^ (mixed >> 29)) | 1)
    }

    /// A number below `sides`, or 0 where there is none.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % sides.max(1) as u64) as usize
    }
}

/// The file with flipped bits, cut short, with a piece of itself or of `other` put in, or
/// with a number in it replaced by one nobody expects.
pub fn damaged(original: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = original.to_vec();
    match dice.roll(6) {
        0 => bytes.truncate(dice.roll(original.len())),
        1 => splice(&mut bytes, original, dice),
        2 => splice(&mut bytes, other, dice),
        3 => exaggerate(&mut bytes, dice),
        _ => flip(&mut bytes, dice),
    }
    bytes
}

fn splice(bytes: &mut Vec<u8>, from: &[u8], dice: &mut Dice) {
    let (one, two) = (dice.roll(from.len()), dice.roll(from.len()));
    let at = dice.roll(bytes.len());
    // Half of the time something goes for what comes.
    let until = (at + dice.roll(2) * (one.abs_diff(two))).min(bytes.len());
    bytes.splice(at..until, from[one.min(two)..one.max(two)].iter().copied());
}

fn flip(bytes: &mut [u8], dice: &mut Dice) {
    for _ in 0..=dice.roll(12) {
        let at = dice.roll(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << dice.roll(8);
        }
    }
}

fn exaggerate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    const NUMBERS: [&str; 6] = ["-1", "0", "65536", "2147483647", "4294967296", "1e99"];
    let from = dice.roll(bytes.len());
    let digit = |at: &usize| bytes[*at].is_ascii_digit();
    let Some(start) = (from..bytes.len()).find(digit) else {
        return;
    };
    let end = (start..bytes.len()).find(|at| !digit(at));
    let number = NUMBERS[dice.roll(NUMBERS.len())];
    bytes.splice(start..end.unwrap_or(bytes.len()), number.bytes());
}
