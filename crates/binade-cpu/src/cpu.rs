//! The handle.

use crate::{Error, Gradients, Tensor};
use binade_core::{Finding, GradSet, Handle, Named};

/// The CPU as a device. It holds nothing: work runs on rayon's current thread pool, and no result depends on its size.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Cpu;

impl Handle for Cpu {
    type Tensor = Tensor;
    type Error = Error;
}

impl GradSet for Cpu {
    type Params = Vec<Named<Tensor>>;
    type Grads = Gradients;
    type Found = Finding;
}
