//! Copies of tensors to the host, which are made here and nowhere else: each waits for the tensor's device, since candle has none
//! that does not.

use candle_core::{Result, Tensor, WithDType};

/// Elements of `tensor`, in row-major order.
pub(crate) fn read<S: WithDType>(tensor: &Tensor) -> Result<Vec<S>> {
    #[cfg(test)]
    count::READS.set(count::READS.get() + 1);
    tensor.flatten_all()?.to_vec1()
}

/// Reads of this thread, for tests to count.
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
