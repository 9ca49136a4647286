//! Copies of tensors to the host. All are made here, and each waits for the tensor's device, since candle has no other.

use candle_core::{Result, Tensor, WithDType};

/// Returns the elements of `tensor`, in row-major order.
pub(crate) fn read<S: WithDType>(tensor: &Tensor) -> Result<Vec<S>> {
    #[cfg(test)]
    count::READS.set(count::READS.get() + 1);
    tensor.flatten_all()?.to_vec1()
}

/// Number of this thread's reads, for tests.
#[cfg(test)]
pub(crate) mod count {
    use std::cell::Cell;

    thread_local! {
        pub(super) static READS: Cell<usize> = const { Cell::new(0) };
    }

    /// Runs `run` and counts its reads.
    pub(crate) fn reads<T>(run: impl FnOnce() -> T) -> (T, usize) {
        let before = READS.get();
        let result = run();
        (result, READS.get() - before)
    }
}
