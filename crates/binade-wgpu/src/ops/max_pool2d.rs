//! Largest element of each window.

use super::operands::by_group;
use crate::{
    Result, Tensor, Wgpu,
    dispatch::structs::{self, code, count},
};
use binade_core::ops::MaxPool2dConfig;
use binade_gpu::MaxPool2dKernels;

impl MaxPool2dKernels for Wgpu {
    fn launch_max_pool2d(&self, tensors: [&Tensor; 2], config: MaxPool2dConfig) -> Result {
        let [input, result] = tensors;
        self.pool("max_pool2d", &[input], [input, result], config, result)
    }

    fn launch_max_pool2d_backward(&self, tensors: [&Tensor; 3], config: MaxPool2dConfig) -> Result {
        let [grad, input, result] = tensors;
        self.pool("max_pool2d_backward", &[input, grad], [input, grad], config, result)
    }
}

impl Wgpu {
    /// Dispatches a shader on one operand or two.
    fn pool(
        &self,
        shader: &'static str,
        operands: &[&Tensor],
        [image, output]: [&Tensor; 2],
        config: MaxPool2dConfig,
        to: &Tensor,
    ) -> Result {
        if to.is_empty() {
            return Ok(());
        }
        let mut starts = [0; 2];
        let mut bound = Vec::with_capacity(operands.len() + 1);
        for (operand, start) in operands.iter().zip(&mut starts) {
            let (piece, before) = self.whole(operand)?;
            *start = before;
            bound.push(piece);
        }
        bound.push(self.whole(to)?.0);
        let extents = |of: &Tensor| config.layout.extents(of.shape()).unwrap_or_default();
        let plane = |[_, _, rows, columns]: [usize; 4]| [rows, columns].map(count);
        let [image, output] = [image, output].map(extents);
        let params = structs::Pool {
            len: count(to.len()),
            dtype: code("max_pool2d", to.dtype())?,
            starts,
            image: plane(image),
            output: plane(output),
            kernel: config.kernel.map(count),
            stride: config.stride.map(count),
            padding: config.padding.map(count),
            pixel: count(config.layout.pixel_stride(image)),
        };
        self.dispatch(shader, &params, bound, by_group(to.len()))
    }
}
