//! Kernels that go through the elements one by one.

use crate::{
    Cuda, Result, Tensor,
    autocast::{code, elementwise},
    launch::{Arg, args},
};
use binade_gpu::{DropoutMask, PointwiseKernels};

impl PointwiseKernels for Cuda {
    fn launch_each(&self, kernel: &'static str, operands: &[&Tensor], result: &Tensor) -> Result {
        let (dtype, len) = (code(kernel, result.dtype())?, result.len());
        let tensors = operands.iter().chain([&result]).map(|it| Arg::from(*it));
        let args: Vec<_> = tensors.chain(args![dtype, len]).collect();
        self.launch(kernel, elementwise(len), &args)
    }

    fn launch_fill(&self, value: f32, result: &Tensor) -> Result {
        let (dtype, len) = (code("fill", result.dtype())?, result.len());
        self.launch("fill", elementwise(len), &args![result, dtype, len, value])
    }

    fn launch_dropout(&self, [input, key, result]: [&Tensor; 3], mask: DropoutMask) -> Result {
        let (dtype, len) = (code("dropout", result.dtype())?, result.len());
        let args = args![input, key, result, dtype, len, Arg::U64(mask.threshold), mask.factor];
        self.launch("dropout", elementwise(len), &args)
    }
}
