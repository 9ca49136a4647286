//! Largest element of each window.

use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        GROUP, groups,
        structs::{self, code, count},
    },
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::{MaxPool2d, MaxPool2dConfig, operands, shape};

pub(super) const SHADERS: &[&Shader] = &[&MAX_POOL2D, &MAX_POOL2D_BACKWARD];

const MAX_POOL2D: Shader = Shader {
    name: "max_pool2d",
    file: "max_pool2d",
    params: size_of::<structs::Pool>(),
    bindings: &[(1, Read), (3, Write)],
};
const MAX_POOL2D_BACKWARD: Shader = Shader {
    name: "max_pool2d_backward",
    bindings: &[(1, Read), (2, Read), (3, Write)],
    ..MAX_POOL2D
};

impl MaxPool2d for Wgpu {
    fn max_pool2d(&self, input: &Tensor, config: MaxPool2dConfig) -> Result<Tensor, Error> {
        let shape = shape::max_pool2d(input.shape(), config)?;
        let dtype = operands::float(Op::MAX_POOL2D, &[input])?;
        self.has_made_all(&[input])?;
        let result = self.unset(dtype, &shape)?;
        if result.is_empty() {
            return Ok(result);
        }
        let ((a, start), (output, _)) = (self.whole(input)?, self.whole(&result)?);
        let params = params(&result, [start, 0], [input.shape(), &shape], config)?;
        let groups = groups(result.len().div_ceil(GROUP));
        self.dispatch(&MAX_POOL2D, &params, vec![a, output], groups)?;
        Ok(result)
    }

    fn max_pool2d_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        config: MaxPool2dConfig,
    ) -> Result<Tensor, Error> {
        let shape = shape::max_pool2d(input.shape(), config)?;
        let dtype = operands::float(Op::MAX_POOL2D, &[input])?;
        operands::grad(Op::MAX_POOL2D, grad, &shape, dtype)?;
        self.has_made_all(&[grad, input])?;
        let result = self.unset(dtype, input.shape())?;
        if result.is_empty() {
            return Ok(result);
        }
        let ((a, a_start), (b, b_start)) = (self.whole(input)?, self.whole(grad)?);
        let (output, _) = self.whole(&result)?;
        let params = params(&result, [a_start, b_start], [input.shape(), &shape], config)?;
        let groups = groups(result.len().div_ceil(GROUP));
        self.dispatch(&MAX_POOL2D_BACKWARD, &params, vec![a, b, output], groups)?;
        Ok(result)
    }
}

/// Returns the parameters of images and results `[N, C, H, W]`.
fn params(
    to: &Tensor,
    starts: [u32; 2],
    [image, output]: [&[usize]; 2],
    config: MaxPool2dConfig,
) -> Result<structs::Pool, Error> {
    Ok(structs::Pool {
        len: count(to.len()),
        dtype: code("max_pool2d", to.dtype())?,
        starts,
        image: [count(image[2]), count(image[3])],
        output: [count(output[2]), count(output[3])],
        kernel: config.kernel.map(count),
        stride: config.stride.map(count),
        padding: config.padding.map(count),
    })
}
