#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod driver;
mod error;
mod found;
mod gradients;
mod host;
mod kernels;
mod masters;
mod memory;
mod report;
mod state;
mod tensor;
mod training;

pub use driver::{BufferOf, Driver, Result};
pub use error::{DriverError, Error};
pub use found::Found;
pub use gradients::{Factors, Gradients, Present, trained};
pub use host::check_length;
pub use kernels::Kernels;
pub use masters::{
    BiasTable, MasterState, Masters, Moving, ParamState, RuleList, ScaledMaster, StateTensors,
    Step, StepState, constant_words, unsupported_rule,
};
pub use memory::{Addressed, Buffer, Memory, MemoryUse, Pool, is_alone};
pub use report::{finding_offset, parse_report};
pub use state::{FoundBits, LogMaxBits, LossScaleBits, ScaleBits};
pub use tensor::Tensor;

/// Items that this crate's macros name.
#[doc(hidden)]
pub mod reexports {
    pub use binade_core::{DType, Form, GradSet, Named, NamedGrads, RawTensor, TrainError};
    pub use binade_grad_scaler::{ClipGroup, GradOps, Norm};
    pub use binade_master_weights::{
        LoadError, MasterWeights, ParameterForm, Plan, SavedParameter, Snapshot,
    };
    pub use binade_ops::{Download, Shaped, Upload};
}
