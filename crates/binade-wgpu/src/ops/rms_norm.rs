//! Division by the root mean square over the last axis.

use super::{
    layer_norm::{Means, params},
    operands::by_group,
    roles::Role,
};
use crate::{Result, Tensor, Wgpu};
use binade_gpu::RmsNormKernels;

impl RmsNormKernels for Wgpu {
    fn launch_rms_norm(&self, [input, weight]: [&Tensor; 2], eps: f32, result: &Tensor) -> Result {
        let stats = self.stats_of_rows("rms_norm_numbers", input, eps)?;
        let operands =
            [(input, Role::A), (result, Role::Own), (&stats, Role::Own), (weight, Role::Weight)];
        self.norm("rms_norm", &operands, params(input, weight, eps)?, by_group(result.len()))
    }

    fn launch_rms_norm_backward(
        &self,
        [grad, input, weight]: [&Tensor; 3],
        eps: f32,
        grads: [&Tensor; 2],
    ) -> Result {
        let stats = self.stats_of_rows("rms_norm_numbers", input, eps)?;
        let means = Means { shader: "rms_norm_backward_mean", stats, eps };
        self.norm_backward([grad, input, weight], &means, grads)
    }
}
