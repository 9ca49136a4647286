//! Loss scaling on the CPU.

mod clip_groups;
mod grad_scaler;
mod peers;

pub(crate) use grad_scaler::{add, each};
