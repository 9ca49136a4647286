//! Setting of what each rank keeps of the optimizer's state.

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

/// Returns true if masters of a slice are a slice of the masters.
pub(crate) fn is_divisible(store: MasterStore) -> bool {
    // One exponent is of all elements of a tensor. A store to come is refused until it is known.
    matches!(
        store,
        MasterStore::Copy
            | MasterStore::NoMaster
            | MasterStore::Remainder
            | MasterStore::Stochastic { .. }
            | MasterStore::Kahan
    )
}
