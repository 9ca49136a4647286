//! The handle: candle's tensors, Binade's traits.

use crate::{Error, candle_dtype, dtype::dtype};
use binade_autocast::Autocast;
use binade_core::{DType, Finding, GradSet, Handle, Named, NamedGrads, Native, TrainError};
use candle_core::Tensor;
use std::borrow::Cow;

/// candle as Binade's traits see it. The tensors are candle's own; what is here is a name for the traits to be implemented on.
///
/// * [`Autocast::cast`] is candle's `to_dtype`, which is differentiable and gives the tensor itself where it is of that type
///   already; where it would round twice, from `f64` to sixteen bits, the error is [`Error::RoundsTwice`]. A tensor's version
///   cannot be told from outside, since `Var::set` leaves its id, so that a region keeps no cast of it.
/// * What is scaled or unscaled by itself stays in candle's graph.
/// * Sets of gradients are looked at, clipped and added on the host or, on a CUDA device, where they are, with one read for a set
///   that is unscaled and one for a set that is clipped by norm. candle has no read that does not wait.
/// * Masters are on the host: an applied step reads every gradient and every parameter, and copies parameters back.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Candle;

impl Candle {
    /// Whose arithmetic sets of gradients and masters are worked on with.
    pub(crate) const HOST: Native<crate::elements::Elements> = Native::new();
}

impl Handle for Candle {
    type Tensor = Tensor;
    type Error = Error;
}

impl GradSet for Candle {
    type Params = Vec<Named<Tensor>>;
    type Grads = NamedGrads<Tensor>;
    type Found = Finding;

    fn train_error(&self, error: TrainError) -> Error {
        Error::Set(Self::HOST.train_error(error))
    }

    fn is_raised(&self, found: &Finding) -> Result<bool, Error> {
        Ok(found.is_raised())
    }

    fn materialise(&self, mut grads: NamedGrads<Tensor>) -> Result<NamedGrads<Tensor>, Error> {
        for value in grads.iter_mut().filter_map(|grad| grad.value.as_mut()) {
            *value = value.to_dtype(candle_core::DType::F32)?;
        }
        Ok(grads)
    }
}

impl Autocast for Candle {
    fn dtype(&self, tensor: &Tensor) -> DType {
        dtype(tensor.dtype())
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, Error> {
        let from = dtype(tensor.dtype());
        if from == DType::F64 && matches!(to, DType::BF16 | DType::F16) {
            return Err(Error::RoundsTwice { to });
        }
        Ok(tensor.to_dtype(candle_dtype(to)?)?)
    }

    fn extents<'t>(&self, tensor: &'t Tensor) -> Option<Cow<'t, [usize]>> {
        Some(tensor.dims().into())
    }
}
