//! Record of one training step, and the position in it.

use crate::{
    Device, Var,
    autocast::Recorder,
    record::{Kept, Origin, Record, Value},
};
use binade_autocast::{CastStats, Region, Scope};
use binade_core::Named;
use std::{fmt, sync::Arc};

/// Record of one training step: the values computed on a device, their casts, and their backward operations.
///
/// A tape is a handle: a clone is the same record. It also has the settings for the next values: the [`Region`], the place in the model, and whether
/// gradients are recorded. These are ordinary values, not thread-local state, so a closure may take a tape, or any [`Var`] of it, to another thread
/// whole.
///
/// # Contract
///
/// * Every operation asks the region by its [`Op`](binade_core::Op) and place. Casts are recorded, so that a gradient arrives in
///   the element type of the value before the cast.
/// * Backward computes in the types that forward chose, whatever region is in force by then.
/// * A parameter is cast once for each type, however often it is used, and once more without gradients. After a write to its memory
///   that the device counts ([`Autocast::version`](binade_autocast::Autocast::version)), it is cast anew.
/// * Gradients of a value used more than once are summed in `f32` and rounded once, to the value's type. A gradient that reaches
///   a cast is rounded to the type before the cast only.
/// * The last handle or value of the tape frees everything.
pub struct Tape<D: Device> {
    context: Arc<Context<D>>,
}

/// Record, and the settings by which the next values are computed.
struct Context<D: Device> {
    record: Arc<Record<D>>,
    scope: Scope<'static, Recorder<D>>,
    path: Arc<str>,
    gradients: bool,
}

impl<D: Device> Tape<D> {
    /// Creates an empty record on `device`, casting by `region`.
    pub fn new(device: D, region: &Region) -> Self {
        let record = Arc::new(Record::new(device));
        let scope = region.open(Recorder::forever());
        Self::of(Context { record, scope, path: "".into(), gradients: true })
    }

    fn of(context: Context<D>) -> Self {
        Self { context: Arc::new(context) }
    }

    /// Returns this record with casts counted in `stats`.
    #[must_use]
    pub fn with_stats(&self, stats: Arc<CastStats>) -> Self {
        let scope = self.context.scope.clone().with_stats(stats);
        Self::of(Context { scope, ..self.context.copy() })
    }

    /// Returns this record under another region. Both regions find casts that either keeps.
    #[must_use]
    pub fn within(&self, region: Region) -> Self {
        let scope = self.context.scope.within(region);
        Self::of(Context { scope, ..self.context.copy() })
    }

    /// Returns this record at `path` in the model, such as `encoder.0`, for path overrides of a policy.
    #[must_use]
    pub fn at(&self, path: &str) -> Self {
        Self::of(Context { path: path.into(), ..self.context.copy() })
    }

    /// Returns this record without gradients: values computed under it are constants.
    #[must_use]
    pub fn no_grad(&self) -> Self {
        Self::of(Context { gradients: false, ..self.context.copy() })
    }

    /// Returns this record with gradients, outside of any region and at no place in the model.
    pub(crate) fn plain(&self) -> Self {
        let off = self.within(self.region().off()).at("");
        Self::of(Context { gradients: true, ..off.context.copy() })
    }

    /// Returns a leaf whose gradient [`Var::backward`] gives, under its name and in order of registration.
    ///
    /// The tape keeps the current tensor: a later step changes the parameter, but not the record.
    pub fn parameter(&self, parameter: &Named<D::Tensor>) -> Var<D> {
        let record = self.record();
        let mut value = record.value(parameter.value.clone());
        let (name, dtype) = (parameter.name.clone(), value.dtype());
        value.node = Some(record.push_parameter(name, dtype, value.storage));
        value.parameter = true;
        Var::new(self.clone(), value)
    }

    /// Returns leaves of all `parameters`, in order.
    pub fn parameters(&self, parameters: &[Named<D::Tensor>]) -> Vec<Var<D>> {
        parameters.iter().map(|parameter| self.parameter(parameter)).collect()
    }

    /// Returns a leaf whose gradient only [`Var::gradient`] gives, such as the input at which a penalty is measured.
    pub fn variable(&self, tensor: D::Tensor) -> Var<D> {
        let mut value = self.record().value(tensor);
        value.node = Some(self.record().push(value.dtype(), Origin::Leaf));
        Var::new(self.clone(), value)
    }

    /// Returns a leaf with the tensor of a value of another record; its casts are cached like those of the value.
    pub(crate) fn variable_of(&self, value: &Kept<D>) -> Var<D> {
        let leaf = self.variable(value.tensor.clone());
        let value = Value { parameter: value.parameter, ..leaf.value().clone() };
        Var::new(self.clone(), value)
    }

    /// Returns a leaf without a gradient, such as a batch or a target.
    pub fn constant(&self, tensor: D::Tensor) -> Var<D> {
        Var::new(self.clone(), self.record().value(tensor))
    }

    /// Returns the device.
    pub fn device(&self) -> &D {
        &self.context.record.device
    }

    /// Returns the region that operations are cast by here.
    pub fn region(&self) -> &Region {
        &self.context.scope.region
    }

    /// Returns the place in the model; empty by default.
    pub(crate) fn path(&self) -> &str {
        &self.context.path
    }

    /// Returns true if gradients are recorded here.
    pub(crate) fn is_recording(&self) -> bool {
        self.context.gradients
    }

    /// Returns the bytes that the record keeps for backward: inputs and outputs of operations, casts of parameters included,
    /// parameters themselves not. They only grow: at the end of a forward pass this is the peak.
    pub fn activation_bytes(&self) -> u64 {
        self.record().saved_bytes()
    }

    pub(crate) fn record(&self) -> &Arc<Record<D>> {
        &self.context.record
    }

    pub(crate) fn scope(&self) -> &Scope<'static, Recorder<D>> {
        &self.context.scope
    }

    /// Returns `value` as this tape uses it: detached if gradients are off.
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
