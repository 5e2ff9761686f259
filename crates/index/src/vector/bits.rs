//! A bitmap asked once per entry of a scan: flat, so that asking costs one load.

use std::sync::{Arc, Mutex};

use roaring::RoaringBitmap;

#[derive(Debug, Clone, Default)]
pub struct Bits(Vec<u64>);

impl Bits {
    #[inline]
    pub fn contains(&self, at: u32) -> bool {
        let word = self.0.get((at / 64) as usize).copied().unwrap_or(0);
        word >> (at % 64) & 1 == 1
    }
}

impl From<&RoaringBitmap> for Bits {
    fn from(bitmap: &RoaringBitmap) -> Self {
        let len = bitmap.max().map_or(0, |max| max as usize / 64 + 1);
        let mut words = vec![0_u64; len];
        for at in bitmap {
            words[(at / 64) as usize] |= 1 << (at % 64);
        }
        Self(words)
    }
}

/// The last bitmap that was asked for, spread out: searches that follow each other mostly ask
/// for the same, and comparing is cheaper than spreading it out again.
#[derive(Debug, Clone, Default)]
pub struct Recent(Arc<Mutex<Spread>>);

/// A bitmap and the same spread out.
type Spread = Option<(RoaringBitmap, Arc<Bits>)>;

impl Recent {
    pub fn bits(&self, of: &RoaringBitmap) -> Arc<Bits> {
        let mut last = self.0.lock().expect("nothing panics while it is locked");
        if let Some((bitmap, bits)) = &*last
            && bitmap == of
        {
            return Arc::clone(bits);
        }
        let bits = Arc::new(Bits::from(of));
        *last = Some((of.clone(), Arc::clone(&bits)));
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_bitmap_is_never_answered_with_the_last() {
        let recent = Recent::default();
        let (odd, even) = ([1, 3, 70].into_iter(), [2, 64].into_iter());
        let (odd, even): (RoaringBitmap, RoaringBitmap) = (odd.collect(), even.collect());
        for of in [&odd, &odd, &even, &odd] {
            let bits = recent.bits(of);
            assert!((0..200).all(|at| bits.contains(at) == of.contains(at)));
        }
    }
}
