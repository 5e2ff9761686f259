//! A bitmap asked once per entry of a scan: flat, so that asking costs one load.

use roaring::RoaringBitmap;

#[derive(Debug, Clone, Default)]
pub struct Bits(Vec<u64>);

impl Bits {
    #[inline]
    pub fn contains(&self, at: u32) -> bool {
        let word = self.0.get((at / 64) as usize);
        word.is_some_and(|word| word >> (at % 64) & 1 == 1)
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
