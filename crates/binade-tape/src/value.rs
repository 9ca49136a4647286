//! A tensor as the record knows it.

use crate::{Device, record::Record};
use binade_core::DType;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// A tensor with its place in a record. Knows no region, so that a region's cache may hold values without a cycle.
pub(crate) struct Value<D: Device> {
    pub(crate) record: Arc<Record<D>>,
    pub(crate) tensor: D::Tensor,
    /// The elements; a value that only looks at another's in a different shape has the same.
    pub(crate) storage: u64,
    /// Where gradients enter; `None` where none are wanted.
    pub(crate) node: Option<usize>,
    /// Only parameters are cast often enough to be worth a place in the cast cache.
    pub(crate) parameter: bool,
}

/// A storage of its own. No two are equal while the process lives.
pub(crate) fn new_storage() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl<D: Device> Value<D> {
    /// The same elements, with no way back.
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
