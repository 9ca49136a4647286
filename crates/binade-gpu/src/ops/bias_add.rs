//! Sum of a tensor and a vector along the channel axis.

use super::{
    channels::{ChannelKernels, Channels, channel_sums},
    check,
};
use crate::{Gpu, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::OpInvocation;

impl<D: ChannelKernels> binade_core::ops::BiasAdd for Gpu<'_, D> {
    fn bias_add(&self, input: &Tensor<D>, bias: &Tensor<D>) -> Result<Tensor<D>, D> {
        let call = OpInvocation::BiasAdd;
        let TensorSpec { dtype, shape } = check(self.0, &call, &[input, bias])?;
        let result = self.0.unset(dtype, &shape)?;
        self.0.launch_bias_add([input, bias, &result], Channels::of(&shape))?;
        Ok(result)
    }

    fn bias_add_backward(&self, grad: &Tensor<D>) -> Result<[Tensor<D>; 2], D> {
        let call = OpInvocation::BiasAddBackward;
        let TensorSpec { dtype, shape } = check(self.0, &call, &[grad])?;
        let of = Channels::of(&shape);
        Ok([grad.clone(), channel_sums(self.0, grad, of, dtype)?])
    }
}
