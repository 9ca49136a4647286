//! What a training loop names.

pub use crate::{Amp, Model, OptLevel, Setup, initialize};
pub use binade_autocast::{Autocast, Region};
pub use binade_cast_policy::{CastPolicy, CastRule, OpTable};
pub use binade_core::{AmpTensor, DType, Error, ErrorKind, Handle, Named, Native, Op, Optimizer};
pub use binade_grad_scaler::{BadMicroBatch, GradOps, GradScaler, LossScale, Scaler, Step};
pub use binade_master_weights::{MasterOptimizer, MasterWeights, Plan, UpdateRule};
