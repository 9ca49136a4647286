//! The handle.

use crate::{Error, Tensor};
use binade_core::Handle;

/// The CPU as a device. It holds nothing: work runs on rayon's current thread pool, and no result depends on its size.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Cpu;

impl Handle for Cpu {
    type Tensor = Tensor;
    type Error = Error;
}
