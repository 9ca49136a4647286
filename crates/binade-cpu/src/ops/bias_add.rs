//! Sum of a tensor and a vector along the channel axis.

use super::operands::check;
use crate::{
    Cpu, Error, Tensor, parallel,
    reduce::{self, Channels},
};
use binade_core::TensorSpec;
use binade_core::ops::{BiasAdd, OpInvocation, shape};

impl BiasAdd for Cpu {
    fn bias_add(&self, input: &Tensor, bias: &Tensor) -> Result<Tensor, Error> {
        let TensorSpec { dtype, shape } = check(&OpInvocation::BiasAdd, &[input, bias])?;
        let of = channels(&shape);
        let (mut out, b) = (input.to_f32().into_owned(), bias.to_f32());
        parallel::rows(&mut out, of.row(), of.row(), |_, block| {
            for (i, run) in block.chunks_exact_mut(of.inner).enumerate() {
                let b = b[i % of.count];
                for x in run {
                    *x += b;
                }
            }
        });
        Tensor::from_f32(out, &shape, dtype)
    }

    fn bias_add_backward(&self, grad: &Tensor) -> Result<[Tensor; 2], Error> {
        let TensorSpec { dtype, shape } = check(&OpInvocation::BiasAddBackward, &[grad])?;
        let of = channels(&shape);
        let bias = reduce::channels(&grad.to_f32(), of);
        Ok([grad.clone(), Tensor::from_f32(bias, &[of.count], dtype)?])
    }
}

/// Describes a tensor that has a channel axis.
fn channels(shape: &[usize]) -> Channels {
    Channels::of(shape, shape::channels(shape).unwrap_or_default())
}
