//! What writes add up to between two flushes.

/// The changes since the last flush.
///
/// Writers call [`check`](Delta::check) and [`apply`](Delta::apply) under a lock, so both should be short.
pub trait Delta: Send + Sync + 'static {
    type Op: Send;
    type Rejected: std::error::Error + Send + Sync + 'static;

    /// The bytes an operation adds at most, in constant time. Their sum is what the budget bounds.
    fn weigh(op: &Self::Op) -> usize;

    /// Says whether [`apply`](Delta::apply) may have this operation. Changes nothing.
    fn check(&self, op: &Self::Op) -> Result<(), Self::Rejected>;

    /// Adds an operation that was checked. It cannot fail.
    fn apply(&mut self, op: Self::Op);

    /// An empty delta to take writes while this one is flushed.
    ///
    /// It may carry over what `check` needs to know of earlier writes.
    fn successor(&self) -> Self;
}
