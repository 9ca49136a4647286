//! The state of an optimizer's parameters on the device.

mod master;
mod param_state;
mod plan;

pub use master::{MasterState, ScaledMaster};
pub use param_state::{ParamState, StateTensors};
pub use plan::{check_plan, constant_words, unsupported_rule};
