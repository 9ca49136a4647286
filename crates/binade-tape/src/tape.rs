//! The record of one training step, and where in it one stands.

use crate::{Device, Var, autocast::Recorder, record::Record, value::Value};
use binade_autocast::{Ledger, Region, Scope};
use binade_core::Named;
use std::{fmt, sync::Arc};

/// The record of one step: what was computed on a device, with which casts, and how to go back.
///
/// A tape is a handle: a clone is the same record. Besides the record it says how what comes next is computed: by which
/// [`Region`], at which place in the model, with gradients or without. These are values and no thread's state, so that
/// a tape, or any [`Var`] of it, may be captured by a closure and taken to another thread whole.
///
/// # Contract
///
/// * Every operation asks the region by its [`Op`](binade_core::Op) and place; casts are recorded, so that gradients
///   arrive in the element type of what was cast.
/// * Backward computes in the types that forward chose, whatever region is in force by then.
/// * A parameter is cast once for each type, however often it is used, and without gradients another time.
/// * Gradients of a value used more than once are summed in `f32` and rounded once, to the value's type; what reaches
///   a cast is rounded to the type before the cast only.
/// * Everything is freed with the last handle or value of the tape.
pub struct Tape<D: Device> {
    context: Arc<Context<D>>,
}

/// A record, and how what comes next is computed.
struct Context<D: Device> {
    record: Arc<Record<D>>,
    scope: Scope<'static, Recorder<D>>,
    path: Arc<str>,
    gradients: bool,
}

impl<D: Device> Tape<D> {
    /// An empty record on `device`, casting by `region`.
    pub fn new(device: D, region: &Region) -> Self {
        let record = Arc::new(Record::new(device));
        let scope = region.open(Recorder::forever());
        Self::of(Context { record, scope, path: "".into(), gradients: true })
    }

    fn of(context: Context<D>) -> Self {
        Self { context: Arc::new(context) }
    }

    /// The same record, counting casts in `ledger`.
    #[must_use]
    pub fn with_ledger(&self, ledger: Arc<Ledger>) -> Self {
        let scope = self.context.scope.clone().with_ledger(ledger);
        Self::of(Context { scope, ..self.context.copy() })
    }

    /// The same record by another region; casts that either keeps, both find.
    #[must_use]
    pub fn within(&self, region: Region) -> Self {
        let scope = self.context.scope.within(region);
        Self::of(Context { scope, ..self.context.copy() })
    }

    /// The same record at `path` in the model, as `encoder.0`: what path overrides of a policy go by.
    #[must_use]
    pub fn at(&self, path: &str) -> Self {
        Self::of(Context { path: path.into(), ..self.context.copy() })
    }

    /// The same record without gradients: what is computed is no more than a constant.
    #[must_use]
    pub fn no_grad(&self) -> Self {
        Self::of(Context { gradients: false, ..self.context.copy() })
    }

    /// A leaf whose gradient [`Var::backward`] gives, under its name and in order of registration.
    ///
    /// The tape has the tensor as it is now: a step taken later moves the parameter and not the record.
    pub fn parameter(&self, parameter: &Named<D::Tensor>) -> Var<D> {
        let record = self.record();
        let mut value = record.value(parameter.value.clone());
        let (name, dtype) = (parameter.name.clone(), value.dtype());
        value.node = Some(record.push_parameter(name, dtype, value.storage));
        value.parameter = true;
        Var::new(self.clone(), value)
    }

    /// All of `parameters`, in order.
    pub fn parameters(&self, parameters: &[Named<D::Tensor>]) -> Vec<Var<D>> {
        parameters.iter().map(|parameter| self.parameter(parameter)).collect()
    }

    /// A leaf whose gradient only [`Var::gradient`] gives: an input that a penalty is measured at.
    pub fn variable(&self, tensor: D::Tensor) -> Var<D> {
        let mut value = self.record().value(tensor);
        value.node = Some(self.record().push(value.dtype(), crate::record::Origin::Leaf));
        Var::new(self.clone(), value)
    }

    /// A leaf that wants no gradient: a batch, a target.
    pub fn constant(&self, tensor: D::Tensor) -> Var<D> {
        Var::new(self.clone(), self.record().value(tensor))
    }

    /// The device underneath.
    pub fn device(&self) -> &D {
        &self.context.record.device
    }

    /// The region that operations are cast by here.
    pub fn region(&self) -> &Region {
        self.context.scope.region()
    }

    /// The place in the model; empty if nobody said.
    pub fn path(&self) -> &str {
        &self.context.path
    }

    /// Whether gradients are recorded here.
    pub fn is_recording(&self) -> bool {
        self.context.gradients
    }

    /// Bytes that backward needs and the record therefore keeps: inputs and outputs of operations, casts of parameters
    /// included, parameters themselves not. They only grow: at the end of a forward pass this is the peak.
    pub fn activation_bytes(&self) -> u64 {
        self.record().saved_bytes()
    }

    /// Casts of parameters kept so far.
    pub fn kept_casts(&self) -> usize {
        self.context.scope.kept()
    }

    pub(crate) fn record(&self) -> &Arc<Record<D>> {
        &self.context.record
    }

    pub(crate) fn scope(&self) -> &Scope<'static, Recorder<D>> {
        &self.context.scope
    }

    /// `value` as it is used here: without a way back where gradients are off.
    pub(crate) fn seen(&self, value: &Value<D>) -> Value<D> {
        if self.context.gradients { value.clone() } else { value.detached() }
    }
}

impl<D: Device> Context<D> {
    fn copy(&self) -> Self {
        let Self { record, scope, path, gradients } = self;
        let (record, scope, path) = (record.clone(), scope.clone(), path.clone());
        Self { record, scope, path, gradients: *gradients }
    }
}

impl<D: Device> Clone for Tape<D> {
    fn clone(&self) -> Self {
        Self { context: self.context.clone() }
    }
}

impl<D: Device> fmt::Debug for Tape<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tape")
            .field("region", self.region())
            .field("path", &self.path())
            .field("is_recording", &self.is_recording())
            .finish_non_exhaustive()
    }
}
