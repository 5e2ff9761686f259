//! What kind of character is this, to BERT?
//!
//! The classes come from `classes.txt`. One byte per character of the basic plane
//! answers at once; beyond it the ranges are searched.

use std::sync::OnceLock;

use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

pub const REMOVED: u8 = 1;
pub const MARK: u8 = 2;
pub const PUNCTUATION: u8 = 4;
pub const IDEOGRAPH: u8 = 8;
/// Canonical decomposition may change this character or move it.
pub const UNSTABLE: u8 = 16;

pub struct Classes {
    basic: Vec<u8>,
    /// Past the basic plane, in ascending order of range within each class.
    beyond: Vec<(u32, u32, u8)>,
}

/// Built on first use, about a millisecond; the same for every model.
pub fn classes() -> &'static Classes {
    static CLASSES: OnceLock<Classes> = OnceLock::new();
    CLASSES.get_or_init(|| Classes::parse(include_str!("classes.txt")))
}

impl Classes {
    pub fn of(&self, c: char) -> u8 {
        match self.basic.get(c as usize) {
            Some(class) => *class,
            None => self.beyond(c),
        }
    }

    fn beyond(&self, c: char) -> u8 {
        let within = |(first, last, _): &&(u32, u32, u8)| (*first..=*last).contains(&(c as u32));
        let ranges = self.beyond.iter().filter(within);
        ranges.fold(unstable(c), |class, (.., bit)| class | bit)
    }

    fn parse(text: &str) -> Self {
        let mut classes = Self {
            basic: (0..=0xffff)
                .map(|c| char::from_u32(c).map_or(0, unstable))
                .collect(),
            beyond: Vec::new(),
        };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, ranges) = line.split_once(' ').expect("a class, then its ranges");
            let bit = bit(name);
            ranges.split(' ').for_each(|range| classes.add(range, bit));
        }
        classes
    }

    fn add(&mut self, range: &str, bit: u8) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text| u32::from_str_radix(text, 16).expect("a code point in hexadecimal");
        let (first, last) = (number(first), number(last));
        for c in first..=last.min(0xffff) {
            self.basic[c as usize] |= bit;
        }
        if last > 0xffff {
            self.beyond.push((first, last, bit));
        }
    }
}

fn bit(class: &str) -> u8 {
    match class {
        "removed" => REMOVED,
        "mark" => MARK,
        "punctuation" => PUNCTUATION,
        "ideograph" => IDEOGRAPH,
        other => unreachable!("classes.txt names no class `{other}`"),
    }
}

fn unstable(c: char) -> u8 {
    let mut same = true;
    decompose_canonical(c, |part| same &= part == c);
    if same && canonical_combining_class(c) == 0 {
        0
    } else {
        UNSTABLE
    }
}
