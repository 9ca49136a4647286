//! Partition of the optimizer state among ranks.

use binade_master_weights::MasterStore;

/// Part of averages, masters and moments that each rank keeps.
///
/// # Examples
///
/// ```
/// use binade_cpu::Cpu;
/// use binade_ranks::{Alone, Partition, Ranks};
///
/// let device = Ranks::new(Cpu, Alone).with_partition(Partition::Slices);
/// assert_eq!(device.partition(), Partition::Slices);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Partition {
    /// All of them on every rank.
    #[default]
    Whole,
    /// Slice of each on every rank, and parameters whole.
    Slices,
}

/// Returns true if the masters of a slice equal the slice of the whole masters.
pub(crate) fn is_divisible(store: MasterStore) -> bool {
    // A shared exponent depends on all elements of a tensor. Unknown future stores are refused.
    matches!(
        store,
        MasterStore::Copy
            | MasterStore::NoMaster
            | MasterStore::Remainder
            | MasterStore::Stochastic { .. }
            | MasterStore::Kahan
    )
}
