//! Operations, named as in `binade_core::ops`, and the code that they share: a file each, unless [`signatures`] has them.

pub(crate) mod linear_map;
mod scaled_by;
mod to_device;
#[macro_use]
mod signatures;

pub(crate) use crate::error::Failed;

use crate::{Device, Var, record::Value};
use binade_core::Op;

macro_rules! operations {
    // A tape needs no `fill`: it starts from existing tensors.
    ({} Fill fill $methods:tt $($trait:ident $name:ident $rest:tt)*) => {
        $(by_signature!($trait $name $rest);)*
    };
}

binade_core::ops::for_each_op!([operations]);

pub(crate) type Outcome<D> = Result<Var<D>, Failed<D>>;

/// Tensors that an operation keeps for its backward pass, for the count of activation bytes.
pub(crate) enum Saves<'v, D: Device> {
    Nothing,
    Inputs(&'v [&'v Value<D>]),
    InputsAndOutput(&'v [&'v Value<D>]),
    Output,
}

impl<'v, D: Device> Saves<'v, D> {
    /// Returns the inputs that are kept, and true if the output is.
    pub(crate) fn parts(&self) -> (&'v [&'v Value<D>], bool) {
        match self {
            Self::Nothing => (&[], false),
            Self::Inputs(kept) => (kept, false),
            Self::InputsAndOutput(kept) => (kept, true),
            Self::Output => (&[], true),
        }
    }
}

/// Returns a gradient for every operand.
pub(crate) fn all<T, const N: usize>(grads: [T; N]) -> Vec<Option<T>> {
    grads.map(Some).into()
}
