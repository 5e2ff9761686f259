//! Memory fetched while something else is done.

/// Bytes that come together. They are brought to the second level: the first holds a few vectors
/// only, and has room for few requests.
const LINE: usize = 64;

/// All of a slice.
pub fn ahead<T>(values: &[T]) {
    let first = values.as_ptr().cast::<u8>();
    // What does not begin with a line ends in one more.
    let before = first.addr() % LINE;
    let start = first.wrapping_sub(before);
    for line in (0..before + size_of_val(values)).step_by(LINE) {
        fetch(start.wrapping_add(line));
    }
}

/// What a reference points to, which is not looked at.
pub fn ahead_of<T>(value: &T) {
    ahead(std::slice::from_ref(value));
}

#[inline(always)]
fn fetch(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint; nothing is read and nothing can fault.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
