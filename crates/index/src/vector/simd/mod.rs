//! The arithmetic of searches, as wide as the machine allows.
//!
//! The one module with `unsafe`: calling a function compiled for instructions
//! the machine was asked about first, loading 32 bytes at a time, and asking for
//! memory ahead of its use. Lanes of floats are spelt out because floats may not
//! be reordered behind our back; so every machine comes to the same sums of codes,
//! the same rotation and the same tables, and all that can multiply and add at once
//! to the same inner products.

#![expect(unsafe_code, reason = "calls functions compiled for detected features")]

mod ahead;
mod block;
mod dot;
mod turn;

pub use ahead::{ahead, ahead_of};
pub use block::{BLOCK, Guessed, Line, guess, lane};
pub use dot::{dot, dots};
pub use turn::{hadamard, tables};

#[cfg(target_arch = "x86_64")]
#[inline]
fn wide() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn widest() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && wide()
}
