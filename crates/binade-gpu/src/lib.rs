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
mod scaler;
mod state;
mod tensor;
mod training;

pub use driver::{BufferOf, Driver, Result};
pub use error::{DriverError, Error};
pub use found::Found;
pub use gradients::{Factors, Gradients, GroupClip, Materialise, Present, trained};
pub use host::check_length;
pub use kernels::Kernels;
pub use masters::{
    BiasTable, MasterState, Masters, Moving, ParamState, RuleList, ScaledMaster, StateTensors,
    Step, StepState, constant_words, unsupported_rule,
};
pub use memory::{Addressed, Buffer, Memory, MemoryUse, Pool, is_alone};
pub use report::{finding_offset, parse_report};
pub use scaler::{
    DeviceScale, Report, Reported, is_scale_ready, places_by_stamp, read_scale, update_scale,
    upload_scale,
};
pub use state::{FoundBits, LogMaxBits, LossScaleBits, OwedBits, ScaleBits};
pub use tensor::Tensor;

#[doc(hidden)]
pub use training::reexports;
