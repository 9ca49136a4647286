//! Record of computed values, in order.

use crate::{Device, Tape, TapeError, Var, error::Failed};
use binade_core::ops::OpInvocation;
use binade_core::{DType, Handle, Op, SparseGradient};
use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Gradients by operand; `None` for an operand without one.
pub(crate) type Grads<D> = Vec<Option<<D as Handle>::Tensor>>;

/// Backward rule of an operation: from the gradient of its result to those of its operands.
pub(crate) type Rule<D> =
    Box<dyn Fn(&D, &<D as Handle>::Tensor) -> Result<Grads<D>, Failed<D>> + Send + Sync>;

/// Backward rule of an operation as recorded operations, for double backward.
pub(crate) enum RecordedRule<D: Device> {
    /// No recorded rule: double backward returns an error that names the operation.
    Absent,
    /// Rule that needs only the operation's traits of the device.
    Own(OwnRule<D>),
    /// Backward call, and its tensors other than the gradient: `double_backward` has its formula.
    Call(OpInvocation, Vec<Kept<D>>),
}

/// Recorded rule: from the gradient of the result to that of the operand with this number; `None` if it is 0 everywhere.
pub(crate) type OwnRule<D> =
    Box<dyn Fn(&Var<D>, usize) -> Result<Option<Var<D>>, Failed<D>> + Send + Sync>;

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
        op: Op,
        /// Nodes of the operands; `None` for one whose gradient is not wanted.
        parents: Vec<Option<usize>>,
        rule: Rule<D>,
        recorded: RecordedRule<D>,
    },
    /// Rows of a table whose gradient may stay sparse.
    Lookup(Lookup<D>),
}

/// Gradients of look-ups in one table, each with its indices.
pub(crate) type Lookups<'l, D> = &'l [(<D as Handle>::Tensor, <D as Handle>::Tensor)];

/// Look-up in a table, with its backward rules.
pub(crate) struct Lookup<D: Device> {
    /// Node of the table.
    pub(crate) table: usize,
    pub(crate) indices: D::Tensor,
    pub(crate) rules: LookupRules<D>,
}

/// Function from look-ups and the number of rows of their table to its sparse gradient.
pub(crate) type SparseRule<D> =
    fn(
        &D,
        Lookups<'_, D>,
        usize,
    ) -> Result<SparseGradient<<D as Handle>::Tensor>, <D as Handle>::Error>;

/// Function from a look-up's gradient, its indices and the number of rows of the table to the table's gradient.
pub(crate) type WholeRule<D> = fn(
    &D,
    &<D as Handle>::Tensor,
    &<D as Handle>::Tensor,
    usize,
) -> Result<<D as Handle>::Tensor, <D as Handle>::Error>;

/// Backward rules of the look-ups in one table.
pub(crate) struct LookupRules<D: Device> {
    /// Rows of the table.
    pub(crate) rows: usize,
    /// Returns the gradient as rows, from all look-ups.
    pub(crate) sparse: SparseRule<D>,
    /// Returns the whole gradient, from the gradient of one look-up and its indices.
    pub(crate) whole: WholeRule<D>,
}

impl<D: Device> Clone for LookupRules<D> {
    fn clone(&self) -> Self {
        let Self { rows, sparse, whole } = *self;
        Self { rows, sparse, whole }
    }
}

impl<D: Device> Origin<D> {
    /// Returns the nodes of the operands. A node that is an operand twice comes twice.
    pub(crate) fn operands(&self) -> impl Iterator<Item = usize> {
        let (source, parents) = match self {
            Self::Leaf => (None, &[][..]),
            Self::Cast(source) | Self::Lookup(Lookup { table: source, .. }) => {
                (Some(*source), &[][..])
            }
            Self::Op { parents, .. } => (None, &parents[..]),
        };
        source.into_iter().chain(parents.iter().copied().flatten())
    }
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
    /// Storages that `saved_bytes` need not add: those already counted, and those of parameters.
    counted: HashSet<u64>,
    saved_bytes: u64,
}

impl<D: Device> Record<D> {
    pub(crate) fn new(device: D) -> Self {
        let (nodes, parameters, counted) = (Vec::new(), Vec::new(), HashSet::new());
        Self { device, log: Mutex::new(Log { nodes, parameters, counted, saved_bytes: 0 }) }
    }

    /// Locks the log. A panic leaves each entry whole, so the log behind a poisoned lock is sound.
    fn log(&self) -> MutexGuard<'_, Log<D>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, dtype: DType, origin: Origin<D>) -> usize {
        self.push_with(dtype, |_| origin)
    }

    /// Adds a node whose origin depends on its own number.
    pub(crate) fn push_with(&self, dtype: DType, origin: impl FnOnce(usize) -> Origin<D>) -> usize {
        let mut log = self.log();
        let origin = origin(log.nodes.len());
        log.push(dtype, origin)
    }

    /// Returns the number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.log().nodes.len()
    }

    /// Adds a parameter's leaf. A view of its storage in another shape does not count as an activation either.
    pub(crate) fn push_parameter(&self, name: Arc<str>, dtype: DType, storage: u64) -> usize {
        let mut log = self.log();
        let node = log.push(dtype, Origin::Leaf);
        log.parameters.push((name, node));
        log.counted.insert(storage);
        node
    }

    /// Returns a value without a node.
    pub(crate) fn value(self: &Arc<Self>, tensor: D::Tensor) -> Value<D> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (record, storage) = (self.clone(), NEXT.fetch_add(1, Ordering::Relaxed));
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

    /// Returns all nodes.
    pub(crate) fn all(&self) -> Vec<Arc<Node<D>>> {
        self.log().nodes.clone()
    }

    /// Returns names and nodes, in order of registration.
    ///
    /// # Errors
    ///
    /// [`TapeError::Duplicate`] if two have one name.
    pub(crate) fn parameters(&self) -> Result<Vec<Registered>, Failed<D>> {
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

/// Tensor with its place in a record. It holds no region, so that a region's cache may hold values without a cycle.
pub(crate) struct Value<D: Device> {
    pub(crate) record: Arc<Record<D>>,
    pub(crate) tensor: D::Tensor,
    /// Number of the storage, unique in the process, and shared by views of the same elements in another shape.
    pub(crate) storage: u64,
    /// Node at which gradients enter; `None` if none are wanted.
    pub(crate) node: Option<usize>,
    /// True for a parameter: only these are cast often enough for a place in the cast cache.
    pub(crate) parameter: bool,
}

/// Value without its record, so that a node of the record may hold it without a cycle.
pub(crate) struct Kept<D: Device> {
    pub(crate) tensor: D::Tensor,
    pub(crate) node: Option<usize>,
    pub(crate) parameter: bool,
    storage: u64,
}

impl<D: Device> Kept<D> {
    /// Returns the value as one of `tape`, whose record it comes from.
    pub(crate) fn on(&self, tape: &Tape<D>) -> Var<D> {
        let (record, tensor) = (tape.record().clone(), self.tensor.clone());
        let Self { node, parameter, storage, .. } = *self;
        let value = Value { record, tensor, storage, node, parameter };
        Var::new(tape.clone(), tape.seen(&value))
    }
}

impl<D: Device> Value<D> {
    /// Returns the value without its record.
    pub(crate) fn kept(&self) -> Kept<D> {
        let Self { node, parameter, storage, .. } = *self;
        Kept { tensor: self.tensor.clone(), node, parameter, storage }
    }

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
