//! Handle: candle's tensors under Binade's traits.

use crate::{Error, candle_dtype, dtype::dtype, elements::Elements};
use binade_autocast::Autocast;
use binade_core::{
    AmpTensor, DType, FoundInf, GradSet, Gradient, Handle, HostDevice, Named, NamedGrads,
    SparseGrads, TrainError,
};
use candle_core::Tensor;
use std::borrow::Cow;

/// Handle for candle's own tensors: a name that Binade's traits are implemented on.
///
/// * [`Autocast::cast`] is candle's `to_dtype`, which is differentiable and gives the tensor itself if it is of that type
///   already; a cast that would round twice, from `f64` to sixteen bits, is [`Error::RoundsTwice`]. A tensor's version cannot be
///   told from outside, since `Var::set` leaves its id, so that a region keeps no cast of it.
/// * A tensor that is scaled or unscaled by itself stays in candle's graph.
/// * Sets of gradients are looked at, clipped and added on the host or, on a CUDA device, where they are, with one read for a set
///   that is unscaled and one for a set that is clipped by norm. Each read waits, since candle has no other. A set with a sparse
///   gradient is worked on on the host.
/// * Masters are on the host: an applied step reads every gradient and every parameter, and copies parameters back.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Candle;

impl Candle {
    /// Arithmetic on the host for sets of gradients and masters.
    pub(crate) const HOST: HostDevice<Elements> = HostDevice::new();
}

impl Handle for Candle {
    type Tensor = Tensor;
    type Error = Error;
}

impl GradSet for Candle {
    type Params = Vec<Named<Tensor>>;
    type Grads = SparseGrads<Tensor>;
    type Found = FoundInf;

    fn train_error(&self, error: TrainError) -> Error {
        Error::Set(Self::HOST.train_error(error))
    }

    fn is_raised(&self, found: &FoundInf) -> Result<bool, Error> {
        Ok(found.is_raised())
    }

    fn materialise(&self, grads: SparseGrads<Tensor>) -> Result<NamedGrads<Tensor>, Error> {
        let one = |Named { name, value }: Named<Option<Gradient<Tensor>>>| {
            let whole = value.map(|value| match &value {
                Gradient::Dense(tensor) => Ok(tensor.clone()),
                Gradient::Sparse(_) => Elements::read_gradient(&name, &value)?.whole().to_tensor(),
            });
            let wide = whole.transpose()?.map(|whole| whole.to_dtype(candle_core::DType::F32));
            Ok(Named { name, value: wide.transpose()? })
        };
        grads.0.into_iter().map(one).collect()
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
