//! Names that a training loop uses.

pub use crate::{Amp, Model, OptLevel, Properties, Setup, initialize};
pub use binade_autocast::{Autocast, Region};
pub use binade_cast_policy::{CastPolicy, CastRule, Condition, OpCall, OpTable, Overrides};
pub use binade_core::{
    AmpTensor, DType, Error as _, ErrorKind, Handle, HostDevice, HostDeviceError, HostTensor,
    HostTypeError, Named, NamedGrads, Op, OpClass, Optimizer,
};
pub use binade_grad_scaler::{
    BadMicroBatch, GradOps, GradScaler, LossScale, ScaleState, Scaler, Step, StepReport,
    UnscaledGrads,
};
pub use binade_master_weights::{
    MasterOptimizer, MasterStore, MasterWeights, OptimizerConfig, UpdateRule,
};
