//! Record of computed values, in order.

use crate::{
    Device, TapeError,
    value::{Value, new_storage},
};
use binade_core::{DType, Handle};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Gradients by operand; `None` for an operand without one.
pub(crate) type Grads<D> = Vec<Option<<D as Handle>::Tensor>>;

/// Backward rule of an operation: from the gradient of its result to those of its operands.
pub(crate) type Rule<D> = Box<
    dyn Fn(&D, &<D as Handle>::Tensor) -> Result<Grads<D>, TapeError<<D as Handle>::Error>>
        + Send
        + Sync,
>;

/// Name of a parameter, and its leaf.
pub(crate) type Registered = (Arc<str>, usize);

/// Origin of a value.
pub(crate) enum Origin<D: Device> {
    /// Value from outside the record.
    Leaf,
    /// Cast of this node.
    Cast(usize),
    /// Result of an operation.
    Op {
        name: &'static str,
        /// Nodes of the operands; `None` for one whose gradient is not wanted.
        parents: Vec<Option<usize>>,
        rule: Rule<D>,
    },
}

/// Value whose gradient is wanted.
pub(crate) struct Node<D: Device> {
    /// Element type of the value and of its gradient.
    pub(crate) dtype: DType,
    pub(crate) origin: Origin<D>,
}

/// Device, and everything that was recorded on it. Any thread may add to it.
pub(crate) struct Record<D: Device> {
    pub(crate) device: D,
    log: Mutex<Log<D>>,
}

struct Log<D: Device> {
    nodes: Vec<Arc<Node<D>>>,
    parameters: Vec<Registered>,
    /// Storages that `saved_bytes` counts already, and those of parameters, which it does not count.
    counted: HashSet<u64>,
    saved_bytes: u64,
}

impl<D: Device> Record<D> {
    pub(crate) fn new(device: D) -> Self {
        let (nodes, parameters, counted) = (Vec::new(), Vec::new(), HashSet::new());
        Self { device, log: Mutex::new(Log { nodes, parameters, counted, saved_bytes: 0 }) }
    }

    /// Locks the log. A panic leaves each entry whole, so that a poisoned lock guards a sound log.
    fn log(&self) -> MutexGuard<'_, Log<D>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, dtype: DType, origin: Origin<D>) -> usize {
        self.log().push(dtype, origin)
    }

    /// Adds a parameter's leaf. A view of its storage in another shape is no activation either.
    pub(crate) fn push_parameter(&self, name: Arc<str>, dtype: DType, storage: u64) -> usize {
        let mut log = self.log();
        let node = log.push(dtype, Origin::Leaf);
        log.parameters.push((name, node));
        log.counted.insert(storage);
        node
    }

    /// Returns a value without a node.
    pub(crate) fn value(self: &Arc<Self>, tensor: D::Tensor) -> Value<D> {
        let (record, storage) = (self.clone(), new_storage());
        Value { record, tensor, storage, node: None, parameter: false }
    }

    /// Counts `value` among the activations kept for backward.
    pub(crate) fn save(&self, value: &Value<D>) {
        let mut log = self.log();
        if log.counted.insert(value.storage) {
            log.saved_bytes += value.bytes();
        }
    }

    pub(crate) fn saved_bytes(&self) -> u64 {
        self.log().saved_bytes
    }

    /// Returns the nodes up to and with `last`.
    pub(crate) fn nodes(&self, last: usize) -> Vec<Arc<Node<D>>> {
        self.log().nodes[..=last].to_vec()
    }

    /// Returns names and nodes, in order of registration.
    ///
    /// # Errors
    ///
    /// [`TapeError::Duplicate`] if two have one name.
    pub(crate) fn parameters(&self) -> Result<Vec<Registered>, TapeError<D::Error>> {
        let parameters = self.log().parameters.clone();
        let mut names = HashSet::new();
        match parameters.iter().find(|(name, _)| !names.insert(name.clone())) {
            Some((name, _)) => Err(TapeError::Duplicate { name: name.clone() }),
            None => Ok(parameters),
        }
    }
}

impl<D: Device> Log<D> {
    fn push(&mut self, dtype: DType, origin: Origin<D>) -> usize {
        self.nodes.push(Arc::new(Node { dtype, origin }));
        self.nodes.len() - 1
    }
}
