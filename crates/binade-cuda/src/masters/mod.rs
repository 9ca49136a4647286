//! Master weights on the device: the fused step, predicated there.

mod lost;
mod measure;
mod rows;
mod rules;
mod scaled;
mod step;

pub(crate) use step::StepTables;
