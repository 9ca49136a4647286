//! Tensors with their places in a record.

use crate::{Device, record::Record};
use binade_core::DType;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Tensor with its place in a record. It holds no region, so that a region's cache may hold values without a cycle.
pub(crate) struct Value<D: Device> {
    pub(crate) record: Arc<Record<D>>,
    pub(crate) tensor: D::Tensor,
    /// Number of the storage, shared by views of the same elements in another shape.
    pub(crate) storage: u64,
    /// Node at which gradients enter; `None` if none are wanted.
    pub(crate) node: Option<usize>,
    /// True for a parameter: only these are cast often enough for a place in the cast cache.
    pub(crate) parameter: bool,
}

/// Returns the number of a new storage, unique in the process.
pub(crate) fn new_storage() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl<D: Device> Value<D> {
    /// Returns the value without its node, so that no gradient reaches it.
    pub(crate) fn detached(&self) -> Self {
        Self { node: None, ..self.clone() }
    }

    pub(crate) fn dtype(&self) -> DType {
        self.record.device.dtype(&self.tensor)
    }

    pub(crate) fn elements(&self) -> u64 {
        self.record.device.element_count(&self.tensor) as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.elements() * self.dtype().bytes() as u64
    }
}

impl<D: Device> Clone for Value<D> {
    fn clone(&self) -> Self {
        let (record, tensor) = (self.record.clone(), self.tensor.clone());
        Self { record, tensor, ..*self }
    }
}
