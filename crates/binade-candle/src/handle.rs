//! Handle: candle's tensors under Binade's traits.

use crate::{Error, candle_dtype, dtype::dtype, elements::Elements};
use binade_autocast::Autocast;
use binade_core::{
    AmpTensor, DType, FoundInf, GradSet, Gradient, Handle, HostDevice, Named, NamedGrads,
    SparseGrads, TrainError,
};
use candle_core::Tensor;
use std::borrow::Cow;

/// Handle for candle's tensors, on which Binade's traits are implemented.
///
/// * [`Autocast::cast`] is candle's `to_dtype`: it is differentiable, and returns the tensor itself if it already has that type. A cast from `f64` to
///   sixteen bits, which would round twice, is [`Error::RoundsTwice`]. A region caches no cast, because `Var::set` changes the elements and leaves
///   the tensor's id.
/// * A single tensor that is scaled or unscaled stays in candle's graph.
/// * Sets of gradients are unscaled, clipped and added on the host. If one is on a CUDA device, the set is processed there, with one read to unscale
///   it and one to clip it by norm. Each read waits for the device, since candle has no other. A set with a sparse gradient is processed on the host.
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
